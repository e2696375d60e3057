"""Cohen's d, by hand and by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats import (
    cohens_d,
    effect_band,
)

SAMPLES = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=2, max_size=12)


@given(SAMPLES, SAMPLES)
def test_d_is_the_difference_over_the_root_of_the_mean_variance(x: list[float], y: list[float]) -> None:
    variances = (np.var(x, ddof=1) + np.var(y, ddof=1)) / 2
    d = cohens_d(float(np.mean(x)), float(np.std(x, ddof=1)), float(np.mean(y)), float(np.std(y, ddof=1)))
    if variances > 0:
        assert math.isclose(d, (np.mean(x) - np.mean(y)) / math.sqrt(variances), rel_tol=1e-9, abs_tol=1e-12)


def test_d_by_hand() -> None:
    # Means 5 and 3, variances 1 and 7: the mean variance is 4, its root 2, so d = 2 / 2.
    assert cohens_d(5, 1, 3, math.sqrt(7)) == pytest.approx(1.0)
    assert cohens_d(3, math.sqrt(7), 5, 1) == pytest.approx(-1.0)


def test_without_spread_d_is_zero_for_equal_means_and_undefined_for_others() -> None:
    assert cohens_d(0.5, 0.0, 0.5, 0.0) == 0.0
    assert math.isnan(cohens_d(0.5, 0.0, 0.4, 0.0))
    assert effect_band(math.nan) is None


def test_one_run_has_no_variance_so_d_is_undefined() -> None:
    assert math.isnan(cohens_d(0.5, math.nan, 0.4, 0.1))


@pytest.mark.parametrize(
    ("d", "band"),
    [
        (0.0, "negligible"), (0.19, "negligible"), (0.2, "small"), (0.5, "medium"), (0.79, "medium"), (0.8, "large"),
        (1.2, "very large"), (1.99, "very large"), (2.0, "huge"), (300.0, "huge"),
    ],
)  # fmt: skip
def test_bands_start_where_the_paper_says_and_know_no_sign(d: float, band: str) -> None:
    assert effect_band(d) == band
    assert effect_band(-d) == band
