"""Uncertainty of scores: AUC (DeLong et al. 1988) and calibration, from histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.evidence.bounds import box
from equipoise.evidence.proportions import quantile
from equipoise.measures.ranking import calibration_curve
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]


def auc_spread(scores: Scores) -> Floats:
    """Return the standard error of each group's AUC: the spread of placements, over members and over the others."""
    other, member = scores.weight[..., 0, :], scores.weight[..., 1, :]
    variances = (_placement_variance(member, other), _placement_variance(other[..., ::-1], member[..., ::-1]))
    # Weights widen each side by its squared weights; without weights the factor is 1.
    squared, weight = scores.squared_weight.sum(axis=-1), scores.weight.sum(axis=-1)
    factor = squared / np.maximum(weight, 1e-300)
    return np.asarray(np.sqrt(variances[0] * factor[..., 1] + variances[1] * factor[..., 0]), dtype=np.float64)


def _placement_variance(own: Floats, against: Floats) -> Floats:
    """Return the variance of the mean placement of the own side among the other side."""
    size, total = own.sum(axis=-1), against.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (np.cumsum(against, axis=-1) - 0.5 * against) / total[..., None]
        mean = (own * below).sum(axis=-1) / size
        spread = (own * (below - mean[..., None]) ** 2).sum(axis=-1) / np.maximum(size - 1, 1e-300)
        return np.where((size > 1) & (total > 0), spread / size, np.nan)


def auc_interval(auc: Floats, spread: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the interval on the logit scale, so that it stays inside [0, 1]; NaN where the AUC is 0 or 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        logit = np.log(auc / (1 - auc))
        half = quantile(level) * spread / (auc * (1 - auc))
        low, high = 1 / (1 + np.exp(-(logit - half))), 1 / (1 + np.exp(-(logit + half)))
    inside = (auc > 0) & (auc < 1)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def calibration_evidence(
    scores: Scores, observed: Floats, generator: np.random.Generator, draws: int
) -> tuple[Floats, Floats]:
    """Return each group's lower bound of the calibration error, and the p-value that it is calibrated.

    Under the null the members of a bin are a binomial draw at its mean score.
    """
    curve = calibration_curve(scores)
    total = curve.weight.sum(axis=-1)
    sizes = np.rint(curve.weight).astype(np.int64)
    means = np.nan_to_num(curve.mean_score)
    low, high = box(np.nan_to_num(curve.observed) * curve.weight, curve.weight)
    distance = np.maximum(means - high, 0.0) + np.maximum(low - means, 0.0)
    bound = (curve.weight * distance).sum(axis=-1) / np.maximum(total, 1e-300)
    members = generator.binomial(sizes, np.clip(means, 0.0, 1.0), size=(draws, *sizes.shape))
    gaps = np.abs(members - means * sizes).sum(axis=-1) / np.maximum(sizes.sum(axis=-1), 1)
    p = (1.0 + (gaps >= observed - 1e-12).sum(axis=0)) / (1.0 + draws)
    unknown = np.isnan(observed)
    return np.where(unknown, np.nan, bound), np.where(unknown, np.nan, p)
