"""Uncertainty of scores from histograms: AUC (DeLong et al. 1988), Brier score and mean score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.stats._proportions import quantile
from equipoise.tallies.confusion import ratio
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]


def auc_spread(scores: Scores) -> Floats:
    """Return the standard error of each group's AUC: the spread of placements, over members and over the others."""
    other, member = scores.weight[..., 0, :], scores.weight[..., 1, :]
    squares = scores.squared_weight[..., 0, :], scores.squared_weight[..., 1, :]
    variances = (
        _placement_variance(member, squares[1], other),
        _placement_variance(other[..., ::-1], squares[0][..., ::-1], member[..., ::-1]),
    )
    return np.asarray(np.sqrt(variances[0] + variances[1]), dtype=np.float64)


def _placement_variance(own: Floats, squares: Floats, against: Floats) -> Floats:
    """Return the variance of the mean placement V of the own side among the other side.

    With weights w it is sum w^2 (V - mean)^2 / (sum w)^2 * n / (n - 1), where n = (sum w)^2 / sum w^2 is the effective
    number of rows: the same in any unit of the weights, and without weights the variance of a mean.
    """
    size, total, square = own.sum(axis=-1), against.sum(axis=-1), squares.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (np.cumsum(against, axis=-1) - 0.5 * against) / total[..., None]
        mean = (own * below).sum(axis=-1) / size
        effective = size**2 / square
        spread = (squares * (below - mean[..., None]) ** 2).sum(axis=-1) / size**2
        variance = spread * effective / (effective - 1)
        return np.where((effective > 1 + 1e-9) & (total > 0), variance, np.nan)


def auc_interval(auc: Floats, spread: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the interval on the logit scale, so that it stays inside [0, 1]; NaN where the AUC is 0 or 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        logit = np.log(auc / (1 - auc))
        half = quantile(level) * spread / (auc * (1 - auc))
        low, high = 1 / (1 + np.exp(-(logit - half))), 1 / (1 + np.exp(-(logit + half)))
    inside = (auc > 0) & (auc < 1)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def logit_spread(aucs: tuple[float, float], spreads: tuple[float, float]) -> float:
    """Return the standard error of a difference of two AUCs that gives the same z as their logits do.

    Near 0 and 1 an AUC is skewed, its logit much less. An AUC of 0 or 1 has no logit: there errors count as they are.
    """
    (one, two), (first, second) = aucs, spreads
    if not (0 < one < 1 and 0 < two < 1):
        return float(np.hypot(first, second))
    slopes = 1 / (one * (1 - one)), 1 / (two * (1 - two))
    # The mean slope between the two, which is the slope itself where they are the same.
    apart = abs(one - two) > 1e-9
    between = (np.log(one / (1 - one)) - np.log(two / (1 - two))) / (one - two) if apart else slopes[0]
    return float(np.hypot(first * slopes[0], second * slopes[1]) / between)


def weighted_mean_error(variance: Floats, weight: Floats, squared: Floats) -> Floats:
    """Return the standard error of a weighted mean: sd * sqrt(sum of squared weights) / sum of weights."""
    effective = np.divide(weight**2, squared, out=np.zeros_like(weight), where=squared > 0)
    squares = np.divide(variance, effective - 1, out=np.full_like(weight, np.nan), where=effective > 1)
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def mean_score_spread(scores: Scores) -> Floats:
    """Return the standard error of each group's mean score."""
    weight = scores.weight.sum(axis=(-1, -2))
    mean, square = (ratio(part.sum(axis=(-1, -2)), weight) for part in (scores.score_sum, scores.square_sum))
    variance = np.maximum(np.nan_to_num(square - mean**2), 0.0)
    return weighted_mean_error(variance, weight, scores.squared_weight.sum(axis=(-1, -2)))


def brier_spread(scores: Scores) -> Floats:
    """Return the standard error of each group's Brier score; a row's error is that of the mean score of its bin."""
    mean = np.divide(scores.score_sum, scores.weight, out=np.zeros_like(scores.weight), where=scores.weight > 0)
    error = (mean - np.array([0.0, 1.0])[:, None]) ** 2
    weight = scores.weight.sum(axis=(-1, -2))
    first, second = (ratio((scores.weight * error**power).sum(axis=(-1, -2)), weight) for power in (1, 2))
    variance = np.maximum(np.nan_to_num(second - first**2), 0.0)
    return weighted_mean_error(variance, weight, scores.squared_weight.sum(axis=(-1, -2)))
