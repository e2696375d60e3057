"""Rows that classifiers on embeddings are trained on, counted by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.training.metric._downstream import (
    TRAININGS,
    balanced_rows,
    check_trainings,
    oversampled_rows,
)


def test_balanced_rows_are_as_many_of_every_class_as_the_smallest_has() -> None:
    target = np.array([0, 0, 0, 1, 1, 2, 2, 2, -1])
    rows = balanced_rows(target, seed=3)
    assert np.bincount(target[rows]).tolist() == [2, 2, 2]
    assert len(set(rows.tolist())) == len(rows)
    assert np.array_equal(rows, balanced_rows(target, seed=3))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40), st.integers(0, 99))
def test_oversampled_rows_are_all_rows_and_repeats_up_to_the_largest_class_of_a_domain(
    cells: list[tuple[int, int]], seed: int
) -> None:
    target = np.array([0, 0, *(one for one, _ in cells)])  # two further rows that the trial does not have
    rows, domains = np.arange(2, len(target)), np.array([one for _, one in cells])
    found = oversampled_rows(rows, target, domains, seed)
    counts = Counter(cells[row - 2] for row in found.tolist())
    assert set(counts) == set(cells)
    assert set(counts.values()) == {max(Counter(cells).values())}
    assert set(found.tolist()) == set(rows.tolist()), "nobody is lost, and no other row is taken"
    np.testing.assert_array_equal(found, oversampled_rows(rows, target, domains, seed))


def test_trainings_stand_in_one_order_however_they_are_given() -> None:
    assert check_trainings(None, []) == ["own", "balanced"]
    assert check_trainings(list(reversed(TRAININGS)), [{"name": "svm"}, {"name": "logistic_regression"}]) == list(
        TRAININGS
    )
    assert check_trainings(("own", "own"), []) == ["own"]
