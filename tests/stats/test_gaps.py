"""The studentised maximum, its null and its bounds, against slow versions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from equipoise.stats import (
    NullSample,
    PairBound,
    candidate_pairs,
    critical_value,
    difference_interval,
    largest_studentised,
    null_variances,
    pair_bounds,
    pairs_equivalence_p,
    ratio_interval,
    root_chi_square,
    sequential_permutation,
)

X = np.array([[30.0, 5.0], [60.0, 9.0], [12.0, 1.0], [3.0, 2.0]])
N = np.array([[100.0, 50.0], [150.0, 80.0], [40.0, 40.0], [4.0, 35.0]])
KEPT = np.array([[True, True], [True, True], [True, True], [False, True]])


def slow_maximum(column: int) -> float:
    """Of each pair the pooled z, by hand."""
    groups = [g for g in range(4) if KEPT[g, column]]
    p = sum(X[g, column] for g in groups) / sum(N[g, column] for g in groups)
    return max(
        abs(X[g, column] / N[g, column] - X[h, column] / N[h, column])
        / (p * (1 - p) * (1 / N[g, column] + 1 / N[h, column])) ** 0.5
        for g, h in combinations(groups, 2)
    )


def test_studentised_maximum_is_that_of_all_pairs_of_kept_groups() -> None:
    found = largest_studentised(X / N, null_variances(X, N, KEPT), KEPT)
    assert found.tolist() == pytest.approx([slow_maximum(0), slow_maximum(1)])


def test_draws_are_computed_at_once_and_empty_groups_are_left_out() -> None:
    drawn = np.stack([N, N]) * 1.0
    drawn[1, 0, 0] = 0.0
    x = np.stack([X, X])
    x[1, 0, 0] = 0.0
    with np.errstate(invalid="ignore"):
        found = largest_studentised(x / drawn, null_variances(x, drawn, KEPT), KEPT)
    assert found[0, 0] == pytest.approx(slow_maximum(0))
    assert np.isfinite(found[1]).all()
    assert found[1, 0] != found[0, 0]


def test_root_chi_square_is_that_of_a_table_with_two_columns() -> None:
    from scipy import stats

    kept = np.ones((4, 1), dtype=bool)
    x, n = X[:, [1]], N[:, [1]]
    found = root_chi_square(x / n, null_variances(x, n, kept), kept)
    table = np.concatenate([x, n - x], axis=1)
    assert float(found[0]) ** 2 == pytest.approx(stats.chi2_contingency(table, correction=False).statistic)


def test_more_groups_than_pairs_are_made_of_compare_each_with_all() -> None:
    generator = np.random.default_rng(0)
    n = np.full((40, 1), 100.0)
    x = generator.binomial(100, 0.3, (40, 1)).astype(float)
    kept = np.ones((40, 1), dtype=bool)
    v = null_variances(x, n, kept)
    p = x.sum() / n.sum()
    expected = np.max(np.abs(x / n - p) / np.sqrt(p * (1 - p) * (1 / 100 - 1 / 4000)))
    assert float(largest_studentised(x / n, v, kept)[0]) == pytest.approx(float(expected))


def test_fewer_than_two_groups_have_no_statistic_and_constant_rates_have_zero() -> None:
    kept = np.array([[True], [False]])
    assert np.isnan(largest_studentised(np.array([[0.5], [0.2]]), np.full((2, 1), 0.01), kept)).all()
    both = np.ones((2, 1), dtype=bool)
    zero = np.zeros((2, 1))
    assert largest_studentised(zero, null_variances(zero, np.full((2, 1), 50.0), both), both).tolist() == [0.0]


def test_f1_has_the_variance_of_a_ratio_estimator() -> None:
    """2 TP / (2 TP + FP + FN): rows of hits add 2 and 2, of misses 0 and 1."""
    hits, misses = 30, 25
    y = np.repeat([2.0, 0.0], [hits, misses])
    x = np.repeat([2.0, 1.0], [hits, misses])
    ratio = y.sum() / x.sum()
    expected = ((y - ratio * x) ** 2).sum() / x.sum() ** 2
    kept = np.ones((1, 1), dtype=bool)
    found = null_variances(np.array([[2.0 * hits]]), np.array([[2.0 * hits + misses]]), kept, proportion=False)
    assert float(found[0, 0]) == pytest.approx(expected)


def normal_null(generator: np.random.Generator):
    return lambda number, names: np.abs(generator.normal(size=(number, 2)))


def null_samples(observed: list[float], generator: np.random.Generator, **options: int) -> list[NullSample]:
    found = sequential_permutation(
        {"z": observed}, normal_null(generator), lambda name, drawn: drawn, cheap=True, **options
    )
    return found["z"]


def test_tests_stop_at_twenty_and_what_is_obvious_is_not_drawn_to_the_end() -> None:
    generator = np.random.default_rng(0)
    found = null_samples([0.5, 9.0], generator, most=40_000, needed=40_000, largest_batch=5_000)
    assert found[0].draws < 200
    assert found[0].p == pytest.approx(0.617, abs=0.2)
    assert found[1].draws < 5_000
    assert found[1].p == 1 / 40_001
    assert not found[1].limited


def test_a_cap_below_what_is_needed_is_told() -> None:
    found = null_samples([4.2, np.nan], np.random.default_rng(1), most=1_000, needed=40_000, largest_batch=500)
    assert found[0].limited
    assert np.isnan(found[1].p)


def test_p_is_at_most_a_with_probability_a() -> None:
    generator = np.random.default_rng(2)
    p = []
    for _ in range(400):
        seen = np.abs(generator.normal(size=2))
        p += [test.p for test in null_samples(seen.tolist(), generator, most=800, needed=800, largest_batch=800)]
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level * (1 - level) / len(p))


def test_critical_values_are_quantiles_or_bonferroni() -> None:
    from scipy import stats

    values = np.sort(np.abs(np.random.default_rng(3).normal(size=10_000)))
    sample = NullSample(0.01, 10_000, False, values)
    assert critical_value(sample, 0.05, 3) == pytest.approx(1.96, abs=0.05)
    assert critical_value(sample, 1e-5, 3) == pytest.approx(stats.norm.isf(1e-5 / 6))
    assert critical_value(None, 0.05, 10) == pytest.approx(stats.norm.isf(0.05 / 20))


def test_bounds_are_the_best_of_the_pairs_and_the_pair_is_named() -> None:
    variances = null_variances(X, N, KEPT)[:, 0]
    counts, pair = candidate_pairs(X[:, 0], N[:, 0], KEPT[:, 0], variances)
    assert pair == (0, 1)  # 0.30 against 0.40; the tiny fourth group is not kept
    low, ratio = pair_bounds([PairBound(counts, 0.9), PairBound(counts, 0.9, "ratio")])
    pairs = [(1, 0), (1, 2), (0, 2)]
    ends = [difference_interval(X[a, 0], N[a, 0], X[b, 0], N[b, 0], 0.9)[0] for a, b in pairs]
    assert low == pytest.approx(max(0.0, *map(float, ends)))
    uppers = [
        ratio_interval(*((X[b, 0], N[b, 0], X[a, 0], N[a, 0]) if X[a, 0] / N[a, 0] >= X[b, 0] / N[b, 0]
                         else (X[a, 0], N[a, 0], X[b, 0], N[b, 0])), 0.9)[1]
        for a, b in pairs
    ]  # fmt: skip
    assert ratio == pytest.approx(min(map(float, uppers)))
    assert pair_bounds([PairBound(np.empty((0, 4)), 0.9, exact=0.25)]) == [0.25]


def test_every_pair_must_be_within_the_margin() -> None:
    x, n = np.array([500.0, 505.0, 480.0]), np.array([1000.0, 1000.0, 1000.0])
    worst = pairs_equivalence_p(x, n, 0.05)
    assert worst > pairs_equivalence_p(x[:2], n[:2], 0.05)
    assert pairs_equivalence_p(x, n, 0.2) < 1e-6
