"""Embeddings as arrays: one row a point, finite numbers, read in blocks so that a memory-mapped file stays on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.tallies.arrays import as_array
from equipoise.tallies.factorise import Codes

Floats = NDArray[np.float64]
Points = NDArray[Any]

# Numbers read at once.
READ = 1 << 20


def as_points(given: object) -> Points:
    """Return an embedding as an array ``[rows, dimensions]`` of finite numbers; tensors come to the host first."""
    points = as_array(given, "the embedding")
    if points.dtype.kind not in "fiu":
        raise BadInput(
            f"The embedding holds {'Python objects' if points.dtype.kind == 'O' else points.dtype}, not numbers",
            available="an array of numbers, one row per point (pickled objects are refused: they can run code)",
            help="stack the vectors into one array first: numpy.stack(vectors).",
        )
    if points.ndim != 2 or not points.shape[1]:
        raise BadInput(
            f"The embedding has the shape {points.shape}",
            available="two dimensions: (rows, numbers per row)",
            help="flatten what belongs to one row: embedding.reshape(len(embedding), -1).",
        )
    bad, first = 0, None
    for start, block in blocks(points):
        broken = ~np.isfinite(block)
        if broken.any():
            bad += int(broken.sum())
            place = np.argwhere(broken)[0]
            first = first or (start + int(place[0]), int(place[1]))
    if first is not None:
        raise BadInput(
            f"The embedding has {bad:,} {'value' if bad == 1 else 'values'} that {'is' if bad == 1 else 'are'} "
            f"missing or infinite, the first in row {first[0]:,}, column {first[1]:,} (counted from 0)",
            available="finite numbers",
            help="drop those rows, or check why the model returned them.",
        )
    return points


def blocks(points: Points) -> Iterator[tuple[int, Points]]:
    """Yield blocks of rows with the place of the first."""
    step = max(1, READ // points.shape[1])
    for start in range(0, len(points), step):
        yield start, np.asarray(points[start : start + step])


def lengths(points: Points) -> Floats:
    """Return the length of each row; a row of length 0 has no direction and is refused."""
    found = np.empty(len(points))
    for start, block in blocks(points):
        exact = block.astype(np.float64)
        found[start : start + len(block)] = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    zero = np.flatnonzero(found == 0)
    if len(zero):
        raise BadInput(
            f"{len(zero):,} {'row is' if len(zero) == 1 else 'rows are'} all zeros, the first is row {zero[0]:,} "
            "(counted from 0): a zero vector has no direction",
            available="rows that are not 0 under the cosine",
            help="drop those rows, or use --metric euclidean (metric=).",
        )
    return found


def rows_of(points: Points, places: Codes, norms: Floats | None) -> Floats:
    """Return some rows in float64, divided by their lengths where those are given."""
    rows = np.asarray(points[places], dtype=np.float64)
    return rows if norms is None else rows / norms[places, None]


def mean_of(points: Points, norms: Floats | None) -> Floats:
    """Return the mean of all rows."""
    total = np.zeros(points.shape[1])
    step = max(1, READ // points.shape[1])
    for start in range(0, len(points), step):
        total += rows_of(points, np.arange(start, min(start + step, len(points))), norms).sum(axis=0)
    return total / max(len(points), 1)
