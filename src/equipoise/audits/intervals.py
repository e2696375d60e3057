"""Intervals of rates, and how many people are behind each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.view import View
from equipoise.evidence.resampling import spread_of, widening
from equipoise.measures.measure import Measure
from equipoise.stats import wilson
from equipoise.tallies.confusion import Confusion, ratio

Floats = NDArray[np.float64]

# F1 counts a person twice: it is no proportion, and Wilson's interval is not for it.
NOT_PROPORTIONS = ("f1",)


def effective(measure: Measure, weights: Confusion, squares: Confusion | None) -> tuple[Floats, Floats]:
    """Return successes and trials as if every row counted once: (sum of weights)^2 / sum of squared weights trials."""
    numerators, denominators = measure.function(weights)
    if squares is None:
        return numerators, denominators
    trials = ratio(denominators**2, measure.function(squares)[1])
    return np.nan_to_num(ratio(numerators, denominators) * trials), np.nan_to_num(trials)


def clustered(
    measure: Measure, table: Confusion, drawn: Confusion, clusters: int, wider: Floats
) -> tuple[Floats, Floats]:
    """Return successes and trials as if rows were independent: so many trials as give the spread of drawn clusters.

    A rate of 0 or 1 has no spread: it counts as many trials a row as the least of the others, or a cluster each.
    ``wider`` says for each group how much wider than normal its interval is; NaN where it can have none.
    """
    numerators, denominators = measure.function(table)
    rates = ratio(numerators, denominators)
    by_group = wider.reshape(-1, *[1] * (rates.ndim - 1))
    spread = spread_of(ratio(*measure.function(drawn))) * by_group
    told = (spread > 0) & (rates > 0) & (rates < 1)
    trials = np.divide(rates * (1 - rates), spread**2, out=np.zeros_like(rates), where=told)
    a_row = np.divide(trials, denominators, out=np.ones_like(rates), where=told)
    least = float(a_row[told].min()) if told.any() else clusters / max(float(table.cells.sum()), 1.0)
    trials = np.where(told, trials, np.minimum(least, 1.0) * np.nan_to_num(denominators))
    trials = np.where(np.isnan(by_group), np.nan, np.minimum(trials, denominators))
    return np.nan_to_num(rates) * trials, trials


def trials_of(measure: Measure, view: View, groups: Sequence[str], level: float = 0.95) -> tuple[Floats, Floats]:
    """Return successes and trials of some groups of a view, with weights and clusters taken into account.

    With clusters they serve an interval at this level, and are NaN in a group that has too few clusters.
    """
    table = view.shown.only(groups)
    if view.drawn is not None and view.behind is not None:
        wider = np.array([widening(view.behind.of([group]), level) for group in groups])
        return clustered(measure, table, view.drawn.only(groups), view.clusters, wider)
    return effective(measure, table, None if view.squares is None else view.squares.only(groups))


def rate_intervals(measure: Measure, view: View, values: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return Wilson's interval for every group (and class); NaN where the rate is no proportion."""
    if measure.name in NOT_PROPORTIONS:
        unknown = np.full_like(values, np.nan)
        return unknown, unknown
    return wilson(*trials_of(measure, view, view.shown.groups), level)
