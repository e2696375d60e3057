"""The rows of two centred kernels compared, linear or RBF: all that PNKA and CKA are made of.

Two linear kernels are compared in O(N d d'), without forming a kernel. With rows z (centred by the mean of the
reference set) and moments over the reference,

    sum_j K_ij K'_ij = z_i^T (Z^T Z') z'_i        sum_j K_ij^2 = z_i^T (Z^T Z) z_i

Two RBF kernels are compared by blocks: exact, and never the whole N x N in memory.

    k(x, y) = exp(-|x - y|^2 / (2 s^2)),  s the bandwidth

The kernel is centred on both sides (K_ij - mean of row i - mean of row j + mean of all), which is what centring the
columns does to a linear kernel. Centring the columns of the input, as the paper writes it, does nothing to distances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from equipoise.foundation import (
    BadInput,
    plural,
    stream,
    unknown_name,
)
from equipoise.measures._comparison import (
    Array,
    Pair,
    Representation,
    Rows,
    blocks,
    like,
    mean_of,
    namespace,
    zeros,
)

# What is left of a sum after its largest part is taken out is rounding below this share of it.
ROUNDING = 1e-13
LEAST_ROWS_DEBIASED = 4


@dataclass(frozen=True)
class KernelRows:
    """Sums over the reference rows j for each scored row i, with K before and K' after.

    A row at the mean of a representation has only zeros in its kernel: its direction is undefined.
    """

    products: Array  # sum_j K_ij K'_ij
    before: Array  # sum_j K_ij^2
    after: Array  # sum_j K'_ij^2
    diagonal_before: Array  # K_ii
    diagonal_after: Array  # K'_ii

    def cosines(self, times_in_reference: Array | float | None = None) -> Array:
        """Return the cosine of K_i and K'_i; with how often i is in the reference, leave those entries out."""
        xp = namespace(self.products)
        shared, before, after = self.products, self.before, self.after
        if times_in_reference is not None:
            shared = shared - times_in_reference * self.diagonal_before * self.diagonal_after
            before = _rest(xp, before, times_in_reference * self.diagonal_before**2)
            after = _rest(xp, after, times_in_reference * self.diagonal_after**2)
        defined = (before > 0) & (after > 0)
        length = xp.sqrt(xp.where(defined, before, 1.0)) * xp.sqrt(xp.where(defined, after, 1.0))
        cosines = xp.clip(shared / length, -1.0, 1.0)
        return xp.where(defined, cosines, xp.full_like(cosines, math.nan))

    def alignment(self, *, debiased: bool) -> float:
        """Return CKA, where the reference rows are the scored ones."""
        shared, before, after = (_total(values) for values in (self.products, self.before, self.after))
        if debiased:
            shared = self._debiased(shared, self.diagonal_before, self.diagonal_after)
            before = self._debiased(before, self.diagonal_before, self.diagonal_before)
            after = self._debiased(after, self.diagonal_after, self.diagonal_after)
        return shared / math.sqrt(before) / math.sqrt(after) if before > 0 and after > 0 else math.nan

    @staticmethod
    def _debiased(total: float, first: Array, second: Array) -> float:
        """Return Song et al.'s unbiased HSIC (times n (n - 3)) of two kernels whose rows sum to 0.

        With the diagonals k, l taken out, K 1 = -k, so that every term is a sum over rows.
        """
        n = int(first.shape[0])
        product = _total(first * second)
        rest = total - product + _total(first) * _total(second) / ((n - 1) * (n - 2)) - 2.0 / (n - 2) * product
        return rest if abs(rest) > ROUNDING * (abs(total) + abs(product)) else 0.0


def _rest(xp: Any, total: Array, diagonal: Array) -> Array:
    rest = total - diagonal
    return xp.where(rest > ROUNDING * total, rest, xp.zeros_like(rest))


def _total(values: Array) -> float:
    xp = namespace(values)
    return float(xp.sum(xp.astype(values, xp.float64)))


MOMENT_NUMBERS = 2**22
PANEL = 128
SCALE_ROWS = 256

# Above this bound on the rounding of a score, single precision is not enough and the work is done again in double.
ENOUGH = 2e-5
EPSILON = {"float32": float(np.finfo(np.float32).eps), "float64": float(np.finfo(np.float64).eps)}


@dataclass(frozen=True)
class Centre:
    """Where the rows of a representation lie, and how far apart they are (a power of 2: dividing by it is exact)."""

    mean: Array
    scale: float
    moves: bool = True

    @property
    def offset(self) -> float:
        """How far the mean is from 0, squared."""
        return float(namespace(self.mean).sum((self.mean / self.scale) ** 2))

    def moved(self, rest: Array) -> Centre:
        """Return the centre further along, by so many units of the scale."""
        return Centre(self.mean + self.scale * rest, self.scale)

    def of(self, rows: Rows, start: int, stop: int, dtype: str) -> Array:
        """Return a block of rows, centred and of a size whose fourth power is a number."""
        block = rows.block(start, stop, dtype)
        if not self.moves:
            return block
        centred = block - namespace(block).astype(self.mean, block.dtype)
        return centred if self.scale == 1.0 else centred / self.scale


@dataclass(frozen=True)
class Moments:
    """Means over the reference set of z z^T, z' z'^T and z z'^T, in double precision."""

    before: Centre
    after: Centre
    gram_before: Array
    gram_after: Array
    cross: Array
    rows: int


def linear_rows(scored: Pair, reference: Pair, *, centred: bool = True, double: bool = False) -> KernelRows:
    """Compare the rows of two linear kernels between the scored and the reference rows.

    Single precision is used where both arrays are of single precision and the rounding it brings is harmless.
    """
    with np.errstate(all="ignore"):
        if scored.single and reference.single and not double:
            rows, rounding = _compare(scored, reference, "float32", centred)
            if rounding <= ENOUGH:  # not so for NaN: the numbers have left the range of single precision
                return rows
        rows, rounding = _compare(scored, reference, "float64", centred)
    if math.isnan(rounding):
        raise BadInput(
            "The numbers are so large that their sums are infinite",
            help="divide them by a number: a comparison does not depend on their size.",
        )
    return rows


def _compare(scored: Pair, reference: Pair, dtype: str, centred: bool) -> tuple[KernelRows, float]:
    moments = _moments(reference, dtype, centred)
    xp = namespace(moments.cross)
    kind = getattr(xp, dtype)
    cross = xp.astype(moments.cross, kind)
    panels = [_panels(xp.astype(gram, kind)) for gram in (moments.gram_before, moments.gram_after)]
    parts = []
    for start, stop in blocks(len(scored), max(scored.before.width, scored.after.width)):
        z = moments.before.of(scored.before, start, stop, dtype)
        w = moments.after.of(scored.after, start, stop, dtype)
        forms = xp.vecdot(z @ cross, w), _quadratic(z, panels[0]), _quadratic(w, panels[1])
        parts.append((*(moments.rows * form for form in forms), xp.vecdot(z, z), xp.vecdot(w, w)))
    shared, before, after, own_before, own_after = (xp.concat(part) for part in zip(*parts, strict=True))
    nowhere_before = _at_mean(own_before, moments.before, moments.gram_before, scored.before.single)
    nowhere_after = _at_mean(own_after, moments.after, moments.gram_after, scored.after.single)
    rounding = _rounding(moments, (before, after, own_before, own_after), nowhere_before | nowhere_after, dtype)
    zero = xp.zeros_like(shared)
    shared = xp.where(nowhere_before | nowhere_after, zero, shared)
    before, after = xp.where(nowhere_before, zero, before), xp.where(nowhere_after, zero, after)
    return KernelRows(shared, before, after, own_before, own_after), rounding


def _moments(reference: Pair, dtype: str, centred: bool) -> Moments:
    # The pivots are about the means; what is left of the means is taken out of the moments afterwards.
    pivots = [_pivot(rows, dtype, centred) for rows in (reference.before, reference.after)]
    widths = reference.before.width, reference.after.width
    sample = reference.before.sample
    shapes = (widths[0], widths[0]), (widths[1], widths[1]), (widths[0], widths[1]), widths[0], widths[1]
    sums = [zeros(sample, shape) for shape in shapes]
    xp = namespace(sample)
    for start, stop in blocks(len(reference), max(widths), MOMENT_NUMBERS):
        z = pivots[0].of(reference.before, start, stop, dtype)
        w = pivots[1].of(reference.after, start, stop, dtype)
        ones = xp.ones_like(z[:, 0])
        # z.T @ z is less work than another product: numpy sees that it is symmetric.
        for total, product in zip(sums, (z.T @ z, w.T @ w, z.T @ w, ones @ z, ones @ w), strict=True):
            total += product
    gram_before, gram_after, cross, rest_before, rest_after = (total / len(reference) for total in sums)
    if not centred:
        return Moments(pivots[0], pivots[1], gram_before, gram_after, cross, len(reference))
    return Moments(
        pivots[0].moved(rest_before),
        pivots[1].moved(rest_after),
        gram_before - rest_before[:, None] * rest_before[None, :],
        gram_after - rest_after[:, None] * rest_after[None, :],
        cross - rest_before[:, None] * rest_after[None, :],
        len(reference),
    )


def _pivot(rows: Rows, dtype: str, centred: bool) -> Centre:
    """Return about where the rows lie, or 0 where that is near enough: then they need not be moved."""
    stored_mean = getattr(rows, "mean", None) if rows.single == (dtype == "float32") else None
    nowhere = zeros(rows.sample, rows.width)
    mean = nowhere if not centred else stored_mean if stored_mean is not None else mean_of(rows, dtype)
    few = rows.block(0, SCALE_ROWS, "float64") - mean
    xp = namespace(few)
    largest = float(xp.max(xp.abs(few)))
    _, exponent = math.frexp(largest)
    # An ordinary size is left as it is: a division is a pass over the rows.
    scale = 1.0 if abs(exponent) <= 12 or not largest else 2.0**exponent
    near = scale == 1.0 and float(xp.sum(mean**2)) <= float(xp.mean(xp.vecdot(few, few)))
    return Centre(nowhere if near else mean, scale, moves=not near)


def _panels(gram: Array) -> list[tuple[int, int, Array]]:
    """Return the upper triangle of a symmetric matrix as panels of columns, what lies above the diagonal doubled."""
    xp = namespace(gram)
    width = int(gram.shape[0])
    panels = []
    for start in range(0, width, PANEL):
        stop = min(start + PANEL, width)
        panel = xp.concat([2 * gram[:start, start:stop], gram[start:stop, start:stop]])
        panels.append((start, stop, panel))
    return panels


def _quadratic(z: Array, panels: list[tuple[int, int, Array]]) -> Array:
    """Return z_i^T G z_i for each row, with little more than half the work of z @ G."""
    xp = namespace(z)
    total: Any = 0.0
    for start, stop, panel in panels:
        total = total + xp.vecdot(z[:, :stop] @ panel, z[:, start:stop])
    return total


def _at_mean(squares: Array, centre: Centre, gram: Array, single: bool) -> Array:
    """Tell which rows are at the mean as far as their numbers can tell."""
    xp = namespace(squares)
    return squares <= (4 * EPSILON["float32" if single else "float64"]) ** 2 * (
        centre.offset + float(xp.linalg.trace(gram))
    )


def _rounding(moments: Moments, forms: tuple[Array, ...], at_mean: Array, dtype: str) -> float:
    """Return a bound on the rounding of the worst score.

    A row in directions of little variance is a small difference of large products: |G| |z|^2 / z^T G z tells how small.
    Rows far from 0 lose digits when the mean is taken out.
    """
    before, after, own_before, own_after = forms
    xp = namespace(before)
    loss = 1.0
    sides = (
        (moments.before, moments.gram_before, before, own_before),
        (moments.after, moments.gram_after, after, own_after),
    )
    for centre, gram, form, squares in sides:
        size = float(xp.sqrt(xp.sum(gram**2))) * moments.rows
        spread = float(xp.linalg.trace(gram))
        size *= math.sqrt(1.0 + centre.offset / spread) if spread > 0 else 1.0
        # Not a maximum of the quotients: a form that was rounded to 0 or below must count as lost.
        share = xp.where(
            at_mean, xp.full_like(form, math.inf), form / xp.where(squares > 0, squares, xp.ones_like(squares))
        )
        least = float(xp.min(share))
        if math.isnan(least) or math.isnan(size):
            return math.nan
        loss = max(loss, size / least if least > 0 else math.inf)
    return EPSILON[dtype] * loss


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
    def diagonal(self) -> Array:
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
    low, high = (math.sqrt(max(float(pairs[index]), 0.0)) for index in middle)
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
    return KernelRows(shared, squares_before, squares_after, before.diagonal, after.diagonal)


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


Kernel = Literal["linear", "rbf"]
Variant = Literal["centred", "literal"]
Bandwidth = float | tuple[float, float] | None


def check_kernel(kernel: str, bandwidth: Bandwidth, variant: str = "centred") -> None:
    """Refuse names that are not known, and a bandwidth that would have no effect."""
    if kernel not in get_args(Kernel):
        raise unknown_name("kernel", str(kernel), get_args(Kernel), "comparisons of representations")
    if variant not in get_args(Variant):
        raise unknown_name("variant", str(variant), get_args(Variant), "comparisons of representations")
    if bandwidth is not None and kernel == "linear":
        raise BadInput("A linear kernel has no bandwidth", help="leave bandwidth= out, or give kernel='rbf'.")


def pair_of_kernels(reference: Pair, bandwidth: Bandwidth, seed: int) -> tuple[Radial, Radial]:
    """Return the RBF kernels before and after; one bandwidth is for both."""
    if isinstance(bandwidth, str):
        raise BadInput(f"The bandwidth is {bandwidth!r}", available="a number above 0, or None for the median")
    bandwidths = list(bandwidth) if isinstance(bandwidth, Sequence) else [bandwidth, bandwidth]
    if len(bandwidths) != 2:
        raise BadInput(f"bandwidth has {plural(len(bandwidths), 'number')}", available="one for both, or one for each")
    first, second = (
        radial(rows, number, seed=seed, what=what)
        for rows, number, what in zip(reference.sides, bandwidths, ("before", "after"), strict=True)
    )
    return first, second
