"""Scores against chance: permuted groups on coarse histograms."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.audits._scores import coarse_starts, score_p, with_shared_scores
from equipoise.measures import (
    get_measure,
    tally_of,
)
from equipoise.stats import (
    auc_standard_error,
    heterogeneity,
    permutation_p,
)
from equipoise.tallies import ScoreHistogram

pytestmark = pytest.mark.once


def tallied(target: np.ndarray, score: np.ndarray, group: np.ndarray, weights: object = None) -> ScoreHistogram:
    tally = tally_of("scores", (target, score), sensitive_features=group, sample_weight=weights)
    assert isinstance(tally, ScoreHistogram)
    return tally


def rows(generator: np.random.Generator, shift: float = 0.0, size: int = 300) -> tuple[np.ndarray, ...]:
    """Two groups with other shares of members; ``shift`` worsens the ranking in the second."""
    group = generator.random(size) < 0.3
    target = (generator.random(size) < np.where(group, 0.6, 0.3)).astype(int)
    latent = generator.normal(size=size) + (1.5 - shift * group) * target
    return target, 1 / (1 + np.exp(-latent)), group.astype(int)


def auc_q(drawn: ScoreHistogram) -> np.ndarray:
    return heterogeneity(get_measure("auc").by_class(drawn), auc_standard_error(drawn.weight, drawn.squared_weight))


def test_a_coarser_histogram_keeps_every_sum_and_the_calibration_error() -> None:
    tally = tallied(*rows(np.random.default_rng(0)))
    coarse = tally.coarser(coarse_starts(tally, 50))
    assert len(coarse.starts) < 70
    for fine, few in zip(tally.parts, coarse.parts, strict=True):
        assert few.sum(axis=-1) == pytest.approx(fine.sum(axis=-1))
    for name in ("calibration_error", "brier_score", "mean_score"):
        measure = get_measure(name)
        assert measure.by_class(coarse) == pytest.approx(measure.by_class(tally))
    assert get_measure("auc").by_class(coarse) == pytest.approx(get_measure("auc").by_class(tally), abs=0.02)


def test_bins_start_at_the_calibration_bins_and_inside_the_histogram() -> None:
    tally = tallied(*rows(np.random.default_rng(0)))
    starts = coarse_starts(tally, 20)
    assert set((np.arange(10) / 10).tolist()) <= set(tally.edges[starts].tolist())
    assert (np.diff(starts) > 0).all()


def test_heterogeneity_is_cochrans_q_by_hand() -> None:
    values, errors = np.array([0.2, 0.5]), np.array([0.1, 0.1])
    assert heterogeneity(values, errors) == pytest.approx((0.3 / np.sqrt(0.02)) ** 2)
    assert heterogeneity(np.array([0.2, np.nan, 0.5]), np.array([0.1, 0.1, 0.1])) == pytest.approx(4.5)


def test_p_agrees_with_permuted_rows() -> None:
    """The oracle permutes the rows themselves within the true class."""
    generator = np.random.default_rng(3)
    target, score, group = rows(generator, shift=0.7)
    tally = tallied(target, score, group)
    p = score_p(tally, {"auc": auc_q}, within_class=True, generator=generator, draws=2000, tests=20)["auc"].p
    starts = coarse_starts(tally, 200)

    def slow(groups: np.ndarray) -> float:
        coarse = tally.coarser(starts)
        drawn = tallied(target, score, groups).coarser(starts)
        return float(auc_q(with_shared_scores(coarse, drawn.weight)))

    null = []
    for _ in range(600):
        mixed = group.copy()
        for truth in (0, 1):
            place = np.flatnonzero(target == truth)
            mixed[place] = group[generator.permutation(place)]
        null.append(slow(mixed))
    expected = float(permutation_p(np.asarray(slow(group)), np.array(null)))
    # The test stops at 20 extreme draws, so that it knows p to about a fifth of itself.
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 600) + 0.8 * expected + 0.005)


@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_found_too_often_when_the_ranking_is_the_same(weighted: bool) -> None:
    generator = np.random.default_rng(5)
    found = []
    for _ in range(200):
        target, score, group = rows(generator, size=200)
        weights = generator.choice([0.5, 1.0, 2.0], size=200) if weighted else None
        tally = tallied(target, score, group, weights)
        found.append(score_p(tally, {"auc": auc_q}, within_class=True, generator=generator, draws=199)["auc"].p <= 0.05)
    assert np.mean(found) <= 0.09  # 5% and three standard errors


def test_a_worse_ranking_is_found() -> None:
    generator = np.random.default_rng(6)
    tally = tallied(*rows(generator, shift=1.4, size=1000))
    assert score_p(tally, {"auc": auc_q}, within_class=True, generator=generator, draws=999)["auc"].p < 0.01
