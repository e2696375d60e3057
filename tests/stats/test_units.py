"""Distinct profiles are told apart, and spreads count them once however often they are cloned."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from sklearn.metrics import roc_auc_score

from equipoise.stats import (
    Units,
    clustered_auc,
    clustered_mean_standard_error,
    unit_profiles,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(*[some.sampled_from([0.0, -0.0, 1.0, 1e-9, 2.5])] * 3), min_size=1, max_size=40))
def test_profiles_are_the_distinct_rows(rows: list[tuple[float, ...]]) -> None:
    array = np.array(rows)
    found = unit_profiles(array[:, :2], array[:, 2:])
    expected = np.unique(array + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    assert found.number == expected.max() + 1
    assert len(set(zip(found.codes.tolist(), expected.tolist(), strict=True))) == found.number


def test_profiles_of_whole_numbers_and_half_floats_are_told_apart() -> None:
    array = np.arange(2_000, dtype=np.uint16).reshape(-1, 2)
    assert unit_profiles(array).number == 1_000
    assert unit_profiles(array.astype(np.float16)[:, :1]).number == len(np.unique(array.astype(np.float16)[:, 0]))


def test_units_count_their_rows_by_group() -> None:
    units = Units.of_codes(np.array([7, 7, 3, 9]))
    assert units.number == 3
    assert units.sizes.tolist() == [1, 2, 1]
    assert units.table(np.array([0, 1, 1, 0]), 2).tolist() == [[0, 1], [1, 1], [1, 0]]
    assert units.means(np.array([1.0, 3.0, 5.0, 7.0])).tolist() == [5, 2, 7]
    assert units.table(np.array([0, 1, 1, 0]), 2, np.array([0.5, 2.0, 3.0, 4.0])).tolist() == [[0, 3], [0.5, 2], [4, 0]]
    assert units.varies(np.array([1, 2, 5, 7])).tolist() == [False, True, False]
    assert units.effective == pytest.approx(16 / 6)
    assert units.only(np.array([True, True, False, True])).number == 2


def test_the_spread_of_a_mean_counts_units() -> None:
    values = generator().normal(size=50)
    alone = Units.of_codes(np.arange(50))
    assert clustered_mean_standard_error(alone, values) == pytest.approx(values.std(ddof=1) / math.sqrt(50))
    cloned = Units.of_codes(np.repeat(np.arange(50), 10))
    assert clustered_mean_standard_error(cloned, np.repeat(values, 10)) == pytest.approx(
        clustered_mean_standard_error(alone, values)
    )
    assert math.isnan(clustered_mean_standard_error(Units.of_codes(np.zeros(5, dtype=int)), np.ones(5)))


def test_the_area_is_scikit_learns_and_its_spread_is_delongs_and_ignores_clones() -> None:
    draw = generator(3)
    positive = draw.random(80) < 0.4
    scores = np.round(draw.normal(size=80) + positive, 1)
    alone = Units.of_codes(np.arange(80))
    auc, spread = clustered_auc(alone, scores, positive)
    assert auc == pytest.approx(roc_auc_score(positive, scores))
    pairs = (scores[positive][:, None] > scores[~positive]) + 0.5 * (scores[positive][:, None] == scores[~positive])
    slow = math.sqrt(
        pairs.mean(axis=1).var(ddof=1) / positive.sum() + pairs.mean(axis=0).var(ddof=1) / (~positive).sum()
    )
    assert spread == pytest.approx(slow, rel=0.03)
    cloned = clustered_auc(Units.of_codes(np.repeat(np.arange(80), 7)), np.repeat(scores, 7), np.repeat(positive, 7))
    assert cloned == pytest.approx((auc, spread))
    assert all(map(math.isnan, clustered_auc(alone, scores, np.ones(80, dtype=bool))))
