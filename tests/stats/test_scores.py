"""Uncertainty of AUC and calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from equipoise.measures import (
    calibration_curve,
    get_measure,
    tally_of,
)
from equipoise.stats import (
    auc_interval,
    auc_standard_error,
    brier_standard_error,
    calibration_bounds,
    calibration_p,
    logit_standard_error,
    mean_score_standard_error,
)
from equipoise.stats._scores import _CalibratedGroup
from equipoise.tallies import ScoreHistogram


def scores_of_rows(target: np.ndarray, score: np.ndarray, group: np.ndarray, weights: object = None) -> ScoreHistogram:
    tally = tally_of("scores", (target, score), sensitive_features=group, sample_weight=weights)
    assert isinstance(tally, ScoreHistogram)
    return tally


def auc_error(tally: ScoreHistogram) -> np.ndarray:
    return auc_standard_error(tally.weight, tally.squared_weight)


def bounds(tally: ScoreHistogram) -> tuple[np.ndarray, np.ndarray]:
    curve = calibration_curve(tally)
    return calibration_bounds(curve.observed, curve.mean_score, curve.weight, curve.squared_weight)


def slow_delong(target: np.ndarray, score: np.ndarray) -> float:
    """Placements counted pair by pair."""
    members, others = score[target == 1], score[target == 0]
    wins = (members[:, None] > others[None, :]) + 0.5 * (members[:, None] == others[None, :])
    return float(np.sqrt(wins.mean(axis=1).var(ddof=1) / len(members) + wins.mean(axis=0).var(ddof=1) / len(others)))


def test_the_spread_of_the_auc_is_delongs() -> None:
    generator = np.random.default_rng(0)
    target = generator.integers(0, 2, 200)
    score = np.round(np.clip(0.3 * target + generator.random(200) * 0.7, 0, 1), 3)
    tally = scores_of_rows(target, score, np.zeros(200))
    assert auc_error(tally)[0] == pytest.approx(slow_delong(target, score), rel=1e-9)


def test_weights_of_two_narrow_nothing() -> None:
    generator = np.random.default_rng(0)
    target, score, group = generator.integers(0, 2, 300), generator.random(300).round(3), np.zeros(300)
    plain = auc_error(scores_of_rows(target, score, group))
    heavy = auc_error(scores_of_rows(target, score, group, np.full(300, 2.0)))
    assert heavy[0] == pytest.approx(plain[0], rel=0.01)


def test_auc_intervals_cover_93_to_97_per_cent() -> None:
    generator = np.random.default_rng(4)
    truth = 0.76025  # Phi(1 / sqrt(2)) for two normals a standard deviation apart
    held = []
    for _ in range(800):
        target = np.repeat([0, 1], [150, 100])
        latent = generator.normal(size=250) + target
        score = 1 / (1 + np.exp(-latent))
        tally = scores_of_rows(target, score, np.zeros(250))
        low, high = auc_interval(get_measure("auc").by_class(tally), auc_error(tally))
        held.append(bool(low[0] <= truth <= high[0]))
    assert 0.93 <= np.mean(held) <= 0.97


def test_a_perfect_auc_has_no_interval_on_this_scale() -> None:
    low, high = auc_interval(np.array([1.0]), np.array([0.0]))
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_a_calibrated_score_is_not_rejected_and_a_shifted_one_is() -> None:
    generator = np.random.default_rng(0)
    score = generator.random(4000)
    target = (generator.random(4000) < score).astype(int)
    for shift, rejected in ((0.0, False), (0.15, True)):
        tally = scores_of_rows(target, np.clip(score + shift, 0, 1), np.zeros(4000))
        observed = get_measure("calibration_error").by_class(tally)
        curve = calibration_curve(tally)
        p = calibration_p(observed, curve.mean_score, curve.weight, curve.squared_weight, generator, 500)
        bound, greatest = bounds(tally)
        assert (p[0] < 0.05) == rejected
        assert bound[0] <= observed[0] <= greatest[0]
        assert (bound[0] > 0.02) == rejected


def calibration_case(groups: int, bins: int, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return sizes, mean scores and members of calibrated groups."""
    sizes = generator.integers(0, 60, (groups, bins)).astype(float)
    means = generator.random((groups, bins))
    return sizes, means, generator.binomial(sizes.astype(int), means).astype(float)


def calibration_errors(sizes: np.ndarray, means: np.ndarray, members: np.ndarray) -> np.ndarray:
    distance = np.abs(members / np.maximum(sizes, 1) - means)
    return (sizes * distance).sum(axis=-1) / sizes.sum(axis=-1)


class CountingGenerator(np.random.Generator):
    """Remembers how many numbers were asked for."""

    def random(self, size: tuple[int, ...]) -> np.ndarray:  # type: ignore[override]
        self.asked = [*getattr(self, "asked", []), size]
        return super().random(size)


def test_the_p_of_calibration_is_that_of_many_draws() -> None:
    generator = np.random.default_rng(11)
    sizes, means, members = calibration_case(8, 6, generator)
    sizes[0, :3] = 0
    means[1, :2] = 0.0, 1.0
    shift = np.linspace(0, 0.35, 8)[:, None]
    members = np.clip(np.rint(members + shift * sizes * np.where(means < 0.5, 0.5, -0.5)), 0, sizes)
    error = calibration_errors(sizes, means, members)
    null = calibration_errors(sizes, means, generator.binomial(sizes.astype(int), means, size=(60_000, *sizes.shape)))
    exhaustive = (null >= error - 1e-12).mean(axis=0)
    p = calibration_p(error, means, sizes, sizes, generator, 50)
    assert exhaustive.min() < 0.001
    assert exhaustive.max() > 0.3
    # 20 extreme draws tell p to about a fifth of itself; what is rarer is counted among all 20,000.
    within = 4 * np.maximum(exhaustive / np.sqrt(20), np.sqrt(exhaustive / 20_000)) + 1 / 20_001
    assert (np.abs(p - exhaustive) <= within).all()


def test_calibrated_groups_are_rejected_as_often_as_the_level_says() -> None:
    generator = np.random.default_rng(12)
    sizes, means, members = calibration_case(1_500, 5, generator)
    p = calibration_p(calibration_errors(sizes, means, members), means, sizes, sizes, generator, 1)
    for level in (0.01, 0.05, 0.2, 0.5):
        error = np.sqrt(level * (1 - level) / len(p))
        assert (p <= level).mean() < level + 3 * error
    assert (p <= 0.2).mean() > 0.16


def test_draws_of_calibration_go_on_only_for_groups_that_are_not_settled() -> None:
    generator = CountingGenerator(np.random.PCG64(13))
    sizes, means = np.full((50, 10), 40.0), np.tile(np.linspace(0.05, 0.95, 10), (50, 1))
    error = np.full(50, 0.01)  # what every draw exceeds
    error[7] = 0.11  # rare, but not out of reach
    p = calibration_p(error, means, sizes, sizes, generator, 50)
    assert generator.asked[0] == (250, 50, 10)
    assert {asked[1] for asked in generator.asked[1:]} == {1}
    assert sum(asked[0] for asked in generator.asked) > 2_000
    assert 0 < p[7] < 0.01
    assert np.delete(p, 7) == pytest.approx(1.0)
    again = calibration_p(error, means, sizes, sizes, CountingGenerator(np.random.PCG64(13)), 50)
    assert again.tolist() == p.tolist()


def test_a_group_without_weight_has_no_p_of_calibration() -> None:
    weight = np.array([[0.0, 0.0], [40.0, 60.0]])
    means = np.array([[np.nan, np.nan], [0.2, 0.7]])
    p = calibration_p(np.array([np.nan, 0.02]), means, weight, weight, np.random.default_rng(0))
    assert np.isnan(p[0])
    assert 0 < p[1] <= 1


@pytest.mark.parametrize(("size", "mean"), [(0, 0.3), (1, 0.5), (26, 0.8), (40, 0.0), (40, 1.0), (5_000, 0.37)])
def test_members_of_a_bin_are_binomial(size: int, mean: float) -> None:
    uniform = (np.arange(20_000) + 0.5) / 20_000
    group = _CalibratedGroup(np.array([size]), np.array([mean]), np.array([1.0]))
    members = stats.binom.ppf(uniform if mean <= 0.5 else 1 - uniform, size, mean)
    expected = np.abs(members / max(size, 1) - mean)
    assert group.errors(uniform[:, None]) == pytest.approx(expected, abs=1e-12)


def test_the_spreads_of_brier_and_mean_score_are_those_of_the_rows() -> None:
    generator = np.random.default_rng(1)
    target, score = generator.integers(0, 2, 300), generator.random(300).round(4)
    tally = scores_of_rows(target, score, np.zeros(300))
    error = (score - target) ** 2
    assert brier_standard_error(tally.weight, tally.score_sum, tally.squared_weight)[0] == pytest.approx(
        error.std(ddof=1) / np.sqrt(300), rel=1e-9
    )
    parts = (tally.weight, tally.score_sum, tally.square_sum, tally.squared_weight)
    assert mean_score_standard_error(*parts)[0] == pytest.approx(score.std(ddof=1) / np.sqrt(300), rel=1e-9)


def test_a_weight_of_three_on_a_bin_counts_fewer_people_than_rows_would() -> None:
    generator = np.random.default_rng(2)
    score = generator.random(600)
    target = (generator.random(600) < score).astype(int)
    weights = np.where(np.arange(600) < 60, 10.0, 1.0)
    plain, heavy = (scores_of_rows(target, score, np.zeros(600), given) for given in (None, weights))
    (low, high), (low_heavy, high_heavy) = bounds(plain), bounds(heavy)
    assert (high_heavy - low_heavy)[0] > 1.2 * (high - low)[0]


def test_a_difference_of_aucs_has_the_z_of_their_logits() -> None:
    logit = np.log(0.95 / 0.05) - np.log(0.8 / 0.2)
    spread = np.hypot(0.02 / (0.95 * 0.05), 0.03 / (0.8 * 0.2))
    assert 0.15 / logit_standard_error((0.95, 0.8), (0.02, 0.03)) == pytest.approx(logit / spread)
    assert logit_standard_error((0.8, 0.8), (0.02, 0.03)) == pytest.approx(np.hypot(0.02, 0.03))
    assert logit_standard_error((1.0, 0.8), (0.0, 0.03)) == pytest.approx(0.03)  # an AUC of 1 has no logit


def test_with_degrees_of_freedom_the_interval_of_an_auc_is_students() -> None:
    auc, error, degrees = 0.8, 0.05, 12.0
    logit, half = math.log(auc / (1 - auc)), stats.t.ppf(0.975, degrees) * error / (auc * (1 - auc))
    low, high = auc_interval(auc, error, degrees=degrees)
    assert float(low) == pytest.approx(1 / (1 + math.exp(half - logit)))
    assert float(high) == pytest.approx(1 / (1 + math.exp(-half - logit)))
    np.testing.assert_allclose(auc_interval(auc, error, degrees=1e9), auc_interval(auc, error), rtol=1e-6)
