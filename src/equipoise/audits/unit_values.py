"""Numbers of groups whose rows come in clusters: their spread, and tests of their gaps, by drawing whole clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._reasons import AuditReason
from equipoise.audits._small_groups import ClusterCounts
from equipoise.audits.spreads import GapEvidence, least_gap
from equipoise.results import Reason, because
from equipoise.stats import heterogeneity, permutation_p, spread_of, stretches, unit_totals, widening

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class UnitValues:
    """Values of each measure by group, the same in every draw ``[draw, group]``, and the clusters behind each group.

    ``stretched`` is a factor for each draw that makes its deviations those of as few clusters as there are.
    """

    values: Mapping[str, Floats]
    drawn: Mapping[str, Floats]
    behind: ClusterCounts
    stretched: Floats

    def errors(self, name: str) -> Floats:
        """The standard error in each group; NaN where most draws cannot tell."""
        return spread_of(self.drawn[name])

    def difference_error(self, name: str, group: int, others: Sequence[int], weights: Floats) -> float:
        """The standard error of a group's distance from the weighted mean of others."""
        drawn = self.drawn[name]
        return float(spread_of(drawn[:, [group]] - (drawn[:, others] * weights).sum(axis=1, keepdims=True))[0])

    def errors_for(self, name: str, wanted: Sequence[str]) -> Floats:
        """The errors of the wanted groups for an interval of 95 %; NaN where not drawn, or of too few clusters."""
        wider = [widening(self.behind.of([group])) for group in self.behind.groups]
        known = dict(zip(self.behind.groups, (self.errors(name) * wider).tolist(), strict=True))
        return np.array([known.get(group, np.nan) for group in wanted])

    @property
    def untold(self) -> dict[str, Reason | str]:
        """Why groups have no interval, by group."""
        reasons = {group: self.behind.why_untold([group]) for group in self.behind.groups}
        return {group: reason for group, reason in reasons.items() if reason is not None}

    def gap(self, name: str, risk: float = 0.05) -> GapEvidence:
        """Test whether the groups differ: their heterogeneity against that of draws moved to a common value.

        An error that cannot be negative is too large, the more so the fewer the clusters, so what draws are off on
        average is taken off the values. But that makes them vary more than the draws do: the p-value is the larger of
        those with and without it, and the bound the lower. The bound is from each group's own error: where groups
        share clusters it is lower than it need be.
        """
        reason = self.behind.why_untold(self.behind.groups)
        if reason is not None:
            return GapEvidence(reason=reason)
        drawn, errors = self.drawn[name], self.errors(name)
        if np.isnan(errors).any():
            return GapEvidence(reason=because(AuditReason.UNDEFINED_DRAWS))
        if not (errors > 0).all():
            return GapEvidence(reason=because(AuditReason.NO_SPREAD))
        known = ~np.isnan(drawn)
        mean = np.where(known, drawn, 0.0).sum(axis=0) / known.sum(axis=0)
        null = heterogeneity((drawn - mean) * self.stretched[:, None], errors)
        fewest, seen = self.behind.fewest(self.behind.groups), (self.values[name], 2 * self.values[name] - mean)
        p = max(float(permutation_p(heterogeneity(values, errors), null)) for values in seen)
        return GapEvidence(p, min(least_gap(values, errors, fewest, risk) for values in seen))


def unit_values(
    units: sparse.csc_array, numbers: Callable[[Floats], Mapping[str, Floats]], generator: np.random.Generator,
    draws: int, behind: ClusterCounts,
) -> UnitValues:  # fmt: skip
    """Compute numbers from the totals of all units, and from those of units drawn with replacement."""
    totals = np.asarray(units.sum(axis=0), dtype=np.float64).reshape(1, -1)
    observed = {name: values[0] for name, values in numbers(totals).items()}
    drawn = numbers(unit_totals(units, generator, draws))
    return UnitValues(observed, drawn, behind, stretches(behind.fewest(behind.groups), draws, generator))
