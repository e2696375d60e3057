"""Permutation tests that stop early: valid however they came to stop, and equal to the full test where they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from equipoise.stats import NullSample, SequentialTests, draws_needed, permutation_p, sequential_permutation
from equipoise.stats._permutation import draw_until_settled


def null_samples(observed: list[float], sampler: Callable[[int], np.ndarray], **options: Any) -> list[NullSample]:
    """Test several numbers of one statistic."""
    found = sequential_permutation(
        {"z": observed}, lambda number, names: sampler(number), lambda name, drawn: drawn, **options
    )
    return found["z"]


def one_by_one(observed: float, values: np.ndarray, *, above: bool, enough: int | None) -> tuple[float, int]:
    """Count draws one at a time: the rule as the paper tells it."""
    drawn = extreme = 0
    for value in values:
        if np.isnan(value) or (enough is not None and extreme >= enough):
            continue
        drawn += 1
        extreme += bool(value >= observed - 1e-12 if above else value <= observed + 1e-12)
    stopped = enough is not None and extreme >= enough
    return (extreme / drawn if stopped else (1 + extreme) / (1 + drawn)), drawn


@pytest.mark.parametrize("enough", [None, 1, 3, 20])
@pytest.mark.parametrize("sizes", [(200,), (1,) * 200, (7, 100, 93)])
def test_batches_give_what_one_draw_at_a_time_gives(enough: int | None, sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    observed = generator.normal(size=12)
    null = np.round(generator.normal(size=(200, 12)), 1)
    null[generator.random(null.shape) < 0.1] = np.nan
    signed = np.arange(12) % 2 == 0
    tests, start = SequentialTests(observed, signed, enough), 0
    for size in sizes:
        tests.add(null[start : start + size])
        start += size
    for place in range(12):
        above, below = (
            one_by_one(observed[place], null[:, place], above=side, enough=enough) for side in (True, False)
        )
        assert tests.p[place] == pytest.approx(min(1, 2 * min(above[0], below[0])) if signed[place] else above[0])
        assert tests.draws[place] == (max(above[1], below[1]) if signed[place] else above[1])


@pytest.mark.parametrize("signed", [False, True])
def test_where_nothing_differs_p_is_small_no_more_often_than_it_says(signed: bool) -> None:
    generator, trials = np.random.default_rng(0), 4_000
    values = generator.normal(size=(200, trials))  # what was seen is a draw like the others
    tests = SequentialTests(values[0], signed, enough=8)
    tests.add(values[1:])
    for level in (0.01, 0.05, 0.1, 0.3, 0.5, 0.8):
        error = np.sqrt(level * (1 - level) / trials)
        assert (tests.p <= level).mean() < level + 3 * error
    assert (tests.p <= 0.3).mean() > 0.24  # and not much less often


def test_stopping_when_p_happens_to_be_small_would_not_be_valid() -> None:
    generator, trials = np.random.default_rng(1), 2_000
    values = generator.normal(size=(trials, 1_000))
    extreme = np.cumsum(values[:, 1:] >= values[:, :1], axis=1)
    naive = ((1 + extreme) / (2 + np.arange(999))).min(axis=1)
    assert (naive <= 0.05).mean() > 0.05 + 4 * np.sqrt(0.05 * 0.95 / trials)  # so the check above can fail


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("observed", [-1.5, 0.0, 0.4, 2.5])
def test_without_a_rule_to_stop_it_is_the_full_test(observed: float, signed: bool) -> None:
    null = np.random.default_rng(2).normal(size=300)
    null[::7] = np.nan
    tests = SequentialTests([observed], signed, enough=None)
    tests.add(null[:, None])
    above, below = (float(permutation_p(side * observed, side * null)) for side in (1, -1))
    assert tests.p[0] == pytest.approx(min(1.0, 2 * min(above, below)) if signed else above)
    assert tests.draws[0] == np.isfinite(null).sum()


def test_a_rare_gap_gets_every_draw_and_a_common_one_few() -> None:
    generator = np.random.default_rng(3)
    rare, common = null_samples([4.0, 0.0], lambda n: generator.normal(size=(n, 2)), most=1_000)
    assert (rare.draws, rare.p) == (1_000, 1 / 1_001)
    assert common.draws < 80
    assert common.p == pytest.approx(0.5, abs=0.2)


def test_nothing_is_drawn_for_what_is_undefined_and_no_draw_beyond_the_last() -> None:
    asked = []

    def sampler(number: int) -> np.ndarray:
        asked.append(number)
        return np.zeros((number, 2))

    found = null_samples([np.nan, np.nan], sampler, most=500)
    assert asked == []
    assert all(np.isnan(test.p) for test in found)
    found = null_samples([1.0, np.nan], sampler, most=500, largest_batch=200)
    assert asked == [128, 200, 172]
    assert found[0].p == 1 / 501


def test_draws_that_are_all_undefined_end_too() -> None:
    [found] = null_samples([1.0], lambda n: np.full((n, 1), np.nan), most=300)
    assert (found.draws, found.p) == (0, 1.0)


def test_tests_of_a_subset_leave_the_others_alone() -> None:
    tests = SequentialTests([1.0, 1.0, 1.0], enough=2)
    tests.add([[2.0], [2.0], [2.0]], of=np.array([1]))
    assert tests.draws.tolist() == [0, 2, 0]
    assert tests.settled.tolist() == [False, True, False]


def test_the_floor_is_far_below_what_decides() -> None:
    for tests in (1, 6, 36, 500):
        assert tests * 2 / (1 + draws_needed(tests)) < 0.05 / 9  # Bonferroni, two-sided: the strictest there is
    assert draws_needed(10, threshold=0.01) == 20_000


def test_a_cap_is_told_of_tests_that_ran_into_it() -> None:
    generator = np.random.default_rng(4)
    found = null_samples([9.0, 0.0], lambda n: generator.normal(size=(n, 2)), most=100, needed=4_000)
    assert [test.limited for test in found] == [True, False]
    [found] = null_samples([9.0], lambda n: generator.normal(size=(n, 1)), most=4_000, needed=4_000)
    assert not found.limited


def test_two_sides_are_tested_where_a_statistic_is_signed() -> None:
    null = np.random.default_rng(5).normal(size=(400, 1))
    found = sequential_permutation(
        {"up": [-2.0], "both": [-2.0]}, lambda n, names: null[:n], lambda name, drawn: drawn, most=100, enough=None,
        signed=["both"],
    )  # fmt: skip
    below = (null[:100] <= -2.0).sum()
    assert found["up"][0].p > 0.9
    assert found["both"][0].p == pytest.approx(2 * (1 + below) / 101)


def test_a_statistic_that_is_settled_is_not_computed_again() -> None:
    generator, asked = np.random.default_rng(6), []

    def permute(number: int, names: Sequence[str]) -> np.ndarray:
        asked.append(tuple(names))
        return generator.normal(size=(number, 1))

    sequential_permutation({"common": [0.0], "rare": [9.0]}, permute, lambda name, drawn: drawn, most=600)
    assert asked[0] == ("common", "rare")
    assert set(asked[1:]) == {("rare",)}


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({"most": 1_000, "first": 100}, [100, 200, 400, 300]),
        ({"most": 1_000, "first": 100, "largest": 250}, [100, 200, 250, 250, 200]),
        # Three tests stay open: 1,200 values are 400 draws of each.
        ({"most": 1_000, "first": 100, "work": 1_200}, [100, 200, 100]),
        ({"most": 0, "first": 100}, []),
    ],
)
def test_batches_double_until_the_draws_or_the_work_run_out(options: dict[str, int], batches: list[int]) -> None:
    made: list[int] = []
    assert draw_until_settled(lambda: 3, made.append, **options) == sum(batches)
    assert made == batches


def test_nothing_is_drawn_once_every_test_is_settled() -> None:
    made: list[int] = []
    assert draw_until_settled(lambda: 2 if len(made) < 2 else 0, made.append, most=10_000, first=50) == 150
    assert made == [50, 100]
