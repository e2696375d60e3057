"""Simultaneous lower bounds for measures that cannot be negative.

All rates a measure compares lie in a box with 95 % confidence (Wilson intervals, Bonferroni over their number). The
smallest value the measure takes anywhere in the box is its lower bound: it holds whatever groups are furthest apart.
Two groups need no choice of the furthest: their gap is one difference, and has the nearer end of its interval.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.stats import wilson

Floats = NDArray[np.float64]


def box(successes: Floats, trials: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return intervals that hold all together: each at 1 - (1 - level) / number of rates."""
    number = max(int((trials > 0).sum()), 1)
    return wilson(successes, trials, 1.0 - (1.0 - level) / number)


def least_difference(low: Floats, high: Floats) -> Floats:
    """Return the least max - min over groups ``[group, class]`` anywhere in the box."""
    return np.asarray(np.maximum(low.max(axis=0) - high.min(axis=0), 0.0), dtype=np.float64)


def least_of_two(successes: Floats, trials: Floats, level: float = 0.95) -> Floats:
    """Return the least difference of two groups' rates ``[group, class]``: the nearer end of Newcombe's interval, or 0.

    The distances of both rates to their Wilson intervals are put together (MOVER; Newcombe 1998, method 10).
    """
    low, high = wilson(successes, trials, level)
    rates = np.divide(successes, trials, out=np.full(successes.shape, np.nan), where=trials > 0)
    gap = rates[0] - rates[1]
    upper, lower = (np.where(gap >= 0, ends[0], ends[1]) for ends in (rates, rates[::-1]))
    down = upper - np.where(gap >= 0, low[0], low[1])
    up = np.where(gap >= 0, high[1], high[0]) - lower
    return np.asarray(np.maximum(np.abs(gap) - np.hypot(down, up), 0.0), dtype=np.float64)


def least_ratio_gap(low: Floats, high: Floats) -> Floats:
    """Return the least 1 - min / max anywhere in the box."""
    top, bottom = low.max(axis=0), high.min(axis=0)
    ratio = np.divide(bottom, top, out=np.ones_like(top), where=top > 0)
    return np.asarray(np.maximum(1.0 - ratio, 0.0), dtype=np.float64)


def least_weighted_distance(low: Floats, high: Floats, shares: Floats) -> Floats:
    """Return the least sum_g share_g |c - rate_g| for any centre c: convex and piecewise linear, so least at an end."""
    centres = np.concatenate([low, high])[:, None, :]
    distance = np.maximum(low[None] - centres, 0.0) + np.maximum(centres - high[None], 0.0)
    return np.asarray((shares[None] * distance).sum(axis=1).min(axis=0), dtype=np.float64)
