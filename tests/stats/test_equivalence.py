"""Equivalence: against scipy's one-sided t-tests, against the interval at 1 - 2a, and by counting."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equipoise.stats import _power as module
from equipoise.stats import (
    equivalence_p,
    interval_within,
    is_equivalent,
    margin_ends,
    sources_equivalence_p,
    sources_interval,
)


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20)


def test_two_one_sided_t_tests_of_scipy(generator: np.random.Generator) -> None:
    values = generator.normal(0.2, 1.0, size=15)
    oracle = max(
        stats.ttest_1samp(values, -0.8, alternative="greater").pvalue,
        stats.ttest_1samp(values, 0.8, alternative="less").pvalue,
    )
    error = values.std(ddof=1) / math.sqrt(15)
    assert float(equivalence_p(values.mean(), error, 0.8, 14)) == pytest.approx(oracle, rel=1e-9)
    found = sources_equivalence_p(values.mean(), [error**2], [14.0], 0.8)
    assert float(found) == pytest.approx(oracle, rel=1e-7)


@given(st.floats(-0.2, 0.2), st.floats(1e-8, 1e-2), st.floats(1e-8, 1e-2), st.integers(2, 30), st.floats(0.001, 0.2))
def test_equivalent_exactly_where_the_interval_at_twice_the_level_is_inside(
    change: float, seeds: float, people: float, degrees: int, level: float
) -> None:
    p = float(sources_equivalence_p(change, [seeds, people], [degrees, math.inf], 0.05))
    low, high = sources_interval(change, [seeds, people], [degrees, math.inf], 2 * level)
    if abs(p - level) > 1e-7:
        assert (p < level) == interval_within(float(low), float(high), 0.05)


def test_outside_the_margin_it_is_rarely_called_equivalent(generator: np.random.Generator) -> None:
    seeds, times, people = 5, 20_000, 0.4
    true = 1.0  # the margin's end: the hardest case
    values = true + generator.normal(size=(seeds, times)) + math.sqrt(people) * generator.normal(size=times)
    v = np.stack([values.var(axis=0, ddof=1) / seeds, np.full(times, people)], axis=-1)
    p = sources_equivalence_p(values.mean(axis=0), v, [seeds - 1.0, math.inf], 1.0)
    assert (p <= 0.05).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / times)


def test_no_variance_and_undefined() -> None:
    assert float(equivalence_p(0.01, 0.0, 0.02)) == 0.0
    assert float(equivalence_p(0.03, 0.0, 0.02)) == 1.0
    assert np.isnan(equivalence_p(np.nan, 0.01, 0.02))
    assert is_equivalent(float("nan")) is None
    assert interval_within(float("nan"), 0.1, 0.2) is None


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan, math.inf, (0.1, 0.2), (0.1, -0.1)])
def test_a_margin_lies_on_both_sides_of_0(margin: object) -> None:
    with pytest.raises(ValueError, match="margin"):
        margin_ends(margin)  # type: ignore[arg-type]


def test_examples_run() -> None:
    assert doctest.testmod(module).failed == 0
