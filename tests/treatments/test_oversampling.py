"""Oversampling against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.treatments import Oversampling
from helpers.cases.treatment import training_rows

COUNTS = (
    st.tuples(st.integers(1, 4), st.integers(1, 4))
    .flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, 12)))
    .filter(lambda counts: counts.sum() > 0)
)


def by_hand(rows: Any, balance: str) -> list[int]:
    """Every row in its order, so often."""
    chosen = []
    for row in range(len(rows.cell)):
        largest = 0
        for c in range(len(rows.classes)):
            for g in range(len(rows.groups)):
                if balance == "joint" or c == rows.cell[row]:
                    largest = max(largest, int(((rows.cell == c) & (rows.group == g)).sum()))
        own = int(((rows.cell == rows.cell[row]) & (rows.group == rows.group[row])).sum())
        chosen += [row] * (largest // own)
    return chosen


@given(COUNTS, st.sampled_from(["within_class", "joint"]))
def test_every_row_stands_there_as_often_as_the_rule_says(counts: Any, balance: str) -> None:
    rows = training_rows(counts)
    found = Oversampling(balance=balance).choose(rows, np.random.default_rng(0))
    assert found.tolist() == by_hand(rows, balance)


def test_the_papers_5_percent_stand_there_19_times_and_95_000_rows_come_of_50_000() -> None:
    major = np.arange(10) % 2
    counts = np.full((10, 2), 250)
    counts[np.arange(10), major] = 4_750
    chosen = Oversampling().choose(training_rows(counts), np.random.default_rng(0))
    assert counts.sum() == 50_000
    assert len(chosen) == 95_000
    assert sorted(set(np.bincount(chosen).tolist())) == [1, 19]


def test_nothing_is_drawn() -> None:
    rows = training_rows([[7, 2], [3, 9]])
    first, other = (Oversampling().choose(rows, np.random.default_rng(seed)).tolist() for seed in (0, 1))
    assert first == other


@pytest.mark.parametrize("balance", ["within_class", "joint"])
def test_a_cell_without_rows_has_nothing_to_repeat(balance: str) -> None:
    rows = training_rows([[0, 4], [2, 6]])
    chosen = Oversampling(balance=balance).choose(rows, np.random.default_rng(0))
    taken = np.zeros((2, 2), dtype=int)
    np.add.at(taken, (rows.cell[chosen], rows.group[chosen]), 1)
    assert taken.tolist() == [[0, 4], [6, 6]]
