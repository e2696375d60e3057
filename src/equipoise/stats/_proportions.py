"""Intervals for rates and for differences of rates, with the tests they agree with. Everything is vectorised.

Wilson (1927) for one rate; Miettinen and Nurminen (1985) for the difference of two: both invert a score test, so an
interval excludes 0 exactly when its test rejects. A percentile bootstrap covers 66 % where one group has 1 of 100.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

HALVINGS = 60


def _floats(value: ArrayLike) -> Floats:
    return np.asarray(value, dtype=np.float64)


def quantile(level: ArrayLike) -> Floats:
    """Return z such that a standard normal lies within -z and z with this probability."""
    return -_floats(special.ndtri((1.0 - _floats(level)) / 2.0))


def wilson(successes: ArrayLike, trials: ArrayLike, level: ArrayLike = 0.95) -> tuple[Floats, Floats]:
    """Return the Wilson interval of x / n; without trials it is all of [0, 1]."""
    x, n, z = _floats(successes), _floats(trials), quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = x / n
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        low, high = np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
    empty = n <= 0
    return np.where(empty, 0.0, np.where(x <= 0, 0.0, low)), np.where(empty, 1.0, np.where(x >= n, 1.0, high))


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
    z = quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = first / size1 - second / size2

    def edge(side: float) -> Floats:
        """Halve the way from the estimate to the end of the range until the statistic is z."""
        inside, outside = estimate.copy(), np.full_like(estimate, side)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            accepted = np.abs(score_statistic(first, size1, second, size2, middle)) <= z
            inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
        return np.asarray(inside, dtype=np.float64)

    known = (size1 > 0) & (size2 > 0)
    low, high = edge(-1.0), edge(1.0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)
