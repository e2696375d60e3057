"""How well each row finds its own class among its nearest neighbours; a tie counts as its mean over random orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.tallies.factorise import Codes
from equipoise.tallies.neighbours import Candidates, Search

Floats = NDArray[np.float64]

# Two distances that differ by less than this share of the embedding's size are the same.
TIE = 1e-12


def hits(search: Search, classes: Codes, k: int) -> Floats:
    """Return for every row whether one of its k nearest neighbours is of its class; NaN where nobody else is."""
    found = np.full(len(classes), np.nan)
    queries = np.flatnonzero(_others(classes) > 0)
    blocks = search.nearest() if k == 1 else search.nearest_of(queries, np.full(len(queries), k))
    for block in blocks:
        if len(block.query):
            rows, values = _hits(block, classes, k, TIE * search.size)
            found[rows] = values
    found[_others(classes) == 0] = np.nan
    return found


def average_precisions(search: Search, classes: Codes) -> Floats:
    """Return for every row the mean over its R nearest of (right so far / rank) where right, R its class's others."""
    found = np.full(len(classes), np.nan)
    others = _others(classes)
    # Queries that want about as many neighbours go together: a block costs what its hungriest query does.
    queries = np.argsort(others, kind="stable")
    queries = queries[others[queries] > 0]
    for block in search.nearest_of(queries, others[queries]):
        rows, values = _average_precisions(block, classes, others, TIE * search.size)
        found[rows] = values
    return found


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

    places = np.minimum(k, counts) - number(closer)
    missed = _none_drawn(number(tied), number(tied & same), places)
    return rows, np.where(number(closer & same) > 0, 1.0, 1.0 - missed)


def _none_drawn(size: Codes, right: Codes, places: Codes) -> Floats:
    """Return the chance that so many places, dealt out among ``size`` tied rows, hold none of the ``right`` ones."""
    chance = np.ones(len(size))
    wrong = size - right
    for place in range(int(places.max(initial=0))):
        left = np.maximum(size - place, 1)
        chance = np.where(place < places, chance * np.maximum(wrong - place, 0) / left, chance)
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
    place = np.arange(len(same)) - np.repeat(ties, np.diff(np.r_[ties, len(same)]))
    # In a run of t tied rows with m right ones, place j is right with chance m / t, and then (j - 1) (m - 1) / (t - 1)
    # of the places before it are.
    expected = before + 1 + place * (right - 1) / np.maximum(size - 1, 1)
    gained = np.where(rank < others[block.query], right / size * expected / (rank + 1), 0.0)
    return rows, np.add.reduceat(gained, starts) / others[rows]
