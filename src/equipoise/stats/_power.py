"""What could have been found: the smallest gap these numbers of people would show, and the people a gap needs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

POWER = 0.8
LEVEL = 0.05


def power_of(gap: ArrayLike, base: ArrayLike, n1: ArrayLike, n2: ArrayLike, *, level: float = LEVEL) -> Floats:
    """Return the chance that a two-sided test of two rates finds a gap of this size around a base rate."""
    gap, base, n1, n2 = (np.asarray(part, dtype=np.float64) for part in (gap, base, n1, n2))
    p1, p2 = _around(base, gap)
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    null = np.sqrt(np.maximum(pooled * (1 - pooled) * (1 / n1 + 1 / n2), 1e-300))
    true = np.sqrt(np.maximum(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2, 1e-300))
    z = -float(special.ndtri(level / 2))
    distance = np.abs(p1 - p2)
    return np.asarray(special.ndtr((distance - z * null) / true) + special.ndtr((-z * null - distance) / true))


def _around(base: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Put a gap around a base rate, moved inside [0, 1] where it would stick out."""
    low, high = base - gap / 2, base + gap / 2
    return (
        np.where(low < 0, gap, np.where(high > 1, 1.0, high)),
        np.where(low < 0, 0.0, np.where(high > 1, 1.0 - gap, low)),
    )


def detectable_gap(
    base: ArrayLike, n1: ArrayLike, n2: ArrayLike, *, power: float = POWER, level: float = LEVEL
) -> Floats:
    """Return the smallest difference of rates found with this power; NaN where none would be.

    Examples
    --------
    >>> detectable_gap(0.2, [1000, 0], [1000, 50]).round(3).tolist()
    [0.05, nan]
    """
    base, n1, n2 = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (base, n1, n2)))
    some = np.minimum(n1, n2) > 0
    left, right = np.where(some, n1, 1.0), np.where(some, n2, 1.0)
    found = some & (power_of(1.0, base, left, right, level=level) >= power)
    low, high = np.zeros(base.shape), np.ones(base.shape)
    for _ in range(50):
        middle = (low + high) / 2
        enough = power_of(middle, base, left, right, level=level) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(found, high, np.nan)


def people_needed(gap: float, base: float, share: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """Return how many people in all are needed to find a gap when one group is this share of them."""
    if not 0 < gap <= 1 or not 0 < share < 1:
        return float("nan")
    low, high = 4.0, 8.0
    while power_of(gap, base, high * share, high * (1 - share), level=level) < power:
        high *= 2
        if high > 1e12:
            return float("nan")
    while high - low > 1:
        middle = (low + high) / 2
        found = power_of(gap, base, middle * share, middle * (1 - share), level=level) >= power
        low, high = (low, middle) if found else (middle, high)
    return math.ceil(high)
