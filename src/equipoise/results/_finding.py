"""A finding: a typed statement with its subject, estimate, interval, test and direction; words come from it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from equipoise.results._enums import Direction, Status
from equipoise.results._reasons import Reason

Better = Literal["low", "high", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement that a result makes: what was compared with what, by how much, and whether that is confirmed.

    ``kind`` says which comparison it is: a ``contrast`` between groups, a ``gap`` over all groups, a ``change`` over
    time, or a ``comparison`` with a baseline. ``group`` and ``treatment`` are what it is about, ``against`` and
    ``baseline`` what that was compared with, ``n`` and ``n_against`` how many people or runs stand on each side.
    ``low`` and ``high`` hold at ``level``. ``source`` names the field of the result that the numbers come from, and
    ``place`` the position in it.
    """

    kind: str
    measure: str
    estimate: float
    direction: Direction
    alias: str | None = None
    attribute: tuple[str, ...] = ()
    group: str | None = None
    against: str | None = None
    class_: str | None = None
    label: str | None = None
    split: str | None = None
    control: str | None = None
    condition: str | None = None
    learner: str | None = None
    treatment: str | None = None
    baseline: str | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    n: float | None = None
    n_against: float | None = None
    status: Status = Status.OK
    reason: Reason | str | None = None
    source: str = "records"
    place: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the data show it: a difference, or that there is none beyond the margin."""
        return self.direction != Direction.INCONCLUSIVE

    @property
    def tested(self) -> bool:
        """Whether a test was made."""
        return self.p is not None and self.p == self.p


FINDING_NUMBERS = ("estimate", "low", "high", "level", "p", "p_adjusted", "n", "n_against")


def direction_of(
    estimate: float, *, significant: bool | None, better: Better = "none", equivalent: bool | None = None
) -> Direction:
    """Return which way a tested difference points, given which values of its measure are better."""
    if significant:
        if better == "none" or estimate == 0:
            return Direction.DIFFERENT
        return Direction.BETTER if (estimate < 0) == (better == "low") else Direction.WORSE
    return Direction.EQUIVALENT if equivalent else Direction.INCONCLUSIVE
