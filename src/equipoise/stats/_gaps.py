"""Largest differences of several groups: a studentised maximum, its null distribution, and what it still bounds.

A largest difference is above 0 even where nothing differs, and the noisiest group decides it. So each pair's difference
is divided by its standard error under the hypothesis that all groups are alike,

    T = max over pairs (g, h) of |r_g - r_h| / sqrt(v_g + v_h),      v_g = p (1 - p) / n_g  with the pooled rate p,

and T is compared with itself where groups are permuted. A quantile c of that null distribution bounds every
pair at once, so the largest lower end of the pairs' intervals at the level of c is a simultaneous lower bound.

Where the measure is no difference of two groups, all rates it compares lie in a box with 95% confidence (Wilson
intervals, Bonferroni over their number), and the smallest value it takes anywhere in the box is its lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from equipoise.foundation.arrays import over
from equipoise.stats._permutation import NullSample
from equipoise.stats._proportions import difference_equivalence_p, difference_interval, ratio_interval, wilson

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# With more groups than this each is compared with all together instead of with each other.
MOST_PAIRED = 24
# So many pairs are bounded one by one: those with the largest differences for their error.
CANDIDATES = 8


def pooled_rate(numerators: Floats, denominators: Floats, kept: Flags) -> Floats:
    """Return the rate of the kept groups taken together, ``[..., 1, class]``; 0 where they have no trials."""
    x, n = (over(-2, np.where(kept, part, 0.0))[..., None, :] for part in (numerators, denominators))
    return np.asarray(np.divide(x, n, out=np.zeros_like(x), where=n > 0), dtype=np.float64)


def null_variances(numerators: Floats, denominators: Floats, kept: Flags, *, proportion: bool = True) -> Floats:
    """Return the variance of each group's rate if all kept groups had the same one, ``[..., group, class]``.

    A rate that is no proportion is a ratio of sums like F1 = 2 TP / (2 TP + FP + FN), in which a success counts twice
    above and below: the variance is then that of a ratio estimator, sum (y - R x)^2 / (sum x)^2.
    """
    common = pooled_rate(numerators, denominators, kept)
    with np.errstate(divide="ignore", invalid="ignore"):
        if proportion:
            variance = common * (1 - common) / denominators
        else:
            rest = np.maximum(denominators - numerators, 0.0)
            variance = (2 * numerators * (1 - common) ** 2 + rest * common**2) / denominators**2
    return np.asarray(np.where(denominators > 0, variance, np.nan), dtype=np.float64)


def largest_studentised(rates: Floats, variances: Floats, kept: Flags) -> Floats:
    """Return T of each class, ``[..., class]``, from rates and variances ``[..., group, class]``.

    Parameters
    ----------
    rates, variances : array of shape (..., groups, classes)
        NaN where a group has no rate; it is then left out.
    kept : array of shape (groups, classes)
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
    usable = kept & ~np.isnan(rates) & ~np.isnan(variances)
    number = over(-2, usable)
    shape = (*rates.shape[:-2], rates.shape[-1])
    largest = np.zeros(shape)
    groups = np.flatnonzero(kept.any(axis=-1))
    if len(groups) > MOST_PAIRED:
        weights = np.where(usable & (variances > 0), 1.0 / np.where(variances > 0, variances, 1.0), 0.0)
        total = over(-2, weights)[..., None, :]
        centre = over(-2, weights * np.where(usable, rates, 0.0))[..., None, :] / np.where(total > 0, total, 1.0)
        variance = np.maximum(variances - 1.0 / np.where(total > 0, total, 1.0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.abs(rates - centre) / np.sqrt(variance)
        largest = over(-2, np.where(usable & (variance > 0), z, 0.0), np.maximum)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            for place, first in enumerate(groups[:-1]):
                others = groups[place + 1 :]
                variance = variances[..., [first], :] + variances[..., others, :]
                z = np.abs(rates[..., [first], :] - rates[..., others, :]) / np.sqrt(variance)
                use = usable[..., [first], :] & usable[..., others, :] & (variance > 0)
                largest = np.maximum(largest, over(-2, np.where(use, z, 0.0), np.maximum))
    return np.where(number >= 2, largest, np.nan)


def root_chi_square(rates: Floats, variances: Floats, kept: Flags) -> Floats:
    """Return the root of sum_g (r_g - p)^2 / v_g of each class, ``[..., class]``: large groups count most."""
    usable = kept & ~np.isnan(rates) & (variances > 0)
    weights = np.where(usable, 1.0 / np.where(usable, variances, 1.0), 0.0)
    total = over(-2, weights)[..., None, :]
    filled = np.where(usable, rates, 0.0)
    centre = over(-2, weights * filled)[..., None, :] / np.where(total > 0, total, 1.0)
    found = np.sqrt(over(-2, weights * (filled - centre) ** 2))
    enough = over(-2, kept & ~np.isnan(rates)) >= 2
    return np.where(enough, found, np.nan)


def critical_value(sample: NullSample | None, alpha: float, pairs: int) -> float:
    """Return how many standard errors every pair's difference stays within with probability 1 - alpha.

    That is a quantile of the null; where too few draws tell it, Bonferroni's normal quantile over the pairs.
    """
    single = -float(special.ndtri(alpha / 2))
    together = -float(special.ndtri(alpha / (2 * max(pairs, 1))))
    drawn = float("nan") if sample is None else sample.quantile(alpha)
    return together if np.isnan(drawn) else max(single, drawn)


@dataclass(frozen=True, eq=False)
class PairBound:
    """Pairs of groups whose difference (or ratio) is to be bounded: counts ``[pair, 4]`` and the level of each.

    ``counts`` are successes and trials of the group with the higher rate, then of the lower. ``known`` is a bound that
    needs no interval of counts.
    """

    counts: Floats
    level: float
    kind: Literal["difference", "ratio"] = "difference"
    known: float = float("nan")


def candidate_pairs(
    successes: Floats, trials: Floats, kept: Flags, variances: Floats, most: int = CANDIDATES
) -> tuple[Floats, tuple[int, int] | None]:
    """Return the counts of the pairs that differ most for their error, and the first of them (lower, higher).

    Arrays are of one class, ``[group]``.
    """
    groups = np.flatnonzero(kept & (trials > 0))
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


def bounds_of(requests: Sequence[PairBound]) -> list[float]:
    """Return for each request the largest lower end of a difference, or the least upper end of a ratio (low / high)."""
    found = [one.known for one in requests]
    for kind in ("difference", "ratio"):
        places = [place for place, one in enumerate(requests) if one.kind == kind and len(one.counts)]
        if not places:
            continue
        counts = np.concatenate([requests[place].counts for place in places])
        level = np.concatenate([np.full(len(requests[place].counts), requests[place].level) for place in places])
        owner = np.concatenate([np.full(len(requests[place].counts), place) for place in places])
        x1, n1, x2, n2 = counts.T
        if kind == "difference":
            low, _ = difference_interval(x1, n1, x2, n2, level)
            ends = np.maximum(np.nan_to_num(low), 0.0)
        else:
            _, high = ratio_interval(x2, n2, x1, n1, level)
            ends = np.where(np.isnan(high), np.inf, high)
        for place in places:
            own = ends[owner == place]
            found[place] = float(own.max() if kind == "difference" else own.min())
    return found


def pairs_equivalence_p(successes: Floats, trials: Floats, margin: float) -> float:
    """Return the p that the largest difference of rates is the margin or more: the largest over all pairs.

    Every pair must be shown to be within the margin, so no correction for the number of pairs is needed.
    """
    low, high = np.triu_indices(len(trials), 1)
    p = difference_equivalence_p(successes[low], trials[low], successes[high], trials[high], margin)
    return float(p.max())


def box(successes: Floats, trials: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return intervals that hold all together: each at 1 - (1 - level) / number of rates."""
    number = max(int((trials > 0).sum()), 1)
    return wilson(successes, trials, 1.0 - (1.0 - level) / number)


def least_difference(low: Floats, high: Floats) -> Floats:
    """Return the least max - min over groups ``[group, class]`` anywhere in the box."""
    return np.asarray(np.maximum(low.max(axis=0) - high.min(axis=0), 0.0), dtype=np.float64)


def least_weighted_distance(low: Floats, high: Floats, shares: Floats) -> Floats:
    """Return the least sum_g share_g |c - rate_g| for any centre c: convex and piecewise linear, so least at an end."""
    centres = np.concatenate([low, high])[:, None, :]
    distance = np.maximum(low[None] - centres, 0.0) + np.maximum(centres - high[None], 0.0)
    return np.asarray((shares[None] * distance).sum(axis=1).min(axis=0), dtype=np.float64)
