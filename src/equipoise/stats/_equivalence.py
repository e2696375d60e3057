"""Equivalence: two one-sided tests (Schuirmann 1987) that a change lies within a margin fixed beforehand.

A change is shown to be within -d to d at level a where both "it is at most -d" and "it is at least d" are rejected,
each by a one-sided test at level a; p is the larger of the two. That is the same as saying that the interval at 1 - 2a
lies inside the margin. It is a question of its own: a change may be significant and within the margin, or neither.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from equipoise.stats._seeds_and_people import sources_p

Floats = NDArray[np.float64]
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
        *(np.asarray(one, dtype=np.float64) for one in (estimate, standard_error, degrees))
    )
    found = [_one_sided(distance, error, n) for distance in (x - low, high - x)]
    return np.maximum(*found)


def _one_sided(distance: Floats, error: Floats, degrees: Floats) -> Floats:
    """Return the p-value that a distance is at most 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = distance / error
    finite = np.isfinite(degrees)
    p = np.where(finite, special.stdtr(np.where(finite, degrees, 1.0), -ratio), special.ndtr(-ratio))
    sure = np.where(distance > 0, 0.0, 1.0)
    return np.where(np.isnan(distance) | np.isnan(error), np.nan, np.where(error == 0, sure, p))


def sources_equivalence_p(change: ArrayLike, variances: ArrayLike, degrees: ArrayLike, margin: Margin) -> Floats:
    """Return the p-value of two one-sided tests of a change with several sources of variance (``sources_p``).

    Each side is half of the two-sided p of its distance from that end of the margin.

    Examples
    --------
    >>> inf = float("inf")
    >>> round(float(sources_equivalence_p(0.0, [0.0, 1e-4], [4.0, inf], 0.02)), 4)
    0.0228
    """
    low, high = margin_ends(margin)
    x = np.asarray(change, dtype=np.float64)
    found = []
    for distance in (x - low, high - x):
        half = sources_p(distance, variances, degrees) / 2
        found.append(np.where(distance > 0, half, 1.0 - half))
    return np.maximum(*found)


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


def is_equivalent(p: float | None, level: float = 0.05) -> bool | None:
    """Tell whether a p-value of equivalence is within a level; None where there was no test.

    Examples
    --------
    >>> is_equivalent(0.01), is_equivalent(0.3), is_equivalent(None)
    (True, False, None)
    """
    return None if p is None or math.isnan(p) else p <= level
