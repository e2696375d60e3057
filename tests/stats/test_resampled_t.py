"""The corrected resampled t test: the formula by hand, the plain test without correction, and its rate of errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from equipoise.stats import corrected_resampled_t


def by_hand(differences: list[float], ratio: float) -> tuple[float, float]:
    """The statistic, and twice the upper tail of Student's density, integrated."""
    number = len(differences)
    mean = sum(differences) / number
    variance = sum((value - mean) ** 2 for value in differences) / (number - 1)
    t = mean / math.sqrt((1 / number + ratio) * variance)
    degrees = number - 1
    scale = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    tail, _ = integrate.quad(lambda x: scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2), abs(t), math.inf)
    return t, 2 * tail


@pytest.mark.parametrize("number", [2, 5, 10])
@pytest.mark.parametrize("ratio", [0.0, 1 / 9, 0.25, 1.0])
def test_it_is_the_formula_of_the_paper(number: int, ratio: float) -> None:
    differences = np.random.default_rng(number).normal(0.02, 0.02, number).tolist()
    found = corrected_resampled_t(differences, ratio)
    t, p = by_hand(differences, ratio)
    assert found.p == pytest.approx(p, rel=1e-6)
    assert found.mean == pytest.approx(sum(differences) / number)
    half = stats.t.ppf(0.975, number - 1) * abs(found.mean / t)
    assert (found.low, found.high) == (pytest.approx(found.mean - half), pytest.approx(found.mean + half))
    assert (found.low <= 0 <= found.high) is (found.p >= 0.05)
    if not ratio:
        assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)


def test_what_is_undefined_or_certain() -> None:
    for values in ([], [0.1], [0.1, math.nan], [0.1, math.inf]):
        assert all(math.isnan(value) for value in corrected_resampled_t(values, 0.25))
    assert corrected_resampled_t([0.0, 0.0, 0.0], 0.25) == (0, 0, 0, 1)
    assert corrected_resampled_t([0.1, 0.1, 0.1], 0.25).p == 0


def test_over_folds_it_errs_about_as_often_as_it_says_and_the_plain_test_much_more_often() -> None:
    # Two equally good learners: each predicts the side of the mean of one of two features, with 5 folds of 100 rows.
    generator = np.random.default_rng(5)
    corrected, plain, studies = 0, 0, 400
    for _ in range(studies):
        target = generator.integers(0, 2, 100)
        features = generator.normal(size=(100, 2)) + 0.15 * target[:, None]
        fold = generator.permutation(100) % 5
        differences = []
        for number in range(5):
            train, test = fold != number, fold == number
            means = [features[train & (target == side)].mean(axis=0) for side in (0, 1)]
            nearer = np.abs(features[test] - means[1]) < np.abs(features[test] - means[0])
            right = (nearer == (target[test] == 1)[:, None]).mean(axis=0)
            differences.append(right[0] - right[1])
        corrected += corrected_resampled_t(differences, 0.25).p < 0.05
        plain += corrected_resampled_t(differences, 0.0).p < 0.05
    assert corrected / studies < 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)
    assert plain > 1.5 * corrected
