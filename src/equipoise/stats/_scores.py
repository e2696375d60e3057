"""Uncertainty of scores from histograms ``[..., group, other or of the class, bin]``: standard errors and calibration.

Standard errors are those of the AUC (DeLong et al. 1988), the Brier score and the mean score. The calibration error
cannot be negative, so it gets a null and bounds, not an interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from equipoise.foundation import Floats, ratio
from equipoise.stats._multiple_comparisons import simultaneous_intervals
from equipoise.stats._permutation import draws_needed, sequential_permutation

# So many numbers of calibration curves are drawn at once.
CURVE_BATCH = 4_000_000


def auc_standard_error(weight: Floats, squared_weight: Floats) -> Floats:
    """Return the standard error of each group's AUC: the spread of placements, over members and over the others."""
    other, member = weight[..., 0, :], weight[..., 1, :]
    squares = squared_weight[..., 0, :], squared_weight[..., 1, :]
    variances = (
        _placement_variance(member, squares[1], other),
        _placement_variance(other[..., ::-1], squares[0][..., ::-1], member[..., ::-1]),
    )
    return np.asarray(np.sqrt(variances[0] + variances[1]), dtype=np.float64)


def _placement_variance(member_counts: Floats, squares: Floats, against: Floats) -> Floats:
    """Return the variance of the mean placement V of the own side among the other side.

    With weights w it is sum w^2 (V - mean)^2 / (sum w)^2 * n / (n - 1), where n = (sum w)^2 / sum w^2 is the effective
    number of rows: the same in any unit of the weights, and without weights the variance of a mean.
    """
    size, total, square = member_counts.sum(axis=-1), against.sum(axis=-1), squares.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (np.cumsum(against, axis=-1) - 0.5 * against) / total[..., None]
        mean = (member_counts * below).sum(axis=-1) / size
        effective = size**2 / square
        spread = (squares * (below - mean[..., None]) ** 2).sum(axis=-1) / size**2
        variance = spread * effective / (effective - 1)
        return np.where((effective > 1 + 1e-9) & (total > 0), variance, np.nan)


def auc_interval(
    auc: ArrayLike, spread: ArrayLike, level: float = 0.95, degrees: float = np.inf
) -> tuple[Floats, Floats]:
    """Return the interval on the logit scale, so that it stays inside [0, 1]; NaN where the AUC is 0 or 1.

    With degrees of freedom it is Student's.
    """
    auc = np.asarray(auc, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        logit = np.log(auc / (1 - auc))
        half = special.stdtrit(degrees, (1 + level) / 2) * spread / (auc * (1 - auc))
        low, high = 1 / (1 + np.exp(-(logit - half))), 1 / (1 + np.exp(-(logit + half)))
    inside = (auc > 0) & (auc < 1)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def logit_standard_error(aucs: tuple[float, float], spreads: tuple[float, float]) -> float:
    """Return the standard error of a difference of two AUCs that gives the same z as their logits do.

    Near 0 and 1 an AUC is skewed, its logit much less. An AUC of 0 or 1 has no logit: there errors count as they are.
    """
    (auc1, auc2), (error1, error2) = aucs, spreads
    if not (0 < auc1 < 1 and 0 < auc2 < 1):
        return float(np.hypot(error1, error2))
    slopes = 1 / (auc1 * (1 - auc1)), 1 / (auc2 * (1 - auc2))
    # The mean slope between the two, which is the slope itself where they are the same.
    differ = abs(auc1 - auc2) > 1e-9
    between = (np.log(auc1 / (1 - auc1)) - np.log(auc2 / (1 - auc2))) / (auc1 - auc2) if differ else slopes[0]
    return float(np.hypot(error1 * slopes[0], error2 * slopes[1]) / between)


def weighted_mean_standard_error(variance: Floats, weight: Floats, squared: Floats) -> Floats:
    """Return the standard error of a weighted mean: sd * sqrt(sum of squared weights) / sum of weights."""
    effective = np.divide(weight**2, squared, out=np.zeros_like(weight), where=squared > 0)
    squares = np.divide(variance, effective - 1, out=np.full_like(weight, np.nan), where=effective > 1)
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def mean_score_standard_error(weight: Floats, score_sum: Floats, square_sum: Floats, squared_weight: Floats) -> Floats:
    """Return the standard error of each group's mean score, from weights and weighted sums of scores and squares."""
    total = weight.sum(axis=(-1, -2))
    mean, square = (ratio(part.sum(axis=(-1, -2)), total) for part in (score_sum, square_sum))
    variance = np.maximum(np.nan_to_num(square - mean**2), 0.0)
    return weighted_mean_standard_error(variance, total, squared_weight.sum(axis=(-1, -2)))


def brier_standard_error(weight: Floats, score_sum: Floats, squared_weight: Floats) -> Floats:
    """Return the standard error of each group's Brier score; a row's error is that of the mean score of its bin."""
    mean = np.divide(score_sum, weight, out=np.zeros_like(weight), where=weight > 0)
    error = (mean - np.array([0.0, 1.0])[:, None]) ** 2
    total = weight.sum(axis=(-1, -2))
    first, second = (ratio((weight * error**power).sum(axis=(-1, -2)), total) for power in (1, 2))
    variance = np.maximum(np.nan_to_num(second - first**2), 0.0)
    return weighted_mean_standard_error(variance, total, squared_weight.sum(axis=(-1, -2)))


def calibration_bounds(
    observed: Floats, mean_score: Floats, weight: Floats, squared_weight: Floats
) -> tuple[Floats, Floats]:
    """Return the least and the greatest calibration error of each group, all of them together at 95%.

    Arrays are ``[group, bin]``: the share truly of the class, the mean score, weights and their squares. The observed
    share of every bin of every group lies in a box; the error is least and greatest at its ends.
    """
    trials = _people(weight, squared_weight)
    low, high = simultaneous_intervals(np.nan_to_num(observed) * trials, trials)
    means = np.nan_to_num(mean_score)
    nearest = np.maximum(means - high, 0.0) + np.maximum(low - means, 0.0)
    farthest = np.maximum(np.abs(means - low), np.abs(means - high))
    return _over_bins(nearest, weight), _over_bins(farthest, weight)


def calibration_p(
    error: Floats, mean_score: Floats, weight: Floats, squared_weight: Floats, generator: np.random.Generator,
    tests: int = 1,
) -> Floats:  # fmt: skip
    """Return the p-value that each group is calibrated: members of a bin are then a binomial draw at its mean score.

    ``error`` is the calibration error of each group; the other arrays are ``[group, bin]``. Each group is a test of its
    own: draws go on only for groups that are not settled.
    """
    sizes = np.rint(_people(weight, squared_weight)).astype(np.int64)
    means = np.clip(np.nan_to_num(mean_score), 0.0, 1.0)
    names = [str(group) for group in range(len(sizes))]
    nulls = [_CalibratedGroup(*group) for group in zip(sizes, means, weight, strict=True)]

    def permute(number: int, still: Sequence[str]) -> dict[str, Floats]:
        uniform = generator.random((number, len(still), sizes.shape[1]))
        return {name: nulls[int(name)].errors(uniform[:, index]) for index, name in enumerate(still)}

    samples = sequential_permutation(
        dict(zip(names, error, strict=True)), permute, lambda name, errors: errors[name][:, None],
        most=draws_needed(tests), largest_batch=max(1, CURVE_BATCH // max(sizes.size, 1)), cheap=True,
    )  # fmt: skip
    return np.array([samples[name][0].p for name in names])


class _CalibratedGroup:
    """Draws calibration errors of a group whose scores are right: the members of every bin are binomial.

    The members of a bin are the inverse of their distribution function at a uniform number. Its table is made once and
    ends 10 standard deviations from the mean.
    """

    def __init__(self, sizes: NDArray[np.int64], means: Floats, weight: Floats) -> None:
        self.bins = np.flatnonzero(weight > 0)
        self.tables = []
        shares = weight[self.bins] / weight.sum()
        for size, mean, share in zip(sizes[self.bins], means[self.bins], shares, strict=True):
            chance = min(mean, 1 - mean)
            reach = 10 * np.sqrt(size * chance * (1 - chance) + 1)
            counts = np.arange(max(0, int(size * chance - reach)), min(size, int(size * chance + reach)) + 1)
            # Each count is so many times as likely as the one before.
            times = (size - counts[:-1]) / counts[1:] * chance / (1 - chance)
            below = np.cumsum(np.cumprod(np.concatenate([[1.0], times])))
            members = counts if mean <= 0.5 else size - counts
            self.tables.append((below[:-1] / below[-1], share * np.abs(members / max(size, 1) - mean)))

    def errors(self, uniform: Floats) -> Floats:
        """Return the error of each draw, from uniform numbers ``[draw, bin]``."""
        drawn_errors = np.zeros(len(uniform))
        for column, (below, distance) in zip(self.bins, self.tables, strict=True):
            drawn_errors += distance[np.searchsorted(below, uniform[:, column])]
        return drawn_errors


def _people(weight: Floats, squared_weight: Floats) -> Floats:
    """How many people a bin counts as: with weights fewer than rows."""
    return np.nan_to_num(ratio(weight**2, squared_weight))


def _over_bins(distance: Floats, weight: Floats) -> Floats:
    total = ratio((weight * np.where(weight > 0, distance, 0.0)).sum(axis=-1), weight.sum(axis=-1))
    return np.asarray(total, dtype=np.float64)


def heterogeneity(values: Floats, errors: Floats) -> Floats:
    """Return Cochran's Q: squared distances from the common value, each in units of its own error."""
    is_defined = ~np.isnan(values) & (errors > 0)
    weights = np.where(is_defined, 1.0 / np.where(is_defined, errors, 1.0) ** 2, 0.0)
    filled = np.where(is_defined, values, 0.0)
    centre = ratio((weights * filled).sum(axis=-1), weights.sum(axis=-1))
    return np.asarray((weights * (filled - centre[..., None]) ** 2).sum(axis=-1), dtype=np.float64)
