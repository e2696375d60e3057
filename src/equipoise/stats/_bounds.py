"""Simultaneous lower bounds for measures that cannot be negative.

All rates a measure compares lie in a box with 95% confidence (Wilson intervals, Bonferroni over their number). The
smallest value the measure takes anywhere in the box is its lower bound: it holds whatever groups are furthest apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.stats._proportions import wilson

Floats = NDArray[np.float64]


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
