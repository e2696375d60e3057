"""Bootstrap draws: of counts where rows are independent, of whole units (clusters of rows) where they are not.

On counts a bootstrap of the rows is a multinomial draw over the cells of each group: no row is touched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

Floats = NDArray[np.float64]

# Draws of fewer units than this vary far too little to tell anything of.
FEWEST_UNITS = 5


def drawn_cells(cells: Floats, draws: int, generator: np.random.Generator, squares: Floats | None = None) -> Floats:
    """Return bootstrap draws of counts ``[group, ...]``, the size of each group kept: ``[draw, group, ...]``.

    With squared weights a cell's sum is drawn from the gamma distribution with its mean and its variance.

    Examples
    --------
    >>> drawn_cells(np.array([[3.0, 1.0], [0.0, 2.0]]), 5, np.random.default_rng(0)).sum(axis=2).tolist()[0]
    [4.0, 2.0]
    """
    if squares is not None:
        scale = np.divide(squares, cells, out=np.zeros_like(cells), where=cells > 0)
        shape = np.divide(cells**2, squares, out=np.zeros_like(cells), where=squares > 0)
        return np.asarray(generator.standard_gamma(shape, size=(draws, *cells.shape)) * scale, dtype=np.float64)
    flat = np.rint(cells.reshape(len(cells), -1)).astype(np.int64)
    made = np.zeros((draws, *flat.shape))
    for place, counts in enumerate(flat):
        total = int(counts.sum())
        if total:
            made[:, place] = generator.multinomial(total, counts / total, size=draws)
    return made.reshape(draws, *cells.shape)


def unit_totals(units: sparse.csc_array, generator: np.random.Generator, draws: int) -> Floats:
    """Return the totals of units drawn with replacement, ``[draw, sum]``; a unit is a sparse row of sums."""
    number = units.shape[0]
    made = np.empty((draws, units.shape[1]))
    for draw in range(draws):
        times = np.bincount(generator.integers(0, number, number, dtype=np.int32), minlength=number)
        made[draw] = times.astype(np.float64) @ units
    return made


def spread_of(values: Floats) -> Floats:
    """Return the standard deviation over draws ``[draw, ...]``; NaN where most draws are undefined."""
    known = ~np.isnan(values)
    # A statistic that most draws cannot tell has no spread worth the name.
    enough = known.mean(axis=0) > 0.5
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0) - 1, 1)
    return np.where(enough, np.sqrt(squares), np.nan)


def widening(number: int, level: float = 0.95) -> float:
    """Return by how much a normal interval from draws of so many units is too narrow; NaN where there are too few.

    Draws miss a factor n - 1 over n of the variance, and the variance itself is estimated: Student's t, not normal.
    """
    if number < FEWEST_UNITS:
        return float("nan")
    tail = (1.0 - level) / 2.0
    return float(np.sqrt(number / (number - 1)) * stats.t.isf(tail, number - 1) / stats.norm.isf(tail))


def stretches(number: int, draws: int, generator: np.random.Generator) -> Floats:
    """Return a factor for each draw of so many units that turns its deviation into one of Student's t."""
    degrees = max(number - 1, 1)
    return np.asarray(np.sqrt((degrees + 1) / generator.chisquare(degrees, draws)), dtype=np.float64)


def percentiles(values: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval of draws ``[draw, ...]``; NaN where most draws are undefined."""
    known = (~np.isnan(values)).mean(axis=0)
    low, high = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    told = known > 0.5
    if told.any():
        edges = [(1 - level) / 2, (1 + level) / 2]
        low[told], high[told] = np.nanquantile(values[:, told], edges, axis=0)
    return low, high
