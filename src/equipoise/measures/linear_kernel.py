"""The rows of two linear kernels compared in O(N d d'), without forming a kernel.

With rows z (centred by the mean of the reference set) and moments over the reference,

    sum_j K_ij K'_ij = z_i^T (Z^T Z') z'_i        sum_j K_ij^2 = z_i^T (Z^T Z) z_i
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.measures.kernel_rows import KernelRows
from equipoise.measures.representations import Array, Pair, Rows, blocks, mean_of, namespace, zeros

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
    known = getattr(rows, "mean", None) if rows.single == (dtype == "float32") else None
    nowhere = zeros(rows.sample, rows.width)
    mean = nowhere if not centred else known if known is not None else mean_of(rows, dtype)
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


def _at_mean(own: Array, centre: Centre, gram: Array, single: bool) -> Array:
    """Tell which rows are at the mean as far as their numbers can tell."""
    xp = namespace(own)
    return own <= (4 * EPSILON["float32" if single else "float64"]) ** 2 * (
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
    for centre, gram, form, own in sides:
        size = float(xp.sqrt(xp.sum(gram**2))) * moments.rows
        spread = float(xp.linalg.trace(gram))
        size *= math.sqrt(1.0 + centre.offset / spread) if spread > 0 else 1.0
        # Not a maximum of the quotients: a form that was rounded to 0 or below must count as lost.
        share = xp.where(at_mean, xp.full_like(form, math.inf), form / xp.where(own > 0, own, xp.ones_like(own)))
        least = float(xp.min(share))
        if math.isnan(least) or math.isnan(size):
            return math.nan
        loss = max(loss, size / least if least > 0 else math.inf)
    return EPSILON[dtype] * loss
