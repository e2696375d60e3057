"""What an audit of outcomes returns: records, the four-fifths rule, curves, tables, and what has no number."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.audits._contrasts import Power
from equipoise.audits._group_result import SINGLE_VALUED, GroupResult
from equipoise.audits._scores import CalibrationPoint, Curve
from equipoise.audits.change import Change, change_statements
from equipoise.cohorts import CohortCard
from equipoise.foundation import (
    BadInput,
    listing,
    plural,
    report_of,
    unknown_name,
)
from equipoise.measures import (
    GAP_VARIANTS,
    Measure,
    get_measure,
)
from equipoise.results import Finding, Interval, Measured, NarratedResult, Reason, Record, Status, Table

if TYPE_CHECKING:
    from equipoise.audits.downstream import DownstreamRecord, PropagationPoint
    from equipoise.audits.leakage import LeakageRecord


@dataclass(frozen=True)
class FourFifths:
    """Whether a group is selected at least four fifths as often as another, and the chance that it is not.

    ``basis`` says who the other is: the group with the highest rate, the reference that was named, or the largest
    group. ``low`` and ``high`` are the interval of the ratio at ``level``; ``significant`` says whether the ratio is
    significantly below 0.8: the upper end is.
    """

    attribute: tuple[str, ...]
    group: str
    against: str
    basis: str
    split: str | None
    ratio: float
    probability_broken: float
    share: float
    small: bool
    low: float | None = None
    high: float | None = None
    level: float | None = None
    significant: bool | None = None


SCHEMA = "equipoise.audit/1"
# Ways to compare the groups of an embedding other than the one that is told first.
OTHER_RULES = GAP_VARIANTS[1:]
# Pooled over labels, and the other rules of an embedding's gaps: a gate looks at the one that is told first.
NOT_GATED = ("micro", *OTHER_RULES)


@dataclass(frozen=True)
class SpaceMap:
    """A picture of an embedding: two coordinates a point, with its class (where there are few) and its groups."""

    method: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    explained: tuple[float, float] | None
    of: int
    classes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, repr=False)
class AuditResult(NarratedResult, GroupResult):
    """An audit. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    kind: ClassVar[str] = "audit"

    card: CohortCard
    notes: tuple[str, ...]
    classes: tuple[str, ...]
    favourable: str | None
    curves: tuple[Curve, ...] = ()
    calibration: tuple[CalibrationPoint, ...] = ()
    four_fifths: tuple[FourFifths, ...] = ()
    power: tuple[Power, ...] = ()
    changes: tuple[Change, ...] = ()
    downstream: tuple[DownstreamRecord, ...] = ()
    leakage: tuple[LeakageRecord, ...] = ()
    propagation: tuple[PropagationPoint, ...] = ()
    map: SpaceMap | None = field(default=None, repr=False)

    def model_card(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the fairness part of a model card as Markdown, or as a page where the path ends in ``.html``.

        Parameters
        ----------
        path : path, optional
            A file to write it to.

        Returns
        -------
        str
            The text that was written.
        """
        text: str = report_of("audit").write_model_card(self, path)
        return text

    @cached_property
    def untold(self) -> tuple[str, ...]:
        """What could not be computed or tested, and why."""
        return tuple(report_of("audit").untold(self))

    def __str__(self) -> str:
        parts = [plural(self.card.rows, "row"), *self.words]
        parts += ["What could not be told:", *self.untold] if self.untold else []
        parts += ["Notes:", *self.notes] if self.notes else []
        return "\n".join(parts)

    def as_json(self) -> dict[str, object]:
        """Return the result as plain JSON values, but for the map: its points are single people."""
        parts = super().as_json()
        del parts["map"]
        head = {name: parts.pop(name) for name in ("schema", "records", "provenance", "card")}
        return {**head, "words": list(self.words), "untold": list(self.untold), **parts}

    def flat(self) -> tuple[list[str], list[list[object]]]:
        """Return the records as one table, and under them what changed, or was trained on an embedding."""
        headings, rows = super().flat()
        if self.leakage or self.downstream:
            headings = [*headings, "learner"]
            rows = [[*row, None] for row in rows]
            return headings, [*rows, *flat_embedding(headings, self.leakage, self.downstream)]
        if not self.changes:
            return headings, rows
        headings = [*headings, "before", "after", "design"]
        rows = [[*row, None, None, None] for row in rows]
        return headings, [*rows, *flat_changes(headings, self.changes)]

    @classmethod
    def measure_of(cls, name: str) -> Measure:
        """Return a registered measure by its name or alias."""
        return get_measure(name)

    def gated(self, measure: Measured) -> Sequence[Record]:
        """Return what a gate looks at: the favourable class if one is declared, else the overall number."""
        scope = "favourable" if self.favourable is not None and get_measure(measure.name).classwise else "overall"
        records = self.find(measure.name, scope=scope, control=None, kind=measure.kind)
        return [record for record in records if record.label is None and record.variant not in NOT_GATED]

    def _statements(self) -> Iterable[Finding]:
        return (*super()._statements(), *change_statements(self.changes))

    def _described(self) -> Sequence[str]:
        attributes = dict.fromkeys(name for record in self.records for name in record.attribute)
        return [plural(self.card.rows, "row"), " x ".join(attributes) or "no groups", self._findings_described()]

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a paper shows: rates, contrasts, gaps and changes; or those of an embedding."""
        if of_embedding(self.records):
            return tuple(embedding_tables(self.records, self.leakage, self.downstream))
        return tuple(audit_tables(self.records, self.changes, self.favourable))

    def value(self, measure: str, *, attribute: str | tuple[str, ...], scope: str | None = None) -> float:
        """Return one number: of the favourable class if it was declared, otherwise the overall one."""
        names = (attribute,) if isinstance(attribute, str) else tuple(attribute)
        self._check_requested(measure, names)
        scopes = [scope] if scope is not None else ["favourable", "overall"]
        for candidate in scopes:
            records = self.find(measure, attribute=names, scope=candidate, control=None, label=None)
            values = {
                record.split: record.value
                for record in records
                if record.kind in SINGLE_VALUED and record.variant not in OTHER_RULES
            }
            if len(values) > 1:
                raise BadInput(
                    f"{measure} has a value for each split: {listing(values)}",
                    help=f"choose one: find({measure!r}, attribute={attribute!r}, split=...).",
                )
            if values:
                return next(iter(values.values()))
        scopes_held = listing(dict.fromkeys(record.scope for record in self.find(measure, attribute=names)))
        raise BadInput(
            f"{measure} of {' & '.join(names)} is not one number in the scope {listing(scopes)}",
            available=f"gaps, ratios and summaries; {measure} has records in the scope {scopes_held}",
            help=f"look at all of them: find({measure!r}, attribute={attribute!r}).",
        )

    def _check_requested(self, measure: str, attribute: tuple[str, ...]) -> None:
        """Refuse a measure or an attribute that this audit does not have, with the nearest that it has."""
        single = [record for record in self.records if record.kind in SINGLE_VALUED]
        if not self.find(measure):
            names = dict.fromkeys(name for record in single for name in (record.alias, record.measure) if name)
            raise unknown_name("measure", measure, names, "this audit")
        attributes = {" & ".join(record.attribute): None for record in single if record.attribute}
        if " & ".join(attribute) not in attributes:
            raise unknown_name("attribute", " & ".join(attribute), attributes, "this audit")


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
    column, measure = table.headings.index(CLASS), table.headings.index("measure")
    classes = {row[column] for row in table.rows} - {None}
    without = {row[measure] for row in table.rows if row[column] is None}
    if len(classes) != 1 or without & {row[measure] for row in table.rows if row[column] is not None}:
        return table
    of = f"class: {classes.pop()}" + (", where a measure is of one class" if without else "")
    return replace(
        table,
        caption=f"{table.caption}; {of}",
        headings=_dropped(table.headings, column),
        rows=tuple(_dropped(row, column) for row in table.rows),
    )


def _dropped(cells: tuple[Any, ...], column: int) -> tuple[Any, ...]:
    return (*cells[:column], *cells[column + 1 :])


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


def _space_row(headings: Sequence[str], record: object, **columns: object) -> list[object]:
    values = (columns[name] if name in columns else getattr(record, name, None) for name in headings)
    return [str(value) if isinstance(value, Reason) else value for value in values]


def _attribute_of(record: Record) -> str:
    return " & ".join(record.attribute)


def _space_measure(record: Record) -> str:
    name = record.measure.replace("_", " ")
    return name if record.kind == "gap" else record.alias or name
