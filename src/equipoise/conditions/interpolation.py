"""Interpolation between the data and balance as a condition (paper 001, sections 3.2 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from equipoise.conditions.interpolate import checked_alpha, interpolate, mode_named
from equipoise.conditions.shares import Floats
from equipoise.foundation.registry import condition


@condition("interpolation", paper="001")
@dataclass(frozen=True)
class Interpolation:
    """P' = (1 - alpha) P + alpha Q: from the data (0) over balance (1) to the reverse (2), by mode (CB, JB, ...)."""

    mode: str
    alpha: float
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        # One spelling, so that CB and group_given_class are the same condition.
        object.__setattr__(self, "mode", mode_named(self.mode))
        object.__setattr__(self, "alpha", checked_alpha(self.alpha))

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return P'."""
        return interpolate(counts, self.mode, self.alpha)

    def __str__(self) -> str:
        return f"{self.mode.replace('_', ' ')}, alpha {self.alpha:g}"
