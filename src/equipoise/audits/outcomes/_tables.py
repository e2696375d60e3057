"""The tables of an audit, of outcomes or of an embedding, as data: rates, contrasts, gaps, changes, leakage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equipoise.audits.change import Change
from equipoise.measures.embeddings import GAP_VARIANTS
from equipoise.results import Interval, Reason, Record, Status, Table

if TYPE_CHECKING:
    from equipoise.audits.downstream import DownstreamRecord
    from equipoise.audits.leakage import LeakageRecord


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
        "Rates and values of each group, with 95% intervals",
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


# The default rule is oriented: above 0 the minoritised are worse off.
RULE_NAMES = {name: "oriented" if name == "paper" else name.replace("_", " ") for name in GAP_VARIANTS}


def of_embedding(records: Iterable[Record]) -> bool:
    """Tell whether records are of an embedding: only its gaps come by several rules."""
    return any(record.kind == "gap" and record.variant in GAP_VARIANTS[1:] for record in records)


def embedding_tables(
    records: Iterable[Record], leakage: Sequence[LeakageRecord], downstream: Sequence[DownstreamRecord]
) -> Iterator[Table]:
    """Yield the tables; one without rows is left out when it is written."""
    records = [record for record in records if record.attribute]
    yield Table(
        "values",
        "Values of the space for each group, with 95% intervals",
        ("of", "group", "measure", "value", "interval", "numerator", "denominator"),
        tuple(
            (_attribute_of(r), r.group, _space_measure(r), r.value, Interval(r.low, r.high), r.numerator, r.denominator)
            for r in records
            if r.kind in ("rate", "value")
        ),
    )
    yield Table(
        "space-gaps",
        "Gaps between groups; oriented ones are positive where the minoritised are worse off",
        ("of", "measure", "rule", "value", "interval", "p, corrected", "finding"),
        tuple(
            (
                _attribute_of(r), _space_measure(r), RULE_NAMES.get(r.variant, r.variant), r.value,
                Interval(r.low, r.high), r.p_adjusted, r.finding,
            )
            for r in records
            if r.kind == "gap"
        ),
    )  # fmt: skip
    yield Table(
        "leakage",
        "How well groups can be read from the space: balanced accuracy beside chance and shuffled groups",
        ("of", "probe", "balanced accuracy", "interval", "chance", "shuffled", "p, corrected", "accuracy", "largest"),
        tuple(
            (
                r.attribute, r.probe, r.balanced, Interval(r.balanced_low, r.balanced_high), r.chance,
                r.shuffled_balanced, r.balanced_p_adjusted, r.accuracy, r.majority,
            )
            for r in leakage
        ),
    )  # fmt: skip
    yield Table(
        "downstream",
        "Classifiers trained on the points: values, and gaps that are positive where the group is worse off",
        ("of", "group", "against", "classifier", "measure", "kind", "value", "interval", "p, corrected"),
        tuple(
            (
                r.attribute or "everyone", r.group, r.against, r.learner.replace("_", " "), r.measure.replace("_", " "),
                r.kind, r.value, Interval(r.low, r.high), r.p_adjusted,
            )
            for r in downstream
        ),
    )  # fmt: skip


def flat_embedding(
    headings: Sequence[str], leakage: Iterable[LeakageRecord], downstream: Iterable[DownstreamRecord]
) -> Iterator[list[object]]:
    """Yield leakage and downstream as rows under the headings of records, and under ``learner``."""
    for record in downstream:
        yield _space_row(headings, record, kind=f"downstream {record.kind}", attribute=record.attribute)
    for probe in leakage:
        yield _space_row(
            headings, probe, measure="balanced_accuracy", kind="leakage", value=probe.balanced, learner=probe.probe,
            low=probe.balanced_low, high=probe.balanced_high, p=probe.balanced_p, p_adjusted=probe.balanced_p_adjusted,
            denominator=probe.people, status=Status.OK,
        )  # fmt: skip


def _space_row(headings: Sequence[str], record: object, **given: object) -> list[object]:
    values = (given[name] if name in given else getattr(record, name, None) for name in headings)
    return [str(value) if isinstance(value, Reason) else value for value in values]


def _attribute_of(record: Record) -> str:
    return " & ".join(record.attribute)


def _space_measure(record: Record) -> str:
    name = record.measure.replace("_", " ")
    return name if record.kind == "gap" else record.alias or name
