"""CKA and PNKA: how alike two representations are, as one number and for each row.

CKA is that of Kornblith et al. 2019 (paper 003, appendix A.2). PNKA (paper 003, section 2.2) says how much the place of
each row among the others changed: PNKA_i = cos(K_i, K'_i) with K_ij = k(z_i, z_j) over the reference rows j, and K'
likewise after the change. The Nystroem approximation of an RBF kernel makes features whose linear kernel is close to
it, from a few landmarks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, plural, stream
from equipoise.measures._comparison import (
    LEAST_ROWS,
    Array,
    Pair,
    Representation,
    as_pair,
    comparison,
    like,
    namespace,
)
from equipoise.measures._kernels import (
    LEAST_ROWS_DEBIASED,
    Kernel,
    KernelRows,
    Radial,
    Variant,
    check_kernel,
    linear_rows,
    pair_of_kernels,
    radial_rows,
)


@comparison("cka", alias="CKA", paper="003", origin="kornblith2019")
def cka(
    before: object,
    after: object,
    *,
    kernel: Kernel = "linear",
    debiased: bool = False,
    bandwidth: float | tuple[float, float] | None = None,
    seed: int = 0,
) -> float:
    """CKA = <K, K'> / (|K| |K'|) over centred kernels: one number between two representations.

    The plain form is above 0 for unrelated representations of few rows or many dimensions. ``debiased`` uses the
    unbiased estimate of HSIC (Song et al. 2012), whose expectation is 0 there: it can be negative, and it is NaN where
    the estimate of a representation's own HSIC is not above 0. The bandwidth of an RBF kernel is chosen as in ``pnka``.
    """
    check_kernel(kernel, bandwidth)
    pair = as_pair(before, after)
    if debiased and len(pair) < LEAST_ROWS_DEBIASED:
        raise BadInput(
            f"A debiased CKA of {plural(len(pair), 'row')} was requested",
            available=f"at least {LEAST_ROWS_DEBIASED} rows",
        )
    if kernel == "linear":
        return linear_rows(pair, pair, double=True).alignment(debiased=debiased)
    return radial_rows(pair, pair, pair_of_kernels(pair, bandwidth, seed)).alignment(debiased=debiased)


@comparison("pnka", alias="PNKA", paper="003", pointwise=True)
def pnka(
    before: object,
    after: object,
    *,
    kernel: Kernel = "linear",
    bandwidth: float | tuple[float, float] | None = None,
    reference: object = None,
    self_term: bool = True,
    variant: Variant = "centred",
    approximate: Literal["nystroem"] | None = None,
    landmarks: int | None = None,
    seed: int = 0,
) -> Array | Approximation:
    """PNKA_i = cos(K_i, K'_i): each row's similarities to all rows, before against after.

    1 where a row kept its place among the others, near 0 where the new place has nothing to do with the old; NaN for a
    row at the mean of a representation, which has no place (linear kernel). Invariant to orthogonal maps, isotropic
    scaling and translation of either representation. The answer is of the same kind of array as the input.

    ``reference`` places rows among others than all of them: numbers of rows, a mask, or a pair of arrays (before,
    after) of other rows. ``self_term=False`` leaves K_ii out, which the paper keeps and which pulls scores up when
    there are few rows. An RBF kernel has the ``bandwidth`` s of exp(-|x-y|^2 / 2s^2), one for both or (before,
    after); by default the median distance between reference rows in each representation, among 2,000 rows drawn with
    the ``seed`` if there are more. ``variant="literal"`` does not centre the RBF kernel, as the paper has it.

    ``approximate="nystroem"`` replaces the RBF kernel by ``landmarks`` (512) rows; the answer is then an
    ``Approximation`` with its ``scores`` and their measured error.
    """
    check_kernel(kernel, bandwidth, variant)
    if approximate not in (None, "nystroem") or (approximate and kernel == "linear"):
        raise BadInput(
            f"approximate is {approximate!r} and the kernel is {kernel!r}",
            available="approximate='nystroem' with kernel='rbf'; the linear kernel is exact and fast",
        )
    scored = as_pair(before, after)
    among, times = reference_rows(scored, reference)
    times = None if self_term else times
    if kernel == "linear":
        return linear_rows(scored, among, double=not self_term).cosines(times)
    kernels = pair_of_kernels(among, bandwidth, seed)
    centred = variant == "centred"
    if approximate is None:
        return radial_rows(scored, among, kernels, centred=centred).cosines(times)
    prepared = nystroem(among, kernels, landmarks, seed)
    scores = prepared.compare(scored, among, centred=centred).cosines(times)
    return prepared.measured(scores, among, centred=centred, self_term=self_term, seed=seed)


@comparison("aggregate_pnka", paper="003")
def aggregate_pnka(before: object, after: object, **options: Any) -> float:
    """Mean of PNKA_i over the rows where it is defined; takes the options of ``pnka``."""
    alignment = pnka(before, after, **options)
    scores = alignment.scores if isinstance(alignment, Approximation) else alignment
    xp = namespace(scores)
    defined = xp.astype(scores[~xp.isnan(scores)], xp.float64)
    return float(xp.mean(defined)) if int(defined.shape[0]) else math.nan


def reference_rows(scored: Pair, reference: object) -> tuple[Pair, Array | float]:
    """Return the reference rows, and how often each scored row is one of them."""
    if reference is None:
        return scored, 1.0
    if _is_pair(reference):
        return _others(scored, reference), 0.0
    index = _index(reference, len(scored))
    times = np.bincount(index, minlength=len(scored))
    sample = scored.before.sample
    return scored.only(like(sample, index, "int64")), like(sample, times, "float64")


def _is_pair(reference: object) -> bool:
    if not isinstance(reference, (tuple, list)) or len(reference) != 2:
        return False
    return all(getattr(part, "ndim", 0) >= 2 for part in reference)


def _others(scored: Pair, reference: object) -> Pair:
    assert isinstance(reference, (tuple, list))
    pair = as_pair(*reference)
    for rows, others, what in zip(scored.sides, pair.sides, ("before", "after"), strict=True):
        if type(rows.array) is not type(others.array) or rows.sample.device != others.sample.device:
            raise BadInput(
                f"The reference rows {what} are a {type(others.array).__name__}, those scored are not",
                available="the same kind of array, on the same device",
            )
        if rows.width != others.width:
            raise BadInput(
                f"The reference rows {what} are {others.width:,} wide and those scored {rows.width:,}",
                available="rows of the same representation",
                help="give reference=(before, after), each made by the same model as the rows scored.",
            )
    return pair


def _index(reference: object, rows: int) -> NDArray[np.int64]:
    """Return row numbers from numbers or from a mask."""
    held = array_api_compat.is_array_api_obj(reference)
    indices = np.asarray(array_api_compat.to_device(reference, "cpu") if held else reference)
    if indices.ndim != 1 or indices.dtype.kind not in "iub":
        raise BadInput(
            f"The reference is an array of {indices.dtype} with {plural(indices.ndim, 'dimension')}",
            available="row numbers, a mask of the rows, or a pair of arrays (before, after) of other rows",
        )
    if indices.dtype.kind == "b":
        if len(indices) != rows:
            raise BadInput(f"The mask of the reference has {plural(len(indices), 'value')} for {plural(rows, 'row')}")
        indices = np.flatnonzero(indices)
    index = indices.astype(np.int64)
    if len(index) and (index.min() < 0 or index.max() >= rows):
        wrong = index[(index < 0) | (index >= rows)]
        raise BadInput(f"The reference names row {wrong[0]:,}", available=f"rows from 0 to {rows - 1:,}")
    if len(np.unique(index)) < LEAST_ROWS:
        raise BadInput(f"The reference has {plural(len(np.unique(index)), 'row')}", available="at least 2 rows")
    return index


LANDMARKS = 512
MEASURED_ROWS = 1000

# Directions of the landmarks' kernel below this share of the largest are rounding.
SMALL = 1e-12


@dataclass(frozen=True)
class Approximation:
    """Approximate scores, and how far they were from the exact ones where both were computed.

    The errors are of ``measured`` rows drawn from those that are no landmarks, scored among themselves both ways.
    """

    scores: Array
    landmarks: int
    measured: int
    mean_error: float
    largest_error: float


@dataclass(frozen=True, eq=False)
class Features:
    """Rows f with f_i . f_j close to k(x_i, x_j), made when they are asked for."""

    rows: Representation
    kernel: Radial
    landmarks: Array
    whitening: Array

    @property
    def width(self) -> int:
        """How many features a row has."""
        return int(self.whitening.shape[1])

    @property
    def single(self) -> bool:
        """Features are always computed in double precision."""
        return False

    @property
    def sample(self) -> Array:
        """An array of the kind and on the device of the rows."""
        return self.rows.sample

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, stop: int, dtype: str) -> Array:
        """Return the features of some rows."""
        features = self.kernel.between(self.kernel.points(self.rows, start, stop), self.landmarks) @ self.whitening
        xp = namespace(features)
        return xp.astype(features, getattr(xp, dtype), copy=False)


@dataclass(frozen=True)
class Nystroem:
    """Two RBF kernels and the landmarks that stand for all rows of the reference."""

    kernels: tuple[Radial, Radial]
    landmarks: NDArray[np.int64]
    points: tuple[Array, Array]
    whitenings: tuple[Array, Array]

    def compare(self, scored: Pair, reference: Pair, *, centred: bool) -> KernelRows:
        """Compare the rows of the two approximate kernels between the scored and the reference rows."""
        features = self._features(scored)
        return linear_rows(features, features if scored is reference else self._features(reference), centred=centred)

    def _features(self, pair: Pair) -> Pair:
        features = [
            Features(side, kernel, points, whitening)
            for side, kernel, points, whitening in zip(
                pair.sides, self.kernels, self.points, self.whitenings, strict=True
            )
        ]
        return Pair(*features)

    def measured(self, scores: Array, reference: Pair, *, centred: bool, self_term: bool, seed: int) -> Approximation:
        """Return the scores with their error, measured on reference rows that are no landmarks."""
        others = np.setdiff1d(np.arange(len(reference)), self.landmarks)
        if len(others) < LEAST_ROWS:  # nearly every row is a landmark: there is nothing else to measure on
            others = np.arange(len(reference))
        chosen = np.sort(stream(seed, "measured").choice(others, min(MEASURED_ROWS, len(others)), replace=False))
        few = reference.only(like(reference.before.sample, chosen, "int64"))
        diagonal = None if self_term else 1.0
        exact = radial_rows(few, few, self.kernels, centred=centred).cosines(diagonal)
        xp = namespace(exact)
        error = xp.abs(exact - self.compare(few, few, centred=centred).cosines(diagonal))
        error = error[~xp.isnan(error)]
        number = int(error.shape[0])
        mean, largest = (float(xp.mean(error)), float(xp.max(error))) if number else (math.nan, math.nan)
        return Approximation(scores, len(self.landmarks), number, mean, largest)


def nystroem(reference: Pair, kernels: tuple[Radial, Radial], landmarks: int | None, seed: int) -> Nystroem:
    """Draw landmarks from the reference rows, without replacement, and prepare their features."""
    number = min(LANDMARKS, len(reference)) if landmarks is None else landmarks
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 1 <= number <= len(reference):
        raise BadInput(
            f"landmarks is {landmarks!r}",
            available=f"a whole number from 1 to {len(reference):,}, the rows of the reference",
        )
    chosen = np.sort(stream(seed, "landmarks").choice(len(reference), int(number), replace=False))
    landmark_points = [
        kernel.points(side.only(like(side.sample, chosen, "int64")), 0, len(chosen))
        for side, kernel in zip(reference.sides, kernels, strict=True)
    ]
    first, second = (
        _whitening(kernel.between(points, points)) for kernel, points in zip(kernels, landmark_points, strict=True)
    )
    return Nystroem(kernels, chosen, (landmark_points[0], landmark_points[1]), (first, second))


def _whitening(kernel: Array) -> Array:
    """Return W with K W W^T K = K, as far as K is not rounding."""
    xp = namespace(kernel)
    values, vectors = xp.linalg.eigh(kernel)
    positive = values > SMALL * float(xp.max(values))
    return vectors[:, positive] / xp.sqrt(values[positive])
