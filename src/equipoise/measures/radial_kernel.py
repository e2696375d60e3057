"""The rows of two RBF kernels compared by blocks: exact, and never the whole N x N in memory.

    k(x, y) = exp(-|x - y|^2 / (2 s^2)),  s the bandwidth

The kernel is centred on both sides (K_ij - mean of row i - mean of row j + mean of all), which is what centring the
columns does to a linear kernel. Centring the columns of the input, as the paper writes it, does nothing to distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.reproducibility import stream
from equipoise.measures.kernel_rows import KernelRows
from equipoise.measures.representations import Array, Pair, Representation, Rows, like, namespace, zeros

Tile = tuple[int, int]

TILE = 1024
MEDIAN_ROWS = 2000


@dataclass(frozen=True)
class Radial:
    """An RBF kernel of the given bandwidth; the mean is taken out first, because distances of far points round off."""

    mean: Array
    bandwidth: float

    def points(self, rows: Rows, start: int, stop: int) -> Array:
        """Return a block of rows in units of the bandwidth."""
        return (rows.block(start, stop, "float64") - self.mean) / self.bandwidth

    def tile(self, first: Rows, rows: Tile, second: Rows, columns: Tile) -> Array:
        """Return the kernel between some rows and some others."""
        return self.between(self.points(first, *rows), self.points(second, *columns))

    def between(self, first: Array, second: Array) -> Array:
        """Return the kernel between two blocks of points."""
        xp = namespace(first)
        exponent = first @ second.T
        exponent -= 0.5 * xp.vecdot(first, first)[:, None]
        exponent -= 0.5 * xp.vecdot(second, second)[None, :]
        return xp.exp(exponent)


@dataclass(frozen=True)
class Side:
    """One of the two kernels, between the scored rows and the reference rows."""

    kernel: Radial
    scored: Rows
    reference: Rows
    row_means: Array  # of the scored rows, over the reference; zeros where the kernel is not centred
    column_means: Array  # of the reference rows, over the reference
    mean: float

    def tile(self, rows: Tile, columns: Tile) -> Array:
        """Return a block of the centred kernel."""
        values = self.kernel.tile(self.scored, rows, self.reference, columns)
        values -= self.row_means[slice(*rows)][:, None]
        values -= (self.column_means[slice(*columns)] - self.mean)[None, :]
        return values

    @property
    def own(self) -> Array:
        """The centred kernel between each scored row and itself."""
        return 1.0 - 2.0 * self.row_means + self.mean


def radial(rows: Representation, bandwidth: float | None, *, seed: int, what: str) -> Radial:
    """Return the kernel with the given bandwidth, or with the median distance between rows."""
    if bandwidth is not None and not 0 < bandwidth < float("inf"):
        raise BadInput(f"The bandwidth of {what} is {bandwidth}", available="a number above 0, or None for the median")
    sample = _sample(rows, seed)
    mean = namespace(sample).mean(sample, axis=0)
    return Radial(mean, bandwidth if bandwidth is not None else _median_distance(sample - mean, what))


def _sample(rows: Representation, seed: int) -> Array:
    """Return all rows, or MEDIAN_ROWS of them drawn without replacement."""
    if len(rows) <= MEDIAN_ROWS:
        return rows.block(0, len(rows), "float64")
    chosen = np.sort(stream(seed, "bandwidth").choice(len(rows), MEDIAN_ROWS, replace=False))
    return rows.only(like(rows.sample, chosen, "int64")).block(0, MEDIAN_ROWS, "float64")


def _median_distance(points: Array, what: str) -> float:
    xp = namespace(points)
    unit = float(xp.max(xp.abs(points))) or 1.0  # so that squares neither overflow nor vanish
    points = points / unit
    size = xp.vecdot(points, points)
    squares = size[:, None] + size[None, :] - 2 * points @ points.T
    among = xp.cumulative_sum(xp.ones_like(size))
    pairs = xp.sort(squares[among[:, None] < among[None, :]])
    middle = (int(pairs.shape[0]) - 1) // 2, int(pairs.shape[0]) // 2
    low, high = (math.sqrt(max(float(pairs[place]), 0.0)) for place in middle)
    # Equal rows are 0 apart up to the rounding of their products.
    if high <= 1e-7 * math.sqrt(float(xp.max(size))):
        raise BadInput(
            f"The median distance between rows of {what} is 0: more than half of all pairs are equal",
            available="a bandwidth above 0",
            help="give bandwidth=, such as the median distance between distinct rows.",
        )
    return unit * (low + high) / 2


def radial_rows(scored: Pair, reference: Pair, kernels: tuple[Radial, Radial], *, centred: bool = True) -> KernelRows:
    """Compare the rows of two RBF kernels between the scored and the reference rows."""
    before = _side(kernels[0], scored.before, reference.before, centred)
    after = _side(kernels[1], scored.after, reference.after, centred)
    shared, squares_before, squares_after = (zeros(before.row_means, len(scored)) for _ in range(3))
    symmetric = scored is reference
    for rows in _tiles(len(scored)):
        for columns in _tiles(len(reference), rows[0] if symmetric else 0):
            first, second = before.tile(rows, columns), after.tile(rows, columns)
            mirrored = symmetric and rows != columns
            _add(shared, first * second, rows, columns if mirrored else None)
            _add(squares_before, first * first, rows, columns if mirrored else None)
            _add(squares_after, second * second, rows, columns if mirrored else None)
    return KernelRows(shared, squares_before, squares_after, before.own, after.own)


def _side(kernel: Radial, scored: Rows, reference: Rows, centred: bool) -> Side:
    if not centred:
        return Side(
            kernel, scored, reference, zeros(scored.sample, len(scored)), zeros(scored.sample, len(reference)), 0.0
        )
    column_means = _means(kernel, reference, reference)
    row_means = column_means if scored is reference else _means(kernel, scored, reference)
    return Side(kernel, scored, reference, row_means, column_means, float(namespace(row_means).mean(column_means)))


def _means(kernel: Radial, scored: Rows, reference: Rows) -> Array:
    """Return each scored row's mean over the reference rows."""
    total = zeros(scored.sample, len(scored))
    symmetric = scored is reference
    for rows in _tiles(len(scored)):
        for columns in _tiles(len(reference), rows[0] if symmetric else 0):
            values = kernel.tile(scored, rows, reference, columns)
            _add(total, values, rows, columns if symmetric and rows != columns else None)
    return total / len(reference)


def _add(total: Array, values: Array, rows: Tile, mirrored: Tile | None) -> None:
    """Add a block to the sums of its rows, and where the kernel is symmetric to those of its mirror image."""
    xp = namespace(total)
    total[slice(*rows)] += xp.sum(values, axis=1)
    if mirrored is not None:
        total[slice(*mirrored)] += xp.sum(values, axis=0)


def _tiles(rows: int, first: int = 0) -> list[Tile]:
    return [(start, min(start + TILE, rows)) for start in range(first, rows, TILE)]
