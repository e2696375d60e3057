"""The training rows of every trial: drawn from a cohort's training split as each condition says, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise.conditions.condition import Condition
from equipoise.conditions.feasible import Feasibility
from equipoise.conditions.sampling import draw, feasibility_of, largest_size
from equipoise.conditions.shares import Floats
from equipoise.foundation.errors import BadInput
from equipoise.studies.plans.naming import BadPlan
from equipoise.training.material import Codes, Material


@dataclass(frozen=True, eq=False)
class Drawing:
    """Training rows by class (or quarter, in a regression) and group, and the conditions that will be compared."""

    material: Material
    conditions: Sequence[Condition]
    wanted: int | None = None

    @property
    def cell(self) -> Codes:
        """The class or quarter of each training row, below 0 where it has none."""
        assert self.material.train.cell is not None
        return self.material.train.cell

    @property
    def group(self) -> Codes:
        """The group of each training row, below 0 where it has none."""
        assert self.material.train.group is not None
        return self.material.train.group

    @cached_property
    def counts(self) -> Codes:
        """How many training rows of each class are in each group."""
        shape = (len(self.material.classes), len(self.material.groups))
        known = (self.cell >= 0) & (self.group >= 0)
        return np.bincount(self.cell[known] * shape[1] + self.group[known], minlength=shape[0] * shape[1]).reshape(
            shape
        )

    @cached_property
    def tables(self) -> list[Floats]:
        """The shares that each condition wants."""
        return [self._shares(condition) for condition in self.conditions]

    def _shares(self, condition: Condition) -> Floats:
        try:
            return condition.probabilities(self.counts, self.material.classes, self.material.groups)
        except BadInput as error:
            told = BadInput(f"The condition {condition}: {error.given}", allowed=error.allowed, way_out=error.way_out)
            raise BadPlan(told, ("conditions",)) from error

    @cached_property
    def largest(self) -> int:
        """The largest size at which no row is repeated under any of the conditions."""
        return largest_size(self.counts, self.tables)

    @property
    def size(self) -> int:
        """How many training rows every condition draws."""
        return self.largest if self.wanted is None else self.wanted

    def feasibility(self, place: int) -> Feasibility:
        """Say what one condition asks of the data."""
        return feasibility_of(
            self.counts,
            self.tables[place],
            self.size,
            classes=self.material.classes,
            groups=self.material.groups,
            largest=self.largest,
            unlabelled=len(self.cell) - int(self.counts.sum()),
        )

    def rows(self, place: int, seed: int) -> Codes:
        """Draw the rows of one condition and seed, as positions among the training rows; an empty cell is refused."""
        return draw(
            self.cell,
            self.group,
            self.tables[place],
            self.size or None,
            seed=seed,
            classes=self.material.classes,
            groups=self.material.groups,
            largest=self.largest,
        ).rows
