"""Ratios of rates and effective counts of weighted rows, against slow versions and published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from equipoise.stats import difference_equivalence_p, effective_counts, ratio_interval, wilson


def slow_statistic(x1: int, n1: int, x2: int, n2: int, ratio: float) -> float:
    """Koopman's chi-square, with the maximum likelihood found by search."""

    def loss(p2: float) -> float:
        p1 = min(ratio * p2, 1 - 1e-12)
        return -(stats.binom.logpmf(x1, n1, p1) + stats.binom.logpmf(x2, n2, p2))

    p2 = optimize.minimize_scalar(loss, bounds=(1e-12, min(1.0, 1 / ratio) - 1e-12), method="bounded",
                                  options={"xatol": 1e-14}).x  # fmt: skip
    p1 = ratio * p2
    return (x1 - n1 * p1) ** 2 / (n1 * p1 * (1 - p1)) + (x2 - n2 * p2) ** 2 / (n2 * p2 * (1 - p2))


@pytest.mark.parametrize("table", [(36, 40, 16, 80), (5, 50, 40, 200), (0, 40, 15, 1000), (200, 300, 280, 300)])
def test_ratio_intervals_end_where_the_score_test_rejects(table: tuple[int, int, int, int]) -> None:
    low, high = (float(end) for end in ratio_interval(*table, 0.95))
    for end in (low, high):
        if 0 < end < np.inf:
            assert slow_statistic(*table, end) == pytest.approx(stats.chi2.isf(0.05, 1), rel=1e-3)


def test_ratio_interval_of_koopman_1984() -> None:
    assert [float(end) for end in ratio_interval(36, 40, 16, 80)] == pytest.approx([2.94, 7.15], abs=0.005)


def test_ratios_without_successes() -> None:
    low, high = ratio_interval([0, 3, 0], [40, 40, 40], [15, 0, 0], [1000, 100, 100])
    assert low[0] == 0
    assert 1 < high[0] < 10
    assert low[1] > 1
    assert high[1] == np.inf
    assert np.isnan([low[2], high[2]]).all()


def test_effective_counts_have_the_variance_of_weighted_rows() -> None:
    generator = np.random.default_rng(0)
    y = generator.random(200) < 0.3
    w = np.where(y, generator.uniform(5, 15, 200), generator.uniform(0.5, 2, 200))
    x, n = effective_counts((w * y).sum(), w.sum(), (w**2 * y).sum(), (w**2).sum())
    p = (w * y).sum() / w.sum()
    variance = (w**2 * (y - p) ** 2).sum() / w.sum() ** 2
    assert float(x / n) == pytest.approx(p)
    assert p * (1 - p) / float(n) == pytest.approx(variance)


def test_effective_counts_do_not_depend_on_the_unit_and_are_the_counts_without_weights() -> None:
    x, n = effective_counts([3.0, 0.0, 4.0], [10.0, 5.0, 4.0], [3.0, 0.0, 4.0], [10.0, 5.0, 4.0])
    assert x.tolist() == [3, 0, 4]
    assert n.tolist() == [10, 5, 4]
    one = effective_counts([20.0, 0.0], [100.0, 50.0], [200.0, 0.0], [280.0, 50.0])
    thousand = effective_counts([2e4, 0.0], [1e5, 5e4], [2e8, 0.0], [2.8e8, 5e7])
    assert np.allclose(one, thousand)
    # Without a success nobody knows what one would weigh: the others say how far Kish's number goes.
    assert one[1][1] == pytest.approx(50 * one[1][0] / (100**2 / 280))
    assert effective_counts(0.0, 0.0, 0.0, 0.0)[1] == 0


def test_weights_that_grow_with_the_outcome_widen_wilson() -> None:
    low, high = wilson(*effective_counts(20.0, 100.0, 200.0, 280.0))
    kish = wilson(0.2 * 100**2 / 280, 100**2 / 280)
    assert high - low > kish[1] - kish[0]


def test_equivalence_of_two_rates_is_two_one_sided_score_tests() -> None:
    p = float(difference_equivalence_p(500, 1000, 510, 1000, 0.05))
    assert p == pytest.approx(0.0367, abs=2e-4)
    assert float(difference_equivalence_p(500, 1000, 560, 1000, 0.05)) > 0.5
    assert np.isnan(difference_equivalence_p(0, 0, 5, 10, 0.05))
