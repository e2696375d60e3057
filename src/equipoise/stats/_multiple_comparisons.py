"""Many comparisons at once: corrections of p-values, largest differences of several groups, and who is best.

**Corrections.** An undefined p (NaN) is no test: it is neither counted nor changed. With the m defined p-values in
rising order p(1) <= ... <= p(m):

- ``holm`` (Holm 1979) keeps the chance of any false finding at the threshold:
  adjusted p(i) = max over j <= i of min(1, (m - j + 1) p(j))
- ``bh`` (Benjamini and Hochberg 1995) keeps the expected share of false findings among the findings at the threshold:
  adjusted p(i) = min over j >= i of min(1, m p(j) / j)

**Largest differences.** A largest difference of several groups is above 0 even where nothing differs, and the noisiest
group decides it. So each pair's difference is divided by its standard error under the hypothesis that all groups are
alike,

    T = max over pairs (g, h) of |r_g - r_h| / sqrt(v_g + v_h),      v_g = p (1 - p) / n_g  with the pooled rate p,

and T is compared with itself where groups are permuted. A quantile c of that null distribution bounds every
pair at once, so the largest lower end of the pairs' intervals at the level of c is a simultaneous lower bound.

Where the measure is no difference of two groups, all rates it compares lie in a box with 95% confidence (Wilson
intervals, Bonferroni over their number), and the smallest value it takes anywhere in the box is its lower bound.

**Who is best** (Hsu 1984). Of k means with differences D_ij = m_i - m_j (larger is better) and half-widths h_ij, one of
them may be the best unless another is significantly better. With probability 1 - a, for all of them together, m_i less
the best of the others is in

    [ -( min over j of D_ij - h_ij )^- ,  ( min over j of D_ij + h_ij )^+ ]

and the set of those whose upper end is above 0 contains the best. The half-widths are those of one-sided tests at level
a / (k - 1) (Bonferroni), which needs no equal variances and no correlation to be known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from equipoise.foundation import Floats, reduce_axis
from equipoise.stats._permutation import NullSample
from equipoise.stats._proportions import difference_equivalence_p, difference_interval, ratio_interval, wilson


def uncorrected(p: ArrayLike) -> Floats:
    """Return the p-values as they are."""
    return np.array(p, dtype=np.float64)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return Benjamini-Hochberg adjusted p-values; NaN stays NaN and does not count."""
    adjusted, is_known = _known(p)
    if is_known.any():
        adjusted[is_known] = stats.false_discovery_control(adjusted[is_known], method="bh")
    return adjusted


def holm(p: ArrayLike) -> Floats:
    """Return Holm's adjusted p-values; NaN stays NaN and does not count."""
    adjusted, is_known = _known(p)
    values = adjusted[is_known]
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    values[order] = np.minimum(stepped, 1.0)
    adjusted[is_known] = values
    return adjusted


def _known(p: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    values = np.array(p, dtype=np.float64)
    return values, ~np.isnan(values)


CORRECTIONS: dict[str, Callable[[ArrayLike], Floats]] = {
    "none": uncorrected,
    "bh": benjamini_hochberg,
    "holm": holm,
}

LEVEL = 0.05


def deciding_level(p: ArrayLike, correction: str = "bh", level: float = LEVEL) -> float:
    """Return the largest uncorrected p that is a finding after the correction.

    With m defined p-values of which R are findings: level R / m by ``bh``, level / (m - R + 1) by ``holm`` (R at least
    1 in both), and the level itself by ``none``. An interval at 1 minus this level excludes no difference exactly where
    its test is a finding.

    Parameters
    ----------
    p : array
        The p-values that are corrected together; NaN does not count.
    correction : {"none", "bh", "holm"}
        The correction.
    level : float
        The largest corrected p of a finding.

    Returns
    -------
    float
        Every p up to it is a finding after correction, and no other.

    Examples
    --------
    >>> deciding_level([0.001, 0.02, 0.5, 0.6]), deciding_level([0.001, 0.02, 0.5, 0.6], "holm")
    (0.025, 0.0125)
    >>> round(deciding_level([0.001, 0.02, 0.021, 0.6]), 4)
    0.0375
    """
    values, is_known = _known(p)
    tests = max(int(is_known.sum()), 1)
    findings = max(int((CORRECTIONS[correction](values)[is_known] <= level * (1 + 1e-12)).sum()), 1)
    if correction == "none":
        return level
    return level * findings / tests if correction == "bh" else level / (tests - findings + 1)


def interval_excludes(low: float | None, high: float | None, null: float = 0.0) -> bool:
    """Tell whether an interval, or a bound on one side alone, leaves out the value of no difference.

    Without any interval there is nothing that could contradict a test, and the answer is yes.
    """
    above, below = (end is not None and not math.isnan(end) for end in (low, high))
    if not above and not below:
        return True
    return (above and low is not None and low > null) or (below and high is not None and high < null)


def is_finding(
    p_adjusted: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    null: float = 0.0,
    level: float = LEVEL,
) -> bool | None:
    """Tell whether a difference is confirmed: corrected p within the level, and its interval leaves out the null.

    Parameters
    ----------
    p_adjusted : float or None
        The p-value after correction for the number of tests; None or NaN where there was no test.
    low, high : float or None
        The interval as it is shown, or one end of it for a bound; None where there is none.
    null : float
        The value of no difference: 0 of a difference, 1 of a ratio, 0.5 of an AUC.
    level : float
        The largest corrected p of a finding.

    Returns
    -------
    bool or None
        None where nothing was tested.

    Examples
    --------
    >>> is_finding(0.001, -30.28, 1.22)
    False
    >>> is_finding(0.001, 0.15, 0.18)
    True
    """
    if p_adjusted is None or math.isnan(p_adjusted):
        return None
    return p_adjusted <= level and interval_excludes(low, high, null)


def is_equivalent(p: float | None, level: float = LEVEL) -> bool | None:
    """Tell whether a p-value of equivalence is within a level; None where there was no test.

    Examples
    --------
    >>> is_equivalent(0.01), is_equivalent(0.3), is_equivalent(None)
    (True, False, None)
    """
    return None if p is None or math.isnan(p) else p <= level


Flags = NDArray[np.bool_]

# With more groups than this each is compared with all together instead of with each other.
MAX_PAIRED_GROUPS = 24
# So many pairs are bounded one by one: those with the largest differences for their error.
CANDIDATES = 8


def pooled_rate(numerators: Floats, denominators: Floats, compared: Flags) -> Floats:
    """Return the rate of the kept groups taken together, ``[..., 1, class]``; 0 where they have no trials."""
    x, n = (reduce_axis(-2, np.where(compared, part, 0.0))[..., None, :] for part in (numerators, denominators))
    return np.asarray(np.divide(x, n, out=np.zeros_like(x), where=n > 0), dtype=np.float64)


def null_variances(numerators: Floats, denominators: Floats, compared: Flags, *, proportion: bool = True) -> Floats:
    """Return the variance of each group's rate if all kept groups had the same one, ``[..., group, class]``.

    A rate that is no proportion is a ratio of sums like F1 = 2 TP / (2 TP + FP + FN), in which a success counts twice
    above and below: the variance is then that of a ratio estimator, sum (y - R x)^2 / (sum x)^2.
    """
    common = pooled_rate(numerators, denominators, compared)
    with np.errstate(divide="ignore", invalid="ignore"):
        if proportion:
            variance = common * (1 - common) / denominators
        else:
            rest = np.maximum(denominators - numerators, 0.0)
            variance = (2 * numerators * (1 - common) ** 2 + rest * common**2) / denominators**2
    return np.asarray(np.where(denominators > 0, variance, np.nan), dtype=np.float64)


def largest_studentised(rates: Floats, variances: Floats, compared: Flags) -> Floats:
    """Return T of each class, ``[..., class]``, from rates and variances ``[..., group, class]``.

    Parameters
    ----------
    rates, variances : array of shape (..., groups, classes)
        NaN where a group has no rate; it is then left out.
    compared : array of shape (groups, classes)
        Which groups are compared.

    Returns
    -------
    array of shape (..., classes)
        NaN where fewer than two groups are left, 0 where nothing varies.

    Examples
    --------
    >>> rates, variances = np.array([[0.5], [0.4], [0.9]]), np.array([[0.001], [0.001], [0.05]])
    >>> float(largest_studentised(rates, variances, np.ones((3, 1), dtype=bool))[0].round(2))
    2.24
    """
    usable = compared & ~np.isnan(rates) & ~np.isnan(variances)
    number = reduce_axis(-2, usable)
    shape = (*rates.shape[:-2], rates.shape[-1])
    largest = np.zeros(shape)
    groups = np.flatnonzero(compared.any(axis=-1))
    if len(groups) > MAX_PAIRED_GROUPS:
        weights = np.where(usable & (variances > 0), 1.0 / np.where(variances > 0, variances, 1.0), 0.0)
        total = reduce_axis(-2, weights)[..., None, :]
        centre = reduce_axis(-2, weights * np.where(usable, rates, 0.0))[..., None, :] / np.where(total > 0, total, 1.0)
        variance = np.maximum(variances - 1.0 / np.where(total > 0, total, 1.0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.abs(rates - centre) / np.sqrt(variance)
        largest = reduce_axis(-2, np.where(usable & (variance > 0), z, 0.0), np.maximum)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            for index, first in enumerate(groups[:-1]):
                others = groups[index + 1 :]
                variance = variances[..., [first], :] + variances[..., others, :]
                z = np.abs(rates[..., [first], :] - rates[..., others, :]) / np.sqrt(variance)
                use = usable[..., [first], :] & usable[..., others, :] & (variance > 0)
                largest = np.maximum(largest, reduce_axis(-2, np.where(use, z, 0.0), np.maximum))
    return np.where(number >= 2, largest, np.nan)


def root_chi_square(rates: Floats, variances: Floats, compared: Flags) -> Floats:
    """Return the root of sum_g (r_g - p)^2 / v_g of each class, ``[..., class]``: large groups count most."""
    usable = compared & ~np.isnan(rates) & (variances > 0)
    weights = np.where(usable, 1.0 / np.where(usable, variances, 1.0), 0.0)
    total = reduce_axis(-2, weights)[..., None, :]
    filled = np.where(usable, rates, 0.0)
    centre = reduce_axis(-2, weights * filled)[..., None, :] / np.where(total > 0, total, 1.0)
    statistic = np.sqrt(reduce_axis(-2, weights * (filled - centre) ** 2))
    enough = reduce_axis(-2, compared & ~np.isnan(rates)) >= 2
    return np.where(enough, statistic, np.nan)


def critical_value(sample: NullSample | None, alpha: float, pairs: int) -> float:
    """Return how many standard errors every pair's difference stays within with probability 1 - alpha.

    That is a quantile of the null; where too few draws tell it, Bonferroni's normal quantile over the pairs.
    """
    single = -float(special.ndtri(alpha / 2))
    together = -float(special.ndtri(alpha / (2 * max(pairs, 1))))
    quantile = float("nan") if sample is None else sample.quantile(alpha)
    return together if np.isnan(quantile) else max(single, quantile)


@dataclass(frozen=True, eq=False)
class PairBound:
    """Pairs of groups whose difference (or ratio) is to be bounded: counts ``[pair, 4]`` and the level of each.

    ``counts`` are successes and trials of the group with the higher rate, then of the lower. ``exact`` is a bound that
    needs no interval of counts.
    """

    counts: Floats
    level: float
    kind: Literal["difference", "ratio"] = "difference"
    exact: float = float("nan")


def candidate_pairs(
    successes: Floats, trials: Floats, compared: Flags, variances: Floats, most: int = CANDIDATES
) -> tuple[Floats, tuple[int, int] | None]:
    """Return the counts of the pairs that differ most for their error, and the first of them (lower, higher).

    Arrays are of one class, ``[group]``.
    """
    groups = np.flatnonzero(compared & (trials > 0))
    if len(groups) < 2:
        return np.empty((0, 4)), None
    rates = successes[groups] / trials[groups]
    if len(groups) > 200:  # of very many groups the most extreme tell
        order = np.argsort(rates)
        groups = groups[np.unique(np.concatenate([order[:100], order[-100:]]))]
        rates = successes[groups] / trials[groups]
    low, high = np.triu_indices(len(groups), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(rates[high] - rates[low]) / np.sqrt(variances[groups[high]] + variances[groups[low]])
    order = np.argsort(-np.nan_to_num(z), kind="stable")[:most]
    swap = rates[high[order]] < rates[low[order]]
    upper = groups[np.where(swap, low[order], high[order])]
    lower = groups[np.where(swap, high[order], low[order])]
    counts = np.stack([successes[upper], trials[upper], successes[lower], trials[lower]], axis=1)
    first = (int(lower[0]), int(upper[0])) if len(order) and np.nan_to_num(z)[order[0]] > 0 else None
    return counts, first


def pair_bounds(requests: Sequence[PairBound]) -> list[float]:
    """Return for each request the largest lower end of a difference, or the least upper end of a ratio (low / high)."""
    bounds = [request.exact for request in requests]
    for kind in ("difference", "ratio"):
        indices = [index for index, request in enumerate(requests) if request.kind == kind and len(request.counts)]
        if not indices:
            continue
        counts = np.concatenate([requests[row].counts for row in indices])
        level = np.concatenate([np.full(len(requests[row].counts), requests[row].level) for row in indices])
        owner = np.concatenate([np.full(len(requests[row].counts), row) for row in indices])
        x1, n1, x2, n2 = counts.T
        if kind == "difference":
            low, _ = difference_interval(x1, n1, x2, n2, level)
            ends = np.maximum(np.nan_to_num(low), 0.0)
        else:
            _, high = ratio_interval(x2, n2, x1, n1, level)
            ends = np.where(np.isnan(high), np.inf, high)
        for row in indices:
            ends_of_request = ends[owner == row]
            bounds[row] = float(ends_of_request.max() if kind == "difference" else ends_of_request.min())
    return bounds


def pairs_equivalence_p(successes: Floats, trials: Floats, margin: float) -> float:
    """Return the p that the largest difference of rates is the margin or more: the largest over all pairs.

    Every pair must be shown to be within the margin, so no correction for the number of pairs is needed.
    """
    low, high = np.triu_indices(len(trials), 1)
    p = difference_equivalence_p(successes[low], trials[low], successes[high], trials[high], margin)
    return float(p.max())


def simultaneous_intervals(successes: Floats, trials: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return intervals that hold all together: each at 1 - (1 - level) / number of rates."""
    number = max(int((trials > 0).sum()), 1)
    return wilson(successes, trials, 1.0 - (1.0 - level) / number)


def least_possible_difference(low: Floats, high: Floats) -> Floats:
    """Return the least max - min over groups ``[group, class]`` anywhere in the box."""
    return np.asarray(np.maximum(low.max(axis=0) - high.min(axis=0), 0.0), dtype=np.float64)


def least_weighted_distance(low: Floats, high: Floats, shares: Floats) -> Floats:
    """Return the least sum_g share_g |c - rate_g| for any centre c: convex and piecewise linear, so least at an end."""
    centres = np.concatenate([low, high])[:, None, :]
    distance = np.maximum(low[None] - centres, 0.0) + np.maximum(centres - high[None], 0.0)
    return np.asarray((shares[None] * distance).sum(axis=1).min(axis=0), dtype=np.float64)


# Values are tied if they differ by no more than this part of the largest of them. How a sum is rounded depends on the
# processor, about 1e-16 of the values for each term; what counts of people differ by is far more.
TIED_WITHIN = 1e-12


class BestComparison(NamedTuple):
    """Of each mean: whether it may be the best, and the simultaneous interval of it minus the best of the others."""

    may_be_best: NDArray[np.bool_]
    low: Floats
    high: Floats


def compare_with_best(differences: Floats, half_widths: Floats) -> BestComparison:
    """Compare each of k means with the best of the others (Hsu 1984), constrained intervals.

    Parameters
    ----------
    differences : array of shape (k, k)
        m_i - m_j, larger is better.
    half_widths : array of shape (k, k)
        Half-widths of one-sided intervals of these differences at level a / (k - 1); infinite where a difference was
        not tested.

    Returns
    -------
    WithBest
        A single mean is the best of one, with the interval 0 to 0.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([1.0, 0.9, 0.2])
    >>> found = compare_with_best(means[:, None] - means[None], np.full((3, 3), 0.3))
    >>> found.may_be_best.tolist()
    [True, True, False]
    """
    number = len(differences)
    if number < 2:
        return BestComparison(np.ones(number, dtype=bool), np.zeros(number), np.zeros(number))
    off_diagonal = ~np.eye(number, dtype=bool)
    upper = np.where(off_diagonal, differences + half_widths, np.inf).min(axis=1)
    may = upper > 0
    lower = np.where(off_diagonal & may[None], differences - half_widths, np.inf).min(axis=1)
    # The only one that may be the best is the best: the others are no better.
    alone = may & (may.sum() == 1)
    return BestComparison(may, np.where(alone, 0.0, np.minimum(lower, 0.0)), np.maximum(upper, 0.0))


def tie_tolerance(values: Floats, axis: int | tuple[int, ...] = 0) -> Floats:
    """Return within how much values are tied: ``TIED_WITHIN`` of the largest of them, infinite and undefined left out.

    Examples
    --------
    >>> float(tie_tolerance(np.array([0.5, -2.0, np.nan])))
    2e-12
    """
    largest: Floats = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=axis, initial=0.0)
    return TIED_WITHIN * largest


def share_of_best(values: Floats, tolerance: Floats | float = 0.0) -> Floats:
    """Return how often each of k is the best, which is the highest.

    Parameters
    ----------
    values : array of shape (k, draws, ...)
        Undefined ones are never the best.
    tolerance : array of shape (...) or float
        Those within it of the highest are tied, and share the draw equally.

    Returns
    -------
    array of shape (k, ...)
        They add up to 1; undefined for one that is undefined in every draw.

    Examples
    --------
    >>> import numpy as np
    >>> share_of_best(np.array([[0.3, 0.5], [0.1 + 0.2, 0.4]]), 1e-12).tolist()
    [0.75, 0.25]
    """
    is_defined = ~np.isnan(values)
    filled = np.where(is_defined, values, -np.inf)
    top = (filled >= filled.max(axis=0) - tolerance) & is_defined
    share = (top / np.maximum(top.sum(axis=0), 1)).mean(axis=1)
    return np.where(is_defined.any(axis=1), share, np.nan)


def winner_if_equal(deviations: Floats, times: int = 64, tolerance: Floats | float | None = None) -> Floats:
    """Return how often the winner of equal means would be drawn as the best: the median over simulated studies.

    Parameters
    ----------
    deviations : array of shape (k, draws, ...)
        How far each of k means moves when the study is drawn again.
    times : int
        Simulated studies. Each takes one draw as its means, and draws it again with all deviations.
    tolerance : array of shape (...) or float, optional
        Within how much means are tied; without it, what ``tie_tolerance`` says of the deviations. Deviations of means
        that hardly move are rounded as the means are, so who has the means gives theirs.

    Returns
    -------
    array of shape (...)
        1 of a single mean, 1 / k where means do not move.

    Examples
    --------
    >>> import numpy as np
    >>> deviations = np.random.default_rng(0).normal(size=(4, 400))
    >>> 0.5 < float(winner_if_equal(deviations)) < 0.7
    True
    """
    number, draws = deviations.shape[:2]
    columns = np.linspace(0, draws - 1, min(times, draws)).round().astype(int)
    within = tie_tolerance(deviations, (0, 1)) if tolerance is None else tolerance
    shares = [
        share_of_best(deviations + deviations[:, column : column + 1], within).max(axis=0)
        for column in columns.tolist()
    ]
    values: Floats = np.median(np.stack(shares), axis=0)
    return np.where(np.isnan(deviations).any(axis=(0, 1)), np.nan, values) if number else values
