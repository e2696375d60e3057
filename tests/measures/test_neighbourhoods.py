"""The nearest rows and their overlap, against sorting all distances; ties, copies and far points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from equipoise.foundation import BadInput
from equipoise.measures import neighbour_overlap
from equipoise.measures._neighbours import nearest_by_block
from helpers.oracles import comparison as oracle

METRICS = ("cosine", "euclidean")


def pair(rows: int = 60, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    before = generator.normal(0.5, 1.0, (rows, 5))
    return before, before @ generator.normal(size=(5, 8)) + generator.normal(size=(rows, 8))


def nearest(points: Any, k: int, **options: Any) -> list[list[int]]:
    return [row for _, rows in nearest_by_block(points, k, **options) for row in rows.tolist()]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 12, 59])
def test_the_nearest_rows_are_those_of_sorting_all_distances(metric: Any, k: int) -> None:
    before, after = pair()
    assert nearest(before, k, metric=metric) == oracle.neighbours(before, k, metric)
    np.testing.assert_allclose(
        neighbour_overlap(before, after, k, metric), oracle.neighbour_overlap(before, after, k, metric)
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("metric", METRICS)
def test_many_blocks_give_what_one_block_gives(metric: Any) -> None:
    before, after = pair()
    expected = oracle.neighbours(before, 7, metric)
    assert nearest(before, 7, metric=metric, block=9) == expected
    assert [rows for rows, _ in nearest_by_block(before, 7, metric=metric, block=25)] == [
        slice(0, 25), slice(25, 50), slice(50, 60),
    ]  # fmt: skip
    np.testing.assert_allclose(
        neighbour_overlap(before, after, 7, metric), oracle.neighbour_overlap(before, after, 7, metric)
    )


def test_some_rows_can_be_asked_for_among_all() -> None:
    before, _ = pair()
    whole = oracle.neighbours(before, 4, "euclidean")
    asked = [50, 3, 3, 17]
    assert nearest(before, 4, metric="euclidean", queries=asked) == [whole[row] for row in asked]
    assert nearest(before, 4, metric="euclidean", queries=[]) == []


@settings(deadline=None, max_examples=40)
@given(
    points=arrays.arrays(np.float64, (15, 2), elements=st.integers(-2, 2).map(float)),
    k=st.integers(1, 14),
    scale=st.sampled_from([1e-150, 1e-3, 1.0, 7.0, 1e150]),
    far=st.sampled_from([0.0, 1e4]),
)
def test_ties_go_to_the_row_that_comes_first_and_copies_stay(points: Any, k: int, scale: float, far: float) -> None:
    points[0] = far or 2.0
    points[1] = 1.0  # never all the same
    assert nearest(points * scale, k, metric="euclidean") == oracle.neighbours(points, k, "euclidean")


def test_a_copy_is_a_neighbour_and_the_row_itself_is_not() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.1]])
    for metric in METRICS:
        assert nearest(points, 1, metric=metric)[:3:2] == [[2], [0]]


def test_people_with_few_distinct_profiles_keep_their_neighbours() -> None:
    generator = np.random.default_rng(0)
    profiles = generator.normal(size=(12, 4))
    people = profiles[generator.integers(0, 12, 500)]
    turned = (people @ np.linalg.qr(generator.normal(size=(4, 4)))[0]) * 3.0 + 1.0
    np.testing.assert_array_equal(neighbour_overlap(people, turned, 30, metric="euclidean"), 1.0)


def test_one_far_row_does_not_blur_the_others() -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(50, 3))
    expected = oracle.neighbours(points, 5, "euclidean")
    far = np.concatenate([points, [[1e7, 0.0, 0.0]]])
    assert nearest(far, 5, metric="euclidean")[:50] == expected


def test_unrelated_representations_overlap_by_chance() -> None:
    generator = np.random.default_rng(0)
    before, after = generator.normal(size=(400, 5)), generator.normal(size=(400, 5))
    share = neighbour_overlap(before, after, 80, metric="euclidean").mean()
    assert share == pytest.approx(80 / 399, abs=0.05)


def test_cosine_asks_for_direction_and_euclidean_for_place() -> None:
    before, _ = pair()
    lengths = np.random.default_rng(1).uniform(0.1, 10.0, (60, 1))
    np.testing.assert_array_equal(neighbour_overlap(before, before * lengths, 6, "cosine"), 1.0)
    assert neighbour_overlap(before, before * lengths, 6, "euclidean").mean() < 0.8
    np.testing.assert_array_equal(neighbour_overlap(before, 2.0 * before + 100.0, 6, "euclidean"), 1.0)


def test_files_and_tensors_are_read(tmp_path: Path) -> None:
    before, after = pair()
    expected = neighbour_overlap(before, after, 6)
    np.save(tmp_path / "before.npy", before)
    file = np.load(tmp_path / "before.npy", mmap_mode="r")
    np.testing.assert_array_equal(neighbour_overlap(file, after, 6), expected)
    torch = pytest.importorskip("torch")
    found = neighbour_overlap(torch.tensor(before), torch.tensor(after), 6)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert nearest(torch.tensor(before), 3, metric="cosine", queries=torch.tensor([5, 1])) == nearest(
        before, 3, metric="cosine", queries=[5, 1]
    )


@pytest.mark.parametrize("k", [0, 60, 2.5, True, "3"])
def test_a_k_out_of_range_is_refused(k: Any) -> None:
    with pytest.raises(BadInput, match=r"from 1 to 59"):
        neighbour_overlap(*pair(), k)


@pytest.mark.usefixtures("small_blocks")
def test_zero_vectors_have_no_cosine() -> None:
    before, after = pair()
    after[[41, 44]] = 0.0
    with pytest.raises(BadInput, match="2 rows are all zeros, the first is row 41"):
        neighbour_overlap(before, after, 3)
    assert np.isfinite(neighbour_overlap(before, after, 3, metric="euclidean")).all()


def test_other_bad_questions_are_refused() -> None:
    before, after = pair()
    with pytest.raises(BadInput, match="did you mean 'cosine'"):
        neighbour_overlap(before, after, 3, metric="cosin")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="whole numbers from 0 to 59"):
        nearest_by_block(before, 3, metric="cosine", queries=[60])
    with pytest.raises(BadInput, match="block is 0"):
        nearest_by_block(before, 3, metric="cosine", block=0)
