"""One rate of some groups, before and after."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._spec import AuditSpec
from equipoise.audits.view import View
from equipoise.measures.measure import Measure
from equipoise.results import Status
from equipoise.stats import Estimate

Floats = NDArray[np.float64]
Three = tuple[float, float, float]
Four = tuple[float, float, float, float]


@dataclass(frozen=True)
class Side:
    """A rate after and before (in that order), the fewest people behind it, and what its tests need.

    ``pairs`` are the gained, the lost and all rows of a rate of the same rows; ``samples`` successes and trials of two.
    """

    successes: tuple[float, float]
    trials: tuple[float, float]
    people: float
    estimate: Estimate
    pairs: Three | None = None
    samples: Four | None = None

    @property
    def after(self) -> float:
        """The rate now."""
        return self.successes[0] / self.trials[0] if self.trials[0] > 0 else float("nan")

    @property
    def before(self) -> float:
        """The rate it is held against."""
        return self.successes[1] / self.trials[1] if self.trials[1] > 0 else float("nan")


class Sides(ABC):
    """The rates of one attribute and split. ``groups`` are compared; ``absent`` ones are named with the reason."""

    design: Literal["paired", "independent"]

    def __init__(self, spec: AuditSpec, view: View, absent: Mapping[str, tuple[Status, str]], people: Floats) -> None:
        self.view = view
        self.absent = absent
        self.people = people
        self.tested = spec.draws > 0
        self.has_target: bool = view.compared.has_target

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are compared."""
        groups: tuple[str, ...] = self.view.compared.groups
        return groups

    @abstractmethod
    def side(self, measure: Measure, place: int | None, groups: Sequence[int]) -> Side:
        """Return a rate of some groups taken together."""

    @abstractmethod
    def whole(self, measure: Measure, place: int | None) -> Side:
        """Return a rate over everybody, with those who have no group."""

    def lone(self, measure: Measure, place: int | None, group: str) -> tuple[float, float]:
        """Return what is known of a group that cannot be compared: its rate before and after."""
        return float("nan"), float("nan")
