"""Upstream gap against downstream gap: does bias in the embedding carry over to what is built on it (paper 000)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.audits.downstream.result import Downstream, DownstreamRecord
from equipoise.foundation.errors import BadInput, listing
from equipoise.results import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationPoint:
    """One point of the figure: an upstream gap across, a downstream gap up."""

    upstream_measure: str
    attribute: str
    group: str | None
    against: str | None
    learner: str
    training: str
    measure: str
    upstream: float
    downstream: float
    low: float | None
    high: float | None
    p: float | None
    status: str
    reason: str | None


def propagation(
    upstream: Mapping[str, float] | Mapping[tuple[str, str], float], result: Downstream, *, measure: str = "recall@1"
) -> tuple[PropagationPoint, ...]:
    """Pair each upstream gap with every downstream gap of the same attribute and, where it is named, group.

    ``upstream`` maps an attribute, or (attribute, group), to its gap. Of an attribute with three groups or more the
    attribute alone means the largest downstream gap. Both gaps should say "positive: worse for the group".
    """
    points: list[PropagationPoint] = []
    for key, value in upstream.items():
        attribute, group = (key, None) if isinstance(key, str) else key
        found = _gaps(result, attribute, group)
        if not found:
            known = dict.fromkeys((r.attribute, r.group) for r in result.records if r.kind == "gap")
            raise BadInput(
                f"There is no downstream gap for {key!r}",
                available=listing(f"{name!r}, {who!r}" for name, who in known),
            )
        points += [_point(measure, attribute, float(value), record) for record in found]
    return tuple(points)


def _gaps(result: Downstream, attribute: str, group: str | None) -> tuple[DownstreamRecord, ...]:
    if group is not None:
        return result.find(attribute=attribute, kind="gap", group=group)
    return result.find(attribute=attribute, kind="largest gap") or result.find(attribute=attribute, kind="gap")


def _point(measure: str, attribute: str, value: float, record: DownstreamRecord) -> PropagationPoint:
    untold = "the upstream gap is undefined" if math.isnan(value) else None
    return PropagationPoint(
        upstream_measure=measure,
        attribute=attribute,
        group=record.group,
        against=record.against,
        learner=record.learner,
        training=record.training,
        measure=record.measure,
        upstream=value,
        downstream=record.value,
        low=record.low,
        high=record.high,
        p=record.p,
        status=Status.UNDEFINED if untold else record.status,
        reason=untold or record.reason,
    )
