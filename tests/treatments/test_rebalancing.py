"""Rebalancing to a ratio against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.treatments import Rebalancing
from helpers.cases.treatment import training_rows

COUNTS = [[[40, 10], [5, 20]], [[7, 3, 100], [2, 2, 2], [9, 1, 2]], [[1, 1], [50, 1]]]


@pytest.mark.parametrize("ratio", [1, 2, 3])
@pytest.mark.parametrize("counts", COUNTS)
def test_no_group_of_a_class_has_more_than_so_many_times_the_rows_of_the_smallest(
    counts: list[list[int]], ratio: int
) -> None:
    rows = training_rows(counts)
    chosen = Rebalancing(ratio=ratio).choose(rows, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == len(chosen)
    assert chosen.tolist() == sorted(chosen.tolist())
    for y, of_class in enumerate(counts):
        for g, number in enumerate(of_class):
            left = sum(1 for row in chosen if rows.cell[row] == y and rows.group[row] == g)
            assert left == min(number, ratio * min(of_class))


def test_rows_within_the_ratio_all_stay_and_a_class_nobody_has_is_no_matter() -> None:
    rows = training_rows([[10, 20], [0, 0], [8, 4]])
    assert Rebalancing(ratio=2).choose(rows, np.random.default_rng(0)).tolist() == list(range(42))


def test_the_draw_is_the_generators_and_every_row_of_a_large_cell_is_as_likely() -> None:
    rows = training_rows([[30, 3]])
    times = np.zeros(33)
    for seed in range(600):
        chosen = Rebalancing(ratio=2).choose(rows, np.random.default_rng(seed))
        assert chosen.tolist() == Rebalancing(ratio=2).choose(rows, np.random.default_rng(seed)).tolist()
        times[chosen] += 1
    assert (times[rows.group == 1] == 600).all()
    # 6 of 30 rows: 120 times in the mean, with a standard deviation of 10.
    assert np.abs(times[rows.group == 0] - 120).max() < 45


def test_an_empty_cell_and_other_ratios_are_refused() -> None:
    with pytest.raises(BadInput, match="class 1 / group 0"):
        Rebalancing().choose(training_rows([[3, 4], [0, 4]]), np.random.default_rng(0))
    for ratio in (0, 1.5, -1):
        with pytest.raises(BadInput, match="ratio is"):
            Rebalancing(ratio=ratio)
