"""Neighbours and what they retrieve, against every pair measured one by one; ties against every order of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.tallies import NeighbourSearch
from equipoise.tallies import _neighbours as neighbours
from equipoise.tallies._neighbours import (
    average_precisions,
    hits,
)

FEW = st.integers(0, 3)


def orders(place: int, points: np.ndarray) -> list[tuple[int, ...]]:
    """Every order of the other rows that is sorted by distance."""
    others = [other for other in range(len(points)) if other != place]
    apart = {other: int(((points[place] - points[other]) ** 2).sum()) for other in others}
    runs = [[other for other in others if apart[other] == distance] for distance in sorted({apart[o] for o in others})]
    return [tuple(itertools.chain(*order)) for order in itertools.product(*map(itertools.permutations, runs))]


def slow_hit(order: tuple[int, ...], place: int, classes: np.ndarray, k: int) -> float:
    return float(any(classes[other] == classes[place] for other in order[:k]))


def slow_precision(order: tuple[int, ...], place: int, classes: np.ndarray, k: int) -> float:
    wanted = int((classes == classes[place]).sum()) - 1
    right, total = 0, 0.0
    for rank, other in enumerate(order[:wanted], start=1):
        right += int(classes[other] == classes[place])
        total += right / rank if classes[other] == classes[place] else 0.0
    return total / wanted


def slowly(value: Any, points: np.ndarray, classes: np.ndarray, k: int) -> list[float]:
    found = []
    for place in range(len(points)):
        if (classes == classes[place]).sum() == 1:
            found.append(np.nan)
            continue
        found.append(float(np.mean([value(order, place, classes, k) for order in orders(place, points)])))
    return found


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(FEW, FEW, st.integers(0, 2)), min_size=2, max_size=7),
    k=st.integers(1, 8),
    shift=st.sampled_from([0.0, 1000.0]),
)
def test_copies_and_ties_count_as_their_mean_over_all_orders(
    rows: list[tuple[int, int, int]], k: int, shift: float
) -> None:
    points, classes = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows])
    classes = np.unique(classes, return_inverse=True)[1]
    search = NeighbourSearch(points + shift)
    assert hits(search, classes, k) == pytest.approx(slowly(slow_hit, points, classes, k), nan_ok=True)
    expected = slowly(slow_precision, points, classes, k)
    assert average_precisions(search, classes) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize("k", [1, 2, 9])
def test_small_blocks_find_the_same_neighbours_as_one_sort(
    k: int, norms: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "TILE", 17)
    monkeypatch.setattr(neighbours, "SIMILARITIES_AT_ONCE", 3000)
    monkeypatch.setattr(neighbours, "BAND", 8)
    generator = np.random.default_rng(2)
    points = generator.normal(size=(230, 5)) * np.exp(generator.normal(size=(230, 1)))
    classes = generator.integers(0, 12, 230)
    lengths = np.linalg.norm(points, axis=1)
    seen = points / lengths[:, None] if norms else points
    apart = ((seen[:, None] - seen[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1)
    right = classes[order] == classes[:, None]
    search = NeighbourSearch(points, lengths if norms else None)
    assert hits(search, classes, k) == pytest.approx(right[:, :k].any(axis=1).astype(float))
    expected = []
    for row, wanted in zip(right, np.bincount(classes)[classes] - 1, strict=True):
        top = row[:wanted]
        expected.append((top * np.cumsum(top) / np.arange(1, wanted + 1)).sum() / wanted)
    assert average_precisions(search, classes) == pytest.approx(expected)


def test_neighbours_closer_than_float32_can_tell_are_told_apart() -> None:
    # Far from the origin and a hair apart: in float32 all four are one point.
    points = np.array([[1e6, 0.0], [1e6, 1e-3], [1e6, 3e-3], [1e6, 6e-3]])
    classes = np.array([0, 1, 1, 0])
    assert hits(NeighbourSearch(points), classes, 1).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_an_embedding_that_has_collapsed_to_one_point_is_all_ties() -> None:
    classes = np.array([0] * 30 + [1] * 10)
    found = hits(NeighbourSearch(np.ones((40, 3))), classes, 1)
    assert found == pytest.approx([29 / 39] * 30 + [9 / 39] * 10)


def test_a_far_outlier_does_not_blur_the_others() -> None:
    generator = np.random.default_rng(0)
    points = np.vstack([generator.normal(size=(50, 4)), np.full((1, 4), 1e5)])
    classes = np.r_[generator.integers(0, 3, 50), 0]
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(apart, np.inf)
    expected = (classes[apart.argmin(axis=1)] == classes).astype(float)
    assert hits(NeighbourSearch(points), classes, 1) == pytest.approx(expected)
