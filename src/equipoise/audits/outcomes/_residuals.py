"""Evidence for regressions: errors, residuals and correlation, of groups and between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from equipoise.audits._contrasts import opponents
from equipoise.audits._multiple_testing import GapTest
from equipoise.audits._tallies import NumberRows, View, cluster_counts
from equipoise.audits._values import Evidence, ValueStatistic, clustered_evidence, least_gap
from equipoise.foundation import Floats, ratio
from equipoise.measures import get_measure
from equipoise.stats import (
    block_p,
    heterogeneity,
    jackknife,
    row_blocks,
    weighted_mean_standard_error,
)
from equipoise.tallies import (
    CLUSTER_AXIS,
    RESIDUAL_SUMS,
    Cells,
    ResidualMoments,
    residual_moments,
    residual_units,
)

Statistic = Callable[[ResidualMoments], Floats]


def _residual_spread(of: ResidualMoments) -> Floats:
    return _of_mean(of, of.mean_squared_error - (of.mean_prediction - of.mean_target) ** 2)


def _absolute_spread(of: ResidualMoments) -> Floats:
    return _of_mean(of, of.mean_squared_error - of.mean_absolute_error**2)


def _prediction_spread(of: ResidualMoments) -> Floats:
    return _of_mean(of, of.variance_prediction)


def _root_spread(of: ResidualMoments) -> Floats:
    """The error of a mean of squares, and a root's slope: 1 / (2 root)."""
    spread = _of_mean(of, of.mean_fourth_power - of.mean_squared_error**2)
    root = np.sqrt(of.mean_squared_error)
    slope: Floats = np.divide(0.5, root, out=np.zeros_like(root), where=root > 0)
    return spread * slope


def _pearson_spread(of: ResidualMoments) -> Floats:
    """Fisher's, of normal numbers: (1 - r^2) / sqrt(n - 3)."""
    r, people = get_measure("pearson").by_class(of), np.nan_to_num(ratio(of.weight**2, of.squared_weight))
    spread: Floats = np.divide(1 - r**2, np.sqrt(np.maximum(people - 3, 0.0)), out=np.full_like(r, np.nan),
                               where=people > 3)  # fmt: skip
    return spread


def _of_mean(of: ResidualMoments, variance: Floats) -> Floats:
    return weighted_mean_standard_error(np.maximum(np.nan_to_num(variance), 0.0), of.weight, of.squared_weight)


STATISTICS = (
    ValueStatistic(name="mean_residual", error=_residual_spread, contrasted=True),
    ValueStatistic(name="mean_absolute_error", error=_absolute_spread, contrasted=True),
    ValueStatistic(name="root_mean_squared_error", error=_root_spread),
    ValueStatistic(
        name="mean_prediction", error=_prediction_spread, standardised="prediction_standardised_difference"
    ),
    ValueStatistic(name="pearson", error=_pearson_spread, contrasted=True),
)  # fmt: skip
SPREADS: dict[str, Statistic] = {
    statistic.name: statistic.error for statistic in STATISTICS if statistic.error is not None
}
CONTRASTED = tuple(statistic.name for statistic in STATISTICS if statistic.contrasted)


def residual_evidence(view: View, rows: NumberRows | None, generator: np.random.Generator, draws: int) -> Evidence:
    """Return errors, tests and bounds of a regression's numbers.

    With the rows at hand errors are the jackknife's and tests permute; else both have their large-sample form.
    """
    shown = {name: spread(view.reported) for name, spread in SPREADS.items()}
    if rows is not None:
        shown = _jackknifed(rows, view, shown, generator)
    indices = [view.reported.groups.index(group) for group in view.compared.groups]
    compared = {name: errors[indices] for name, errors in shown.items()}
    if len(indices) < 2:
        return Evidence(shown, compared)
    of_gaps, of_contrasts = ({}, {}) if rows is None else _permuted(rows, view, generator, draws)
    gaps = {}
    for statistic in STATISTICS:
        values, errors = statistic.values(view.compared), compared[statistic.name]
        # Groups with equal values may spread unequally: the permuted p and that of the errors must both be small.
        p = _p(values, errors) if rows is None else float(np.fmax(of_gaps[statistic.gap], _p(values, errors)))
        gaps[statistic.gap] = GapTest(p, low=least_gap(values, errors, risk=view.risk))
    return Evidence(shown, compared, gaps, permuted=of_contrasts)


def _jackknifed(
    rows: NumberRows, view: View, spreads: dict[str, Floats], generator: np.random.Generator
) -> dict[str, Floats]:
    """Return the jackknife's standard errors, NaN where there are too few people for any."""
    group_codes, sums = rows.group_codes(view.attribute, view.reported.groups), rows.sums(view.reported.pivot)
    measures = {name: get_measure(name).by_class for name in SPREADS}
    group_errors = [
        jackknife(
            sums[group_codes == group],
            lambda left: residual_moments(left, ("",), view.reported.pivot),
            measures,
            generator,
        )
        for group in range(len(view.reported.groups))
    ]
    return {
        name: np.where(np.isnan(errors), np.nan, np.array([errors_of[name] for errors_of in group_errors]))
        for name, errors in spreads.items()
    }


def _permuted(
    rows: NumberRows, view: View, generator: np.random.Generator, draws: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the p-values of gaps and of contrasts under permuted groups."""
    of: ResidualMoments = view.compared
    pairs = opponents(view.compared.groups, view.reference, of.weight)
    statistics: dict[str, Statistic] = {statistic.gap: _heterogeneity_statistic(statistic) for statistic in STATISTICS}
    for statistic in STATISTICS:
        for number, (group, others, _) in enumerate(pairs if statistic.contrasted else ()):
            statistics[f"{statistic.name} {number}"] = _distance_statistic(statistic, group, others, of.weight)
    blocks = row_blocks(rows.sums(of.pivot), rows.group_codes(view.attribute, of.groups), len(of.groups), generator)
    p_values = block_p(
        blocks, lambda sums: residual_moments(sums, of.groups, of.pivot), statistics, generator, draws, view.tests
    )  # fmt: skip
    contrasts = {name: [p_values[f"{name} {number}"] for number in range(len(pairs))] for name in CONTRASTED}
    return {statistic.gap: p_values[statistic.gap] for statistic in STATISTICS}, contrasts


def _heterogeneity_statistic(measured: ValueStatistic) -> Statistic:
    """Cochran's Q of all groups; NaN where one of them has no value or no error."""

    def statistic(of: ResidualMoments) -> Floats:
        values, errors = measured.values(of), SPREADS[measured.name](of)
        is_defined = ~np.isnan(values) & (errors > 0)
        return np.where(is_defined.all(axis=-1), heterogeneity(values, errors), np.nan)

    return statistic


def _distance_statistic(measured: ValueStatistic, group: int, others: list[int], sizes: Floats) -> Statistic:
    """The distance of a group from others in units of its error; groups without an error are left out."""

    def statistic(of: ResidualMoments) -> Floats:
        values, errors = measured.values(of), SPREADS[measured.name](of)
        is_defined = ~np.isnan(values + errors)
        weights = np.where(is_defined, sizes, 0.0)[..., others]
        weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
        rest, spread = (
            (weights**power * np.where(is_defined, part, 0.0)[..., others] ** power).sum(axis=-1)
            for power, part in ((1, values), (2, errors))
        )
        return ratio(np.abs(values[..., group] - rest), np.sqrt(errors[..., group] ** 2 + spread))

    return statistic


def _p(values: Floats, errors: Floats) -> float:
    """The large-sample form of a permutation test of the studentised values: Cochran's Q has a chi-square law."""
    if np.isnan(values).any() or not (errors > 0).all():
        return float("nan")
    return float(stats.chi2.sf(heterogeneity(values, errors), len(values) - 1))


def clustered_residual_evidence(view: View, cells: Cells, generator: np.random.Generator, draws: int) -> Evidence:
    """Return errors, tests and bounds from clusters drawn again; ``cells`` tells the clusters."""
    of: ResidualMoments = view.compared
    units = residual_units(cells, CLUSTER_AXIS, view.attribute, of)

    def read(totals: Floats) -> ResidualMoments:
        sums = np.moveaxis(totals.reshape(len(totals), RESIDUAL_SUMS, len(of.groups)), 1, -1)
        return residual_moments(sums, of.groups, of.pivot)

    behind = cluster_counts(units[:, : len(of.groups)], of.groups)
    return clustered_evidence(STATISTICS, view, units, read, behind, generator, draws)
