"""The stacked tests give what scipy gives one by one; the smallest possible p is found by trying every arrangement."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.stats import (
    levene_p,
    probability_of_superiority,
    rank_test_p,
    signed_rank_direction,
    smallest_p,
    smallest_paired_p,
)
from equipoise.stats._two_samples import TIED_ARRANGEMENTS

# Few different values make ties, many make none.
COARSE = st.integers(0, 6).map(lambda value: value / 8)
FINE = st.integers(1, 10**6).map(lambda value: value / 10**6)
SIDES = st.sampled_from(["two-sided", "less", "greater"])


def samples(low: int = 1, high: int = 12) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(values, min_size=low, max_size=high) for values in (COARSE, FINE)).map(np.array)


PAIRS = st.lists(st.tuples(samples(), samples(), SIDES), min_size=1, max_size=8)


def tied(x: Any, y: Any) -> bool:
    return len({*x.tolist(), *y.tolist()}) < len(x) + len(y)


def slow_permutation_p(x: Any, y: Any, side: str) -> float:
    """Go through every way to deal the pooled values to the two sides, and count those as extreme as ours."""
    pooled = [*x.tolist(), *y.tolist()]

    def u(chosen: tuple[int, ...]) -> float:
        own = [pooled[place] for place in chosen]
        rest = [pooled[place] for place in range(len(pooled)) if place not in chosen]
        return sum((a > b) + (a == b) / 2 for a in own for b in rest)

    every = [u(chosen) for chosen in itertools.combinations(range(len(pooled)), len(x))]
    ours = u(tuple(range(len(x))))
    less = sum(value <= ours + 1e-9 for value in every) / len(every)
    greater = sum(value >= ours - 1e-9 for value in every) / len(every)
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[side]


@settings(deadline=None)
@given(PAIRS)
def test_mann_whitney_is_that_of_scipy_one_by_one(pairs: list[tuple[Any, Any, Any]]) -> None:
    found = rank_test_p("mann-whitney", [x for x, _, _ in pairs], [y for _, y, _ in pairs], [s for _, _, s in pairs])
    for (x, y, side), p in zip(pairs, found, strict=True):
        many = math.comb(len(x) + len(y), len(x)) > TIED_ARRANGEMENTS or min(len(x), len(y)) == 1
        if many or not tied(x, y):
            assert p == pytest.approx(min(stats.mannwhitneyu(x, y, alternative=side).pvalue, 1.0), rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.lists(COARSE, min_size=2, max_size=4), st.lists(COARSE, min_size=2, max_size=4), SIDES)
def test_with_ties_and_few_runs_mann_whitney_goes_through_every_arrangement(
    x: list[float], y: list[float], side: Any
) -> None:
    own, other = np.array(x), np.array(y)
    if tied(own, other):
        [p] = rank_test_p("mann-whitney", [own], [other], [side])
        assert p == pytest.approx(slow_permutation_p(own, other, side))
        assert p >= smallest_p(len(x), len(y), side) - 1e-12


@settings(deadline=None)
@given(st.lists(st.tuples(samples(2), samples(2), SIDES), min_size=1, max_size=8))
def test_brunner_munzel_is_that_of_scipy_where_samples_overlap(pairs: list[tuple[Any, Any, Any]]) -> None:
    found = rank_test_p("brunner-munzel", [x for x, _, _ in pairs], [y for _, y, _ in pairs], [s for _, _, s in pairs])
    for (x, y, side), p in zip(pairs, found, strict=True):
        if len({*x.tolist(), *y.tolist()}) == 1:
            assert p == 1
        elif x.max() < y.min() or x.min() > y.max():
            right = side == "two-sided" or (side == "less") == (x.max() < y.min())
            assert p == (smallest_p(len(x), len(y), side) if right else 1.0)
        else:
            assert p == pytest.approx(stats.brunnermunzel(x, y, alternative=side).pvalue, rel=1e-12)


def test_brunner_munzel_needs_two_runs_a_side() -> None:
    assert np.isnan(rank_test_p("brunner-munzel", [np.array([1.0])], [np.array([2.0, 3.0])], ["two-sided"])).all()


def paired_samples(shapes: list[tuple[int, bool, int]]) -> tuple[list[Any], list[Any]]:
    x, y = [], []
    for size, coarse, seed in shapes:
        generator = np.random.default_rng(seed)
        both = generator.integers(0, 4, (2, size)) / 4 if coarse else generator.random((2, size))
        x.append(both[0])
        y.append(both[1])
    return x, y


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 16), st.just(False), st.integers(0, 99)), min_size=1, max_size=8), SIDES)
def test_wilcoxon_without_ties_is_that_of_scipy_one_by_one(shapes: list[tuple[int, bool, int]], side: Any) -> None:
    x, y = paired_samples(shapes)
    for a, b, p in zip(x, y, rank_test_p("wilcoxon", x, y, [side] * len(x)), strict=True):
        assert p == pytest.approx(min(stats.wilcoxon(a - b, alternative=side).pvalue, 1.0), rel=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(2, 5), st.just(True), st.integers(0, 99)), min_size=1, max_size=4), SIDES)
def test_wilcoxon_with_ties_and_few_pairs_is_scipys_permutation_test(
    shapes: list[tuple[int, bool, int]], side: Any
) -> None:
    x, y = paired_samples(shapes)
    for a, b, p in zip(x, y, rank_test_p("wilcoxon", x, y, [side] * len(x)), strict=True):
        if (a == b).all():
            assert p == 1
        else:
            exact = stats.PermutationMethod(n_resamples=np.inf)
            assert p == pytest.approx(min(stats.wilcoxon(a - b, alternative=side, method=exact).pvalue, 1.0))


def test_wilcoxon_with_ties_and_many_pairs_is_scipys_approximation() -> None:
    for size in (10, 13, 20):
        x, y = paired_samples([(size, True, seed) for seed in range(20)])
        for a, b, p in zip(x, y, rank_test_p("wilcoxon", x, y, ["two-sided"] * 20), strict=True):
            assert p == pytest.approx(stats.wilcoxon(a - b, method="approx").pvalue)


@given(st.lists(st.tuples(samples(), samples()), min_size=1, max_size=8))
def test_the_share_above_is_counted_couple_by_couple(pairs: list[tuple[Any, Any]]) -> None:
    found = probability_of_superiority([x for x, _ in pairs], [y for _, y in pairs])
    for (x, y), share in zip(pairs, found, strict=True):
        couples = [(a > b) + (a == b) / 2 for a in x for b in y]
        assert share == pytest.approx(sum(couples) / len(couples))


def test_a_side_without_runs_has_no_p_and_no_share() -> None:
    none, some = np.empty(0), np.array([1.0, 2.0])
    assert np.isnan(rank_test_p("mann-whitney", [none, some], [some, none], ["two-sided", "less"])).all()
    assert np.isnan(probability_of_superiority([none], [some])).all()
    assert math.isnan(signed_rank_direction(none, none))


@given(st.lists(st.tuples(samples(3), samples(3)), min_size=1, max_size=8))
def test_levene_is_that_of_scipy_where_there_is_something_to_divide_by(pairs: list[tuple[Any, Any]]) -> None:
    found, wider = levene_p([x for x, _ in pairs], [y for _, y in pairs])
    for (x, y), p, difference in zip(pairs, found, wider, strict=True):
        far, near = np.abs(x - np.median(x)), np.abs(y - np.median(y))
        assert difference == pytest.approx(far.mean() - near.mean(), abs=1e-15)
        if math.isnan(p):
            assert np.ptp(far) == pytest.approx(0, abs=1e-12)
            assert np.ptp(near) == pytest.approx(0, abs=1e-12)
        else:
            assert p == pytest.approx(stats.levene(x, y, center="median").pvalue, rel=1e-9)


def test_levene_says_nothing_about_two_runs_or_two_constants() -> None:
    two, same, three = np.array([0.1, 0.2]), np.array([0.3] * 5), np.array([0.1, 0.2, 0.4])
    found, _ = levene_p([two, three, same, None], [three, two, same, three])
    assert np.isnan(found).all()


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (1, 4), (2, 2), (3, 3), (2, 5), (4, 4), (5, 5)])
def test_the_smallest_possible_p_is_the_smallest_of_all_arrangements(n1: int, n2: int) -> None:
    ranks = np.arange(n1 + n2, dtype=float)
    for side in ("two-sided", "less"):
        every = [
            stats.mannwhitneyu(ranks[list(own)], np.delete(ranks, own), alternative=side, method="exact").pvalue
            for own in itertools.combinations(range(n1 + n2), n1)
        ]
        assert smallest_p(n1, n2, side) == pytest.approx(min(every))


def test_three_against_three_cannot_go_below_a_tenth() -> None:
    assert smallest_p(3, 3, "two-sided") == pytest.approx(0.10)
    assert smallest_p(5, 5, "two-sided") == pytest.approx(0.0079, abs=5e-5)
    assert smallest_p(3, 3, "less") == pytest.approx(0.05)
    assert smallest_p(500, 500, "two-sided") < 1e-290


@pytest.mark.parametrize("pairs", [1, 2, 5, 6, 9])
def test_the_smallest_possible_paired_p_is_that_of_pairs_that_all_move_one_way(pairs: int) -> None:
    moved = np.arange(1.0, pairs + 1)
    for side in ("two-sided", "greater"):
        assert smallest_paired_p(pairs, side) == pytest.approx(stats.wilcoxon(moved, alternative=side).pvalue)


def test_pairs_that_differ_equally_but_for_rounding_are_ties() -> None:
    """0.3 - 0.2 and 0.2 - 0.1 are not the same float; as whole numbers of tenths they are."""
    generator = np.random.default_rng(0)
    before = generator.integers(10, 60, 24)
    after = before + generator.choice([-3, -2, -1, 1, 2, 3, 4, 5], 24)
    whole = rank_test_p("wilcoxon", [after.astype(float)], [before.astype(float)], ["two-sided"])
    for unit in (100.0, 1000.0, 7e5):
        parts = rank_test_p("wilcoxon", [after / unit], [before / unit], ["two-sided"])
        assert parts == pytest.approx(whole, rel=1e-9)
    oracle = stats.wilcoxon(after - before, method="approx").pvalue
    assert whole[0] == pytest.approx(oracle)
