"""Corrections agree with scipy and with their definitions, and an undefined p is no test."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equipoise.stats import CORRECTIONS, benjamini_hochberg, holm, uncorrected

PS = st.lists(st.floats(0, 1), min_size=1, max_size=30)
PS_OR_NONE = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=30)


@given(PS)
def test_benjamini_hochberg_is_that_of_scipy(p: list[float]) -> None:
    np.testing.assert_array_equal(benjamini_hochberg(p), stats.false_discovery_control(p, method="bh"))


@given(PS)
def test_benjamini_hochberg_is_its_definition(p: list[float]) -> None:
    ranked = sorted(p)
    for own, adjusted in zip(p, benjamini_hochberg(p), strict=True):
        first = ranked.index(own)
        wanted = min(min(1.0, len(p) * ranked[place] / (place + 1)) for place in range(first, len(p)))
        assert math.isclose(adjusted, wanted, rel_tol=1e-12, abs_tol=1e-300)


@given(PS)
def test_holm_is_its_definition(p: list[float]) -> None:
    ranked = sorted(p)
    for own, adjusted in zip(p, holm(p), strict=True):
        last = len(p) - 1 - ranked[::-1].index(own)
        # Equal p-values get one adjusted value: that of the first of them, which is the largest.
        wanted = max(min(1.0, (len(p) - place) * ranked[place]) for place in range(last + 1))
        assert math.isclose(adjusted, wanted, rel_tol=1e-12, abs_tol=1e-300)


@given(PS_OR_NONE)
def test_an_undefined_p_stays_undefined_and_does_not_count(p: list[float]) -> None:
    known = [value for value in p if not math.isnan(value)]
    for correct in CORRECTIONS.values():
        adjusted = correct(p)
        assert [math.isnan(value) for value in adjusted] == [math.isnan(value) for value in p]
        np.testing.assert_array_equal(adjusted[~np.isnan(adjusted)], correct(known))


@given(PS)
def test_corrections_only_raise_and_holm_raises_most(p: list[float]) -> None:
    assert (benjamini_hochberg(p) >= np.array(p)).all()
    assert (holm(p) >= benjamini_hochberg(p) - 1e-15).all()
    np.testing.assert_array_equal(uncorrected(p), p)


@given(PS, st.data())
def test_a_larger_p_never_lowers_any_adjusted_one(p: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(p) - 1))
    raised = list(p)
    raised[place] = data.draw(st.floats(p[place], 1))
    for correct in CORRECTIONS.values():
        assert (correct(raised) >= correct(p) - 1e-15).all()


def test_three_tests_worked_by_hand() -> None:
    # p = 0.01, 0.03, 0.04. Holm: 3 x 0.01, 2 x 0.03, 1 x 0.04 raised to 0.06.
    np.testing.assert_allclose(holm([0.03, 0.01, 0.04]), [0.06, 0.03, 0.06])
    # Benjamini-Hochberg: 3/1 x 0.01 = 0.03, 3/2 x 0.03 = 0.045 lowered to 3/3 x 0.04.
    np.testing.assert_allclose(benjamini_hochberg([0.03, 0.01, 0.04]), [0.04, 0.03, 0.04])
