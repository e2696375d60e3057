"""Largest differences of several groups: a studentised maximum, its null distribution, and what it still bounds.

A largest difference is above 0 even where nothing differs, and the noisiest group decides it. So each pair's difference
is divided by its standard error under the hypothesis that all groups are alike,

    T = max over pairs (g, h) of |r_g - r_h| / sqrt(v_g + v_h),      v_g = p (1 - p) / n_g  with the pooled rate p,

and T is compared with itself where groups are permuted. A quantile c of that null distribution bounds every
pair at once, so the largest lower end of the pairs' intervals at the level of c is a simultaneous lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from equipoise.stats._permutation import SequentialTests
from equipoise.stats._proportions import difference_equivalence_p, difference_interval, ratio_interval

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# With more groups than this each is compared with all together instead of with each other.
MOST_PAIRED = 24
# What lies this many standard deviations above the mean of so many draws is not drawn any further: of the absolute
# value of a normal number that is 5.3, which chance exceeds once in ten million times.
OBVIOUS, LOOKED_AT = 7.5, 1_000
FIRST_BATCH = 250
# So many pairs are bounded one by one: those with the largest differences for their error.
CANDIDATES = 8


def pooled_rate(numerators: Floats, denominators: Floats, kept: Flags) -> Floats:
    """Return the rate of the kept groups taken together, ``[..., 1, class]``; 0 where they have no trials."""
    x = np.where(kept, numerators, 0.0).sum(axis=-2, keepdims=True)
    n = np.where(kept, denominators, 0.0).sum(axis=-2, keepdims=True)
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
    number = usable.sum(axis=-2)
    shape = (*rates.shape[:-2], rates.shape[-1])
    largest = np.zeros(shape)
    groups = np.flatnonzero(kept.any(axis=-1))
    if len(groups) > MOST_PAIRED:
        weights = np.where(usable & (variances > 0), 1.0 / np.where(variances > 0, variances, 1.0), 0.0)
        total = weights.sum(axis=-2, keepdims=True)
        centre = (weights * np.where(usable, rates, 0.0)).sum(axis=-2, keepdims=True) / np.where(total > 0, total, 1.0)
        variance = np.maximum(variances - 1.0 / np.where(total > 0, total, 1.0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.abs(rates - centre) / np.sqrt(variance)
        largest = np.where(usable & (variance > 0), z, 0.0).max(axis=-2)
    else:
        for place, first in enumerate(groups):
            for second in groups[place + 1 :]:
                variance = variances[..., first, :] + variances[..., second, :]
                with np.errstate(divide="ignore", invalid="ignore"):
                    z = np.abs(rates[..., first, :] - rates[..., second, :]) / np.sqrt(variance)
                use = usable[..., first, :] & usable[..., second, :] & (variance > 0)
                largest = np.maximum(largest, np.where(use, z, 0.0))
    return np.where(number >= 2, largest, np.nan)


def root_chi_square(rates: Floats, variances: Floats, kept: Flags) -> Floats:
    """Return the root of sum_g (r_g - p)^2 / v_g of each class, ``[..., class]``: large groups count most."""
    usable = kept & ~np.isnan(rates) & (variances > 0)
    weights = np.where(usable, 1.0 / np.where(usable, variances, 1.0), 0.0)
    total = weights.sum(axis=-2, keepdims=True)
    filled = np.where(usable, rates, 0.0)
    centre = (weights * filled).sum(axis=-2, keepdims=True) / np.where(total > 0, total, 1.0)
    found = np.sqrt((weights * (filled - centre) ** 2).sum(axis=-2))
    enough = (kept & ~np.isnan(rates)).sum(axis=-2) >= 2
    return np.where(enough, found, np.nan)


@dataclass(frozen=True, eq=False)
class NullSample:
    """The p of one statistic, the draws it rests on, whether a cap limits it, and its null values."""

    p: float
    draws: int
    limited: bool
    values: Floats = field(repr=False)

    def quantile(self, alpha: float) -> float:
        """Return the value that the null exceeds with this probability; NaN where too few draws tell it."""
        known = self.values[~np.isnan(self.values)]
        if alpha * len(known) < 10:
            return float("nan")
        return float(np.quantile(known, 1 - alpha, method="higher"))


def compare_with_null(
    observed: Mapping[str, Floats], draw: Callable[[int, Sequence[str]], Mapping[str, Floats]], *, most: int,
    needed: int, batch: int,
) -> dict[str, list[NullSample]]:  # fmt: skip
    """Test several statistics of several classes against draws that they share.

    Each test stops at 20 draws as extreme as what was observed, else at ``most``. What lies 7.5 standard deviations
    above the mean of the first 1,000 draws gets the smallest p that ``most`` draws can give, without drawing them.

    Parameters
    ----------
    observed : mapping of name to array of shape (k,)
        What was observed; NaN is not tested.
    draw : callable
        ``draw(n, names)`` returns the next n null values of the named statistics, each of shape (n, k).
    most, needed : int
        How many draws are made at the most, and how many the report needs.
    batch : int
        How many draws are made at once at the most.
    """
    tests = {name: SequentialTests(values) for name, values in observed.items()}
    null: dict[str, list[Floats]] = {name: [] for name in observed}
    obvious = {name: np.zeros(len(values), dtype=np.bool_) for name, values in observed.items()}
    made, size, looked = 0, FIRST_BATCH, False
    while made < most:
        names = [name for name, own in tests.items() if not (own.settled | obvious[name]).all()]
        if not names:
            break
        number = min(size, most - made, batch)
        drawn = draw(number, names)
        made, size = made + number, min(2 * size, 16 * FIRST_BATCH)
        for name in names:
            tests[name].add(drawn[name])
            null[name].append(drawn[name])
            if made >= LOOKED_AT and not looked:
                obvious[name] = _is_far(observed[name], np.concatenate(null[name])) & (tests[name].extreme[0] == 0)
        looked = looked or made >= LOOKED_AT
    found = {}
    for name, own in tests.items():
        sample = np.concatenate(null[name]) if null[name] else np.empty((0, len(own)))
        p = np.where(obvious[name] & (own.extreme[0] == 0), 1.0 / (1.0 + most), own.p)
        limited = (most < needed) & ~own.settled
        found[name] = [
            NullSample(float(p[place]), int(own.draws[place]), bool(limited[place]), sample[:, place])
            for place in range(len(own))
        ]
    return found


def _is_far(observed: Floats, null: Floats) -> Flags:
    """Tell which numbers lie far above all that was drawn; undefined draws do not count."""
    known = ~np.isnan(null)
    number = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, null, 0.0).sum(axis=0) / number
    spread = np.sqrt(np.where(known, (null - mean) ** 2, 0.0).sum(axis=0) / number)
    with np.errstate(invalid="ignore"):
        return np.asarray(known.any(axis=0) & (observed > mean + OBVIOUS * spread), dtype=np.bool_)


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
