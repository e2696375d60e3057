"""What the page says of an embedding, as plain data: values, gaps, leakage, downstream and propagation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.result import AuditResult
from equipoise.reports.audit_tables import Table, cell, known, limited, most_groups
from equipoise.reports.measure_words import meaning_of
from equipoise.reports.spaces import (
    CHANCE,
    NMI,
    ORIENTED,
    RULES,
    VALUES,
    better,
    first_of,
    gaps_of,
    learner_title,
    main_gaps,
    majoritised,
    map_caution,
    neighbours,
    said_by,
    space_order,
    value_title,
    values_of,
)
from equipoise.reports.subjects import Placed, Subject, groups_of, subjects_of
from equipoise.results import Record


def summarise_embedding(result: AuditResult) -> Table:
    """Return the parts of the page that only an embedding has."""
    subjects = subjects_of(result)
    return {
        "k": neighbours(result),
        "map_caution": map_caution(result),
        "columns": [
            {"title": value_title(result, name), "better": better(name), "meaning": meaning_of(name, None)}
            for name in _measures(result, subjects)
        ],
        "values": list(_value_tables(result, subjects)),
        "gaps": [_gap_table(result, subject) for subject in subjects],
        "rules": _rules([row for subject in subjects for row in _rule_rows(result, subject)]),
        "leakage": limited(_leakage(result)),
        "downstream": limited(_downstream(result)),
        "training": _training(result),
        "propagation": limited(_propagation(result)),
    }


def _measures(result: AuditResult, subjects: Sequence[Subject]) -> list[str]:
    told = {record.measure for subject in subjects for _, record in values_of(result, subject) if record.defined}
    return [name for name in VALUES if name in told]


def _value_tables(result: AuditResult, subjects: Sequence[Subject]) -> Iterator[Table]:
    measures, everyone = _measures(result, subjects), values_of(result, None)
    most = most_groups(len(subjects))
    for subject in subjects:
        own = values_of(result, subject)
        groups = groups_of(own)
        rows = [_value_row(own if group is not None else everyone, group, measures) for group in [None, *groups[:most]]]
        yield {"title": subject.title, "rows": rows, "total": len(groups), "left_out": max(len(groups) - most, 0)}


def _value_row(placed: Sequence[Placed], group: str | None, measures: Sequence[str]) -> Table:
    cells = []
    for measure in measures:
        found = first_of(placed, measure, group)
        chance = first_of(placed, CHANCE, group) if measure == NMI else None
        cells.append(None if found is None else cell(*found) | {"chance": None if chance is None else cell(*chance)})
    return {"group": group, "cells": cells}


def _gap_table(result: AuditResult, subject: Subject) -> Table:
    rows = [_gap_row(result, place, record) for place, record in main_gaps(result, subject)]
    return {"title": subject.title, "against": majoritised(result, subject), "rows": rows}


def _gap_row(result: AuditResult, place: int, record: Record) -> Table:
    oriented = record.variant == ORIENTED
    return cell(place, record) | {
        "title": value_title(result, record.measure),
        "rule": RULES.get(record.variant, record.variant),
        "oriented": oriented,
        "says": said_by(result, record),
    }


def _rule_rows(result: AuditResult, subject: Subject) -> list[Table]:
    placed = sorted(gaps_of(result, subject), key=lambda item: (space_order(item[1].measure), item[0]))
    return [_gap_row(result, place, record) for place, record in placed]


def _rules(rows: list[Table]) -> Table:
    """Return the gaps by every rule, and how many of them were tested and are findings."""
    tested = [row for row in rows if row["p_adjusted"] is not None]
    return {**limited(rows), "tested": len(tested), "findings": sum(bool(row["finding"]) for row in tested)}


def _leakage(result: AuditResult) -> list[Table]:
    return [
        {
            "place": place,
            "attribute": record.attribute,
            "probe": learner_title(record.probe),
            "groups": len(record.groups),
            "people": record.people,
            "balanced": known(record.balanced),
            "low": known(record.balanced_low),
            "high": known(record.balanced_high),
            "chance": record.chance,
            "shuffled": known(record.shuffled_balanced),
            "accuracy": known(record.accuracy),
            "majority": known(record.majority),
            "p_adjusted": known(record.balanced_p_adjusted),
            "finding": record.finding,
        }
        for place, record in enumerate(result.leakage)
    ]


def _downstream(result: AuditResult) -> list[Table]:
    """Every downstream number: gaps first, then values of groups."""
    order = ("gap", "largest gap", "group", "overall")
    placed = sorted(enumerate(result.downstream), key=lambda item: (order.index(item[1].kind), item[0]))
    return [_downstream_row(place, record) for place, record in placed]


def _downstream_row(place: int, record: DownstreamRecord) -> Table:
    return {
        "place": place,
        "attribute": record.attribute,
        "group": record.group,
        "against": record.against,
        "kind": record.kind,
        "learner": learner_title(record.learner),
        "measure": record.measure.replace("_", " "),
        "people": record.people,
        "value": known(record.value),
        "low": known(record.low),
        "high": known(record.high),
        "p_adjusted": known(record.p_adjusted),
        "finding": record.finding,
        "status": record.status,
        "reason": record.reason,
    }


def _training(result: AuditResult) -> Table:
    """Say what was trained: the classifiers, on what, and the number of gaps that are findings."""
    gaps = [record for record in result.downstream if record.kind in ("gap", "largest gap")]
    tested = [record.finding for record in gaps if record.finding is not None]
    return {
        "learners": [learner_title(name) for name in dict.fromkeys(record.learner for record in result.downstream)],
        "on": list(dict.fromkeys(record.training for record in result.downstream)),
        "tested": len(tested),
        "findings": sum(tested),
    }


def _propagation(result: AuditResult) -> list[Table]:
    return [
        {
            "place": place,
            "attribute": point.attribute,
            "learner": learner_title(point.learner),
            "measure": point.measure.replace("_", " "),
            "upstream_title": value_title(result, point.upstream_measure),
            "upstream": known(point.upstream),
            "downstream": known(point.downstream),
            "low": known(point.low),
            "high": known(point.high),
        }
        for place, point in enumerate(result.propagation)
    ]
