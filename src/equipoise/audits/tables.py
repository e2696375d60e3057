"""The tables of an audit that a paper shows: rates, contrasts, gaps and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equipoise.audits.change.result import Change
from equipoise.foundation.results import Record
from equipoise.foundation.tables import Interval, Table

TESTED = ("p, corrected", "finding")


def audit_tables(records: Iterable[Record], changes: Iterable[Change]) -> Iterator[Table]:
    """Yield the tables; one without rows is left out when it is written."""
    every = [record for record in records if record.attribute]
    yield Table(
        "rates",
        "Rates and values of each group, with 95 % intervals",
        ("of", "group", "measure", "class", "value", "interval", "numerator", "denominator"),
        tuple(
            (_of(r), r.group, _name(r), _class(r), r.value, Interval(r.low, r.high), r.numerator, r.denominator)
            for r in every
            if r.kind in ("rate", "value", "ratio to group")
        ),
    )
    yield Table(
        "contrasts",
        "Differences between groups; intervals agree with the findings",
        ("of", "group", "against", "measure", "class", "difference", "interval", *TESTED),
        tuple(
            (_of(r), r.group, r.against, _name(r), _class(r), r.value, Interval(r.low, r.high), r.p_adjusted, r.finding)
            for r in every
            if r.kind == "contrast"
        ),
    )
    yield Table(
        "gaps",
        "Gaps in one number, with simultaneous lower bounds",
        ("of", "measure", "class", "value", "at least", *TESTED, "lowest", "highest"),
        tuple(
            (_of(r), _name(r), _class(r), r.value, r.low, r.p_adjusted, r.finding, r.group, r.against)
            for r in every
            if r.kind in ("gap", "ratio", "summary")
        ),
    )
    yield Table(
        "changes",
        "Changes of rates and of differences between groups; intervals agree with the findings",
        ("of", "group", "against", "measure", "class", "before", "after", "change", "interval", *TESTED),
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
