"""Moments against plain loops, and what they must keep: shards add up, a file is never read whole, tensors agree."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.foundation import BadInput
from equipoise.tallies import Coded, EmbeddingMoments
from equipoise.tallies import _embedded as module

NUMBER = st.floats(-50, 50, width=32)


def coded(codes: list[int], prefix: str) -> Coded:
    labels = tuple(f"{prefix}{place}" for place in range(max([*codes, 0]) + 1))
    return Coded(np.array(codes, dtype=np.int64), labels)


def by_label(moments: EmbeddingMoments) -> dict[tuple[str | None, str | None], tuple[float, list[float], float]]:
    """The sums about 0 under the names of class and group."""
    plain = moments.about(np.zeros(moments.total.shape[1]))
    return {
        (moments.classes[own], moments.groups[group]): (
            float(plain.number[index]), np.asarray(plain.total[index]).tolist(), float(plain.square[index]),
        )
        for index, (own, group) in enumerate(moments.cells.tolist())
    }  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.integers(-1, 2), st.lists(NUMBER, min_size=3, max_size=3)),
        min_size=1, max_size=30,
    ),
    block=st.integers(1, 40),
)  # fmt: skip
def test_sums_are_those_of_a_loop_whatever_the_size_of_a_block(
    rows: list[tuple[int, int, list[float]]], block: int
) -> None:
    classes, groups, points = ([row[place] for row in rows] for place in range(3))
    expected: dict[tuple[str, str], tuple[float, list[float], float]] = {}
    second = np.zeros((3, 3, 3))
    for own, group, point in rows:
        if group < 0:
            continue
        number, total, square = expected.get((f"c{own}", f"g{group}"), (0.0, [0.0] * 3, 0.0))
        expected[f"c{own}", f"g{group}"] = (
            number + 1, [a + b for a, b in zip(total, point, strict=True)], square + sum(x * x for x in point),
        )  # fmt: skip
        second[group] += np.outer(point, point)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "BLOCK", 3 * block)
        found = EmbeddingMoments.of(np.array(points), coded(classes, "c"), Coded(np.array(groups), ("g0", "g1", "g2")))
    assert by_label(found).keys() == expected.keys()
    for key, (number, total, square) in by_label(found).items():
        assert number == expected[key][0]
        assert total == pytest.approx(expected[key][1], abs=1e-8)
        assert square == pytest.approx(expected[key][2], abs=1e-7)
    assert found.about(np.zeros(3)).second == pytest.approx(second, abs=1e-7)


def test_shards_add_up_and_their_labels_are_united() -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(60, 4)) + 1e4
    classes, groups = generator.integers(0, 5, 60), generator.integers(0, 3, 60)
    names, sites = np.array(list("vwxyz")), np.array(["north", "south", "west"])
    whole = EmbeddingMoments.of(points, Coded(classes, tuple(names)), Coded(groups, tuple(sites)))

    def shard(rows: slice) -> EmbeddingMoments:
        # Every shard knows only the labels it has, in an order of its own.
        known, codes = np.unique(names[classes[rows]], return_inverse=True)
        places, where = np.unique(sites[groups[rows]], return_inverse=True)
        return EmbeddingMoments.of(
            points[rows], Coded(codes, tuple(known.tolist())), Coded(where, tuple(places.tolist()))
        )

    merged = shard(slice(40, 60)).merge(shard(slice(0, 7))).merge(shard(slice(7, 40)))
    first, second = by_label(whole), by_label(merged)
    assert first.keys() == second.keys()
    for key in first:
        assert second[key][0] == first[key][0]
        assert second[key][1] == pytest.approx(first[key][1], rel=1e-12)
    order = [merged.groups.index(site) for site in whole.groups]
    matrices = merged.about(np.zeros(4)).second[order]
    assert matrices == pytest.approx(whole.about(np.zeros(4)).second, rel=1e-10)


def test_points_far_from_the_origin_keep_their_spread() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3)) + 1e7
    one = Coded(np.zeros(500, dtype=np.int64), ("all",))
    found = EmbeddingMoments.of(points, one, one)
    spread = float(found.square[0]) / 500 - float(found.total[0] @ found.total[0]) / 500**2
    assert spread == pytest.approx(points.var(axis=0).sum(), rel=1e-7)


def test_a_memory_mapped_file_is_read_in_blocks(tmp_path: Path) -> None:
    shape = (40_000, 64)
    points = np.lib.format.open_memmap(tmp_path / "points.npy", "w+", np.float32, shape)
    points[:] = np.random.default_rng(0).normal(size=shape)
    points.flush()
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    classes = Coded(np.arange(shape[0]) % 7, tuple("abcdefg"))
    tracemalloc.start()
    found = EmbeddingMoments.of(mapped, classes, classes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < points.nbytes / 1.2  # ten megabytes in all, most of them codes and one block in float64
    assert found.by_group()[0].sum(axis=0) + shape[0] * found.pivot == pytest.approx(
        mapped.sum(axis=0, dtype=np.float64), abs=1e-3
    )


def test_tensors_give_the_same_sums_as_arrays_and_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(1)
    points = generator.normal(size=(300, 6)).astype(np.float32)
    classes = Coded(generator.integers(0, 4, 300), tuple("abcd"))
    groups = Coded(generator.integers(-1, 2, 300), tuple("xy"))
    norms = np.linalg.norm(points.astype(np.float64), axis=1)
    array, tensor = (
        EmbeddingMoments.of(given, classes, groups, norms=norms) for given in (points, torch.from_numpy(points))
    )
    assert isinstance(tensor.total, torch.Tensor)
    assert tensor.total.dtype == torch.float64
    for name in ("total", "square", "second", "pivot"):
        assert getattr(tensor, name).numpy() == pytest.approx(getattr(array, name), abs=1e-12)
    assert tensor.merge(tensor).second.numpy() == pytest.approx(array.merge(array).second, abs=1e-11)


def test_what_does_not_fit_together_is_refused() -> None:
    two, three = (Coded(np.zeros(n, dtype=np.int64), ("all",)) for n in (2, 3))
    with pytest.raises(BadInput, match="2 points, 3 classes and 2 groups"):
        EmbeddingMoments.of(np.zeros((2, 1)), three, two)
    flat, wide = (EmbeddingMoments.of(np.zeros((2, width)), two, two) for width in (1, 2))
    with pytest.raises(BadInput, match="1 dimension and the other 2"):
        flat.merge(wide)
    with pytest.raises(BadInput, match="Only one of the shards has second moments"):
        flat.merge(EmbeddingMoments.of(np.zeros((2, 1)), two, two, second=False))
