"""The dense table that every classification measure is a function of: (group, true class, predicted class).

Any number of dimensions may stand in front (thresholds, bootstrap draws): a measure computes all of them at once.
Every property below has the shape ``[..., group, class]``, each class against the rest, in the letters of
paper 004, appendix A.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.numbers import ratio as ratio

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How much weight has (group, true class, predicted class); without weights, how many rows.

    ``cells`` has the shape ``[..., groups, classes, classes]``; without a target the true-class dimension has length 1
    and only what the predictions alone can tell is defined.
    """

    cells: Floats
    groups: tuple[str, ...]
    classes: tuple[str, ...]
    has_target: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.groups), len(self.classes) if self.has_target else 1, len(self.classes))
        if self.cells.shape[-3:] != expected:
            raise ValueError(f"the table has shape {self.cells.shape[-3:]}, its labels say {expected}")

    @cached_property
    def people(self) -> Floats:
        """P + N: everybody in the group, whatever the class."""
        return np.broadcast_to(self.cells.sum(axis=(-1, -2))[..., None], self.predicted.shape)

    @cached_property
    def predicted(self) -> Floats:
        """TP + FP: predicted to be of the class."""
        return np.asarray(self.cells.sum(axis=-2))

    @cached_property
    def positives(self) -> Floats:
        """P: truly of the class."""
        self._needs_target()
        return np.asarray(self.cells.sum(axis=-1))

    @cached_property
    def negatives(self) -> Floats:
        """N: truly of another class."""
        return _less(self.people, self.positives)

    @cached_property
    def true_positives(self) -> Floats:
        """TP: of the class and predicted so."""
        self._needs_target()
        return np.diagonal(self.cells, axis1=-2, axis2=-1)

    @cached_property
    def false_positives(self) -> Floats:
        """FP: of another class, predicted to be of this one."""
        return _less(self.predicted, self.true_positives)

    @cached_property
    def false_negatives(self) -> Floats:
        """FN: of the class, predicted to be of another."""
        return _less(self.positives, self.true_positives)

    @cached_property
    def true_negatives(self) -> Floats:
        """TN: of another class and predicted to be of another."""
        return _less(self.negatives, self.false_positives)

    @cached_property
    def correct(self) -> Floats:
        """Rows whose predicted class is the true one, the same for every class."""
        return np.broadcast_to(self.true_positives.sum(axis=-1, keepdims=True), self.predicted.shape)

    @cached_property
    def everyone(self) -> Confusion:
        """The same table with all groups taken together."""
        return Confusion(self.cells.sum(axis=-3, keepdims=True), ("everyone",), self.classes, self.has_target)

    def only(self, groups: Sequence[str]) -> Confusion:
        """Keep these groups, in this order."""
        places = [self.groups.index(group) for group in groups]
        return Confusion(self.cells[..., places, :, :], tuple(groups), self.classes, self.has_target)

    def _needs_target(self) -> None:
        if not self.has_target:
            raise ValueError("this table was counted without a target")


@dataclass(frozen=True, eq=False)
class ClassTotals(Confusion):
    """What measures read of a table, without the table: totals of each class ``[..., group, class]``.

    With very many classes a table of true by predicted class is mostly empty. ``cells`` is not filled.
    """

    predicted_of: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    positives_of: Floats | None = None
    hits_of: Floats | None = None

    def __post_init__(self) -> None:
        """The shape is that of the totals."""

    @classmethod
    def of(
        cls, groups: tuple[str, ...], classes: tuple[str, ...], predicted: Floats, positives: Floats | None,
        hits: Floats | None,
    ) -> ClassTotals:  # fmt: skip
        """Take what is predicted of each class and, with a target, what is truly of it and what is both."""
        return cls(np.zeros(0), groups, classes, positives is not None, predicted, positives, hits)

    @cached_property
    def people(self) -> Floats:
        """P + N: everybody in the group, whatever the class."""
        return np.broadcast_to(self.predicted_of.sum(axis=-1, keepdims=True), self.predicted_of.shape)

    @cached_property
    def predicted(self) -> Floats:
        """TP + FP: predicted to be of the class."""
        return self.predicted_of

    @cached_property
    def positives(self) -> Floats:
        """P: truly of the class."""
        self._needs_target()
        assert self.positives_of is not None
        return self.positives_of

    @cached_property
    def true_positives(self) -> Floats:
        """TP: of the class and predicted so."""
        self._needs_target()
        assert self.hits_of is not None
        return self.hits_of

    @cached_property
    def everyone(self) -> Confusion:
        """The same totals with all groups taken together."""
        together = (
            None if part is None else part.sum(axis=-2, keepdims=True)
            for part in (self.predicted_of, self.positives_of, self.hits_of)
        )
        predicted, positives, hits = together
        assert predicted is not None
        return ClassTotals.of(("everyone",), self.classes, predicted, positives, hits)


def _less(whole: Floats, part: Floats) -> Floats:
    """Subtract a part from its whole. What sums of weights leave behind by rounding is nothing, not a denominator."""
    rest = whole - part
    return np.where(rest <= 1e-12 * whole, 0.0, rest)


def confusion(cells: object, *, groups: Sequence[str] | None = None, classes: Sequence[str] | None = None) -> Confusion:
    """Build a table from plain numbers ``[group][true class][predicted class]``."""
    table = np.asarray(cells, dtype=np.float64)
    number = [str(place) for place in range(max(table.shape[-3:]))]
    return Confusion(
        table,
        tuple(groups) if groups is not None else tuple(number[: table.shape[-3]]),
        tuple(classes) if classes is not None else tuple(number[: table.shape[-1]]),
    )
