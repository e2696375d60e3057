"""The tests of a study whose seeds are added until it is decided: at every look, and over all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from equipoise.foundation import Floats
from equipoise.stats import (
    MIN_SEEDS,
    Change,
    anytime_critical,
    anytime_p,
    banerjee_critical_value,
    banerjee_p,
    looks_p,
    nominal_level,
    paired_change,
    sources_equivalence_p,
)
from equipoise.studies.analysis._cells import SEEDS, Units
from equipoise.studies.plans import Stopping, StoppingRule


@dataclass(frozen=True, eq=False)
class Looked:
    """What the looks so far say, as arrays ``[look, case, quantity]``; a look that is not complete is NaN.

    A change is that of the first seeds, and its last source of variance is people.
    """

    stopping: Stopping
    changes: tuple[Change, ...]
    nominal: Floats

    @property
    def p(self) -> Floats:
        """The p-value over all looks that were planned."""
        smallest = _smallest(self.nominal)
        return looks_p(smallest, self.stopping.looks) if self.stopping.rule is StoppingRule.LOOKS else smallest

    def places(self, significant: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return which look speaks: that of the smallest p where it is significant, else the last that is complete."""
        complete = ~np.isnan(np.stack([change.change for change in self.changes]))
        last = np.where(complete.any(axis=0), len(self.changes) - 1 - complete[::-1].argmax(axis=0), 0)
        return np.where(significant, np.where(np.isnan(self.nominal), np.inf, self.nominal).argmin(axis=0), last)

    def change_at(self, places: NDArray[np.intp]) -> Change:
        """Return the changes of the looks that speak."""
        fields = []
        for values in zip(*self.changes, strict=True):
            stacked = np.stack(values)
            index = places[None, ..., None] if stacked.ndim > places.ndim + 1 else places[None]
            fields.append(np.take_along_axis(stacked, index, axis=0)[0])
        return Change(*fields)

    def critical(self, change: Change, level: float) -> Floats:
        """Return the smallest change that is significant, of looks that speak."""
        if self.stopping.rule is StoppingRule.LOOKS:
            return banerjee_critical_value(
                change.variances, change.degrees, float(nominal_level(level, self.stopping.looks))
            )
        return anytime_critical(
            change.single, change.variances[..., -1], change.units, level, share=self.stopping.seeds_share
        )

    def equivalence_p(self, margin: float) -> Floats:
        """Return the p-value of a change within the margin, over all looks."""
        by_look = np.stack([self._equivalence_p(change, margin) for change in self.changes])
        smallest = _smallest(by_look)
        return looks_p(smallest, self.stopping.looks) if self.stopping.rule is StoppingRule.LOOKS else smallest

    def _equivalence_p(self, change: Change, margin: float) -> Floats:
        if self.stopping.rule is StoppingRule.LOOKS:
            return sources_equivalence_p(change.change, change.variances, change.degrees, margin)
        inside = margin - np.abs(change.change)
        p = anytime_p(np.maximum(inside, 0.0), change.single, change.variances[..., -1], change.units,
                      share=self.stopping.seeds_share)  # fmt: skip
        return np.where(np.isnan(inside), np.nan, np.where(inside > 0, p, 1.0))

    def fixed_level(self, level: float, units: Floats) -> Floats:
        """Return the level of a single Student's t that is as strict as a test of the looks at a number of seeds."""
        if self.stopping.rule is StoppingRule.LOOKS:
            return np.full(units.shape, float(nominal_level(level, self.stopping.looks)))
        width = anytime_critical(1.0, 0.0, units, level, share=self.stopping.seeds_share)
        with np.errstate(invalid="ignore"):
            t = np.minimum(width * np.sqrt(units), 1e6)
            return np.asarray(np.maximum(2 * special.stdtr(np.maximum(units - 1, 1), -t), 1e-12))


def look_at(units: Sequence[Units], people: Floats, stopping: Stopping) -> Looked:
    """Test the changes of every case at every look that is complete; ``people`` is ``[case, quantity]``."""
    changes, nominal = [], []
    for seeds in stopping.looks:
        change = _first_seeds(units, seeds, people)
        changes.append(change)
        if stopping.rule is StoppingRule.LOOKS:
            nominal.append(banerjee_p(change.change, change.variances, change.degrees))
        else:
            nominal.append(
                anytime_p(
                    change.change, change.single, change.variances[..., -1], change.units, share=stopping.seeds_share
                )
            )
    return Looked(stopping, tuple(changes), np.stack(nominal))


def _first_seeds(units: Sequence[Units], seeds: int, people: Floats) -> Change:
    """Return the changes over the first seeds, with people as the last source; NaN where they are not all there."""
    changes = []
    for unit in units:
        numbers = np.array(
            [int(name) for name in unit.names[0]] if unit.unit == SEEDS and unit.pairs else [], dtype=int
        )
        first = numbers < seeds
        # One that failed is passed over; until a later one is there it may be trained yet.
        complete = len(numbers) > 0 and numbers.max() >= seeds - 1 and first.sum() >= MIN_SEEDS
        sides = [side[first] if complete else side[:0] for side in unit.values] if len(numbers) else None
        width = unit.values[0].shape[1]
        change = paired_change(*(sides or (np.empty((0, width)), np.empty((0, width)))))
        undefined = (change.units < MIN_SEEDS) | np.isnan(change.change)
        changes.append(_without_undefined(change, undefined))
    stacked = Change(*(np.stack(values) for values in zip(*changes, strict=True)))
    with_people = np.concatenate([stacked.variances, people[..., None]], axis=-1)
    known = np.concatenate([stacked.degrees, np.full((*people.shape, 1), np.inf)], axis=-1)
    return stacked._replace(variances=with_people, degrees=known)


def _without_undefined(change: Change, undefined: NDArray[np.bool_]) -> Change:
    """Return a change that is NaN where it is undefined; how many pairs there are is kept."""
    return change._replace(
        change=np.where(undefined, np.nan, change.change),
        variances=np.where(undefined[..., None], np.nan, change.variances),
        single=np.where(undefined, np.nan, change.single),
    )


def _smallest(p: Floats) -> Floats:
    """Return the smallest p over looks; NaN where there is none."""
    smallest = np.where(np.isnan(p), np.inf, p).min(axis=0)
    return np.where(np.isinf(smallest), np.nan, smallest)
