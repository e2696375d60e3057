"""The training rows of every trial: drawn from a cohort's training split as each condition says, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from equipoise.conditions.condition import (
    Condition,
    SeededCondition,
    by_class,
    for_seed,
    partition_of,
    remarks_of,
    sizing_shares,
)
from equipoise.conditions.feasible import Feasibility
from equipoise.conditions.sampling import apportion, draw, feasibility_of, largest_size
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

    def _shares(self, condition: Condition, seed: int | None = None) -> Floats:
        """Return the shares that a condition wants with a seed; without one, those by which sizes are found."""
        names = (self.material.classes, self.material.groups)
        try:
            if seed is None:
                return sizing_shares(condition, self.counts, *names)
            return for_seed(condition, seed).probabilities(self.counts, *names)
        except BadInput as error:
            told = BadInput(f"The condition {condition}: {error.given}", available=error.available, help=error.help)
            raise BadPlan(told, ("conditions",)) from error

    @cached_property
    def largest(self) -> int:
        """The largest size at which no row is repeated under any of the conditions, with any seed."""
        return largest_size(self.counts, [self._shares(condition) for condition in self.conditions])

    @property
    def size(self) -> int:
        """How many training rows every condition draws."""
        return self.largest if self.wanted is None else self.wanted

    def feasibility(self, place: int) -> Feasibility:
        """Say what one condition asks of the data (that of seed 0, where the seed has a say)."""
        condition = self.conditions[place]
        asked = feasibility_of(
            self.counts,
            self._shares(condition, 0),
            self.size,
            classes=self.material.classes,
            groups=self.material.groups,
            largest=self.largest,
            unlabelled=len(self.cell) - int(self.counts.sum()),
            by_class=by_class(condition),
        )
        return replace(asked, remarks=remarks_of(condition, asked))

    def rows(self, place: int, seed: int) -> Codes:
        """Draw the rows of one condition and seed, as positions among the training rows; an empty cell is refused."""
        condition = self.conditions[place]
        return draw(
            self.cell,
            self.group,
            self._shares(condition, seed),
            self.size or None,
            seed=seed,
            classes=self.material.classes,
            groups=self.material.groups,
            largest=self.largest,
            by_class=by_class(condition),
        ).rows

    def first_alike(self, seeds: Sequence[int]) -> list[int]:
        """Return for each condition the place of the first that draws the same rows with all of these seeds.

        Rows of a cell stand in an order that hangs on the seed and the cell alone, so equal numbers in all cells are
        equal rows. What cannot be drawn is like nothing else.
        """
        firsts: dict[object, int] = {}
        return [
            firsts.setdefault(self._drawn(place, seeds) if self._can_draw(place) else place, place)
            for place in range(len(self.conditions))
        ]

    def _can_draw(self, place: int) -> bool:
        return self.size > 0 and self.feasibility(place).feasible

    def _drawn(self, place: int, seeds: Sequence[int]) -> tuple[object, ...]:
        """Return what settles the rows of a condition: how many of each cell and how classes are parted, by seed."""
        condition = self.conditions[place]
        seeded = isinstance(condition, SeededCondition)
        by_seed = [
            (
                apportion(self._shares(condition, seed), self.size, by_class=by_class(condition)).tobytes(),
                self.partition(place, seed),
            )
            for seed in (seeds if seeded else seeds[:1])
        ]
        return tuple(by_seed if seeded else by_seed * len(seeds))

    def partition(self, place: int, seed: int) -> tuple[str, ...] | None:
        """Say for every class of the material what one condition and seed make of it; None where it parts none."""
        return partition_of(self.conditions[place], self.material.classes, seed)
