"""Draws of few units: what widens them to Student's t."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equipoise.stats import (
    MIN_UNITS,
    small_sample_factor,
    student_factors,
)


@pytest.mark.parametrize("number", [5, 10, 40])
def test_a_widened_interval_is_that_of_a_t_test(number: int) -> None:
    values = np.random.default_rng(number).normal(size=number)
    drawn = values.std() / np.sqrt(number)  # what very many draws would give
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert stats.norm.isf(0.025) * drawn * small_sample_factor(number) == pytest.approx((high - low) / 2)


def test_too_few_units_have_no_interval_and_many_are_not_widened() -> None:
    assert np.isnan(small_sample_factor(MIN_UNITS - 1))
    assert small_sample_factor(100_000) == pytest.approx(1.0, abs=1e-4)


def test_stretched_normal_deviations_have_students_law() -> None:
    generator = np.random.default_rng(0)
    factors = student_factors(8, 20_000, generator)
    made = generator.normal(size=20_000) * np.sqrt(7 / 8) * factors
    assert stats.kstest(made, stats.t(7).cdf).pvalue > 0.01
