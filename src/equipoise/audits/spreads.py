"""Evidence for scores and regressions: numbers with a standard error in each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.contrasts import value_contrasts
from equipoise.audits.proof import Proof
from equipoise.audits.view import View
from equipoise.evidence.bounds import least_difference
from equipoise.evidence.proportions import quantile
from equipoise.evidence.ranking import auc_interval, auc_spread, calibration_evidence
from equipoise.foundation.results import Record
from equipoise.measures.measure import get_measure
from equipoise.tallies.residuals import Residuals
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]


def _mean_score_spread(scores: Scores) -> Floats:
    weight = scores.weight.sum(axis=(-1, -2))
    mean = scores.score_sum.sum(axis=(-1, -2)) / np.maximum(weight, 1e-300)
    variance = np.maximum(scores.square_sum.sum(axis=(-1, -2)) / np.maximum(weight, 1e-300) - mean**2, 0.0)
    return _mean_spread(variance, weight, scores.squared_weight.sum(axis=(-1, -2)))


def _mean_spread(variance: Floats, weight: Floats, squared: Floats) -> Floats:
    """Return the standard error of a weighted mean: sd * sqrt(sum of squared weights) / sum of weights."""
    effective = np.divide(weight**2, squared, out=np.zeros_like(weight), where=squared > 0)
    squares = np.divide(variance, effective - 1, out=np.full_like(weight, np.nan), where=effective > 1)
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def _residual_spread(moments: Residuals) -> Floats:
    variance = moments.mean_squared_error - (moments.mean_prediction - moments.mean_target) ** 2
    return _mean_spread(np.maximum(variance, 0.0), moments.weight, moments.squared_weight)


def _error_spread(moments: Residuals) -> Floats:
    variance = moments.mean_squared_error - moments.mean_absolute_error**2
    return _mean_spread(np.maximum(variance, 0.0), moments.weight, moments.squared_weight)


def _prediction_spread(moments: Residuals) -> Floats:
    return _mean_spread(moments.variance_prediction, moments.weight, moments.squared_weight)


def _pearson_spread(moments: Residuals) -> Floats:
    """Fisher's: (1 - r^2) / sqrt(n - 3)."""
    r = get_measure("pearson").by_class(moments)
    effective = np.divide(
        moments.weight**2, moments.squared_weight, out=np.zeros_like(r), where=moments.squared_weight > 0
    )
    spread: Floats = np.divide(1 - r**2, np.sqrt(np.maximum(effective - 3, 0.0)), out=np.full_like(r, np.nan),
                               where=effective > 3)  # fmt: skip
    return spread


SCORE_SPREADS: dict[str, Callable[[Any], Floats]] = {"auc": auc_spread, "mean_score": _mean_score_spread}
RESIDUAL_SPREADS: dict[str, Callable[[Any], Floats]] = {
    "mean_residual": _residual_spread,
    "mean_absolute_error": _error_spread,
    "mean_prediction": _prediction_spread,
    "pearson": _pearson_spread,
}


def score_evidence(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int, proof: Proof
) -> Iterator[Record]:
    """Yield the records with intervals: AUC by DeLong, mean scores by their error, calibration against its null."""
    observed = get_measure("calibration_error").by_class(view.shown)
    bounds, p = calibration_evidence(view.shown, observed, generator, draws)
    calibration = dict(zip(view.shown.groups, zip(bounds.tolist(), p.tolist(), strict=True), strict=True))
    for record in _with_spreads(records, view, SCORE_SPREADS):
        if record.measure == "calibration_error" and record.defined and record.group in calibration:
            low, value = calibration[record.group]
            yield replace(record, low=low, interval="lower-bound", p=value)
        else:
            yield record
    if len(view.compared.groups) > 1:
        proof.add(value_contrasts(get_measure("auc"), view, auc_spread(view.compared)))


def residual_evidence(records: Iterable[Record], view: View, proof: Proof) -> Iterator[Record]:
    """Yield the records of a regression with intervals, and collect the contrasts of errors and residuals."""
    yield from _with_spreads(records, view, RESIDUAL_SPREADS)
    if len(view.compared.groups) > 1:
        for name in ("mean_residual", "mean_absolute_error", "pearson"):
            proof.add(value_contrasts(get_measure(name), view, RESIDUAL_SPREADS[name](view.compared)))


def _with_spreads(
    records: Iterable[Record], view: View, spreads: dict[str, Callable[[Any], Floats]]
) -> Iterator[Record]:
    shown = {name: dict(zip(view.shown.groups, spread(view.shown), strict=True)) for name, spread in spreads.items()}
    for record in records:
        if record.kind == "value" and record.measure in shown and record.group in shown[record.measure]:
            yield _with_interval(record, float(shown[record.measure][record.group]))
        elif record.kind == "gap" and record.measure.removesuffix("_difference") in spreads and record.defined:
            yield _gap(record, view, spreads[record.measure.removesuffix("_difference")])
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
    return record if np.isnan(low) else replace(record, low=low, high=high, interval="normal")


def _gap(record: Record, view: View, spread: Callable[[Any], Floats]) -> Record:
    """A largest difference: heterogeneity of the groups' values (Cochran's Q), and a simultaneous lower bound."""
    values = get_measure(record.measure.removesuffix("_difference")).by_class(view.compared)
    errors = spread(view.compared)
    if np.isnan(errors).any() or (errors <= 0).any():
        return record
    weights = 1 / errors**2
    centre = (weights * values).sum() / weights.sum()
    p = float(stats.chi2.sf((weights * (values - centre) ** 2).sum(), len(values) - 1))
    z = float(quantile(1 - 0.05 / len(values)))
    low = float(least_difference((values - z * errors)[:, None], (values + z * errors)[:, None])[0])
    return replace(record, p=p, low=low, interval="lower-bound")
