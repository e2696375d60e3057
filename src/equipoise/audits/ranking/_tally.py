"""Positions of a ranking: the exposure and the selection of every row, and their sums by query and group.

A row at rank r has the exposure 1 / log2(1 + r), and is selected at top k where r <= k. Rows with the same score share
their ranks: each has the mean over all orders of the tie, exactly, not that of one order drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.stats import ClusterMeans, GroupMeans, RowMeans

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class TopK:
    """A cut of the ranking: the first ``number`` rows, or a ``share`` of them (rounded up)."""

    number: int | None = None
    share: float | None = None

    @classmethod
    def of(cls, given: object) -> TopK:
        """Read 10, 0.1 or "10%"."""
        value: object = given
        if isinstance(given, str):
            text = given.strip()
            try:
                value = float(text[:-1]) / 100 if text.endswith("%") else int(text) if text.isdigit() else float(text)
            except ValueError:
                value = None
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
            return cls(number=int(value))
        if isinstance(value, (float, np.floating)) and 0 < value < 1:
            return cls(share=float(value))
        if isinstance(value, (float, np.floating)) and value >= 1 and float(value).is_integer():
            return cls(number=int(value))
        raise BadInput(
            f"top is {given!r}", available="a whole number of 1 or more, or a share such as 10%", help="write --top 10."
        )

    @property
    def label(self) -> str:
        """As it is told: top 10, or top 10%."""
        return f"top {self.number}" if self.share is None else f"top {100 * self.share:g}%"

    def size(self, rows: int) -> int:
        """How many rows of a ranking it selects."""
        if self.number is not None:
            return self.number
        assert self.share is not None
        return math.ceil(self.share * rows - 1e-9)


def discounts(rows: int) -> Floats:
    """Return the exposure 1 / log2(1 + rank) of each rank."""
    return np.asarray(1.0 / np.log2(np.arange(2.0, rows + 2.0)), dtype=np.float64)


def ranked_values(scores: Floats, tops: Sequence[TopK]) -> Floats:
    """Return the exposure of every row of one ranking, and its selection at each k: ``[row, 1 + len(tops)]``.

    Both are expectations over the orders of rows with the same score.
    """
    number = len(scores)
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if number else np.zeros(0, int)
    ends = np.append(starts[1:], number)
    total = np.concatenate([[0.0], np.cumsum(discounts(number))])
    columns = [(total[ends] - total[starts]) / np.maximum(ends - starts, 1)]
    columns += [np.clip((top.size(number) - starts) / np.maximum(ends - starts, 1), 0.0, 1.0) for top in tops]
    found = np.empty((number, len(columns)))
    found[order] = np.repeat(np.stack(columns, axis=1), ends - starts, axis=0)
    return found


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows in their rankings: exposure and selections ``[row, 1 + top]``, relevance, and the query of each."""

    values: Floats
    relevance: Floats | None
    query: Codes | None
    queries: int

    @classmethod
    def of(cls, scores: Floats, tops: Sequence[TopK], relevance: Floats | None, query: Codes | None) -> RankedRows:
        """Rank the rows of each query by their scores, the highest first."""
        if query is None:
            return cls(ranked_values(scores, tops), relevance, None, 1)
        number = int(query.max()) + 1 if len(query) else 0
        values = np.empty((len(scores), 1 + len(tops)))
        order = np.argsort(query, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(query, minlength=number))[:-1]):
            values[rows] = ranked_values(scores[rows], tops)
        return cls(values, relevance, query, number)

    def _totals(self, values: Floats) -> Floats:
        """Return the sum of a query's rows, for every row."""
        if self.query is None:
            return np.full(len(values), values.sum())
        sums = np.bincount(self.query, weights=values, minlength=self.queries)
        return np.asarray(sums[self.query], dtype=np.float64)

    @property
    def beyond_merit(self) -> Floats:
        """Exposure less what it would be if it were shared out by relevance; NaN where nothing is relevant."""
        assert self.relevance is not None
        exposure = self.values[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = self._totals(exposure) / self._totals(self.relevance)
            return np.where(np.isfinite(rate), exposure - rate * self.relevance, np.nan)

    def numbers(self) -> Floats:
        """Return what is averaged: selections at each k, exposure, and with relevance exposure beyond merit."""
        parts = [self.values[:, 1:], self.values[:, :1]]
        if self.relevance is not None:
            parts.append(self.beyond_merit[:, None])
        return np.concatenate(parts, axis=1)

    def means(self, codes: Codes, groups: int) -> GroupMeans:
        """Return the tally of an attribute: rows of one ranking, or sums of each query."""
        numbers = self.numbers()
        if self.query is None:
            return RowMeans(numbers, codes, groups)
        place = self.query * groups + codes
        size = self.queries * groups
        counts = np.bincount(place, minlength=size).reshape(self.queries, groups).astype(np.float64)
        sums = [np.bincount(place, weights=column, minlength=size) for column in numbers.T]
        table = np.stack(sums, axis=1).reshape(self.queries, groups, -1)
        return ClusterMeans(np.asarray(table, dtype=np.float64), counts)

    def shares(self, codes: Codes, groups: int, column: Floats | None = None) -> Floats:
        """Return each group's share of rows, or of what a column holds: averaged over queries where it is defined."""
        weights = np.ones(len(codes)) if column is None else column
        query = np.zeros(len(codes), dtype=np.int64) if self.query is None else self.query
        sums = np.bincount(query * groups + codes, weights=weights, minlength=self.queries * groups)
        table = sums.reshape(self.queries, groups)
        total = table.sum(axis=1)
        known = total > 0
        if not known.any():
            return np.full(groups, np.nan)
        return np.asarray((table[known] / total[known, None]).mean(axis=0), dtype=np.float64)
