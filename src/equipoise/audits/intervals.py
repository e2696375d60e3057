"""Intervals of rates, and how many people are behind each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._small_groups import ClusterCounts
from equipoise.audits.view import View
from equipoise.measures.measure import Measure
from equipoise.stats import FEWEST_UNITS, clustered_trials, effective_counts, wilson
from equipoise.tallies.confusion import ClassTotals, Confusion, ratio

Floats = NDArray[np.float64]

# F1 counts a person twice: it is no proportion, and Wilson's interval is not for it.
NOT_PROPORTIONS = ("f1",)


def effective(measure: Measure, weights: Confusion, squares: Confusion | None) -> tuple[Floats, Floats]:
    """Return the successes and trials of unweighted rows that would know each rate as well."""
    numerators, denominators = measure.function(weights)
    if squares is None:
        return numerators, denominators
    return effective_counts(numerators, denominators, *measure.function(squares))


def clustered(
    measure: Measure, table: Confusion, behind: ClusterCounts, groups: Sequence[str], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return successes and trials as if rows were independent: so many trials as clusters give an interval at a level.

    They are NaN in a group that has too few clusters.
    """
    rates = ratio(*measure.function(table))
    trials = np.full_like(rates, np.nan)
    for place, group in enumerate(groups):
        if behind.of([group]) >= FEWEST_UNITS:
            x, n = measure.function(_of_clusters(behind, group, table))
            trials[place] = clustered_trials(x[:, 0], n[:, 0], level)
    return np.nan_to_num(rates) * trials, trials


def _of_clusters(behind: ClusterCounts, group: str, table: Confusion) -> ClassTotals:
    """Return the totals of each class in one group, ``[cluster, 1, class]``, of the clusters that have a row in it."""
    units = behind.of_group(group).tocsr()
    units = units[np.flatnonzero(units.sum(axis=1))]
    classes = len(table.classes)
    own = units.tocoo()
    truth, guess = own.col // classes, own.col % classes

    def by_class(of: NDArray[np.integer[Any]], kept: NDArray[np.bool_] | slice) -> Floats:
        made = sparse.coo_array((own.data[kept], (own.row[kept], of[kept])), shape=(units.shape[0], classes))
        return np.asarray(made.toarray(), dtype=np.float64)[:, None, :]

    everything = slice(None)
    if not table.has_target:
        return ClassTotals.of((group,), table.classes, by_class(guess, everything), None, None)
    return ClassTotals.of(
        (group,), table.classes, by_class(guess, everything), by_class(truth, everything),
        by_class(guess, truth == guess),
    )  # fmt: skip


def trials_of(measure: Measure, view: View, groups: Sequence[str], level: float = 0.95) -> tuple[Floats, Floats]:
    """Return successes and trials of some groups of a view, with weights and clusters taken into account.

    With clusters they serve an interval at this level, and are NaN in a group that has too few clusters.
    """
    table = view.shown.only(groups)
    if view.behind is not None:
        return clustered(measure, table, view.behind, groups, level)
    return effective(measure, table, None if view.squares is None else view.squares.only(groups))


def rate_intervals(measure: Measure, view: View, values: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return Wilson's interval for every group (and class), and the effective trials behind it.

    All are NaN where the rate is no proportion.
    """
    if measure.name in NOT_PROPORTIONS:
        unknown = np.full_like(values, np.nan)
        return unknown, unknown, unknown
    successes, trials = trials_of(measure, view, view.shown.groups)
    return *wilson(successes, trials, level), trials
