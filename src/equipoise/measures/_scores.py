"""Measures of predictions that are numbers, per group and as largest differences.

Of scores: ranking (AUC), squared error (Brier) and calibration. Of a predicted number: paper 001, section 7 and
appendix A.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.foundation import Floats, ratio
from equipoise.measures._classification import optimum_distance
from equipoise.measures._measure import (
    Better,
    Measure,
    largest_difference,
    measure,
)
from equipoise.tallies import (
    ResidualMoments,
    ScoreHistogram,
)

CALIBRATION_BINS = 10


@dataclass(frozen=True)
class CalibrationCurve:
    """Per group and score bin: mean score, share truly of the class, the weight behind both, and its square."""

    mean_score: Floats
    observed: Floats
    weight: Floats
    squared_weight: Floats


def calibration_curve(scores: ScoreHistogram, bins: int = CALIBRATION_BINS) -> CalibrationCurve:
    """Return the calibration of each group in equal-width bins of the score, ``[..., group, bin]``."""
    starts = scores.group_indices(scores.scale.steps(bins))
    member = np.add.reduceat(scores.weight[..., 1, :], starts, axis=-1)
    total, score_sum, squared = (
        np.add.reduceat(part.sum(axis=-2), starts, axis=-1)
        for part in (scores.weight, scores.score_sum, scores.squared_weight)
    )
    return CalibrationCurve(ratio(score_sum, total), ratio(member, total), total, squared)


@measure(
    "auc", alias="AUC", kind="value", better="high", needs="scores", paper="field", origin="hanley1982", classwise=False
)
def auc(scores: ScoreHistogram) -> Floats:
    """AUC = Pr[score of a member > score of a non-member] + Pr[tie] / 2."""
    if scores.exact_auc is not None:
        return scores.exact_auc
    other, member = scores.weight[..., 0, :], scores.weight[..., 1, :]
    below = np.cumsum(other, axis=-1) - other
    won = (member * (below + 0.5 * other)).sum(axis=-1)
    return ratio(won, other.sum(axis=-1) * member.sum(axis=-1))


@measure("brier_score", kind="value", better="low", needs="scores", paper="field", origin="brier1950", classwise=False)
def brier_score(scores: ScoreHistogram) -> Floats:
    """Brier = mean (score - y)^2; undefined where scores are not probabilities."""
    squares = scores.square_sum.sum(axis=(-1, -2))
    member_sum = scores.score_sum[..., 1, :].sum(axis=-1)
    members = scores.weight[..., 1, :].sum(axis=-1)
    return _if_probabilities(scores, squares - 2 * member_sum + members)


@measure(
    "calibration_error",
    alias="ECE",
    kind="value",
    better="low",
    needs="scores",
    paper="field",
    origin="naeini2015",
    classwise=False,
)
def calibration_error(scores: ScoreHistogram) -> Floats:
    """ECE = sum_b n_b / n |observed share - mean score| over ten equal bins; undefined where not probabilities."""
    curve = calibration_curve(scores)
    distance = np.abs(curve.observed - curve.mean_score)
    return _if_probabilities(scores, np.nansum(curve.weight * distance, axis=-1))


@measure(
    "mean_score", kind="value", better="none", needs="scores", paper="field", classwise=False,
    bounds=(-float("inf"), float("inf")),
)  # fmt: skip
def mean_score(scores: ScoreHistogram) -> Floats:
    """Mean score of the group."""
    return ratio(scores.score_sum.sum(axis=(-1, -2)), scores.weight.sum(axis=(-1, -2)))


@measure(
    "score_standardised_difference", kind="gap", better="low", needs="scores", paper="field", classwise=False,
    bounds=(0.0, float("inf")), of="mean_score",
)  # fmt: skip
def score_standardised_difference(scores: ScoreHistogram) -> Floats:
    """Largest difference of mean scores in standard deviations of the score over everyone."""
    pooled = scores.overall
    mean = mean_score.by_class(pooled)[..., 0]
    square = ratio(pooled.square_sum.sum(axis=(-1, -2)), pooled.weight.sum(axis=(-1, -2)))[..., 0]
    spread = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return ratio(largest_difference(mean_score.by_class(scores), axis=-1), spread)


def _if_probabilities(scores: ScoreHistogram, total: Floats) -> Floats:
    values = ratio(np.maximum(total, 0.0), scores.weight.sum(axis=(-1, -2)))
    return values if scores.scale.probabilities else np.full_like(values, np.nan)


def _difference(value: Measure) -> Measure:
    function: Callable[[ScoreHistogram], Floats] = value.function

    def difference(scores: ScoreHistogram) -> Floats:
        return largest_difference(function(scores), axis=-1)

    difference.__doc__ = f"max_g {value.title} - min_g {value.title}."
    difference.__module__ = __name__
    better: Better = "low"
    return measure(
        f"{value.name}_difference", kind="gap", better=better, needs="scores", paper="field", classwise=False,
        of=value.name,
    )(difference)  # fmt: skip


for _value in (auc, brier_score, calibration_error):
    _difference(_value)


INFINITE = float("inf")


@dataclass(frozen=True)
class Row:
    """One row of the table: a number per group, and the range it can have."""

    name: str
    better: Better
    formula: str
    values: Callable[[ResidualMoments], Floats]
    bounds: tuple[float, float]


def _pearson(moments: ResidualMoments) -> Floats:
    spread = np.sqrt(moments.variance_target) * np.sqrt(moments.variance_prediction)
    return np.clip(ratio(moments.covariance, spread), -1.0, 1.0)


ROWS = (
    Row("pearson", "high", "cov(y, p) / (sd(y) sd(p)); undefined where either is constant.", _pearson, (-1.0, 1.0)),
    Row("mean_absolute_error", "low", "MAE = mean |p - y|.", lambda m: m.mean_absolute_error, (0.0, INFINITE)),
    Row(
        "root_mean_squared_error", "low", "RMSE = sqrt(mean (p - y)^2).", lambda m: np.sqrt(m.mean_squared_error),
        (0.0, INFINITE),
    ),
    Row("mean_prediction", "none", "Mean of the predictions.", lambda m: m.mean_prediction, (-INFINITE, INFINITE)),
    Row(
        "mean_residual", "none", "Mean of p - y: above 0 the group is overestimated.",
        lambda m: m.mean_prediction - m.mean_target, (-INFINITE, INFINITE),
    ),
)  # fmt: skip


def _register(row: Row) -> Measure:
    def values(moments: ResidualMoments) -> Floats:
        return row.values(moments)

    def difference(moments: ResidualMoments) -> Floats:
        return largest_difference(row.values(moments), axis=-1)

    values.__doc__ = row.formula
    difference.__doc__ = f"Largest difference between groups of: {row.formula}"
    values.__module__ = difference.__module__ = __name__
    measure(
        f"{row.name}_difference", kind="gap", better="low", needs="residuals", paper="001", classwise=False,
        bounds=(0.0, 2.0 if row.name == "pearson" else INFINITE), of=row.name,
    )(difference)  # fmt: skip
    return measure(
        row.name, kind="value", better=row.better, needs="residuals", paper="001", classwise=False, bounds=row.bounds
    )(values)


BY_NAME = {row.name: _register(row) for row in ROWS}


@measure(
    "prediction_standardised_difference", kind="gap", better="low", needs="residuals", paper="field", classwise=False,
    bounds=(0.0, INFINITE), of="mean_prediction",
)  # fmt: skip
def prediction_standardised_difference(moments: ResidualMoments) -> Floats:
    """Largest difference of mean predictions in standard deviations of the prediction over everyone."""
    spread = np.sqrt(moments.overall.variance_prediction)[..., 0]
    return ratio(largest_difference(moments.mean_prediction, axis=-1), spread)


@measure(
    "regression_fairness", kind="summary", better="high", needs="residuals", paper="001", classwise=False,
    bounds=(-1.0, 1.0), title="1 - Pearson gap", of="pearson",
)  # fmt: skip
def regression_fairness(moments: ResidualMoments) -> Floats:
    """Fairness = 1 - (max_g Pearson_g - min_g Pearson_g)."""
    return 1.0 - largest_difference(_pearson(moments), axis=-1)


@measure(
    "regression_distance_to_optimum", kind="summary", better="low", needs="residuals", paper="001", classwise=False,
    bounds=(0.0, float(np.sqrt(8.0))), of="pearson",
)  # fmt: skip
def regression_distance_to_optimum(moments: ResidualMoments) -> Floats:
    """DTO = sqrt((1 - Pearson)^2 + (1 - Fairness)^2), with Pearson over everyone in place of accuracy."""
    return optimum_distance(_pearson(moments.overall)[..., 0], regression_fairness.by_class(moments))
