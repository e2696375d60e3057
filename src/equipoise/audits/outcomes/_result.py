"""What an audit returns: the card, the records, plain words, curves, and what could not be told."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from equipoise.audits._engine import Power
from equipoise.audits._group_result import ONE_NUMBER, GroupResult
from equipoise.audits._rates import FourFifths
from equipoise.audits._scores import CalibrationPoint, Curve
from equipoise.audits.change import Change, change_statements
from equipoise.audits.outcomes._tables import audit_tables, embedding_tables, flat_changes, flat_embedding, of_embedding
from equipoise.cohorts.cohort import Card
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.registry import report_of
from equipoise.foundation.text import plural
from equipoise.measures.embeddings import GAP_VARIANTS
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Finding, Measured, NarratedResult, Record, Table

if TYPE_CHECKING:
    from equipoise.audits.downstream import DownstreamRecord, PropagationPoint
    from equipoise.audits.leakage import LeakageRecord


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

    card: Card
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
        found = self.find(measure.name, scope=scope, control=None, kind=measure.kind)
        return [record for record in found if record.label is None and record.variant not in NOT_GATED]

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
        self._check_asked(measure, names)
        scopes = [scope] if scope is not None else ["favourable", "overall"]
        for wanted in scopes:
            found = self.find(measure, attribute=names, scope=wanted, control=None, label=None)
            values = {
                record.split: record.value
                for record in found
                if record.kind in ONE_NUMBER and record.variant not in OTHER_RULES
            }
            if len(values) > 1:
                raise BadInput(
                    f"{measure} has a value for each split: {listing(values)}",
                    help=f"choose one: find({measure!r}, attribute={attribute!r}, split=...).",
                )
            if values:
                return next(iter(values.values()))
        told = listing(dict.fromkeys(record.scope for record in self.find(measure, attribute=names)))
        raise BadInput(
            f"{measure} of {' & '.join(names)} is not one number in the scope {listing(scopes)}",
            available=f"gaps, ratios and summaries; {measure} has records in the scope {told}",
            help=f"look at all of them: find({measure!r}, attribute={attribute!r}).",
        )

    def _check_asked(self, measure: str, attribute: tuple[str, ...]) -> None:
        """Refuse a measure or an attribute that this audit does not have, with the nearest that it has."""
        single = [record for record in self.records if record.kind in ONE_NUMBER]
        if not self.find(measure):
            known = dict.fromkeys(name for record in single for name in (record.alias, record.measure) if name)
            raise unknown_name("measure", measure, known, "this audit")
        attributes = {" & ".join(record.attribute): None for record in single if record.attribute}
        if " & ".join(attribute) not in attributes:
            raise unknown_name("attribute", " & ".join(attribute), attributes, "this audit")
