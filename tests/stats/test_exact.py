"""Exact tests of two rates against enumeration of every table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.stats import (
    difference_p,
    exact_difference_interval,
    exact_difference_p,
    exact_equivalence_p,
    exact_ratio_interval,
    is_rare,
    ratio_interval,
    score_statistic,
)

MISSED = 1e-7


def slow_tail(x1: int, n1: int, x2: int, n2: int, d: float, *, above: bool) -> float:
    """Enumerate all tables, for many values of the nuisance rate of the larger sample."""
    if n1 > n2:
        return slow_tail(x2, n2, x1, n1, -d, above=not above)
    first, second = np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij")
    every, seen = score_statistic(first, n1, second, n2, d), score_statistic(x1, n1, x2, n2, d)
    extreme = every >= seen - 1e-9 if above else every <= seen + 1e-9
    low = stats.beta.ppf(MISSED / 2, x2, n2 - x2 + 1) if x2 else 0.0
    high = stats.beta.ppf(1 - MISSED / 2, x2 + 1, n2 - x2) if x2 < n2 else 1.0
    largest = 0.0
    for rate in np.linspace(max(low, -d, 0.0), min(high, 1 - d, 1.0), 400):
        mass = np.outer(
            stats.binom.pmf(np.arange(n1 + 1), n1, np.clip(rate + d, 0, 1)),
            stats.binom.pmf(np.arange(n2 + 1), n2, rate),
        )
        largest = max(largest, float((mass * extreme).sum()))
    return min(1.0, largest + MISSED)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 20), st.integers(3, 35), st.data())
def test_exact_p_is_that_of_enumeration(n1: int, n2: int, data: st.DataObject) -> None:
    # Rates up to one half, where outcomes are not turned round.
    x1, x2 = data.draw(st.integers(0, n1 // 3)), data.draw(st.integers(0, n2 // 3))
    expected = min(1.0, 2 * min(slow_tail(x1, n1, x2, n2, 0.0, above=side) for side in (True, False)))
    assert float(exact_difference_p(x1, n1, x2, n2)) == pytest.approx(expected, rel=0.02, abs=1e-6)


@pytest.mark.parametrize("table", [(5, 30, 3, 300), (0, 30, 6, 300), (2, 50, 9, 400), (29, 30, 250, 300)])
def test_exact_intervals_leave_out_what_the_tests_reject(table: tuple[int, int, int, int]) -> None:
    low, high = (float(end) for end in exact_difference_interval(*table, 0.95))
    assert low < table[0] / table[1] - table[2] / table[3] < high
    assert (low > 0 or high < 0) == (float(exact_difference_p(*table)) <= 0.05)
    wide = exact_difference_interval(*table, 0.999)
    assert float(wide[0]) < low
    assert float(wide[1]) > high


def test_exact_tests_keep_their_level_where_large_sample_ones_do_not() -> None:
    n1, n2, rate, level = 30, 300, 0.02, 0.05 / 36
    x1, x2 = np.meshgrid(np.arange(8), np.arange(25), indexing="ij")
    mass = stats.binom.pmf(x1, n1, rate) * stats.binom.pmf(x2, n2, rate)
    score = (mass * (difference_p(x1, n1, x2, n2) <= level)).sum()
    exact = (mass * (exact_difference_p(x1, n1, x2, n2) <= level)).sum()
    assert score > 2 * level
    assert exact <= level


def test_turning_sides_or_outcomes_round_changes_nothing() -> None:
    p = float(exact_difference_p(4, 40, 6, 300))
    assert float(exact_difference_p(6, 300, 4, 40)) == pytest.approx(p, rel=1e-9)
    assert float(exact_difference_p(36, 40, 294, 300)) == pytest.approx(p, rel=1e-9)
    low, high = exact_difference_interval(4, 40, 6, 300)
    other = exact_difference_interval(36, 40, 294, 300)
    assert (-float(other[1]), -float(other[0])) == pytest.approx((float(low), float(high)), abs=1e-6)


def test_rare_is_less_than_ten_expected_and_empty_sides_have_no_test() -> None:
    assert is_rare([3, 30, 0], [300, 300, 0], [3, 30, 5], [300, 300, 10]).tolist() == [True, False, False]
    assert np.isnan(exact_difference_p(0, 0, 3, 10))
    assert np.isnan(exact_difference_interval(0, 0, 3, 10)).all()


def test_a_sample_of_millions_is_no_trouble() -> None:
    low, high = (float(end) for end in exact_difference_interval(1, 40, 20_000, 1_000_000))
    assert low < 1 / 40 - 0.02 < high
    assert 0 < float(exact_difference_p(1, 40, 20_000, 1_000_000)) <= 1


def test_equivalence_is_shown_inside_the_margin_and_not_at_it() -> None:
    assert float(exact_equivalence_p(1, 400, 3, 900, 0.05)) < 0.001
    assert float(exact_equivalence_p(40, 400, 45, 900, 0.05)) > 0.3


def slow_ratio_tail(x1: int, n1: int, x2: int, n2: int, ratio: float, *, above: bool) -> float:
    """Enumerate all tables, ordered by the mid-p of x1 given x1 + x2, for many values of the second rate."""
    first, second = np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij")
    share = ratio * n1 / (ratio * n1 + n2)

    def middle(one: np.ndarray | int, other: np.ndarray | int) -> np.ndarray:
        every = stats.binom(np.asarray(one) + other, share)
        return np.asarray(every.sf(one) + every.pmf(one) / 2)

    extreme = (
        middle(first, second) <= middle(x1, x2) + 1e-9 if above else middle(first, second) >= middle(x1, x2) - 1e-9
    )
    low = stats.beta.ppf(MISSED / 2, x2, n2 - x2 + 1) if x2 else 0.0
    high = stats.beta.ppf(1 - MISSED / 2, x2 + 1, n2 - x2) if x2 < n2 else 1.0
    largest = 0.0
    for rate in np.linspace(low, min(high, 1 / ratio), 400):
        mass = np.outer(
            stats.binom.pmf(np.arange(n1 + 1), n1, min(rate * ratio, 1.0)), stats.binom.pmf(np.arange(n2 + 1), n2, rate)
        )
        largest = max(largest, float((mass * extreme).sum()))
    return min(1.0, largest + MISSED)


@pytest.mark.parametrize("table", [(4, 20, 2, 35), (1, 15, 6, 30), (0, 12, 7, 40), (3, 20, 0, 30)])
def test_the_ends_of_an_exact_ratio_are_where_enumeration_rejects(table: tuple[int, int, int, int]) -> None:
    level = 0.9
    low, high = (float(end) for end in exact_ratio_interval(*table, level))
    if table[0]:
        assert (
            slow_ratio_tail(*table, low * 0.98, above=True)
            < (1 - level) / 2
            < slow_ratio_tail(*table, low * 1.02, above=True)
        )
    else:
        assert low == 0
    if table[2]:
        assert (
            slow_ratio_tail(*table, high * 1.02, above=False)
            < (1 - level) / 2
            < slow_ratio_tail(*table, high * 0.98, above=False)
        )
    else:
        assert high == np.inf


def test_exact_ratios_turn_round_and_are_undefined_without_a_success() -> None:
    low, high = (float(end) for end in exact_ratio_interval(4, 40, 6, 300))
    other = exact_ratio_interval(6, 300, 4, 40)
    assert (1 / float(other[1]), 1 / float(other[0])) == pytest.approx((low, high), rel=1e-3)
    assert low < (4 / 40) / (6 / 300) < high
    assert np.isnan(exact_ratio_interval(0, 40, 0, 300)).all()
    assert np.isnan(exact_ratio_interval(3, 0, 1, 300)).all()
    frequent = [float(end) for end in exact_ratio_interval(98, 100, 970, 1000)]
    assert frequent[0] < 0.98 / 0.97 < frequent[1] < 1.1


@pytest.mark.long
def test_exact_ratios_cover_where_score_ones_do_not() -> None:
    n1, n2, rate, level = 100, 1000, 0.02, 1 - 0.05 / 19
    x1, x2 = np.meshgrid(np.arange(12), np.arange(5, 40), indexing="ij")
    mass = stats.binom.pmf(x1, n1, rate) * stats.binom.pmf(x2, n2, rate)

    def missed(ends: tuple[np.ndarray, np.ndarray]) -> float:
        return float((mass * ((ends[0] > 1) | (ends[1] < 1))).sum())

    assert missed(ratio_interval(x1, n1, x2, n2, level)) > 1.5 * (1 - level)
    assert missed(exact_ratio_interval(x1, n1, x2, n2, level)) <= 1 - level
