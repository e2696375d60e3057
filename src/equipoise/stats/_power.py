"""What could have been found: the smallest gap these numbers of people would show, and the people a gap needs."""

from __future__ import annotations

import math

from scipy import special

POWER = 0.8
LEVEL = 0.05


def power_of(gap: float, base: float, n1: float, n2: float, *, level: float = LEVEL) -> float:
    """Return the chance that a two-sided test of two rates finds a gap of this size around a base rate."""
    p1, p2 = _around(base, gap)
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    null = math.sqrt(max(pooled * (1 - pooled) * (1 / n1 + 1 / n2), 1e-300))
    true = math.sqrt(max(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2, 1e-300))
    z = -float(special.ndtri(level / 2))
    distance = abs(p1 - p2)
    return float(special.ndtr((distance - z * null) / true) + special.ndtr((-z * null - distance) / true))


def _around(base: float, gap: float) -> tuple[float, float]:
    """Put a gap around a base rate, moved inside [0, 1] where it would stick out."""
    low, high = base - gap / 2, base + gap / 2
    if low < 0:
        return gap, 0.0
    if high > 1:
        return 1.0, 1.0 - gap
    return high, low


def detectable_gap(base: float, n1: float, n2: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """Return the smallest difference of rates found with this power; NaN where none would be."""
    if min(n1, n2) <= 0 or power_of(1.0, base, n1, n2, level=level) < power:
        return float("nan")
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, base, n1, n2, level=level) >= power else (middle, high)
    return high


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
