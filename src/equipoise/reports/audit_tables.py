"""The tables of an audit as plain data: every cell names the record it shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from equipoise.audits.result import AuditResult
from equipoise.foundation.results import Record
from equipoise.reports.measure_words import GAPS, RATES, is_share, meaning_of, reading_order, title_of
from equipoise.reports.subjects import Placed, Subject, groups_of, main_records, subjects_of

Table = dict[str, object]

MOST_ROWS = 250
# Over all attributes and splits together, in the tables with a line a group.
MOST_GROUP_ROWS = 120
MOST_CLASSES = 8


def card_tables(result: AuditResult) -> list[Table]:
    """Who is in the cohort: a table for each attribute and split."""
    card = result.card
    classes = card.classes[:MOST_CLASSES]
    tables: list[Table] = []
    for subject in dict.fromkeys(Subject((row.attribute,), row.split) for row in card.groups):
        own = [row for row in card.groups if (row.attribute,) == subject.attribute and row.split == subject.split]
        rows = [
            {
                "group": row.group,
                "rows": row.rows,
                "share": row.share,
                "classes": None if row.classes is None else [_class_share(row.classes[c], row.rows) for c in classes],
            }
            for row in own
        ]
        tables.append({
            "title": subject.title, "classes": list(classes), "rows": rows,
            "more_classes": len(card.classes) - len(classes),
        })  # fmt: skip
    return _shortened(tables)


def _shortened(tables: list[Table]) -> list[Table]:
    """Return the tables with as many lines as a page can hold; each says how many it had."""
    most = max(MOST_GROUP_ROWS // max(len(tables), 1), 10)
    for table in tables:
        rows = table["rows"]
        assert isinstance(rows, list)
        table |= {"rows": rows[:most], "total": len(rows), "left_out": max(len(rows) - most, 0)}
    return tables


def _class_share(number: int, total: int | None) -> Table:
    return {"count": number, "share": number / total if total else None}


def rate_tables(result: AuditResult) -> list[Table]:
    """The main rates or values: a line a group, everyone first, each cell with its counts and its interval."""
    placed = [item for item in main_records(result, ("rate", "value")) if item[1].measure in RATES]
    tables: list[Table] = []
    for subject in subjects_of(result):
        own = [item for item in placed if subject.has(item[1])]
        everyone = [item for item in placed if not item[1].attribute and item[1].split == subject.split]
        measures = sorted({record.measure for _, record in own if record.defined}, key=reading_order)
        if not measures:
            continue
        cells = {(record.group, record.measure): cell(place, record) for place, record in [*everyone, *own]}
        tables.append({
            "title": subject.title,
            "columns": [_heading(measure, own, result) for measure in measures],
            "rows": [
                {"group": group, "cells": [cells.get((group, measure)) for measure in measures]}
                for group in ([None] if everyone else []) + list(groups_of(own))
            ],
        })  # fmt: skip
    return _shortened(tables)


def _heading(measure: str, placed: Iterable[Placed], result: AuditResult) -> Table:
    alias = next((record.alias for _, record in placed if record.measure == measure), None)
    return {"title": title_of(measure), "alias": alias, "meaning": meaning_of(measure, result.favourable)}


def all_rate_rows(result: AuditResult) -> Table:
    """Every other rate: of each class and label, and of the measures that the main table has no room for."""
    main = {place for place, record in main_records(result, ("rate", "value")) if record.measure in RATES}
    rows = [
        cell(place, record)
        for place, record in enumerate(result.records)
        if record.kind in ("rate", "value") and place not in main and record.attribute and not _repeated(result, record)
    ]
    return limited(rows)


def _repeated(result: AuditResult, record: Record) -> bool:
    """A class that is the favourable one is told once, and so is a class when the other is its mirror."""
    return record.scope == "class" and record.class_ == result.favourable and record.label is None


def contrast_rows(result: AuditResult) -> Table:
    """Every signed contrast, findings first."""
    rows = [cell(place, record) for place, record in enumerate(result.records) if record.kind == "contrast"]
    rows.sort(key=lambda row: (row["finding"] is not True, row["status"] != "ok"))
    return limited(rows)


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
    rows = [
        cell(place, record)
        for place, record in enumerate(result.records)
        if record.kind in ("gap", "ratio") and place not in main and not _repeated(result, record)
        and (record.measure in GAPS or record.control is not None)
    ]  # fmt: skip
    return limited(rows)


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
