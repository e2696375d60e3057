"""The tables of an audit as plain data: every cell names the record it shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from equipoise.audits.result import AuditResult
from equipoise.reports.measure_words import GAPS, RATES, is_share, meaning_of, reading_order, title_of
from equipoise.reports.subjects import (
    Placed,
    Subject,
    groups_of,
    main_records,
    subjects_of,
    widest_groups,
    widest_in_words,
)
from equipoise.results import Record, Status

Table = dict[str, object]

MOST_ROWS = 250
# Over all attributes and splits together, in the tables with a line a group.
MOST_GROUP_ROWS = 120
MOST_CLASSES = 8


def card_tables(result: AuditResult) -> list[Table]:
    """Who is in the cohort: a table for each attribute and split, of its largest groups where there are too many."""
    card = result.card
    classes = card.classes[:MOST_CLASSES]
    tables: list[Table] = []
    subjects = dict.fromkeys(Subject((row.attribute,), row.split) for row in card.groups)
    most = most_groups(len(subjects))
    for subject in subjects:
        own = [row for row in card.groups if (row.attribute,) == subject.attribute and row.split == subject.split]
        shown = sorted(range(len(own)), key=lambda place: -(own[place].rows or 0))[:most]
        rows = [
            {
                "group": row.group,
                "rows": row.rows,
                "share": row.share,
                "classes": None if row.classes is None else [_class_share(row.classes[c], row.rows) for c in classes],
            }
            for row in (own[place] for place in sorted(shown))
        ]
        tables.append({
            "title": subject.title, "classes": list(classes), "rows": rows,
            "total": len(own), "left_out": len(own) - len(rows),
            "more_classes": len(card.classes) - len(classes),
        })  # fmt: skip
    return tables


def most_groups(tables: int) -> int:
    """Return how many groups each of so many tables may show."""
    return max(MOST_GROUP_ROWS // max(tables, 1), 10)


def _class_share(number: int, total: int | None) -> Table:
    return {"count": number, "share": number / total if total else None}


def rate_tables(result: AuditResult) -> list[Table]:
    """The main rates or values: a line a group, everyone first, each cell with its counts and its interval.

    Where there are too many groups, those with the widest contrasts are shown.
    """
    placed = [item for item in main_records(result, ("rate", "value")) if item[1].measure in RATES]
    tables: list[Table] = []
    subjects = subjects_of(result)
    for subject in subjects:
        own = [item for item in placed if subject.has(item[1])]
        everyone = [item for item in placed if not item[1].attribute and item[1].split == subject.split]
        measures = sorted({record.measure for _, record in own if record.defined}, key=reading_order)
        if not measures:
            continue
        groups = groups_of(own)
        shown = widest_groups(result, subject, groups, most_groups(len(subjects)))
        cells = {
            (record.group, record.measure): cell(place, record)
            for place, record in [*everyone, *own]
            if record.group is None or record.group in shown
        }
        tables.append({
            "title": subject.title,
            "columns": [_heading(measure, own, result) for measure in measures],
            "rows": [
                {"group": group, "cells": [cells.get((group, measure)) for measure in measures]}
                for group in [*([None] if everyone else []), *shown]
            ],
            "total": len(groups),
            "left_out": len(groups) - len(shown),
            "chosen": widest_in_words(result, subject),
        })  # fmt: skip
    return tables


def _heading(measure: str, placed: Iterable[Placed], result: AuditResult) -> Table:
    alias = next((record.alias for _, record in placed if record.measure == measure), None)
    return {"title": title_of(measure), "alias": alias, "meaning": meaning_of(measure, result.favourable)}


def all_rate_rows(result: AuditResult) -> Table:
    """Every other rate: of each class and label, and of the measures that the main table has no room for."""
    main = {place for place, record in main_records(result, ("rate", "value")) if record.measure in RATES}
    placed = [
        (place, record)
        for place, record in enumerate(result.records)
        if record.kind in ("rate", "value") and place not in main and record.attribute and not _repeated(result, record)
    ]
    return _cells(placed)


def _repeated(result: AuditResult, record: Record) -> bool:
    """A class that is the favourable one is told once, and so is a class when the other is its mirror."""
    return record.scope == "class" and record.class_ == result.favourable and record.label is None


def contrast_rows(result: AuditResult) -> Table:
    """Every signed contrast, findings first; where the page has no room for all of them, the widest of each first."""
    placed = [item for item in enumerate(result.records) if item[1].kind == "contrast"]
    crowded = len(placed) > MOST_ROWS
    placed.sort(key=lambda item: (*_verdict_order(item[1]), -_width(item[1]) if crowded else 0.0))
    return _cells(placed)


def gap_tables(result: AuditResult) -> list[Table]:
    """The gaps of each attribute: the main measures, then the others."""
    placed = sorted(main_records(result, ("gap", "ratio", "summary")), key=lambda item: reading_order(item[1].measure))
    tables: list[Table] = []
    for subject in subjects_of(result):
        own = [cell(place, record) for place, record in placed if subject.has(record)]
        regression = not any(row["measure"] in GAPS for row in own)
        main = [row for row in own if row["measure"] in GAPS or (regression and row["kind"] == "gap")]
        if own:
            others = [row for row in own if row not in main]
            tables.append({"title": subject.title, "main": main, "others": others})
    return tables


def other_gap_rows(result: AuditResult) -> Table:
    """Gaps of single classes and labels, and within the values of a control column."""
    main = {place for place, _ in main_records(result, ("gap", "ratio", "summary"))}
    placed = [
        (place, record)
        for place, record in enumerate(result.records)
        if record.kind in ("gap", "ratio") and place not in main and not _repeated(result, record)
        and (record.measure in GAPS or record.control is not None)
    ]  # fmt: skip
    return _cells(placed)


def _verdict_order(record: Record) -> tuple[bool, bool]:
    """Sort findings first, and what could not be computed last."""
    return (record.finding is not True, record.status != Status.OK)


def _width(record: Record) -> float:
    """Return how wide a contrast is; one that is undefined is narrower than any other."""
    return abs(record.value) if record.defined else -1.0


def _cells(placed: Sequence[Placed]) -> Table:
    """Return the cells of as many records as a page can hold; the others are counted, not made."""
    shown = [cell(place, record) for place, record in placed[:MOST_ROWS]]
    return {"rows": shown, "total": len(placed), "left_out": len(placed) - len(shown)}


def limited(rows: Sequence[Table], most: int = MOST_ROWS) -> Table:
    """Return as many rows as a page can hold, and how many there are."""
    return {"rows": list(rows[:most]), "total": len(rows), "left_out": max(len(rows) - most, 0)}


def cell(place: int, record: Record) -> Table:
    """Return what a table shows of a record; what is undefined is None."""
    return {
        "record": place,
        "measure": record.measure,
        "title": title_of(record.measure),
        "alias": record.alias,
        "kind": record.kind,
        "share": is_share(record),
        "subject": Subject(record.attribute, record.split).title,
        "class": record.class_ if record.label is None else record.label,
        "control": record.control,
        "group": record.group,
        "against": record.against,
        "value": known(record.value),
        "low": known(record.low),
        "high": known(record.high),
        "interval": record.interval,
        "numerator": known(record.numerator),
        "denominator": known(record.denominator),
        "p": known(record.p),
        "p_adjusted": known(record.p_adjusted),
        "finding": record.finding,
        "status": record.status,
        "reason": record.reason,
    }


def known(value: float | None) -> float | None:
    """Return a number that can be shown, or None."""
    return None if value is None or not math.isfinite(value) else value
