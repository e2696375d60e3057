"""What a gap is at least: simultaneous lower bounds, from the same null that tested it, at any level.

Of a gap in rates the bound is the largest lower end over pairs of groups, with intervals as wide as the null's quantile
says that all pairs together need. Of a mean over classes each class has its share of the error. Subgroup fairness has
the least value in a box of Wilson intervals; bias amplification the shift less its standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from equipoise.audits._view import View
from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import Measure
from equipoise.results import Reason
from equipoise.stats import (
    NullSample,
    PairBound,
    bounds_of,
    box,
    critical_value,
    equivalence_p,
    least_weighted_distance,
    pairs_equivalence_p,
    spread_of,
    widening,
)
from equipoise.tallies.counts import Confusion

if TYPE_CHECKING:
    from equipoise.audits._gap_tests import RateTable

Floats = NDArray[np.float64]

# With more groups than this the null is of each group against all, and tells nothing of pairs.
MOST_PAIRED = 24


class Bound(Protocol):
    """What bounds a gap at any level, and tells whether it lies within a margin."""

    def requests(self, alpha: float) -> list[PairBound]:
        """Return the pairs to bound together with those of other gaps."""

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return both ends, of which one is None, given the ends of the pairs."""

    def equivalence_p(self, margin: float) -> float | None:
        """Return the p that the gap is the margin or more; None where there is not enough data."""


@dataclass(frozen=True, eq=False)
class GapTest:
    """The test of one gap: its p and draws, who was left out, the pair that differs most, and how it is bounded.

    ``bound`` bounds it at the level that decides in the report; ``low`` is a bound at 95% that is told as it is.
    """

    p: float = float("nan")
    draws: int | None = None
    limited_by_draws: bool | None = None
    left_out: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    bound: Bound | None = None
    low: float = float("nan")
    reason: Reason | None = None

    @classmethod
    def of(cls, sample: NullSample, **rest: Any) -> GapTest:
        """Return the test that compared a gap with its null."""
        return cls(sample.p, sample.draws, sample.limited, **rest)


@dataclass(frozen=True, eq=False)
class MeansBound:
    """The bound of a largest difference of means ``[pair]`` with their standard errors.

    Each pair has an equal share of the error on each side. ``complete`` is false where a group was left out.
    """

    differences: Floats
    errors: Floats
    degrees: Floats
    complete: bool = True

    @property
    def p(self) -> float:
        """The smallest p of Student's t over pairs, times their number: at most alpha where the bound is not 0."""
        known = np.isfinite(self.differences) & (self.errors > 0)
        if not known.any():
            return 1.0
        p = 2.0 * stats.t.sf(np.abs(self.differences[known]) / self.errors[known], self.degrees[known])
        return float(min(p.min() * known.sum(), 1.0))

    def requests(self, alpha: float) -> list[PairBound]:
        """Nothing is bounded together with other gaps."""
        return []

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return the largest lower end over pairs, at least 0."""
        known = np.isfinite(self.differences + self.errors)
        if not known.any():
            return None, None
        reach = stats.t.isf(alpha / (2.0 * known.sum()), self.degrees[known]) * self.errors[known]
        return float(max((np.abs(self.differences[known]) - reach).max(), 0.0)), None

    def equivalence_p(self, margin: float) -> float | None:
        """Return the largest p over pairs; None where a group is too small to tell."""
        if not self.complete or not len(self.differences):
            return None
        p = float(equivalence_p(self.differences, self.errors, margin, self.degrees).max())
        return None if np.isnan(p) else p


@dataclass(frozen=True, eq=False)
class GapBound:
    """How one gap is bounded; ``column`` is its class, or None for the mean over classes."""

    measure: Measure
    kind: str
    tables: tuple[RateTable, ...]
    column: int | None
    sample: NullSample | None
    view: View

    @property
    def is_ratio(self) -> bool:
        """Tell whether rates are compared by their ratio."""
        return self.measure.name in ("disparate_impact", "impact_ratio")

    @property
    def columns(self) -> list[int]:
        """The classes it is about: those in which every group has a rate."""
        if self.column is not None:
            return [self.column]
        defined = np.all([(table.trials > 0).all(axis=0) for table in self.tables], axis=0)
        return np.flatnonzero(defined).tolist()

    def requests(self, alpha: float) -> list[PairBound]:
        """Return the pairs to bound, class by class, at an error of alpha for all of them together."""
        if self.kind != "pairs":
            return []
        return [self._request(table, column, alpha) for column in self.columns for table in self.tables]

    def equivalence_p(self, margin: float) -> float | None:
        """Return the p that the largest difference is the margin or more; None where a group is too small to tell.

        Every pair of groups must be within the margin, so the largest p over pairs (and classes) counts.
        """
        if self.kind != "pairs" or self.is_ratio or self.measure.name == "standardised_mean_difference":
            return None
        found = []
        for column in self.columns:
            for table in self.tables:
                if not table.kept[:, column].all():
                    return None
                found.append(self._pairs_p(table, column, margin))
        return max(found) if found else None

    def _pairs_p(self, table: RateTable, column: int, margin: float) -> float:
        if table.proportion and table.errors is None:
            return pairs_equivalence_p(table.successes[:, column], table.trials[:, column], margin)
        rates = table.rates[:, column]
        low, high = np.triu_indices(len(rates), 1)
        degrees = np.inf if self.view.behind is None else self.view.behind.fewest(self.view.compared.groups) - 1
        return float(
            equivalence_p(rates[low] - rates[high], table.pair_errors(column)[low, high], margin, degrees).max()
        )

    def _request(self, table: RateTable, column: int, alpha: float) -> PairBound:
        kept = int(table.kept[:, column].sum())
        pairs = kept * (kept - 1) // 2
        if self.column is None:
            critical = critical_value(None, alpha / max(len(self.columns), 1), pairs * len(self.tables))
        else:
            sample = None if kept > MOST_PAIRED else self.sample
            critical = critical_value(sample, alpha, pairs * len(self.tables))
        counts, _ = table.candidates(column)
        level = 1.0 - 2.0 * float(special.ndtr(-critical))
        by_error = table.errors is not None or not table.proportion
        if by_error and not self.is_ratio:
            return PairBound(np.empty((0, 4)), level, known=_least_by_error(table, column, critical))
        return PairBound(counts, level, "ratio" if self.is_ratio else "difference")

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return the lower bound of a gap, or the upper bound of a ratio of which less is worse."""
        if self.kind == "chi":
            return self._box(alpha), None
        if self.kind == "value":
            return _least_amplification(self.view, self.column, alpha), None
        columns = self.columns
        if not columns or not len(ends):
            return None, None
        by_table = np.asarray(ends, dtype=np.float64).reshape(len(columns), len(self.tables))
        if self.is_ratio:
            upper = by_table.min(axis=1)
            if self.measure.name == "impact_ratio":
                return None, float(min(upper.mean(), 1.0)) if np.isfinite(upper).all() else 1.0
            return float(np.maximum(1.0 - upper, 0.0).mean()), None
        lows = np.nan_to_num(by_table).max(axis=1)
        if self.measure.name == "standardised_mean_difference":
            everyone = ratio(self.view.compared.everyone.predicted, self.view.compared.everyone.people)[0, columns]
            lows = lows / np.sqrt(np.maximum(everyone * (1 - everyone), 1e-12))
        squares = self.measure.name == "true_positive_rate_gap"
        return float(np.sqrt((lows**2).mean()) if squares else lows.mean()), None

    def _box(self, alpha: float) -> float | None:
        (table,) = self.tables
        columns = self.columns
        if not columns:
            return None
        low, high = box(table.successes[:, columns], table.trials[:, columns], 1.0 - alpha)
        shares = ratio(self.view.compared.people, self.view.compared.everyone.people)[:, [0]]
        return float(least_weighted_distance(low, high, np.broadcast_to(shares, low.shape)).mean())


def bound_of(
    measure: Measure, kind: str, tables: Sequence[RateTable], column: int | None, sample: NullSample | None, view: View
) -> GapBound | None:
    """Return how a gap is bounded; None where nothing bounds it."""
    if kind == "value" and measure.name != "bias_amplification":
        return None
    return GapBound(measure, kind, tuple(tables), column, sample, view)


def resolve(bounds: Sequence[Bound], alphas: Sequence[float]) -> list[tuple[float | None, float | None]]:
    """Return the (low, high) of every bound, all pairs of all of them at once."""
    requests = [bound.requests(alpha) for bound, alpha in zip(bounds, alphas, strict=True)]
    ends = bounds_of([one for own in requests for one in own])
    made, start = [], 0
    for bound, alpha, own in zip(bounds, alphas, requests, strict=True):
        made.append(bound.finish(ends[start : start + len(own)], alpha))
        start += len(own)
    return made


def _least_by_error(table: RateTable, column: int, critical: float) -> float:
    """Return the largest difference less so many of its standard errors, where a rate has one: of clusters, of F1."""
    rates, kept = table.rates[:, column], np.flatnonzero(table.kept[:, column])
    apart = np.abs(rates[:, None] - rates[None]) - critical * table.pair_errors(column)
    return float(np.nanmax(np.maximum(apart[np.ix_(kept, kept)], 0.0), initial=0.0))


def _shares(table: Confusion) -> tuple[Floats, Floats]:
    """Return each group's share of those truly of a class, and of those predicted so."""
    everyone = table.everyone
    return ratio(table.positives, everyone.positives), ratio(table.predicted, everyone.predicted)


def _least_amplification(view: View, column: int | None, alpha: float) -> float | None:
    """The signed shift of the largest group's share, less its error; the shares' covariance would only narrow it."""
    table: Confusion = view.compared
    if not table.has_target:
        return None
    everyone = table.everyone
    true_share, predicted_share = _shares(table)
    largest = true_share == true_share.max(axis=0, keepdims=True)
    ties = np.maximum(largest.sum(axis=0), 1)
    if view.drawn is not None:
        drawn_true, drawn_predicted = _shares(view.only_compared(view.drawn))
        spread = spread_of(drawn_predicted - drawn_true)
        spread *= 1.0 if view.behind is None else widening(view.behind.fewest(table.groups))
    else:
        squares = view.only_compared(view.squares).everyone
        people = (ratio(everyone.predicted**2, squares.predicted), ratio(everyone.positives**2, squares.positives))
        spread = np.sqrt(
            predicted_share * (1 - predicted_share) / np.maximum(np.nan_to_num(people[0]), 1)
            + true_share * (1 - true_share) / np.maximum(np.nan_to_num(people[1]), 1)
        )
    defined = ((everyone.positives > 0) & (everyone.predicted > 0))[0]
    if not defined.any() or (column is not None and not defined[column]):
        return None
    tests = ties.astype(np.float64) if column is not None else ties * float(defined.sum())
    shift = np.abs(predicted_share - true_share) - stats.norm.isf(alpha / tests) * spread
    lows = np.where(largest, np.maximum(shift, 0.0), 0.0).max(axis=0)
    return float(lows[column]) if column is not None else float(lows[defined].mean())
