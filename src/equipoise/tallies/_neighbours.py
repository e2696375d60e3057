"""Points of an embedding, and who is nearest to whom: exactly, without ever holding all pairs.

An embedding has one row of finite numbers a point, and is read in blocks, so that a memory-mapped file stays on disk.
Products of float32 blocks find the few rows that can be among the nearest; those are measured again in float64, so the
answer is that of float64 arithmetic. The query itself is left out by its place, not by being first: a copy of it is a
neighbour like any other. In how well each row finds its own class, a tie counts as its mean over random orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, Floats, as_array
from equipoise.tallies._labels import Codes

Points = NDArray[Any]

# Numbers read at once.
READ = 1 << 20


def as_points(embedding: object) -> Points:
    """Return an embedding as an array ``[rows, dimensions]`` of finite numbers; tensors come to the host first."""
    points = as_array(embedding, "the embedding")
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
            position = np.argwhere(broken)[0]
            first = first or (start + int(position[0]), int(position[1]))
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
    norms = np.empty(len(points))
    for start, block in blocks(points):
        exact = block.astype(np.float64)
        norms[start : start + len(block)] = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    zero = np.flatnonzero(norms == 0)
    if len(zero):
        raise BadInput(
            f"{len(zero):,} {'row is' if len(zero) == 1 else 'rows are'} all zeros, the first is row {zero[0]:,} "
            "(counted from 0): a zero vector has no direction",
            available="rows that are not 0 under the cosine",
            help="drop those rows, or use --metric euclidean (metric=).",
        )
    return norms


def rows_of(points: Points, indices: Codes, norms: Floats | None) -> Floats:
    """Return some rows in float64, divided by their lengths where those are given."""
    rows = np.asarray(points[indices], dtype=np.float64)
    return rows if norms is None else rows / norms[indices, None]


def mean_of(points: Points, norms: Floats | None) -> Floats:
    """Return the mean of all rows."""
    total = np.zeros(points.shape[1])
    step = max(1, READ // points.shape[1])
    for start in range(0, len(points), step):
        total += rows_of(points, np.arange(start, min(start + step, len(points))), norms).sum(axis=0)
    return total / max(len(points), 1)


Singles = NDArray[np.float32]

# Products are made in tiles of so many rows and columns; of a tile each strip keeps its largest similarity.
TILE, STRIP = 2048, 512
# Similarities held at once where more than the nearest is wanted, and numbers of pairs measured again at once.
SIMILARITIES_AT_ONCE, MEASURED = 1 << 22, 1 << 19
# Columns of which only the largest similarity is looked at first.
BAND = 64
# The rounding of one operation in float32.
UNIT = 2.0**-24


@dataclass(frozen=True)
class Candidates:
    """Pairs of a query and a neighbour, sorted by query, then by distance.

    Of every query that is in it, all of its wanted nearest neighbours are, and all that are as near as the last.
    """

    query: Codes
    neighbour: Codes
    distance: Floats


class NeighbourSearch:
    """Exact search among the rows of an embedding by Euclidean distance."""

    def __init__(self, points: Any, norms: Floats | None = None) -> None:
        """Prepare the rows; ``norms`` divide them first, so that the order is that of the cosine."""
        self._points, self._norms = points, norms
        rows, width = points.shape
        centre = mean_of(points, norms)
        # -|x - y|^2 / 2 = x.y - |x|^2 / 2 - |y|^2 / 2 is one product of rows with two more columns, -|x|^2 / 2 and 1;
        # on the other side the two change places. It is symmetric.
        self._left = np.ones((rows, width + 2), dtype=np.float32)
        self._length = np.empty(rows, dtype=np.float32)
        for start in range(0, rows, TILE):
            block = self._exact(np.arange(start, min(start + TILE, rows))) - centre
            halves = np.einsum("ij,ij->i", block, block) / 2
            block_rows = slice(start, start + len(block))
            self._left[block_rows, :width], self._left[block_rows, width] = block, -halves
            self._length[block_rows] = np.sqrt(2 * halves)
        self.size = float(self._length.max(initial=0.0))

    def __len__(self) -> int:
        return len(self._left)

    def nearest(self) -> Iterator[Candidates]:
        """Yield the nearest neighbour of every row. Products of the upper triangle serve rows and columns alike."""
        best, second, where = self._best_strips()
        floor = self._floor(best, np.arange(len(self)))
        alone = np.flatnonzero(second < floor)
        ordered = alone[np.argsort(where[alone], kind="stable")]
        starts = np.arange(0, len(self) + STRIP, STRIP)
        ends = np.searchsorted(where[ordered], starts).tolist()
        for start, first, last in zip(starts.tolist(), ends, ends[1:], strict=False):
            # Only in the best strip is it asked where the maximum is.
            for part in range(first, last, TILE):
                yield self._candidates(ordered[part : min(part + TILE, last)], floor, start)
        tied = np.flatnonzero((second >= floor) & np.isfinite(best))
        yield from self.nearest_of(tied, np.ones(len(tied), dtype=np.int64))

    def _best_strips(self) -> tuple[Singles, Singles, Codes]:
        """Return each row's largest similarity, the largest in any other strip, and where its best strip starts."""
        rows = len(self)
        best, second = (np.full(rows, -np.inf, dtype=np.float32) for _ in range(2))
        where = np.zeros(rows, dtype=np.int64)
        room = np.empty((TILE, TILE), dtype=np.float32)

        def note(first: int, maxima: Singles, tile_start: int) -> None:
            """Take in the maxima ``[strip, row]`` of a tile's strips."""
            columns = slice(first, first + maxima.shape[1])
            for strip, strip_maxima in enumerate(maxima):
                better = strip_maxima > best[columns]
                second[columns] = np.where(better, best[columns], np.maximum(second[columns], strip_maxima))
                np.copyto(best[columns], strip_maxima, where=better)
                where[columns][better] = tile_start + strip * STRIP

        for first in range(0, rows, TILE):
            left = self._left[first : first + TILE]
            for other in range(first, rows, TILE):
                right = self._right(other, TILE)
                tile = np.matmul(left, right.T, out=room[: len(left), : len(right)])
                if other == first:
                    np.fill_diagonal(tile, -np.inf)
                else:
                    note(other, _maxima_of_rows(tile), first)
                note(first, _maxima_of_columns(tile), other)
        return best, second, where

    def nearest_of(self, queries: Codes, numbers: Codes) -> Iterator[Candidates]:
        """Yield the ``numbers`` nearest neighbours of each query, for blocks of queries."""
        step = max(1, SIMILARITIES_AT_ONCE // max(len(self), 1))
        everything = self._right(0, len(self)) if len(queries) else self._left
        for start in range(0, len(queries), step):
            rows, number = queries[start : start + step], np.minimum(numbers[start : start + step], len(self) - 1)
            similar = self._similar(rows, everything, 0)
            floor = self._floor(_kth_largest(similar, number), rows)
            where, neighbours = np.nonzero(similar >= floor[:, None])
            yield self._measured(rows[where], neighbours)

    def _candidates(self, queries: Codes, floor: Singles, start: int) -> Candidates:
        where, neighbours = np.nonzero(self._similar(queries, self._right(start, STRIP), start) >= floor[queries, None])
        return self._measured(queries[where], neighbours + start)

    def _right(self, start: int, width: int) -> Singles:
        right = self._left[start : start + width].copy()
        right[:, -2], right[:, -1] = 1.0, self._left[start : start + width, -2]
        return right

    def _similar(self, queries: Codes, right: Singles, start: int) -> Singles:
        similar = self._left[queries] @ right.T
        in_strip = np.flatnonzero((queries >= start) & (queries < start + similar.shape[1]))
        similar[in_strip, queries[in_strip] - start] = -np.inf
        return np.asarray(similar)

    def _floor(self, similar: Singles, queries: Codes) -> Singles:
        """Return what a row must reach in float32 to be as near as this in truth.

        A product is off by at most (d + 8) u (|x| + |y|)^2 with u the rounding of one operation; a neighbour y that is
        as near as this has a length of at most |x| + the distance. Both sides of the comparison are off.
        """
        reach = 2 * self._length[queries] + np.sqrt(np.maximum(-2 * similar, 0.0))
        return np.asarray(similar - np.float32(2 * (self._left.shape[1] + 6) * UNIT) * reach**2, dtype=np.float32)

    def _measured(self, query: Codes, neighbour: Codes) -> Candidates:
        distance = np.empty(len(query))
        step = max(1, MEASURED // self._left.shape[1])
        for start in range(0, len(query), step):
            chunk = slice(start, start + step)
            differences = self._exact(query[chunk]) - self._exact(neighbour[chunk])
            distance[chunk] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        order = np.lexsort((distance, query))
        return Candidates(query[order], neighbour[order], distance[order])

    def _exact(self, rows: Codes) -> Floats:
        return rows_of(self._points, rows, self._norms)


def _maxima_of_rows(tile: Singles) -> Singles:
    """Return the largest value of each strip of rows, ``[strip, column]``; the last strip may be narrower."""
    return np.stack([tile[start : start + STRIP].max(axis=0) for start in range(0, len(tile), STRIP)])


def _maxima_of_columns(tile: Singles) -> Singles:
    """Return the largest value of each strip of columns, ``[strip, row]``."""
    rows, columns = tile.shape
    if columns % STRIP:
        return np.stack([tile[:, start : start + STRIP].max(axis=1) for start in range(0, columns, STRIP)])
    return np.asarray(tile.reshape(rows, -1, STRIP).max(axis=2).T)


def _kth_largest(similar: Singles, number: Codes) -> Singles:
    """Return a lower bound of each row's number-th largest value.

    Where there are enough bands of columns it is that of the bands' maxima: each of them is one of the values, so the
    k-th largest value is no smaller than the k-th largest maximum.
    """
    rows, columns = similar.shape
    most = int(number.max(initial=1))
    if columns // BAND >= most:
        similar = similar[:, : columns // BAND * BAND].reshape(rows, -1, BAND).max(axis=2)
    if (number == most).all():
        return np.asarray(np.partition(similar, -most, axis=1)[:, -most])
    ranked = np.sort(similar, axis=1)
    return np.asarray(ranked[np.arange(rows), ranked.shape[1] - number])


# Two distances that differ by less than this share of the embedding's size are the same.
TIE = 1e-12


def hits(search: NeighbourSearch, classes: Codes, k: int) -> Floats:
    """Return for every row whether one of its k nearest neighbours is of its class; NaN where nobody else is."""
    chances = np.full(len(classes), np.nan)
    queries = np.flatnonzero(_others(classes) > 0)
    blocks = search.nearest() if k == 1 else search.nearest_of(queries, np.full(len(queries), k))
    for block in blocks:
        if len(block.query):
            rows, values = _hits(block, classes, k, TIE * search.size)
            chances[rows] = values
    chances[_others(classes) == 0] = np.nan
    return chances


def average_precisions(search: NeighbourSearch, classes: Codes) -> Floats:
    """Return for every row the mean over its R nearest of (right so far / rank) where right, R its class's others."""
    precisions = np.full(len(classes), np.nan)
    others = _others(classes)
    # Queries that want about as many neighbours go together: a block costs what its hungriest query does.
    queries = np.argsort(others, kind="stable")
    queries = queries[others[queries] > 0]
    for block in search.nearest_of(queries, others[queries]):
        rows, values = _average_precisions(block, classes, others, TIE * search.size)
        precisions[rows] = values
    return precisions


def _others(classes: Codes) -> Codes:
    return np.asarray(np.bincount(classes)[classes] - 1)


def _hits(block: Candidates, classes: Codes, k: int, tie: float) -> tuple[Codes, Floats]:
    rows, starts, counts = np.unique(block.query, return_index=True, return_counts=True)
    last = block.distance[starts + np.minimum(k, counts) - 1]
    away = block.distance - np.repeat(last, counts)
    same = classes[block.query] == classes[block.neighbour]
    closer, tied = away < -tie, np.abs(away) <= tie

    def number(which: NDArray[np.bool_]) -> Codes:
        return np.asarray(np.add.reduceat(which.astype(np.int64), starts))

    free_places = np.minimum(k, counts) - number(closer)
    missed = _none_drawn(number(tied), number(tied & same), free_places)
    return rows, np.where(number(closer & same) > 0, 1.0, 1.0 - missed)


def _none_drawn(size: Codes, right: Codes, draws: Codes) -> Floats:
    """Return the chance that so many places, allocated among ``size`` tied rows, hold none of the ``right`` ones."""
    chance = np.ones(len(size))
    wrong = size - right
    for draw in range(int(draws.max(initial=0))):
        left = np.maximum(size - draw, 1)
        chance = np.where(draw < draws, chance * np.maximum(wrong - draw, 0) / left, chance)
    return chance


def _average_precisions(block: Candidates, classes: Codes, others: Codes, tie: float) -> tuple[Codes, Floats]:
    rows, starts, counts = np.unique(block.query, return_index=True, return_counts=True)
    same = (classes[block.query] == classes[block.neighbour]).astype(np.float64)
    rank = np.arange(len(same)) - np.repeat(starts, counts)
    fresh = np.r_[True, (np.diff(block.query) != 0) | (np.diff(block.distance) > tie)]
    ties = np.flatnonzero(fresh)  # where each run of tied rows begins
    size = np.diff(np.r_[ties, len(same)])
    right = np.add.reduceat(same, ties)
    sums = np.cumsum(same) - same
    before = sums[ties] - np.repeat(sums[starts], counts)[ties]
    size, right, before = (np.repeat(values, np.diff(np.r_[ties, len(same)])) for values in (size, right, before))
    rank_in_tie = np.arange(len(same)) - np.repeat(ties, np.diff(np.r_[ties, len(same)]))
    # In a run of t tied rows with m right ones, place j is right with chance m / t, and then (j - 1) (m - 1) / (t - 1)
    # of the places before it are.
    expected = before + 1 + rank_in_tie * (right - 1) / np.maximum(size - 1, 1)
    gained = np.where(rank < others[block.query], right / size * expected / (rank + 1), 0.0)
    return rows, np.add.reduceat(gained, starts) / others[rows]
