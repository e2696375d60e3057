"""Intervals for rates, their differences and their ratios, with the tests they agree with. Everything is vectorised.

Wilson (1927) for one rate; Miettinen and Nurminen (1985) for the difference of two; Koopman (1984) for their ratio: all
invert a score test, so an interval leaves out the value of no difference exactly when its test rejects. A percentile
bootstrap covers 66% where one group has 1 of 100. Weighted rows enter as effective counts.

**Before and after** there are intervals and tests for one rate, and for the change of a difference. The same rows
judged twice: Tango's (1998) score interval, which agrees with McNemar's test. Two samples of people: Miettinen and
Nurminen's, as between groups (above). The change of a difference adds the changes of two sides that share nobody: each
is estimated with a little added to its counts (Bonett and Price 2012 for pairs, Price and Bonett 2004 for samples);
without that the interval is too narrow where few judgements changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from equipoise.foundation import Floats

# A crossing is found to this distance, relative to 1 or to itself; it takes about a dozen steps.
PRECISION = 2.0**-52
MOST_STEPS = 200
# Fewer expected than this in any of the four cells, and large-sample tests reject too often.
FEW_EXPECTED = 10.0


def _floats(value: ArrayLike) -> Floats:
    return np.asarray(value, dtype=np.float64)


def normal_quantile(level: ArrayLike) -> Floats:
    """Return z such that a standard normal lies within -z and z with this probability."""
    return -_floats(special.ndtri((1.0 - _floats(level)) / 2.0))


def find_root(excess: Callable[[Floats], Floats], near: Floats, far: Floats) -> Floats:
    """Return where a continuous function rises above 0 on the way from one place to another (Chandrupatla 1997).

    Parameters
    ----------
    excess : callable
        The function of an array, number by number. It is not above 0 at ``near``.
    near, far : array
        Where to search. An end is returned where the function is not above 0 at ``far``, or is at ``near`` already.

    Returns
    -------
    array
        NaN where the function is.

    Examples
    --------
    >>> find_root(lambda x: x**2 - 2, np.zeros(1), np.full(1, 2.0)).round(6)
    array([1.414214])
    """
    x1, x2 = near, far
    f1, f2 = excess(x1), excess(x2)
    is_open = (f1 <= 0) & (f2 > 0)
    roots = np.where(np.isnan(f1) | np.isnan(f2), np.nan, np.where(f1 > 0, near, far))
    step: Floats | float = 0.5
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(MOST_STEPS):
            if not is_open.any():
                break
            x = x1 + step * (x2 - x1)
            f = excess(x)
            same = (f > 0) == (f1 > 0)
            x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
            x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
            x1, f1 = x, f
            nearest = np.where(np.abs(f1) < np.abs(f2), x1, x2)
            least = PRECISION * np.maximum(np.abs(nearest), 1.0) / np.abs(x2 - x1)
            settled = is_open & ((least > 0.5) | (f1 == 0) | np.isnan(f1))
            roots = np.where(settled, np.where(np.isnan(f1), np.nan, nearest), roots)
            is_open &= ~settled
            # Where three points lie on a curve like a parabola on its side, go to its root; elsewhere halve.
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            root = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            curved = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(root)
            step = np.clip(np.where(curved, root, 0.5), least, 1 - least)
    return np.asarray(roots, dtype=np.float64)


def wilson(successes: ArrayLike, trials: ArrayLike, level: ArrayLike = 0.95) -> tuple[Floats, Floats]:
    """Return the Wilson interval of x / n; without trials it is all of [0, 1]."""
    x, n, z = _floats(successes), _floats(trials), normal_quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = x / n
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        low, high = np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
    empty = n <= 0
    return np.where(empty, 0.0, np.where(x <= 0, 0.0, low)), np.where(empty, 1.0, np.where(x >= n, 1.0, high))


def combined_interval(weights: ArrayLike, values: ArrayLike, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the interval of a weighted sum of independent numbers, from the interval of each (Zou and Donner 2008).

    The distances of the ends from the numbers are added up in squares, those of a negative weight the other way round.
    Of a difference of two rates with Wilson's intervals that is Newcombe's.

    Parameters
    ----------
    weights, values, low, high : arrays of shape (n,)
        The weight of each number, the number, and the ends of its interval.

    Returns
    -------
    low, high : arrays of shape ()

    Examples
    --------
    >>> low, high = combined_interval([1, -1], [0.8, 0.5], [0.7, 0.4], [0.84, 0.53])
    >>> round(float(low), 4), round(float(high), 4)
    (0.1956, 0.4077)
    """
    w, x = _floats(weights), _floats(values)
    below, above = w * (x - _floats(low)), w * (_floats(high) - x)
    down, up = np.where(w > 0, below, above), np.where(w > 0, above, below)
    total = (w * x).sum()
    return _floats(total - np.sqrt((down**2).sum())), _floats(total + np.sqrt((up**2).sum()))


def _restricted(p1: Floats, n1: Floats, p2: Floats, n2: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Return the maximum likelihood estimates of both rates, given that they differ by d (a cubic's root)."""
    theta = n2 / n1
    a = 1 + theta
    b = -(1 + theta + p1 + theta * p2 + d * (theta + 2))
    c = d * d + d * (2 * p1 + theta + 1) + p1 + theta * p2
    e = -p1 * d * (1 + d)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
    u = np.where(v >= 0, 1.0, -1.0) * np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 0.0))
    cube = np.where(u == 0, 1.0, u**3)
    w = (np.pi + np.arccos(np.clip(np.where(u == 0, 0.0, v / cube), -1.0, 1.0))) / 3
    first = np.clip(2 * u * np.cos(w) - b / (3 * a), 0.0, 1.0)
    return first, np.clip(first - d, 0.0, 1.0)


def score_statistic(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, d: ArrayLike = 0.0) -> Floats:
    """Return Miettinen and Nurminen's z for the hypothesis that the rates differ by d."""
    first, size1, second, size2 = _floats(x1), _floats(n1), _floats(x2), _floats(n2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p1, p2 = first / size1, second / size2
        r1, r2 = _restricted(p1, size1, p2, size2, _floats(d))
        total = size1 + size2
        variance = (r1 * (1 - r1) / size1 + r2 * (1 - r2) / size2) * total / np.maximum(total - 1, 1e-9)
        distance = p1 - p2 - _floats(d)
        z = distance / np.sqrt(variance)
    # Without any variance the rates are known: equal to the hypothesis, or infinitely far from it.
    return np.where(variance > 0, z, np.where(np.abs(distance) < 1e-12, 0.0, np.where(distance > 0, np.inf, -np.inf)))


def is_rare(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> NDArray[np.bool_]:
    """Tell where fewer than 10 of an outcome are expected on a side, if both sides had the same rate."""
    first, size1, second, size2 = (np.asarray(part, dtype=np.float64) for part in (x1, n1, x2, n2))
    with np.errstate(invalid="ignore", divide="ignore"):
        p = (first + second) / (size1 + size2)
    least = np.minimum(size1, size2) * np.minimum(p, 1 - p)
    return np.asarray((size1 > 0) & (size2 > 0) & (least < FEW_EXPECTED), dtype=np.bool_)


def difference_p(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> Floats:
    """Return the two-sided p-value that two rates are the same; NaN where one has no trials."""
    size1, size2 = _floats(n1), _floats(n2)
    p = _floats(2 * special.ndtr(-np.abs(score_statistic(x1, n1, x2, n2))))
    return np.where((size1 > 0) & (size2 > 0), p, np.nan)


def difference_interval(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: ArrayLike = 0.95
) -> tuple[Floats, Floats]:
    """Return the interval of x1/n1 - x2/n2: every difference that the score test does not reject."""
    first, size1, second, size2 = np.broadcast_arrays(_floats(x1), _floats(n1), _floats(x2), _floats(n2))
    z = normal_quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = first / size1 - second / size2

    low, high = find_root(
        lambda d: np.abs(score_statistic(first, size1, second, size2, d)) - z,
        np.stack([estimate, estimate]),
        np.stack([np.full_like(estimate, -1.0), np.full_like(estimate, 1.0)]),
    )
    is_known = (size1 > 0) & (size2 > 0)
    return np.where(is_known, low, np.nan), np.where(is_known, high, np.nan)


def difference_equivalence_p(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, margin: float) -> Floats:
    """Return the larger p of two one-sided score tests that two rates differ by the margin or more.

    Examples
    --------
    >>> float(difference_equivalence_p(500, 1000, 510, 1000, 0.05).round(4))
    0.0367
    """
    below = special.ndtr(score_statistic(x1, n1, x2, n2, margin))
    above = special.ndtr(-score_statistic(x1, n1, x2, n2, -margin))
    is_known = (_floats(n1) > 0) & (_floats(n2) > 0)
    return np.where(is_known, np.maximum(below, above), np.nan)


def effective_counts(
    numerators: ArrayLike, denominators: ArrayLike, squared_numerators: ArrayLike, squared_denominators: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the successes and trials of unweighted rows that would know a weighted rate as well as these rows do.

    A weighted rate p = sum w y / sum w has the variance sum w^2 (y - p)^2 / (sum w)^2, which needs the squared weights
    of both outcomes: (1 - p)^2 S1 + p^2 S0 over (sum w)^2. The effective number of trials is n = p (1 - p) / variance,
    and p n of them are successes. Kish's (sum w)^2 / sum w^2 is the special case of weights that do not depend on the
    outcome; it serves where the rate is 0 or 1, times the share of Kish's number that is left over all rates here.

    Parameters
    ----------
    numerators, denominators : array
        Sums of weights of the successes and of all rows behind each rate.
    squared_numerators, squared_denominators : array
        The same sums of squared weights.

    Returns
    -------
    tuple of arrays
        Effective successes and effective trials; both 0 where there are no rows. Multiplying all weights by a number
        changes neither.

    Examples
    --------
    >>> # Two successes that weigh 10 each, and 80 failures that weigh 1.
    >>> x, n = effective_counts([20.0], [100.0], [200.0], [280.0])
    >>> float(x[0].round(2)), float(n[0].round(2))
    (2.44, 12.2)
    """
    x, n, x2, n2 = (_floats(part) for part in (numerators, denominators, squared_numerators, squared_denominators))
    if np.array_equal(x, x2) and np.array_equal(n, n2):  # every row counts once
        return x, n
    with np.errstate(invalid="ignore", divide="ignore"):
        p = x / n
        kish = np.where(n2 > 0, n**2 / n2, 0.0)
        variance = ((1 - p) ** 2 * x2 + p**2 * np.maximum(n2 - x2, 0.0)) / n**2
        has_variance = (variance > 0) & (p > 0) & (p < 1)
        trials = np.where(has_variance, p * (1 - p) / np.where(has_variance, variance, 1.0), kish)
        share = float(trials[has_variance].sum() / kish[has_variance].sum()) if has_variance.any() else 1.0
    trials = np.where(has_variance, trials, kish * min(share, 1.0))
    trials = np.where(n > 0, trials, 0.0)
    return np.where(n > 0, np.nan_to_num(p) * trials, 0.0), trials


def ratio_statistic(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, ratio: ArrayLike = 1.0) -> Floats:
    """Return Koopman's score z for the hypothesis that the first rate is ``ratio`` times the second."""
    first, size1, second, size2, r = (_floats(part) for part in (x1, n1, x2, n2, ratio))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Maximum likelihood of the second rate, given the ratio: a root of A p^2 + B p + C.
        a = (size1 + size2) * r
        b = -(size1 * r + first + size2 + second * r)
        c = first + second
        low = 2 * c / (-b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)))
        p2 = np.minimum(low, np.minimum(1.0, 1.0 / r))
        p1 = np.minimum(r * p2, 1.0)
        variance = p1 * (1 - p1) / size1 + r * r * p2 * (1 - p2) / size2
        distance = first / size1 - r * second / size2
        z = distance / np.sqrt(variance)
    return np.where(variance > 0, z, np.where(np.abs(distance) < 1e-12, 0.0, np.where(distance > 0, np.inf, -np.inf)))


def ratio_interval(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: ArrayLike = 0.95
) -> tuple[Floats, Floats]:
    """Return the score interval of the ratio of two rates (Koopman 1984): every ratio that the test does not reject.

    Parameters
    ----------
    x1, n1, x2, n2 : array
        Successes and trials of the numerator and of the denominator of the ratio.
    level : array
        Confidence level of the interval.

    Returns
    -------
    tuple of arrays
        The lower and the upper end. Without successes in the denominator the upper end is infinite; without any
        success, or without trials, both ends are NaN.

    Examples
    --------
    >>> low, high = ratio_interval(36, 40, 16, 80)
    >>> float(low.round(2)), float(high.round(2))
    (2.94, 7.15)
    >>> [float(end) for end in ratio_interval(0, 40, 0, 100)]
    [nan, nan]
    """
    first, size1, second, size2, critical = np.broadcast_arrays(
        *(_floats(part) for part in (x1, n1, x2, n2)), normal_quantile(level)
    )

    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.clip(np.log(first / size1) - np.log(second / size2), -40.0, 40.0)
    # Search the logarithm of the ratio.
    ends = np.exp(
        find_root(
            lambda ratio: np.abs(ratio_statistic(first, size1, second, size2, np.exp(ratio))) - critical,
            np.stack([estimate, estimate]),
            np.stack([np.full_like(estimate, -40.0), np.full_like(estimate, 40.0)]),
        )
    )
    is_known = (size1 > 0) & (size2 > 0) & (first + second > 0)
    lower = np.where(first <= 0, 0.0, ends[0])
    upper = np.where(second <= 0, np.inf, ends[1])
    return np.where(is_known, lower, np.nan), np.where(is_known, upper, np.nan)


# In front of a table of pairs: was the row counted (after, before), and did it count as a success (after, before)?
PAIR_CASES = [(a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)]
COUNTED_AFTER, COUNTED_BEFORE, SUCCESS_AFTER, SUCCESS_BEFORE = np.array(PAIR_CASES, dtype=np.float64).T


@dataclass(frozen=True)
class Estimate:
    """A normal estimate: where it is, and its standard error."""

    centre: Floats
    spread: Floats

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference of two estimates that share no rows."""
        return Estimate(self.centre - other.centre, np.hypot(self.spread, other.spread))

    def interval(self, level: ArrayLike) -> tuple[Floats, Floats]:
        """Return the interval at a level."""
        half = normal_quantile(level) * self.spread
        return self.centre - half, self.centre + half

    @property
    def p(self) -> Floats:
        """The two-sided p-value that it is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.abs(self.centre) / self.spread
        return np.asarray(2 * special.ndtr(-np.where(self.spread > 0, z, 0.0)), dtype=np.float64)


def pair_statistic(gained: ArrayLike, lost: ArrayLike, n: ArrayLike, d: ArrayLike = 0.0) -> Floats:
    """Return Tango's z for the hypothesis that the rate changed by d; for d = 0 it is McNemar's, (b - c) / sqrt(b + c).

    Of n rows b became a success and c ceased to be one. Under the hypothesis the share of the lost is estimated by
    maximum likelihood, the larger root q of 2n q^2 + (d (2n - b + c) - b - c) q - c d (1 - d) = 0.
    """
    b, c, size, change = (np.asarray(part, dtype=np.float64) for part in (gained, lost, n, d))
    linear = change * (2 * size - b + c) - b - c
    constant = -c * change * (1 - change)
    with np.errstate(invalid="ignore", divide="ignore"):
        q = (np.sqrt(np.maximum(linear**2 - 8 * size * constant, 0.0)) - linear) / (4 * size)
        variance = size * (2 * q + change * (1 - change))
        distance = b - c - size * change
        z = distance / np.sqrt(np.maximum(variance, 0.0))
    certain = np.where(np.abs(distance) < 1e-9, 0.0, np.where(distance > 0, np.inf, -np.inf))
    return np.asarray(np.where(variance > 1e-12, z, certain), dtype=np.float64)


def pair_p(gained: ArrayLike, lost: ArrayLike, n: ArrayLike) -> Floats:
    """Return the two-sided p-value that a rate of the same rows did not change; 1 where no row changed."""
    size = np.asarray(n, dtype=np.float64)
    p = 2 * special.ndtr(-np.abs(pair_statistic(gained, lost, size)))
    return np.asarray(np.where(size > 0, p, np.nan), dtype=np.float64)


def pair_interval(gained: ArrayLike, lost: ArrayLike, n: ArrayLike, level: ArrayLike = 0.95) -> tuple[Floats, Floats]:
    """Return Tango's interval of (b - c) / n: every change that the score test does not reject."""
    b, c, size = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (gained, lost, n)))
    z = normal_quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = (b - c) / size

    low, high = find_root(
        lambda d: np.abs(pair_statistic(b, c, size, d)) - z,
        np.stack([estimate, estimate]),
        np.stack([np.full_like(estimate, -1.0), np.full_like(estimate, 1.0)]),
    )
    is_known = size > 0
    return np.where(is_known, low, np.nan), np.where(is_known, high, np.nan)


def pair_estimate(table: Floats) -> Estimate:
    """Estimate the change of a rate from a table of pairs ``[..., case]`` of counts, in the order of ``PAIR_CASES``.

    A rate is a ratio of counts; a row moves it by (success - rate) / trials, and the variance of the change is the sum
    of the squares of what each row moves. Where a rate is of the same rows before and after, one row is added to the
    gained and one to the lost (Bonett and Price); where a row may be counted once only, half a row to each of the four
    ways in which that happens.
    """
    added = np.asarray(table + _added(table), dtype=np.float64)
    trials_after, trials_before = added @ COUNTED_AFTER, added @ COUNTED_BEFORE
    rate_after, rate_before = added @ SUCCESS_AFTER / trials_after, added @ SUCCESS_BEFORE / trials_before
    moves = (SUCCESS_AFTER - COUNTED_AFTER * rate_after[..., None]) / trials_after[..., None]
    moves = moves - (SUCCESS_BEFORE - COUNTED_BEFORE * rate_before[..., None]) / trials_before[..., None]
    return Estimate(rate_after - rate_before, np.sqrt((added * moves**2).sum(axis=-1)))


def _added(table: Floats) -> Floats:
    once = np.flatnonzero((COUNTED_AFTER != COUNTED_BEFORE) & (SUCCESS_AFTER <= COUNTED_AFTER)
                          & (SUCCESS_BEFORE <= COUNTED_BEFORE))  # fmt: skip
    both = np.flatnonzero((COUNTED_AFTER + COUNTED_BEFORE == 2) & (SUCCESS_AFTER != SUCCESS_BEFORE))
    same_rows = table[..., once].sum(axis=-1, keepdims=True) == 0
    added = np.zeros_like(table)
    added[..., both] = np.where(same_rows, 1.0, 0.0)
    added[..., once] = np.where(same_rows, 0.0, 0.5)
    return added


def sample_estimate(x_after: ArrayLike, n_after: ArrayLike, x_before: ArrayLike, n_before: ArrayLike) -> Estimate:
    """Estimate the change of a rate between two samples, as one side of a difference of changes.

    Of four rates in all, half a success and half a failure are added to each (Price and Bonett).
    """
    rates, variances = [], []
    for successes, trials in ((x_after, n_after), (x_before, n_before)):
        size = np.asarray(trials, dtype=np.float64) + 1.0
        rate = (np.asarray(successes, dtype=np.float64) + 0.5) / size
        rates.append(rate)
        variances.append(rate * (1 - rate) / size)
    return Estimate(rates[0] - rates[1], np.sqrt(variances[0] + variances[1]))
