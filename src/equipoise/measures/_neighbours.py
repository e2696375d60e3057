"""The exact k nearest rows of each row, and how many of them are still its nearest after a change.

They are sought by blocks: never all distances at once. The share that is kept is that of paper 003, appendix A.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    fitting,
    plural,
    unknown_name,
)
from equipoise.measures._comparison import (
    Array,
    Representation,
    as_pair,
    as_representation,
    blocks,
    comparison,
    like,
    namespace,
)

Metric = Literal["cosine", "euclidean"]

# How many distances are held at a time, and how many are worked on.
DISTANCES_AT_ONCE = 2**22
TILE = 2**19
TILE_ROWS = 256
CENTRE_ROWS = 1000

# Squared distances within 2^-30 of the squared lengths involved are ties: far above the rounding of double precision,
# far below what separates neighbours. A key holds the distance in such steps, and the row's number below it.
TIE_BITS = 30
KEY_BITS = 62


def nearest_by_block(
    points: object, k: int, *, metric: Metric, queries: object = None, block: int | None = None
) -> Iterator[tuple[slice, Array]]:
    """Yield the k nearest other rows of each row, nearest first: blocks of queries as (their places, rows [b, k]).

    ``queries`` are numbers of rows; by default all rows, in order. A row is not its own neighbour: it is left out by
    its number, so that a copy of it stays. Among rows equally far away, the one that comes first is nearer.
    """
    if metric not in get_args(Metric):
        raise unknown_name("metric", str(metric), get_args(Metric), "the search for neighbours")
    rows = points if isinstance(points, Representation) else as_representation(points, "points")
    _check_k(k, len(rows))
    chosen = _row_numbers(queries, len(rows))
    step = block if block is not None else max(16, DISTANCES_AT_ONCE // len(rows))
    if step < 1:
        raise BadInput(f"block is {block}", available="at least 1 row")
    return _search(_points(rows, metric), int(k), chosen, step)


@dataclass(frozen=True)
class Points:
    """Rows made ready for squared Euclidean distances (half of which are cosine distances where lengths are 1)."""

    rows: Representation
    metric: Metric
    centre: Array  # column medians of some rows: products of rows near 0 round least, and a far row moves them little
    scale: float
    squares: Array  # |x|^2
    typical: float  # the median of |x|^2 above 0: one far row does not coarsen the ties of all others

    def block(self, start: int, stop: int) -> Array:
        """Return rows, centred and of moderate size, or of length 1."""
        return _ready(self.rows.block(start, stop, "float64"), self.metric, self.centre, self.scale)


def _points(rows: Representation, metric: Metric) -> Points:
    xp = namespace(rows.sample)
    some = like(rows.sample, np.arange(0, len(rows), math.ceil(len(rows) / CENTRE_ROWS)), "int64")
    few = xp.sort(rows.only(some).block(0, CENTRE_ROWS, "float64"), axis=0)
    centre = few[int(few.shape[0]) // 2, :]
    largest, empty, first = 0.0, 0, 0
    for start, stop in blocks(len(rows), rows.width):
        block = rows.block(start, stop, "float64")
        sizes = xp.max(xp.abs(block), axis=1)
        largest = max(largest, float(xp.max(sizes)))
        none = xp.astype(sizes == 0, xp.int64)
        if metric == "cosine" and int(xp.sum(none)):
            first = first if empty else start + int(xp.argmax(none))
            empty += int(xp.sum(none))
    if empty:
        raise BadInput(
            f"{empty:,} {'row is' if empty == 1 else 'rows are'} all zeros, the first is row {first:,} (from 0)",
            available="rows with a direction: the cosine of a zero vector is undefined",
            help="drop those rows from both representations, or use metric='euclidean'.",
        )
    scale = 2.0 ** math.frexp(largest)[1]
    squares = xp.concat([
        xp.vecdot(block, block)
        for block in (_ready(rows.block(start, stop, "float64"), metric, centre, scale)
                      for start, stop in blocks(len(rows), rows.width))
    ])  # fmt: skip
    lengths = xp.sort(squares[squares > 0])
    return Points(rows, metric, centre, scale, squares, float(lengths[int(lengths.shape[0]) // 2]))


def _ready(block: Array, metric: Metric, centre: Array, scale: float) -> Array:
    xp = namespace(block)
    if metric == "euclidean":
        return (block - centre) / scale
    block = block / xp.max(xp.abs(block), axis=1)[:, None]
    return block / xp.sqrt(xp.vecdot(block, block))[:, None]


def _search(points: Points, k: int, queries: NDArray[np.int64] | None, step: int) -> Iterator[tuple[slice, Array]]:
    xp = namespace(points.squares)
    total = len(points.rows)
    steps = float(min(2**52, 2**KEY_BITS // total - 1))
    numbers = like(points.squares, np.arange(total), "int64")
    query_rows = numbers if queries is None else like(points.squares, queries, "int64")
    for start in range(0, int(query_rows.shape[0]), step):
        mine = query_rows[start : start + step]
        query = _ready(
            points.rows.only(mine).block(0, int(mine.shape[0]), "float64"), points.metric, points.centre, points.scale
        )
        size = xp.take(points.squares, mine)
        grid = (size + points.typical) / 2**TIE_BITS
        keys = xp.empty((int(mine.shape[0]), total), dtype=xp.int64, device=array_api_compat.device(mine))
        width = max(TILE_ROWS, TILE // step)
        for column in range(0, total, width):
            columns = slice(column, min(column + width, total))
            distance = query @ (-2.0 * points.block(columns.start, columns.stop).T)
            distance += size[:, None]
            distance += points.squares[None, columns]
            distance /= grid[:, None]
            keys[:, columns] = xp.astype(xp.round(xp.clip(distance, 0.0, steps)), xp.int64)
        keys *= total
        keys += numbers[None, :]
        keys[like(mine, np.arange(int(mine.shape[0])), "int64"), mine] = 2**63 - 1  # not its own neighbour
        yield slice(start, start + int(mine.shape[0])), _smallest(keys, k) % total


def _smallest(keys: Array, k: int) -> Array:
    """Return the k smallest of each row, in order; no two keys are equal. The keys are moved about."""
    xp = namespace(keys)
    if array_api_compat.is_torch_array(keys):
        return xp.topk(keys, k, largest=False, sorted=True).values
    keys.partition(k - 1, axis=1)
    return xp.sort(keys[:, :k], axis=1)


def _check_k(k: object, rows: int) -> None:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k < rows:
        raise BadInput(
            f"k is {k!r} and there {fitting(rows, 'is', 'are')} {plural(rows, 'row')}",
            available=f"a whole number from 1 to {rows - 1:,}: a row has that many others",
        )


def _row_numbers(queries: object, rows: int) -> NDArray[np.int64] | None:
    if queries is None:
        return None
    held = array_api_compat.is_array_api_obj(queries)
    index = np.asarray(array_api_compat.to_device(queries, "cpu") if held else queries)
    if not index.size:
        return np.empty(0, dtype=np.int64)
    if index.ndim != 1 or index.dtype.kind not in "iu" or not 0 <= index.min() <= index.max() < rows:
        raise BadInput("The queries are not numbers of rows", available=f"whole numbers from 0 to {rows - 1:,}")
    return index.astype(np.int64)


@comparison("neighbour_overlap", paper="003", pointwise=True)
def neighbour_overlap(before: object, after: object, k: int, metric: Metric = "cosine") -> Array:
    """Share of a row's k nearest rows that are among its k nearest in both representations.

    The neighbours are exact. Among rows equally far away the one that comes first is nearer, in both representations:
    where many rows are equal, the overlap counts them as kept. By chance the share is k / (N - 1).
    """
    pair = as_pair(before, after)
    step = max(16, DISTANCES_AT_ONCE // len(pair))
    searches = [nearest_by_block(side, k, metric=metric, block=step) for side in pair.sides]
    shares = [_share(first, second) for (_, first), (_, second) in zip(*searches, strict=True)]
    return namespace(pair.sides[0].array).concat(shares)


def _share(first: Array, second: Array) -> Array:
    """Return the share of each row of numbers that is in the other row too."""
    xp = namespace(first)
    both = xp.sort(xp.concat([first, second], axis=1), axis=1)
    matches = xp.sum(xp.astype(both[:, 1:] == both[:, :-1], xp.int64), axis=1)
    return xp.astype(matches, xp.float64) / int(first.shape[1])
