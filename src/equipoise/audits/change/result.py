"""One change: a rate, or a difference between groups, before and after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from equipoise.measures.measure import get_measure
from equipoise.results import Direction, Finding, Scope, Status, direction_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate of a group, or its contrast to others, before and after. What is undefined is NaN.

    ``design`` says whether the same rows were judged twice (paired) or other rows (independent).
    """

    measure: str
    alias: str | None
    kind: Literal["rate", "contrast"]
    design: Literal["paired", "independent"]
    scope: Scope
    class_: str | None
    attribute: tuple[str, ...]
    group: str | None
    against: str | None = None
    split: str | None = None
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    numerator_before: float | None = None
    denominator_before: float | None = None
    numerator_after: float | None = None
    denominator_after: float | None = None
    status: Status = Status.OK
    reason: str | None = None


def change_statements(changes: Iterable[Change]) -> Iterator[Finding]:
    """Yield what changed: a rate, by which values are better; a difference between groups, by whether it shrank."""
    for place, change in enumerate(changes):
        if change.kind == "rate":
            better = get_measure(change.measure).better
            direction = direction_of(change.change, significant=change.finding, better=better)
        elif not change.finding:
            direction = Direction.INCONCLUSIVE
        else:
            direction = Direction.BETTER if abs(change.after) < abs(change.before) else Direction.WORSE
        yield Finding(
            kind="change", measure=change.measure, alias=change.alias, attribute=change.attribute, group=change.group,
            against=change.against, class_=change.class_, split=change.split, estimate=change.change,
            low=_known(change.low), high=_known(change.high), p=change.p, p_adjusted=change.p_adjusted,
            n=change.denominator_after, n_against=change.denominator_before, status=change.status,
            reason=change.reason, direction=direction, source="changes", place=place,
        )  # fmt: skip


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
