"""Simultaneous lower bounds hold, and power is what a simulation finds."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.stats import (
    detectable_gap,
    difference_p,
    least_possible_difference,
    least_weighted_distance,
    people_needed,
    power_of,
    simultaneous_intervals,
)

SIZES = np.array([400, 150, 90, 60])


@pytest.mark.parametrize("rates", [(0.3, 0.3, 0.3, 0.3), (0.3, 0.2, 0.35, 0.25), (0.6, 0.1, 0.3, 0.3)])
def test_lower_bounds_are_below_the_truth_19_times_in_20(rates: tuple[float, ...]) -> None:
    generator = np.random.default_rng(0)
    truth = np.array(rates)
    shares = (SIZES / SIZES.sum())[:, None]
    everyone = (shares[:, 0] * truth).sum()
    difference = truth.max() - truth.min()
    distance = (shares[:, 0] * np.abs(truth - everyone)).sum()
    held = np.zeros((2000, 2), dtype=bool)
    for draw in range(2000):
        x = generator.binomial(SIZES, truth)[:, None].astype(float)
        low, high = simultaneous_intervals(x, SIZES[:, None].astype(float))
        held[draw] = [
            least_possible_difference(low, high)[0] <= difference + 1e-12,
            least_weighted_distance(low, high, shares)[0] <= distance + 1e-12,
        ]
    assert (held.mean(axis=0) >= 0.95).all()


def test_the_least_weighted_distance_is_found_by_a_slow_search_too() -> None:
    generator = np.random.default_rng(2)
    for _ in range(50):
        low = generator.random((4, 1)) * 0.6
        high = low + generator.random((4, 1)) * 0.3
        shares = generator.dirichlet(np.ones(4))[:, None]
        slow = min(
            float((shares * (np.maximum(low - c, 0) + np.maximum(c - high, 0))).sum()) for c in np.linspace(0, 1, 4001)
        )
        assert float(least_weighted_distance(low, high, shares)[0]) == pytest.approx(slow, abs=3e-4)


def test_a_wide_gap_has_a_bound_above_0() -> None:
    low, high = simultaneous_intervals(np.array([[90.0], [10.0]]), np.array([[100.0], [100.0]]))
    assert least_possible_difference(low, high)[0] > 0.5


@pytest.mark.parametrize(
    ("gap", "base", "n1", "n2"), [(0.1, 0.3, 300, 500), (0.05, 0.1, 900, 2000), (0.2, 0.5, 80, 80)]
)
def test_power_is_the_share_of_simulated_audits_that_find_the_gap(gap: float, base: float, n1: int, n2: int) -> None:
    generator = np.random.default_rng(0)
    x1, x2 = generator.binomial(n1, base + gap / 2, 4000), generator.binomial(n2, base - gap / 2, 4000)
    found = float((difference_p(x1, n1, x2, n2) < 0.05).mean())
    assert power_of(gap, base, n1, n2) == pytest.approx(found, abs=0.03)


def test_the_detectable_gap_and_the_people_needed_agree() -> None:
    gap = detectable_gap(0.2, 1000, 1000)
    assert gap == pytest.approx(0.05, abs=0.002)
    assert people_needed(gap, 0.2, 0.5) == pytest.approx(2000, rel=0.01)
    assert people_needed(0.05, 0.2, 0.1) > people_needed(0.05, 0.2, 0.5)


def test_where_no_gap_could_be_found_that_is_the_answer() -> None:
    assert np.isnan(detectable_gap(0.5, 1, 1))
    assert np.isnan(detectable_gap(0.5, 0, 100))
    assert np.isnan(people_needed(0.0, 0.5, 0.5))


def test_the_detectable_gaps_of_many_groups_are_those_of_each() -> None:
    base, n1, n2 = np.array([0.02, 0.5, 0.97, 0.3]), np.array([40.0, 900.0, 250.0, 0.0]), np.array([9e3, 900, 250, 50])
    found = detectable_gap(base, n1, n2, level=0.01)
    each = [float(detectable_gap(*one, level=0.01)) for one in zip(base, n1, n2, strict=True)]
    assert found.tolist() == pytest.approx(each, nan_ok=True)
    assert np.isnan(found[3])
    assert power_of(found[:3], base[:3], n1[:3], n2[:3], level=0.01) == pytest.approx([0.8] * 3, abs=1e-6)
