"""The Nystroem approximation of an RBF kernel: features whose linear kernel is close to it, from a few landmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.reproducibility import stream
from equipoise.measures.kernel_rows import KernelRows
from equipoise.measures.linear_kernel import linear_rows
from equipoise.measures.radial_kernel import Radial, radial_rows
from equipoise.measures.representations import LEAST_ROWS, Array, Pair, Representation, like, namespace

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
        made = [
            Features(side, kernel, points, whitening)
            for side, kernel, points, whitening in zip(
                pair.sides, self.kernels, self.points, self.whitenings, strict=True
            )
        ]
        return Pair(*made)

    def measured(self, scores: Array, reference: Pair, *, centred: bool, self_term: bool, seed: int) -> Approximation:
        """Return the scores with their error, measured on reference rows that are no landmarks."""
        others = np.setdiff1d(np.arange(len(reference)), self.landmarks)
        if len(others) < LEAST_ROWS:  # nearly every row is a landmark: there is nothing else to measure on
            others = np.arange(len(reference))
        chosen = np.sort(stream(seed, "measured").choice(others, min(MEASURED_ROWS, len(others)), replace=False))
        few = reference.only(like(reference.before.sample, chosen, "int64"))
        own = None if self_term else 1.0
        exact = radial_rows(few, few, self.kernels, centred=centred).cosines(own)
        xp = namespace(exact)
        error = xp.abs(exact - self.compare(few, few, centred=centred).cosines(own))
        error = error[~xp.isnan(error)]
        number = int(error.shape[0])
        mean, largest = (float(xp.mean(error)), float(xp.max(error))) if number else (math.nan, math.nan)
        return Approximation(scores, len(self.landmarks), number, mean, largest)


def nystroem(reference: Pair, kernels: tuple[Radial, Radial], landmarks: int | None, seed: int) -> Nystroem:
    """Draw landmarks from the reference rows, without replacement, and prepare their features."""
    wanted = min(LANDMARKS, len(reference)) if landmarks is None else landmarks
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)) or not 1 <= wanted <= len(reference):
        raise BadInput(
            f"landmarks is {landmarks!r}",
            available=f"a whole number from 1 to {len(reference):,}, the rows of the reference",
        )
    chosen = np.sort(stream(seed, "landmarks").choice(len(reference), int(wanted), replace=False))
    drawn = [
        kernel.points(side.only(like(side.sample, chosen, "int64")), 0, len(chosen))
        for side, kernel in zip(reference.sides, kernels, strict=True)
    ]
    first, second = (_whitening(kernel.between(points, points)) for kernel, points in zip(kernels, drawn, strict=True))
    return Nystroem(kernels, chosen, (drawn[0], drawn[1]), (first, second))


def _whitening(kernel: Array) -> Array:
    """Return W with K W W^T K = K, as far as K is not rounding."""
    xp = namespace(kernel)
    values, vectors = xp.linalg.eigh(kernel)
    kept = values > SMALL * float(xp.max(values))
    return vectors[:, kept] / xp.sqrt(values[kept])
