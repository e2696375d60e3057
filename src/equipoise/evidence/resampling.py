"""Resampling whole units (clusters of rows, or rows with many labels) when rows are not independent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# So many weights at the most are held at once.
BATCH = 8_000_000


def unit_spread(
    sums: Floats, statistic: Callable[[Floats], Floats], generator: np.random.Generator, draws: int
) -> Floats:
    """Return the standard error of a statistic of summed units, by drawing the units with replacement.

    ``sums`` has a row a unit; the statistic takes ``[draw, ...]`` totals of them.
    """
    units = len(sums)
    flat = sums.reshape(units, -1)
    step = max(1, BATCH // max(units, 1))
    found = []
    done = 0
    while done < draws:
        number = min(step, draws - done)
        times = generator.multinomial(units, np.full(units, 1.0 / units), size=number)
        found.append(statistic((times @ flat).reshape(number, *sums.shape[1:])))
        done += number
    values = np.concatenate(found)
    known = ~np.isnan(values)
    # A statistic that most draws cannot tell has no spread worth the name.
    enough = known.mean(axis=0) > 0.5
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0) - 1, 1)
    return np.where(enough, np.sqrt(squares), np.nan)
