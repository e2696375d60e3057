"""The tables of an audit that a paper shows: rates, contrasts, gaps and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from equipoise.audits.change import Change
from equipoise.results import Interval, Record, Table

TESTED = ("p, corrected", "finding")
CLASS = "class"


def audit_tables(records: Iterable[Record], changes: Iterable[Change], favourable: str | None) -> Iterator[Table]:
    """Yield the tables; one without rows is left out when it is written.

    Where a favourable class was declared, what is said of it comes first, and its name stands in the caption.
    """
    every = [record for record in records if record.attribute]
    main, others = _parted(every, favourable)
    for table in (_rates(main), _contrasts(main), _gaps(main), _changes(changes)):
        yield _class_in_caption(table)
    for table in (_rates(others), _contrasts(others), _gaps(others)):
        yield replace(table, name=f"{table.name}-by-class", caption=f"{table.caption}; other classes, and all together")


def _parted(records: Sequence[Record], favourable: str | None) -> tuple[list[Record], list[Record]]:
    """Part what is told of the favourable class, or of no class at all, from what other classes and means say."""
    if favourable is None or any(record.label is not None for record in records):
        return list(records), []
    by_class = {record.measure for record in records if record.scope == CLASS}
    main = [r for r in records if r.scope == "favourable" or (r.scope == "overall" and r.measure not in by_class)]
    # The class that is favourable is told once, not again among all classes.
    others = [r for r in records if r.scope != "favourable" and r.measure in by_class and r.class_ != favourable]
    return main, others


def _class_in_caption(table: Table) -> Table:
    """Name a class that is the same in every row once; rows of measures that know no class have none."""
    place, measure = table.headings.index(CLASS), table.headings.index("measure")
    classes = {row[place] for row in table.rows} - {None}
    without = {row[measure] for row in table.rows if row[place] is None}
    if len(classes) != 1 or without & {row[measure] for row in table.rows if row[place] is not None}:
        return table
    of = f"class: {classes.pop()}" + (", where a measure is of one class" if without else "")
    return replace(
        table,
        caption=f"{table.caption}; {of}",
        headings=_dropped(table.headings, place),
        rows=tuple(_dropped(row, place) for row in table.rows),
    )


def _dropped(cells: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*cells[:place], *cells[place + 1 :])


def _rates(records: Iterable[Record]) -> Table:
    return Table(
        "rates",
        "Rates and values of each group, with 95 % intervals",
        ("of", "group", "measure", CLASS, "value", "interval", "numerator", "denominator"),
        tuple(
            (_of(r), r.group, _name(r), _class(r), r.value, Interval(r.low, r.high), r.numerator, r.denominator)
            for r in records
            if r.kind in ("rate", "value", "ratio to group")
        ),
    )


def _contrasts(records: Iterable[Record]) -> Table:
    return Table(
        "contrasts",
        "Differences between groups; intervals agree with the findings",
        ("of", "group", "against", "measure", CLASS, "difference", "interval", *TESTED),
        tuple(
            (_of(r), r.group, r.against, _name(r), _class(r), r.value, Interval(r.low, r.high), r.p_adjusted, r.finding)
            for r in records
            if r.kind == "contrast"
        ),
    )


def _gaps(records: Iterable[Record]) -> Table:
    return Table(
        "gaps",
        "Gaps in one number, with simultaneous lower bounds",
        ("of", "measure", CLASS, "value", "at least", *TESTED, "lowest", "highest"),
        tuple(
            (_of(r), _name(r), _class(r), r.value, r.low, r.p_adjusted, r.finding, r.group, r.against)
            for r in records
            if r.kind in ("gap", "ratio", "summary")
        ),
    )


def _changes(changes: Iterable[Change]) -> Table:
    return Table(
        "changes",
        "Changes of rates and of differences between groups; intervals agree with the findings",
        ("of", "group", "against", "measure", CLASS, "before", "after", "change", "interval", *TESTED),
        tuple(
            (
                _of(c), c.group or "everyone", c.against, c.alias or c.measure, c.class_, c.before, c.after, c.change,
                Interval(c.low, c.high), c.p_adjusted, c.finding,
            )
            for c in changes
        ),
    )  # fmt: skip


def _of(record: Record | Change) -> str:
    parts = [" & ".join(record.attribute), *([] if record.split is None else [record.split])]
    control = getattr(record, "control", None)
    return ", ".join([*parts, *([] if control is None else [f"within {control}"])])


def _name(record: Record) -> str:
    return record.alias or record.measure.replace("_", " ")


def _class(record: Record) -> str | None:
    return record.label if record.label is not None else record.class_


# What a change says in the columns of a record.
AS_RECORD = {"value": "change", "numerator": "numerator_after", "denominator": "denominator_after"}


def flat_changes(headings: list[str], changes: Iterable[Change]) -> Iterator[list[object]]:
    """Yield changes as rows under the headings of records: of the kind "change of rate" or "change of contrast"."""
    for change in changes:
        row: list[object] = []
        for heading in headings:
            name = AS_RECORD.get(heading, "class_" if heading == "class" else heading)
            row.append(getattr(change, name, None))
        row[headings.index("kind")] = f"change of {change.kind}"
        row[headings.index("attribute")] = " & ".join(change.attribute)
        yield row
