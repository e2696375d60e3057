"""Power and equivalence: what this many could show, and whether a difference is within a margin."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from equipoise.foundation import Floats
from equipoise.stats._multiple_comparisons import LEVEL
from equipoise.stats._seeds_and_people import banerjee_p

POWER = 0.8


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
    is_detectable = some & (power_of(1.0, base, left, right, level=level) >= power)
    low, high = np.zeros(base.shape), np.ones(base.shape)
    for _ in range(50):
        middle = (low + high) / 2
        enough = power_of(middle, base, left, right, level=level) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(is_detectable, high, np.nan)


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
        is_enough = power_of(gap, base, middle * share, middle * (1 - share), level=level) >= power
        low, high = (low, middle) if is_enough else (middle, high)
    return math.ceil(high)


# How far a change may go and still be irrelevant: d for -d to d, or both ends.
Margin = float | tuple[float, float]


def margin_ends(margin: Margin) -> tuple[float, float]:
    """Return both ends of a margin; ``ValueError`` where it does not lie on both sides of 0 with finite ends.

    Examples
    --------
    >>> margin_ends(0.02)
    (-0.02, 0.02)
    """
    low, high = margin if isinstance(margin, tuple) else (-margin, margin)
    if not (math.isfinite(low) and math.isfinite(high) and low < 0 < high):
        raise ValueError(f"the margin is {margin!r}: it must be a number above 0, or a pair below and above 0")
    return float(low), float(high)


def equivalence_p(
    estimate: ArrayLike, standard_error: ArrayLike, margin: Margin, degrees: ArrayLike = math.inf
) -> Floats:
    """Return the p-value of two one-sided tests that an estimate lies within a margin.

    Parameters
    ----------
    estimate, standard_error : array
        Estimated difference and its standard error.
    margin : float or pair of floats
        d for -d to d, or both ends.
    degrees : array
        Degrees of freedom of the standard error; ``inf`` for a normal test.

    Returns
    -------
    array
        max( P(T >= (x + d) / se), P(T <= (x - d) / se) ); NaN where something is undefined.

    Examples
    --------
    >>> round(float(equivalence_p(0.0, 0.01, 0.02)), 4)
    0.0228
    >>> round(float(equivalence_p(0.015, 0.01, 0.02)), 4)
    0.3085
    """
    low, high = margin_ends(margin)
    x, error, n = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (estimate, standard_error, degrees))
    )
    p_values = [_one_sided(distance, error, n) for distance in (x - low, high - x)]
    return np.maximum(*p_values)


def _one_sided(distance: Floats, error: Floats, degrees: Floats) -> Floats:
    """Return the p-value that a distance is at most 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = distance / error
    finite = np.isfinite(degrees)
    p = np.where(finite, special.stdtr(np.where(finite, degrees, 1.0), -ratio), special.ndtr(-ratio))
    sure = np.where(distance > 0, 0.0, 1.0)
    return np.where(np.isnan(distance) | np.isnan(error), np.nan, np.where(error == 0, sure, p))


def sources_equivalence_p(change: ArrayLike, variances: ArrayLike, degrees: ArrayLike, margin: Margin) -> Floats:
    """Return the p-value of two one-sided tests of a change with several sources of variance (``banerjee_p``).

    Each side is half of the two-sided p of its distance from that end of the margin.

    Examples
    --------
    >>> inf = float("inf")
    >>> round(float(sources_equivalence_p(0.0, [0.0, 1e-4], [4.0, inf], 0.02)), 4)
    0.0228
    """
    low, high = margin_ends(margin)
    x = np.asarray(change, dtype=np.float64)
    p_values = []
    for distance in (x - low, high - x):
        half = banerjee_p(distance, variances, degrees) / 2
        p_values.append(np.where(distance > 0, half, 1.0 - half))
    return np.maximum(*p_values)


def interval_within(low: float | None, high: float | None, margin: Margin) -> bool | None:
    """Tell whether an interval lies inside a margin; None where it is undefined.

    With an interval at 1 - 2a this is the two one-sided tests at level a. Of several differences that are read together
    (a largest gap), all must be.

    Examples
    --------
    >>> interval_within(-0.01, 0.015, 0.02), interval_within(-0.01, 0.03, 0.02), interval_within(None, 0.01, 0.02)
    (True, False, None)
    """
    ends = margin_ends(margin)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return None
    return ends[0] < low and high < ends[1]
