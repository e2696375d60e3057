"""Looks at a growing number of seeds: how probable an error is at any of them, by simulations and Pocock's table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from equipoise.foundation import BadInput
from equipoise.stats import anytime_critical, anytime_p, check_looks, looks_p, nominal_level


def smallest_p(draws: np.ndarray, looks: tuple[int, ...]) -> np.ndarray:
    """Student's t by scipy, at every look; the smallest p of each row."""
    by_look = [stats.ttest_1samp(draws[:, :look], 0.0, axis=1).pvalue for look in looks]
    return np.min(by_look, axis=0)


@pytest.mark.parametrize("looks", [(5, 10, 15, 20), (3, 5, 8), (4, 12), (6, 8, 10, 12, 14, 16, 18, 20)])
def test_a_true_null_is_rejected_at_any_look_as_often_as_said(looks: tuple[int, ...]) -> None:
    draws = np.random.default_rng(sum(looks)).standard_normal((40_000, looks[-1]))
    smallest = smallest_p(draws, looks)
    for nominal in (0.2, 0.05, 0.01, 0.002):
        share, said = (smallest <= nominal).mean(), float(looks_p(nominal, looks))
        assert abs(share - said) <= 4 * math.sqrt(said * (1 - said) / len(draws)), (looks, nominal)


def test_with_many_seeds_it_is_the_table_of_pocock() -> None:
    # Nominal two-sided levels of 2 to 5 equally spaced looks at 0.05 (Pocock 1977, Table 1).
    for number, known in ((2, 0.0294), (3, 0.0221), (4, 0.0182), (5, 0.0158)):
        looks = tuple(2_000 * (look + 1) for look in range(number))
        assert float(nominal_level(0.05, looks)) == pytest.approx(known, abs=6e-5)


def test_levels_and_p_values_are_inverse_and_bounded() -> None:
    levels = np.array([0.9, 0.3, 0.05, 0.05 / 6, 0.05 / 60, 1e-8, 1e-30])
    nominal = nominal_level(levels)
    assert np.allclose(looks_p(nominal), levels, rtol=1e-4)
    # Between the smallest that one look has, and that of looks which have nothing to do with one another.
    assert (nominal <= levels).all()
    assert (nominal >= levels / 4 * (1 - 1e-6)).all()
    assert np.isnan(looks_p([math.nan])).all()
    assert looks_p([0.0, 1.0]).tolist() == pytest.approx([0.0, 1.0], abs=1e-12)
    assert np.allclose(looks_p([0.02, 0.5], (10,)), [0.02, 0.5])
    rising = looks_p(np.logspace(-14, 0, 400))
    assert (np.diff(rising) >= 0).all()


@pytest.mark.parametrize("looks", [(3, 5), (3, 6, 9), (4, 8, 12), (5, 10, 15, 20), (3, 50), tuple(range(5, 30, 2))])
def test_small_p_values_are_corrected_by_at_most_the_number_of_looks(looks: tuple[int, ...]) -> None:
    p = np.logspace(-40, -1, 200)
    times = looks_p(p, looks) / p
    assert (times <= len(looks) * (1 + 1e-9)).all()
    # The smaller p, the less two looks are significant together.
    assert (np.diff(times) <= 1e-9).all()
    assert times[0] == pytest.approx(len(looks), rel=1e-6)


@pytest.mark.parametrize("looks", [(), (2, 5), (5, 6), (10, 5), (5, 5), (5.0, 10.0), (True, 5), ("5", "10")])
def test_looks_that_cannot_be(looks: tuple[object, ...]) -> None:
    with pytest.raises(BadInput, match="looks"):
        check_looks(looks)  # type: ignore[arg-type]


def test_the_anytime_interval_is_its_formula_and_its_p_value_the_same_test() -> None:
    d = np.random.default_rng(2).normal(0.4, 1.0, size=14)
    n, share, level, people = len(d), 0.8, 0.05, 0.03
    b = (math.sqrt(1 + n) / (share * level)) ** (2 / n)
    width = math.sqrt(((d - d.mean()) ** 2).sum() / n * (b - 1) / (1 - b / (1 + n)))
    width += special.ndtri(1 - (1 - share) * level / 2) * math.sqrt(people)
    got = float(anytime_critical(d.var(ddof=1), people, n, level, share=share))
    assert got == pytest.approx(width, rel=1e-12)
    assert float(anytime_p(width, d.var(ddof=1), people, n, share=share)) == pytest.approx(level, rel=1e-6)
    assert float(anytime_p(0.0, 1.0, 0.0, n)) == 1.0
    # Of equal differences the smallest level is that at which the interval begins to be finite.
    assert float(anytime_p(0.5, 0.0, 0.0, n, share=share)) == pytest.approx((1 + n) ** ((1 - n) / 2) / share, rel=1e-6)
    assert math.isinf(float(anytime_critical(1.0, 0.0, 3, 0.001)))
    assert np.isnan(anytime_p(math.nan, 1.0, 0.0, n))
    assert np.isnan(anytime_critical(1.0, math.nan, n))


def test_the_anytime_interval_covers_at_all_numbers_of_seeds_at_once() -> None:
    draws = np.random.default_rng(5).standard_normal((4_000, 60))
    missed = np.zeros(len(draws), dtype=bool)
    for n in range(3, 61):
        first = draws[:, :n]
        half = anytime_critical(first.var(axis=1, ddof=1), 0.0, n, 0.05, share=0.999)
        missed |= np.abs(first.mean(axis=1)) > half
    assert missed.mean() <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / len(draws))
