"""Uncertainty of scores from histograms: standard errors, calibration, and what permuted groups give.

Standard errors are those of the AUC (DeLong et al. 1988), the Brier score and the mean score. The calibration error
cannot be negative, so it gets a null and bounds, not an interval. For a permutation the score is first cut into fewer
bins, so that it is a random table of groups by bins. Both sides of the comparison use the same bins: the p-value is
then valid however coarse they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.measures.ranking import CALIBRATION_BINS, CalibrationCurve, calibration_curve
from equipoise.stats._gaps import box
from equipoise.stats._permutation import NullSample, draws_needed, sequential_permutation
from equipoise.stats._proportions import quantile
from equipoise.stats._random_tables import permuted, permuted_weights
from equipoise.tallies.confusion import ratio
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]
# A number of a histogram that is large when groups differ, one for each draw.
Statistic = Callable[[Scores], Floats]

MOST_BINS = 200
# So many cells are drawn in all, and so many of them are held at once.
CELLS = 2_000_000
BATCH = 2_000_000
# What 2,000 draws leave open may take so many cells more.
MOST_CELLS = 40_000_000
# So many numbers of calibration curves are drawn at once.
CURVE_BATCH = 4_000_000


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


def calibration_bounds(scores: Scores) -> tuple[Floats, Floats]:
    """Return the least and the greatest calibration error of each group, all of them together at 95 %.

    The observed share of every bin of every group lies in a box; the error is least and greatest at its ends.
    """
    curve = calibration_curve(scores)
    trials = _people(curve)
    low, high = box(np.nan_to_num(curve.observed) * trials, trials)
    means = np.nan_to_num(curve.mean_score)
    nearest = np.maximum(means - high, 0.0) + np.maximum(low - means, 0.0)
    farthest = np.maximum(np.abs(means - low), np.abs(means - high))
    return _over_bins(nearest, curve), _over_bins(farthest, curve)


def calibration_p(scores: Scores, observed: Floats, generator: np.random.Generator, tests: int = 1) -> Floats:
    """Return the p-value that each group is calibrated: members of a bin are then a binomial draw at its mean score."""
    curve = calibration_curve(scores)
    sizes, means = np.rint(_people(curve)).astype(np.int64), np.clip(np.nan_to_num(curve.mean_score), 0.0, 1.0)

    found = sequential_permutation(
        {"error": observed},
        lambda number, names: generator.binomial(sizes, means, size=(number, *sizes.shape)),
        lambda name, members: _over_bins(np.abs(members / np.maximum(sizes, 1) - means), curve),
        most=draws_needed(tests), largest_batch=max(1, CURVE_BATCH // max(sizes.size, 1)), cheap=True,
    )  # fmt: skip
    return np.array([test.p for test in found["error"]])


def _people(curve: CalibrationCurve) -> Floats:
    """How many people a bin counts as: with weights fewer than rows."""
    return np.nan_to_num(ratio(curve.weight**2, curve.squared_weight))


def _over_bins(distance: Floats, curve: CalibrationCurve) -> Floats:
    total = ratio((curve.weight * np.where(curve.weight > 0, distance, 0.0)).sum(axis=-1), curve.weight.sum(axis=-1))
    return np.asarray(total, dtype=np.float64)


def coarse_bins(scores: Scores, draws: int) -> int:
    """Return how many bins so many draws can afford."""
    return int(np.clip(CELLS // max(2 * draws * len(scores.groups), 1), CALIBRATION_BINS, MOST_BINS))


def coarse_starts(scores: Scores, bins: int) -> NDArray[np.int64]:
    """Return where bins start: at the ten of a calibration curve, and at equal shares of the people in between."""
    fixed = scores.places_of(scores.scale.steps(CALIBRATION_BINS))
    below = np.cumsum(scores.weight.sum(axis=(0, 1)))
    cuts = np.searchsorted(below, below[-1] * np.arange(1, bins) / bins, side="right")
    return np.unique(np.concatenate([fixed, np.minimum(cuts, len(below) - 1)]))


def heterogeneity(values: Floats, errors: Floats) -> Floats:
    """Return Cochran's Q: squared distances from the common value, each in units of its own error."""
    known = ~np.isnan(values) & (errors > 0)
    weights = np.where(known, 1.0 / np.where(known, errors, 1.0) ** 2, 0.0)
    filled = np.where(known, values, 0.0)
    centre = ratio((weights * filled).sum(axis=-1), weights.sum(axis=-1))
    return np.asarray((weights * (filled - centre[..., None]) ** 2).sum(axis=-1), dtype=np.float64)


def score_p(
    scores: Scores, statistics: Mapping[str, Statistic], *, within_class: bool, generator: np.random.Generator,
    draws: int, tests: int = 1,
) -> dict[str, NullSample]:  # fmt: skip
    """Return the test of each statistic under permuted groups: across all rows, or within the true class.

    ``draws`` decides how coarse the bins are, and ``tests``, how many the report has, how often groups are permuted.
    """
    coarse = scores.coarser(coarse_starts(scores, coarse_bins(scores, draws)))
    observed = with_shared_scores(coarse, coarse.weight)
    weighted = not np.array_equal(coarse.rows, coarse.weight)

    def permute(number: int, names: Sequence[str]) -> Scores:
        drawn = (
            permuted_weights(coarse.rows, coarse.weight, coarse.squared_weight, within_class, number, generator)
            if weighted
            else permuted(coarse.weight, within_class, number, generator)
        )
        return with_shared_scores(coarse, drawn)

    size, needed = coarse.weight.size, draws_needed(tests)
    found = sequential_permutation(
        {name: np.sqrt(statistic(observed)) for name, statistic in statistics.items()},
        permute,
        lambda name, drawn: np.sqrt(statistics[name](drawn))[:, None],
        most=min(needed, max(draws, MOST_CELLS // size)), needed=needed, largest_batch=max(1, BATCH // size),
        cheap=True,
    )  # fmt: skip
    return {name: tested[0] for name, tested in found.items()}


def with_shared_scores(coarse: Scores, weight: Floats) -> Scores:
    """Return a histogram with these weights, in which a row's score is the mean of its bin over all groups."""
    total = coarse.weight.sum(axis=0)
    score, square, squared = (
        weight * np.divide(part.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
        for part in (coarse.score_sum, coarse.square_sum, coarse.squared_weight)
    )
    return replace(coarse, weight=weight, score_sum=score, square_sum=square, squared_weight=squared, rows=weight)
