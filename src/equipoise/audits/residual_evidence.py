"""Evidence for regressions: errors, residuals and correlation, of groups and between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.contrasts import value_contrasts
from equipoise.audits.proof import Proof
from equipoise.audits.spreads import GapEvidence, Spreads, least_gap, standardised, with_spreads
from equipoise.audits.unit_values import unit_values
from equipoise.audits.view import View
from equipoise.evidence.ranking import mean_spread
from equipoise.evidence.score_null import heterogeneity
from equipoise.foundation.results import Record
from equipoise.measures.measure import get_measure
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
    """Fisher's: (1 - r^2) / sqrt(n - 3)."""
    r, people = get_measure("pearson").by_class(of), np.nan_to_num(ratio(of.weight**2, of.squared_weight))
    spread: Floats = np.divide(1 - r**2, np.sqrt(np.maximum(people - 3, 0.0)), out=np.full_like(r, np.nan),
                               where=people > 3)  # fmt: skip
    return spread


def _of_mean(of: Residuals, variance: Floats) -> Floats:
    return mean_spread(np.maximum(np.nan_to_num(variance), 0.0), of.weight, of.squared_weight)


SPREADS: dict[str, Callable[[Residuals], Floats]] = {
    "mean_residual": _residual_spread,
    "mean_absolute_error": _absolute_spread,
    "root_mean_squared_error": _root_spread,
    "mean_prediction": _prediction_spread,
    "pearson": _pearson_spread,
}
CONTRASTED = ("mean_residual", "mean_absolute_error", "pearson")


def residual_evidence(records: Iterable[Record], view: View, proof: Proof) -> Iterator[Record]:
    """Yield the records with intervals, tests and bounds, and hand the contrasts to the proof."""
    compared = {name: spread(view.compared) for name, spread in SPREADS.items()}
    gaps = {}
    if len(view.compared.groups) > 1:
        for name, errors in compared.items():
            values = get_measure(name).by_class(view.compared)
            gaps[f"{name}_difference"] = GapEvidence(_p(values, errors), least_gap(values, errors))
    shown = {name: spread(view.shown) for name, spread in SPREADS.items()}
    yield from _told(records, view, Spreads(shown, gaps), compared, proof)


def _p(values: Floats, errors: Floats) -> float:
    """The large-sample form of a permutation test of the studentised values: Cochran's Q has a chi-square law."""
    if np.isnan(values).any() or not (errors > 0).all():
        return float("nan")
    return float(stats.chi2.sf(heterogeneity(values, errors), len(values) - 1))


def clustered_residual_evidence(
    records: Iterable[Record], view: View, cells: Cells, generator: np.random.Generator, draws: int, proof: Proof
) -> Iterator[Record]:
    """Yield the records with intervals, tests and bounds from clusters drawn again; ``cells`` tells the clusters."""
    of: Residuals = view.compared
    units = residual_units(cells, CLUSTER, view.attribute, of)

    def numbers(totals: Floats) -> dict[str, Floats]:
        sums = np.moveaxis(totals.reshape(len(totals), WIDTH, len(of.groups)), 1, -1)
        drawn = moments(sums, of.groups, of.pivot)
        return {name: get_measure(name).by_class(drawn) for name in SPREADS}

    known = unit_values(units, numbers, generator, draws)
    compared = {name: known.errors(name) for name in SPREADS}
    shown = {name: known.errors_for(name, of.groups, view.shown.groups) for name in SPREADS}
    gaps = {f"{name}_difference": known.gap(name) for name in SPREADS} if len(of.groups) > 1 else {}
    yield from _told(records, view, Spreads(shown, gaps), compared, proof)


def _told(
    records: Iterable[Record], view: View, spreads: Spreads, errors: dict[str, Floats], proof: Proof
) -> Iterator[Record]:
    gaps = dict(spreads.gaps)
    if gaps:
        gap = "prediction_standardised_difference"
        gaps[gap] = standardised(gaps["mean_prediction_difference"], view, "mean_prediction", gap)
    yield from with_spreads(records, view, Spreads(spreads.shown, gaps))
    if gaps:
        for name in CONTRASTED:
            proof.add(value_contrasts(get_measure(name), view, errors[name]))
