"""Measures of scores: ranking (AUC), squared error (Brier) and calibration, per group and as largest differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import Better, Floats, Measure, largest_difference, measure
from equipoise.tallies.scores import Scores

CALIBRATION_BINS = 10


@dataclass(frozen=True)
class CalibrationCurve:
    """Per group and score bin: mean score, share truly of the class, the weight behind both, and its square."""

    mean_score: Floats
    observed: Floats
    weight: Floats
    squared_weight: Floats


def calibration_curve(scores: Scores, bins: int = CALIBRATION_BINS) -> CalibrationCurve:
    """Return the calibration of each group in equal-width bins of the score, ``[..., group, bin]``."""
    starts = scores.places_of(scores.scale.steps(bins))
    member = np.add.reduceat(scores.weight[..., 1, :], starts, axis=-1)
    total, score_sum, squared = (
        np.add.reduceat(part.sum(axis=-2), starts, axis=-1)
        for part in (scores.weight, scores.score_sum, scores.squared_weight)
    )
    return CalibrationCurve(ratio(score_sum, total), ratio(member, total), total, squared)


@measure("auc", alias="AUC", kind="value", better="high", needs="scores", paper="field", classwise=False)
def auc(scores: Scores) -> Floats:
    """AUC = Pr[score of a member > score of a non-member] + Pr[tie] / 2."""
    if scores.exact_auc is not None:
        return scores.exact_auc
    other, member = scores.weight[..., 0, :], scores.weight[..., 1, :]
    below = np.cumsum(other, axis=-1) - other
    won = (member * (below + 0.5 * other)).sum(axis=-1)
    return ratio(won, other.sum(axis=-1) * member.sum(axis=-1))


@measure("brier_score", kind="value", better="low", needs="scores", paper="field", classwise=False)
def brier_score(scores: Scores) -> Floats:
    """Brier = mean (score - y)^2; undefined where scores are not probabilities."""
    squares = scores.square_sum.sum(axis=(-1, -2))
    member_sum = scores.score_sum[..., 1, :].sum(axis=-1)
    members = scores.weight[..., 1, :].sum(axis=-1)
    return _if_probabilities(scores, squares - 2 * member_sum + members)


@measure("calibration_error", alias="ECE", kind="value", better="low", needs="scores", paper="field", classwise=False)
def calibration_error(scores: Scores) -> Floats:
    """ECE = sum_b n_b / n |observed share - mean score| over ten equal bins; undefined where not probabilities."""
    curve = calibration_curve(scores)
    distance = np.abs(curve.observed - curve.mean_score)
    return _if_probabilities(scores, np.nansum(curve.weight * distance, axis=-1))


@measure(
    "mean_score", kind="value", better="none", needs="scores", paper="field", classwise=False,
    bounds=(-float("inf"), float("inf")),
)  # fmt: skip
def mean_score(scores: Scores) -> Floats:
    """Mean score of the group."""
    return ratio(scores.score_sum.sum(axis=(-1, -2)), scores.weight.sum(axis=(-1, -2)))


@measure(
    "score_standardised_difference", kind="gap", better="low", needs="scores", paper="field", classwise=False,
    bounds=(0.0, float("inf")), of="mean_score",
)  # fmt: skip
def score_standardised_difference(scores: Scores) -> Floats:
    """Largest difference of mean scores in standard deviations of the score over everyone."""
    everyone = scores.everyone
    mean = mean_score.by_class(everyone)[..., 0]
    square = ratio(everyone.square_sum.sum(axis=(-1, -2)), everyone.weight.sum(axis=(-1, -2)))[..., 0]
    spread = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return ratio(largest_difference(mean_score.by_class(scores), axis=-1), spread)


def _if_probabilities(scores: Scores, total: Floats) -> Floats:
    values = ratio(np.maximum(total, 0.0), scores.weight.sum(axis=(-1, -2)))
    return values if scores.scale.probabilities else np.full_like(values, np.nan)


def _difference(value: Measure) -> Measure:
    function: Callable[[Scores], Floats] = value.function

    def difference(scores: Scores) -> Floats:
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
