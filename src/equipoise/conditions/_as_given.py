"""The training data as they are: the condition that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from equipoise.conditions._sampling import shares_of
from equipoise.foundation import Floats, condition


@condition("as_given", paper="001")
@dataclass(frozen=True)
class AsGiven:
    """P' = P: the shares of the training data as they are; at a smaller size, a random part with the same shares."""

    version: ClassVar[int] = 1

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return the shares that the data have; a class or group that has no rows has none."""
        return shares_of(counts, empty=True)

    def __str__(self) -> str:
        return "as given"
