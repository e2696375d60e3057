"""Numbers of groups whose rows come in clusters: their spread, and tests of their gaps, by drawing whole clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits.spreads import GapEvidence, least_gap
from equipoise.evidence.permutation import permutation_p
from equipoise.evidence.resampling import spread_of, unit_totals
from equipoise.evidence.score_null import heterogeneity

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class UnitValues:
    """Values of each measure by group, and the same in every draw ``[draw, group]``."""

    values: Mapping[str, Floats]
    drawn: Mapping[str, Floats]

    def errors(self, name: str) -> Floats:
        """The standard error in each group; NaN where most draws cannot tell."""
        return spread_of(self.drawn[name])

    def errors_for(self, name: str, own: Sequence[str], wanted: Sequence[str]) -> Floats:
        """The standard errors of the wanted groups, NaN for those that were not drawn."""
        known = dict(zip(own, self.errors(name).tolist(), strict=True))
        return np.array([known.get(group, np.nan) for group in wanted])

    def gap(self, name: str) -> GapEvidence:
        """Test whether the groups differ: their heterogeneity against that of draws moved to a common value.

        What draws are off on average is taken off the value, too: an error that cannot be negative is too large.
        """
        drawn, errors = self.drawn[name], self.errors(name)
        if np.isnan(errors).any() or not (errors > 0).all():
            return GapEvidence()
        known = ~np.isnan(drawn)
        mean = np.where(known, drawn, 0.0).sum(axis=0) / known.sum(axis=0)
        corrected = 2 * self.values[name] - mean
        null = heterogeneity(drawn - mean, errors)
        p = permutation_p(heterogeneity(corrected, errors), null)
        return GapEvidence(float(p), least_gap(corrected, errors))


def unit_values(
    units: sparse.csc_array, numbers: Callable[[Floats], Mapping[str, Floats]], generator: np.random.Generator,
    draws: int,
) -> UnitValues:  # fmt: skip
    """Compute numbers from the totals of all units, and from those of units drawn with replacement."""
    totals = np.asarray(units.sum(axis=0), dtype=np.float64).reshape(1, -1)
    observed = {name: values[0] for name, values in numbers(totals).items()}
    return UnitValues(observed, numbers(unit_totals(units, generator, draws)))
