"""Intervals of rates and of their differences: published values, their tests, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from equipoise.stats import (
    combined_interval,
    difference_interval,
    difference_p,
    find_root,
    wilson,
)


# Newcombe (1998), Statistics in Medicine 17, tables of the methods compared: method 3 (Wilson) and, for differences,
# method 6 (Miettinen and Nurminen).
@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_newcombes_published_intervals(x: int, n: int, low: float, high: float) -> None:
    got = wilson(x, n)
    assert got[0] == pytest.approx(low, abs=5e-5)
    assert got[1] == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090), ((10, 10, 0, 20), 0.6791, 1.0)],
)
def test_combined_wilson_intervals_are_newcombes_published_intervals_of_differences(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    x, n = np.array(counts[::2]), np.array(counts[1::2])
    ends = combined_interval([1, -1], x / n, *wilson(x, n))
    assert [round(float(end), 4) for end in ends] == [low, high]
    turned = combined_interval([-1, 1], x / n, *wilson(x, n))
    assert [round(-float(end), 4) for end in turned] == [high, low]


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((56, 70, 48, 80), 0.0528, 0.3382), ((9, 10, 3, 10), 0.1700, 0.8406), ((10, 10, 0, 20), 0.7156, 1.0)],
)
def test_differences_give_miettinen_and_nurminens_published_intervals(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    got = difference_interval(*counts)
    assert got[0] == pytest.approx(low, abs=5e-5)
    assert got[1] == pytest.approx(high, abs=5e-5)


@given(
    x=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    n=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    level=st.sampled_from([0.8, 0.95, 0.999]),
)
@settings(deadline=None, max_examples=200)
def test_an_interval_excludes_0_exactly_when_its_test_rejects(
    x: tuple[int, int], n: tuple[int, int], level: float
) -> None:
    x1, x2 = min(x[0], n[0]), min(x[1], n[1])
    low, high = difference_interval(x1, n[0], x2, n[1], level)
    p = float(difference_p(x1, n[0], x2, n[1]))
    if abs(p - (1 - level)) > 1e-9:
        assert (low > 0 or high < 0) == (p < 1 - level)
    assert low - 1e-9 <= x1 / n[0] - x2 / n[1] <= high + 1e-9
    assert -1 <= low <= high <= 1


@given(x=st.integers(1, 59), n=st.integers(60, 200))
@settings(deadline=None, max_examples=50)
def test_the_difference_test_is_the_score_test_of_pooled_rates(x: int, n: int) -> None:
    x2, n2 = 30, 90
    pooled = (x + x2) / (n + n2)
    z = (x / n - x2 / n2) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / n2) * (n + n2) / (n + n2 - 1))
    assert float(difference_p(x, n, x2, n2)) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)


def test_swapping_the_sides_turns_the_interval_round() -> None:
    low, high = difference_interval(7, 50, 30, 90)
    other = difference_interval(30, 90, 7, 50)
    assert float(low) == pytest.approx(-float(other[1]), abs=1e-9)
    assert float(high) == pytest.approx(-float(other[0]), abs=1e-9)


def test_without_trials_nothing_is_known() -> None:
    assert [float(edge) for edge in wilson(0, 0)] == [0.0, 1.0]
    assert np.isnan(difference_interval(0, 0, 3, 10)).all()
    assert np.isnan(difference_p(0, 0, 3, 10))


@pytest.mark.parametrize("counts", [(0, 5, 0, 9), (5, 5, 9, 9)])
def test_rates_that_are_both_0_or_both_1_do_not_differ(counts: tuple[int, int, int, int]) -> None:
    assert float(difference_p(*counts)) == 1.0
    low, high = difference_interval(*counts)
    assert low < 0 < high


# At least 100 in each denominator and 10 expected in numerator and complement.
@pytest.mark.parametrize(
    ("n1", "p1", "n2", "p2"),
    [(100, 0.1, 100, 0.1), (100, 0.5, 100, 0.6), (100, 0.1, 5000, 0.05), (120, 0.9, 300, 0.88), (400, 0.3, 9000, 0.35)],
)
def test_signed_contrasts_cover_93_to_97_per_cent(n1: int, p1: float, n2: int, p2: float) -> None:
    generator = np.random.default_rng([n1, n2])
    x1, x2 = generator.binomial(n1, p1, 4000), generator.binomial(n2, p2, 4000)
    low, high = difference_interval(x1, n1, x2, n2)
    assert 0.93 <= float(((low <= p1 - p2) & (p1 - p2 <= high)).mean()) <= 0.97


def test_one_of_a_hundred_is_covered_where_a_percentile_bootstrap_is_not() -> None:
    generator = np.random.default_rng(1)
    x1, x2 = generator.binomial(100, 0.01, 4000), generator.binomial(5000, 0.05, 4000)
    low, high = difference_interval(x1, 100, x2, 5000)
    assert ((low <= -0.04) & (high >= -0.04)).mean() > 0.93
    draws = generator.binomial(100, x1[:400, None] / 100, (400, 500)) / 100
    draws = draws - generator.binomial(5000, x2[:400, None] / 5000, (400, 500)) / 5000
    percentile = np.quantile(draws, [0.025, 0.975], axis=1)
    assert ((percentile[0] <= -0.04) & (percentile[1] >= -0.04)).mean() < 0.75


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0, 9.0])
def test_a_crossing_is_where_brents_method_finds_it(power: float) -> None:
    places = np.linspace(0.01, 0.99, 40)

    def excess(x: np.ndarray) -> np.ndarray:
        return np.asarray(x**power - places)

    found = find_root(excess, np.zeros(40), np.ones(40))
    assert found == pytest.approx([optimize.brentq(lambda x, p=p: x**power - p, 0, 1) for p in places], abs=1e-12)
    assert find_root(lambda x: -excess(x), np.ones(40), np.zeros(40)) == pytest.approx(found, abs=1e-12)


def test_a_crossing_that_jumps_is_found_and_one_that_is_not_there_is_an_end() -> None:
    steps = np.array([0.25, 1.0, 2.0, -1.0, np.nan])
    below = np.where(np.isnan(steps), np.nan, -1.0)
    found = find_root(lambda x: np.where(x > steps, np.inf, below), np.zeros(5), np.ones(5))
    assert found == pytest.approx([0.25, 1.0, 1.0, 0.0, np.nan], abs=1e-12, nan_ok=True)
