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

    Parameters
    ----------
    kind : str
        Which comparison it is: a ``contrast`` between groups, a ``gap`` over all groups, a ``change`` over time, a
        ``comparison`` with a baseline.
    measure, alias : str
        What was measured, and its short name.
    estimate : float
        The difference; NaN where it is undefined.
    direction : Direction
        Which way it points; inconclusive where nothing is shown.
    attribute, group, against, class_, label, split, control
        Which people it is about, and with whom they were compared.
    condition, learner, treatment, baseline : str, optional
        Which training it is about, and with which it was compared.
    low, high, level : float, optional
        The interval, and the confidence level at which it holds.
    p, p_adjusted : float, optional
        The p-value, and the same after correction for all tests of the report.
    n, n_against : float, optional
        How many people or runs stand on each side.
    status, reason : Status, Reason
        Whether there is a number to read; otherwise why not.
    source, place : str, int
        The field of the result that the numbers come from, and the position in it.
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
    reason: Reason | None = None
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
