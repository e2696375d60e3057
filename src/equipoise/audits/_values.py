"""Values with a standard error in each group: intervals, contrasts and gaps; of clusters by drawing them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._reasons import AuditReason
from equipoise.audits._small_groups import ClusterCounts
from equipoise.audits._view import View
from equipoise.measures.measure import get_measure
from equipoise.results import Reason, Record, because
from equipoise.stats import (
    LEVEL,
    auc_interval,
    heterogeneity,
    least_difference,
    permutation_p,
    quantile,
    spread_of,
    stretches,
    unit_totals,
    widening,
)

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


@dataclass(frozen=True)
class GapEvidence:
    """What is known of a gap: the p-value under no difference, the simultaneous lower bound, or why there is none."""

    p: float = float("nan")
    low: float = float("nan")
    reason: Reason | str | None = None
    left_out: tuple[str, ...] = ()
    draws: int | None = None
    limited_by_draws: bool | None = None


@dataclass(frozen=True)
class Spreads:
    """Standard errors of values by measure, for the groups shown; evidence of gaps; why groups have none."""

    shown: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, GapEvidence] = field(default_factory=dict)
    untold: Mapping[str, Reason | str] = field(default_factory=dict)


def with_spreads(records: Iterable[Record], view: View, spreads: Spreads) -> Iterator[Record]:
    """Yield the records: values with an interval, gaps with a p-value and a lower bound."""
    for record in records:
        if record.kind == "value" and record.measure in spreads.shown and record.group in view.shown.groups:
            error = spreads.shown[record.measure][view.shown.groups.index(record.group)]
            told = _with_interval(record, float(error))
            yield replace(told, reason=told.reason or spreads.untold.get(str(record.group)))
        elif record.kind == "gap" and record.defined and record.measure in spreads.gaps:
            yield _with_evidence(record, spreads.gaps[record.measure])
        else:
            yield record


def _with_interval(record: Record, spread: float) -> Record:
    if not record.defined or np.isnan(spread):
        return record
    if record.measure == "auc":
        low, high = (float(edge) for edge in auc_interval(np.asarray(record.value), np.asarray(spread)))
    else:
        half = float(quantile(0.95)) * spread
        low, high = record.value - half, record.value + half
    return record if np.isnan(low) else replace(record, low=low, high=high, interval="normal", level=1.0 - LEVEL)


def _with_evidence(record: Record, evidence: GapEvidence) -> Record:
    known = not np.isnan(evidence.low)
    return replace(
        record,
        p=None if np.isnan(evidence.p) else evidence.p,
        low=evidence.low if known else None,
        interval="lower-bound" if known else None,
        level=1.0 - LEVEL if known else None,
        left_out=evidence.left_out,
        draws=evidence.draws,
        limited_by_draws=evidence.limited_by_draws,
        reason=evidence.reason or record.reason,
    )


def least_gap(values: Floats, errors: Floats, units: int | None = None, risk: float = 0.05) -> float:
    """Return the least difference in a box around the groups' values, at 95 % (less the risk) together (Bonferroni).

    Errors that are from draws of so many units give a wider box.
    """
    if np.isnan(values).any() or np.isnan(errors).any():
        return float("nan")
    level = 1 - risk / len(values)
    half = float(quantile(level)) * errors * (1.0 if units is None else widening(units, level))
    return float(least_difference((values - half)[:, None], (values + half)[:, None])[0])


def standardised(evidence: GapEvidence, view: View, difference: str, gap: str) -> GapEvidence:
    """Return the evidence of a difference counted in standard deviations: the same test, and the bound as many."""
    values = get_measure(difference).by_class(view.compared)
    size = float(values.max() - values.min())
    standard = float(get_measure(gap).by_class(view.compared))
    # Both are multiples of one another; where the difference is 0 the bound is, too.
    return replace(evidence, low=evidence.low * standard / size if size > 0 else evidence.low)
