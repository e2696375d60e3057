"""Comparing along a direction between two groups, where one space has no such direction."""

import math

import numpy as np
import pandas as pd
import pytest

import equipoise


def people(seed: int = 0, rows: int = 600, apart: float = 1.5) -> tuple[np.ndarray, pd.DataFrame]:
    generator = np.random.default_rng(seed)
    sex = generator.choice(["f", "m"], rows)
    points = generator.normal(size=(rows, 12)) @ generator.normal(size=(12, 12))
    points[:, 0] += apart * (sex == "m") * points[:, 0].std()
    return points, pd.DataFrame({"sex": sex})


def erased(points: np.ndarray, sex: pd.Series) -> np.ndarray:
    """Take the difference of the two means out of every point, as mean-difference erasure does."""
    g = points[sex == "m"].mean(axis=0) - points[sex == "f"].mean(axis=0)
    return points - np.outer(points @ g, g) / (g @ g)


def compared(before: np.ndarray, after: np.ndarray, rows: pd.DataFrame) -> equipoise.CompareResult:
    return equipoise.compare(before, after, rows=rows, sensitive_features=["sex"], direction="sex=m,f", draws=0)


def test_an_erased_concept_has_no_direction_left_instead_of_a_projection_on_rounding_noise():
    points, rows = people()
    after = erased(points, rows["sex"])
    gap = after[rows["sex"] == "m"].mean(axis=0) - after[rows["sex"] == "f"].mean(axis=0)
    assert 0 < np.abs(gap).max() < 1e-12  # rounding noise, and not 0
    result = compared(points, after, rows)
    whole = result.projections[0]
    assert whole.status == "undefined"
    assert "no direction left after" in str(whole.reason)
    assert math.isnan(whole.mean_after)
    assert whole.separation_after < 1e-9
    assert whole.separation_before > 1
    assert any("no direction left after" in words for words in result.words)
    assert not any("mean projection is" in words for words in result.words)


def test_the_separation_of_the_groups_is_cohens_d_along_the_direction():
    points, rows = people(seed=3)
    shrunk = points.copy()
    shrunk[:, 0] *= 0.5
    result = compared(points, shrunk, rows)
    whole = result.projections[0]
    male = (rows["sex"] == "m").to_numpy()
    for space, told in ((points, whole.separation_before), (shrunk, whole.separation_after)):
        g = space[male].mean(axis=0) - space[~male].mean(axis=0)
        p = space @ g / np.linalg.norm(g)
        within = np.concatenate([p[male] - p[male].mean(), p[~male] - p[~male].mean()])
        pooled = math.sqrt((within**2).sum() / (len(p) - 2))
        assert told == pytest.approx((p[male].mean() - p[~male].mean()) / pooled)
    assert whole.status == "ok"


@pytest.mark.once
def test_groups_that_do_not_differ_have_a_direction_in_about_5_percent_of_samples():
    found = 0
    for seed in range(200):
        points, rows = people(seed, rows=120, apart=0.0)
        found += compared(points, points, rows).projections[0].status == "ok"
    assert 2 <= found <= 20  # 10 expected


def test_groups_that_are_points_are_told_without_a_number_of_deviations():
    rows = pd.DataFrame({"sex": ["f", "m"] * 20})
    points = np.where((rows["sex"] == "m").to_numpy()[:, None], [[1.0, 0.0]], [[0.0, 1.0]])
    whole = compared(points, points, rows).projections[0]
    assert whole.status == "ok"
    assert math.isnan(whole.separation_before)
