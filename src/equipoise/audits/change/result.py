"""One change: a rate, or a difference between groups, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from equipoise.results import Scope, Status


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
