"""Evidence for regressions: errors, residuals and correlation, of groups and between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits._contrasts import opponents, value_contrasts
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._small_groups import cluster_counts
from equipoise.audits._tallies import NumberRows
from equipoise.audits._values import (
    GapEvidence,
    Spreads,
    UnitValues,
    least_gap,
    standardised,
    unit_values,
    with_spreads,
)
from equipoise.audits._view import View
from equipoise.measures.measure import get_measure
from equipoise.results import Record
from equipoise.stats import block_p, dealt_blocks, heterogeneity, jackknife, weighted_mean_error
from equipoise.tallies.cells import Cells
from equipoise.tallies.confusion import ratio
from equipoise.tallies.counts import CLUSTER
from equipoise.tallies.residuals import WIDTH, Residuals, moments, residual_units

Floats = NDArray[np.float64]


def _residual_spread(of: Residuals) -> Floats:
    return _of_mean(of, of.mean_squared_error - (of.mean_prediction - of.mean_target) ** 2)


def _absolute_spread(of: Residuals) -> Floats:
    return _of_mean(of, of.mean_squared_error - of.mean_absolute_error**2)


def _prediction_spread(of: Residuals) -> Floats:
    return _of_mean(of, of.variance_prediction)


def _root_spread(of: Residuals) -> Floats:
    """The error of a mean of squares, and a root's slope: 1 / (2 root)."""
    spread = _of_mean(of, of.mean_fourth_power - of.mean_squared_error**2)
    root = np.sqrt(of.mean_squared_error)
    slope: Floats = np.divide(0.5, root, out=np.zeros_like(root), where=root > 0)
    return spread * slope


def _pearson_spread(of: Residuals) -> Floats:
    """Fisher's, of normal numbers: (1 - r^2) / sqrt(n - 3)."""
    r, people = get_measure("pearson").by_class(of), np.nan_to_num(ratio(of.weight**2, of.squared_weight))
    spread: Floats = np.divide(1 - r**2, np.sqrt(np.maximum(people - 3, 0.0)), out=np.full_like(r, np.nan),
                               where=people > 3)  # fmt: skip
    return spread


def _of_mean(of: Residuals, variance: Floats) -> Floats:
    return weighted_mean_error(np.maximum(np.nan_to_num(variance), 0.0), of.weight, of.squared_weight)


Statistic = Callable[[Residuals], Floats]

SPREADS: dict[str, Statistic] = {
    "mean_residual": _residual_spread,
    "mean_absolute_error": _absolute_spread,
    "root_mean_squared_error": _root_spread,
    "mean_prediction": _prediction_spread,
    "pearson": _pearson_spread,
}
CONTRASTED = ("mean_residual", "mean_absolute_error", "pearson")


def residual_evidence(
    records: Iterable[Record], view: View, rows: NumberRows | None, generator: np.random.Generator, draws: int,
    testing: MultipleTesting,
) -> Iterator[Record]:  # fmt: skip
    """Yield the records with intervals, tests and bounds, and add the contrasts to the tests.

    With the rows at hand errors are the jackknife's and tests permute; else both have their large-sample form.
    """
    shown = {name: spread(view.shown) for name, spread in SPREADS.items()}
    if rows is not None:
        shown = _jackknifed(rows, view, shown, generator)
    places = [view.shown.groups.index(group) for group in view.compared.groups]
    compared = {name: errors[places] for name, errors in shown.items()}
    gaps, permuted = {}, None
    if len(places) > 1:
        permuted = None if rows is None else _permuted(rows, view, generator, draws)
        for name, errors in compared.items():
            values, gap = get_measure(name).by_class(view.compared), f"{name}_difference"
            # Groups with equal values may spread unequally: the permuted p and that of the errors must both be small.
            p = _p(values, errors) if permuted is None else float(np.fmax(permuted[gap], _p(values, errors)))
            gaps[gap] = GapEvidence(p, least_gap(values, errors, risk=view.risk))
    yield from _told(records, view, Spreads(shown, gaps), compared, testing, permuted)


def _jackknifed(
    rows: NumberRows, view: View, known: dict[str, Floats], generator: np.random.Generator
) -> dict[str, Floats]:
    """Return the jackknife's standard errors, NaN where there are too few people for any."""
    places, sums = rows.places(view.attribute, view.shown.groups), rows.sums(view.shown.pivot)
    measures = {name: get_measure(name).by_class for name in SPREADS}
    found = [
        jackknife(sums[places == group], lambda left: moments(left, ("",), view.shown.pivot), measures, generator)
        for group in range(len(view.shown.groups))
    ]
    return {
        name: np.where(np.isnan(errors), np.nan, np.array([errors_of[name] for errors_of in found]))
        for name, errors in known.items()
    }


def _permuted(rows: NumberRows, view: View, generator: np.random.Generator, draws: int) -> dict[str, float]:
    """Return the p-values of gaps and of contrasts under permuted groups."""
    of: Residuals = view.compared
    pairs = opponents(view.compared.groups, view.reference, of.weight)
    statistics: dict[str, Statistic] = {f"{name}_difference": _spread_out(name) for name in SPREADS}
    for name in CONTRASTED:
        for number, (group, others, _) in enumerate(pairs):
            statistics[f"{name} {number}"] = _apart(name, group, others, of.weight)
    blocks = dealt_blocks(rows.sums(of.pivot), rows.places(view.attribute, of.groups), len(of.groups), generator)
    return block_p(blocks, lambda sums: moments(sums, of.groups, of.pivot), statistics, generator, draws, view.tests)


def _spread_out(name: str) -> Statistic:
    """Cochran's Q of all groups; NaN where one of them has no value or no error."""

    def statistic(of: Residuals) -> Floats:
        values, errors = get_measure(name).by_class(of), SPREADS[name](of)
        known = ~np.isnan(values) & (errors > 0)
        return np.where(known.all(axis=-1), heterogeneity(values, errors), np.nan)

    return statistic


def _apart(name: str, group: int, others: list[int], sizes: Floats) -> Statistic:
    """The distance of a group from others in units of its error; groups without an error are left out."""

    def statistic(of: Residuals) -> Floats:
        values, errors = get_measure(name).by_class(of), SPREADS[name](of)
        known = ~np.isnan(values + errors)
        weights = np.where(known, sizes, 0.0)[..., others]
        weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
        rest, spread = (
            (weights**power * np.where(known, part, 0.0)[..., others] ** power).sum(axis=-1)
            for power, part in ((1, values), (2, errors))
        )
        return ratio(np.abs(values[..., group] - rest), np.sqrt(errors[..., group] ** 2 + spread))

    return statistic


def _p(values: Floats, errors: Floats) -> float:
    """The large-sample form of a permutation test of the studentised values: Cochran's Q has a chi-square law."""
    if np.isnan(values).any() or not (errors > 0).all():
        return float("nan")
    return float(stats.chi2.sf(heterogeneity(values, errors), len(values) - 1))


def clustered_residual_evidence(
    records: Iterable[Record],
    view: View,
    cells: Cells,
    generator: np.random.Generator,
    draws: int,
    testing: MultipleTesting,
) -> Iterator[Record]:
    """Yield the records with intervals, tests and bounds from clusters drawn again; ``cells`` tells the clusters."""
    of: Residuals = view.compared
    units = residual_units(cells, CLUSTER, view.attribute, of)

    def numbers(totals: Floats) -> dict[str, Floats]:
        sums = np.moveaxis(totals.reshape(len(totals), WIDTH, len(of.groups)), 1, -1)
        drawn = moments(sums, of.groups, of.pivot)
        return {name: get_measure(name).by_class(drawn) for name in SPREADS}

    rows = units[:, : len(of.groups)]
    known = unit_values(units, numbers, generator, draws, cluster_counts(rows, of.groups))
    compared = {name: known.errors(name) for name in SPREADS}
    shown = {name: known.errors_for(name, view.shown.groups) for name in SPREADS}
    gaps = {f"{name}_difference": known.gap(name, view.risk) for name in SPREADS} if len(of.groups) > 1 else {}
    yield from _told(records, view, Spreads(shown, gaps, known.untold), compared, testing, units=known)


def _told(
    records: Iterable[Record], view: View, spreads: Spreads, errors: dict[str, Floats], testing: MultipleTesting,
    permuted: dict[str, float] | None = None, units: UnitValues | None = None,
) -> Iterator[Record]:  # fmt: skip
    gaps = dict(spreads.gaps)
    if gaps:
        gap = "prediction_standardised_difference"
        gaps[gap] = standardised(gaps["mean_prediction_difference"], view, "mean_prediction", gap)
    yield from with_spreads(records, view, replace(spreads, gaps=gaps))
    if gaps:
        for name in CONTRASTED:
            own = None if permuted is None else [p for test, p in permuted.items() if test.startswith(f"{name} ")]
            testing.add(value_contrasts(get_measure(name), view, errors[name], own, units))
