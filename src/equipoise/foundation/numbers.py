"""Arithmetic on arrays that every room shares: undefined is undefined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; without a denominator the answer is undefined (NaN), never 0.

    Examples
    --------
    >>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0])).tolist()
    [0.25, nan]
    """
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out
