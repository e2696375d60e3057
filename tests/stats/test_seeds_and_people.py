"""The test over seeds and people: against slow scalar roots, against Student's t and z alone, and against counting."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from equipoise.stats import (
    LimitedBy,
    add_people_variance,
    banerjee_critical_value,
    banerjee_p,
    detection_power,
    limited_by,
    paired_change,
    people_variance,
    seeds_to_detect,
    sources_interval,
    unpaired_change,
)
from equipoise.stats import _seeds_and_people as module


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20)


INFINITE = math.inf


def slow_p(change: float, seeds: float, degrees: float, people: float) -> float:
    """Find the level at which the change is just significant, by Brent's method on the formula as it stands."""

    def beyond(log_level: float) -> float:
        tail = math.exp(log_level) / 2
        t, z = stats.t.isf(tail, degrees), stats.norm.isf(tail)
        return math.log(t**2 * seeds + z**2 * people) - 2 * math.log(abs(change))

    return math.exp(optimize.brentq(beyond, -600.0, -1e-9, xtol=1e-12))


@pytest.mark.parametrize("degrees", [2, 4, 11, 40])
@pytest.mark.parametrize("people", [0.01, 0.25, 1.0, 4.0])
@pytest.mark.parametrize("change", [0.5, 2.0, 8.0, 30.0])
def test_p_is_the_smallest_level_at_which_the_change_holds(degrees: int, people: float, change: float) -> None:
    found = float(banerjee_p(change, [1.0, people], [degrees, INFINITE]))
    assert found == pytest.approx(slow_p(change, 1.0, degrees, people), rel=1e-8)


def test_one_source_alone_is_student_or_normal() -> None:
    changes = np.array([0.0, 0.3, 2.0, 7.0, -7.0])
    student = banerjee_p(changes, [0.5, 0.0], [4.0, INFINITE])
    np.testing.assert_allclose(student, 2 * stats.t.sf(np.abs(changes) / math.sqrt(0.5), 4), rtol=1e-9)
    normal = banerjee_p(changes, [0.0, 0.5], [4.0, INFINITE])
    np.testing.assert_allclose(normal, 2 * stats.norm.sf(np.abs(changes) / math.sqrt(0.5)), rtol=1e-9)


def test_tiny_p_values_keep_their_order() -> None:
    p = banerjee_p(np.array([10.0, 20.0, 30.0, 36.0]), [1e-4, 1.0], [30.0, INFINITE])
    assert (np.diff(p) < 0).all()
    assert 0 < p[-1] < 1e-80


def test_without_any_variance_a_change_is_certain_and_none_is_none() -> None:
    assert float(banerjee_p(0.1, [0.0, 0.0], [4.0, INFINITE])) == 0.0
    assert float(banerjee_p(0.0, [0.0, 0.0], [4.0, INFINITE])) == 1.0


def test_undefined_stays_undefined() -> None:
    assert np.isnan(banerjee_p(np.nan, [1.0, 1.0], [4.0, INFINITE]))
    assert np.isnan(banerjee_p(1.0, [np.nan, 1.0], [4.0, INFINITE]))


positive = st.floats(1e-6, 1e3)


@given(st.floats(-50, 50), positive, positive, st.integers(2, 60), st.floats(1e-6, 0.5))
def test_a_change_is_significant_exactly_where_its_interval_excludes_0(
    change: float, seeds: float, people: float, degrees: int, level: float
) -> None:
    p = float(banerjee_p(change, [seeds, people], [degrees, INFINITE]))
    low, high = (float(end) for end in sources_interval(change, [seeds, people], [degrees, INFINITE], level))
    if abs(p - level) > 1e-7 * level:
        assert (p < level) == (low > 0 or high < 0)


@given(positive, positive, st.integers(2, 60))
def test_a_source_more_never_makes_a_change_more_significant(seeds: float, people: float, degrees: int) -> None:
    both = float(banerjee_p(3.0, [seeds, people], [degrees, INFINITE]))
    assert both >= float(banerjee_p(3.0, [seeds, 0.0], [degrees, INFINITE])) * (1 - 1e-9)
    assert both >= float(banerjee_p(3.0, [0.0, people], [degrees, INFINITE])) * (1 - 1e-9)


def test_paired_seeds_are_a_paired_t_test(generator: np.random.Generator) -> None:
    treated, baseline = generator.normal(size=(2, 7, 3))
    found = paired_change(treated, baseline)
    oracle = stats.ttest_rel(treated, baseline)
    np.testing.assert_allclose(found.change, (treated - baseline).mean(axis=0))
    np.testing.assert_allclose(banerjee_p(found.change, found.variances, found.degrees), oracle.pvalue, rtol=1e-8)
    assert found.units.tolist() == [7.0, 7.0, 7.0]


def test_a_seed_that_is_undefined_on_one_side_is_no_pair(generator: np.random.Generator) -> None:
    treated, baseline = generator.normal(size=(2, 6))
    treated[2] = np.nan
    found = paired_change(treated, baseline)
    kept = np.arange(6) != 2
    assert float(found.units) == 5
    assert float(found.change) == pytest.approx((treated - baseline)[kept].mean())


def test_unpaired_runs_have_two_variances_with_their_own_degrees(generator: np.random.Generator) -> None:
    treated, baseline = generator.normal(size=5), generator.normal(size=9)
    found = unpaired_change(treated, baseline)
    np.testing.assert_allclose(found.variances, [treated.var(ddof=1) / 5, baseline.var(ddof=1) / 9])
    assert found.degrees.tolist() == [4.0, 8.0]
    # It is never more significant than Welch's test.
    welch = stats.ttest_ind(treated, baseline, equal_var=False).pvalue
    assert float(banerjee_p(found.change, found.variances, found.degrees)) >= welch


def test_equal_runs_have_no_variance() -> None:
    found = paired_change(np.full(5, 0.1 + 0.2), np.full(5, 0.1))
    assert float(found.variances[0]) == 0.0


def test_people_variance_takes_out_what_seeds_do_to_single_people(generator: np.random.Generator) -> None:
    """Simulate effects of people by seeds, and compare with the mean square table of the two-way layout."""
    people, seeds, shared, own = 4_000, 6, 1.3, 2.0
    effects = shared * generator.normal(size=people) + own * generator.normal(size=(seeds, people))
    of_mean = effects.mean(axis=0).var(ddof=1) / people
    of_single = effects.var(axis=1, ddof=1).mean() / people
    centred = effects - effects.mean(axis=1, keepdims=True)
    residual = centred - centred.mean(axis=0)
    mean_square = (residual**2).sum() / ((seeds - 1) * (people - 1))
    anova = (of_mean * people - mean_square / seeds) / people
    found = float(people_variance(of_mean, of_single, seeds))
    assert found == pytest.approx(anova, rel=1e-9)
    assert found == pytest.approx(shared**2 / people, rel=0.15)
    assert float(people_variance(1.0, 100.0, 3)) == 0.0
    assert float(people_variance(1.0, 0.5, 3)) == 1.0


@pytest.mark.parametrize(("seeds", "people"), [(3, 0.0), (5, 0.3), (12, 1.0)])
def test_power_is_the_share_of_simulations_that_reject(
    generator: np.random.Generator, seeds: int, people: float
) -> None:
    times, effect, level = 20_000, 1.5, 0.05 / 6
    values = effect + generator.normal(size=(seeds, times)) + math.sqrt(people) * generator.normal(size=times)
    found = add_people_variance(paired_change(values, np.zeros_like(values)), people)
    rejected = (banerjee_p(found.change, found.variances, found.degrees) <= level).mean()
    assert float(detection_power(effect, 1.0, people, seeds, level)) == pytest.approx(rejected, abs=0.012)


def test_seeds_to_detect_is_the_first_number_with_the_power() -> None:
    for single, people in ((0.03**2, 0.0), (0.02**2, 0.004**2), (0.01**2, 0.0)):
        number = int(seeds_to_detect(0.02, single, people, level=0.05 / 6))
        powers = [float(detection_power(0.02, single, people, n, 0.05 / 6)) for n in range(3, number + 1)]
        assert powers[-1] >= 0.8
        assert all(power < 0.8 for power in powers[:-1])


def test_what_limits_is_named() -> None:
    assert limited_by(0.02, 0.002**2, 0.001**2, 5) is LimitedBy.NOTHING
    assert limited_by(0.02, 0.02**2, 0.002**2, 5) is LimitedBy.SEEDS
    assert limited_by(0.02, 0.002**2, 0.02**2, 5) is LimitedBy.PEOPLE
    assert limited_by(0.02, 0.02**2, 0.02**2, 5) is LimitedBy.BOTH
    assert math.isinf(float(seeds_to_detect(0.02, 0.002**2, 0.02**2)))


@pytest.mark.long
@pytest.mark.parametrize("seeds", [3, 5, 12])
@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_a_true_null_is_rejected_at_most_as_often_as_stated(
    generator: np.random.Generator, seeds: int, ratio: float
) -> None:
    times = 40_000
    people = ratio**2 / seeds
    values = generator.normal(size=(seeds, times)) + math.sqrt(people) * generator.normal(size=times)
    found = add_people_variance(paired_change(values, np.zeros_like(values)), people)
    p = banerjee_p(found.change, found.variances, found.degrees)
    for level in (0.05, 0.05 / 6, 0.05 / 36):
        error = math.sqrt(level * (1 - level) / times)
        assert (p <= level).mean() <= level + 3 * error


def test_critical_values_are_the_ends_of_the_interval() -> None:
    low, high = sources_interval(0.5, [1.0, 2.0], [4.0, INFINITE], 0.01)
    half = float(banerjee_critical_value([1.0, 2.0], [4.0, INFINITE], 0.01))
    assert (float(low), float(high)) == (0.5 - half, 0.5 + half)


def test_examples_run() -> None:
    assert doctest.testmod(module).failed == 0
