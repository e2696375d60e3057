"""Maps place what was given, say how much they show, and never fail on columns that do not vary."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.audits.embedding import embedding_map
from equipoise.foundation import (
    BadInput,
    MissingExtra,
    installed,
)

BLOBS = np.random.default_rng(0).normal(size=(90, 6)) + 12 * np.eye(6)[np.arange(90) % 3]


def places(points: object, method: str, **options: int) -> np.ndarray:
    made = embedding_map(points, method, **options)
    return np.stack([made.x, made.y], axis=1)


def test_pca_shows_the_singular_vectors_and_their_share() -> None:
    made = embedding_map(BLOBS)
    centred = BLOBS - BLOBS.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    shares = values**2 / (values**2).sum()
    assert made.explained == pytest.approx(tuple(shares[:2]))
    scale = np.ptp(BLOBS, axis=0).max()
    for axis, column in enumerate((made.x, made.y)):
        np.testing.assert_allclose(np.abs(column), np.abs(left[:, axis] * values[axis]) / scale, atol=1e-10)


@pytest.mark.parametrize("method", ["pca", "tsne", *(["umap"] if installed("umap") else [])])
def test_blobs_stay_apart_and_the_seed_decides(method: str) -> None:
    map_ = places(BLOBS, method, seed=3)
    assert np.array_equal(map_, places(BLOBS, method, seed=3))
    centres = np.stack([map_[blob::3].mean(axis=0) for blob in range(3)])
    distance = np.linalg.norm(map_[:, None] - centres, axis=2)
    assert (distance.argmin(axis=1) == np.arange(90) % 3).mean() > 0.95


def test_a_sample_is_drawn_by_seed_and_said() -> None:
    points = np.random.default_rng(1).normal(size=(700, 3)).astype(np.float16)
    made = embedding_map(points, sample=50, seed=2)
    assert (len(made.rows), len(made.x), made.of) == (50, 50, 700)
    assert list(made.rows) == sorted(set(made.rows))
    assert made.rows != embedding_map(points, sample=50, seed=3).rows
    assert made.notes == ("50 of 700 points, drawn at random",)


@pytest.mark.parametrize("method", ["pca", "tsne", *(["umap"] if installed("umap") else [])])
@pytest.mark.parametrize(
    "points",
    [
        np.ones((8, 3)),
        np.ones((1, 3)),
        np.column_stack([np.arange(8.0), np.ones(8)]),
        np.column_stack([np.ones(40), BLOBS[:40, :3]]),
        np.arange(6.0).reshape(3, 2),
        np.full((8, 2), 1e300) * np.arange(8)[:, None] / 8,
        np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0),
    ],
    ids=["constant", "one point", "one column varies", "a constant column", "three points", "huge", "two places"],
)
def test_what_does_not_vary_is_no_error(points: np.ndarray, method: str) -> None:
    made = places(points, method)
    assert made.shape == (len(points), 2)
    assert np.isfinite(made).all()


def test_points_that_are_all_the_same_have_no_variance_to_share() -> None:
    made = embedding_map(np.ones((8, 3)))
    assert made.explained is None
    assert made.notes == ("all points of the map are the same",)


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="There is no map 'atlas'"):
        embedding_map(BLOBS, "atlas")
    with pytest.raises(BadInput, match="sample was 6,000"):
        embedding_map(BLOBS, sample=6_000)
    with pytest.raises(BadInput, match="not finite"):
        embedding_map([[0.0, np.nan]])


@pytest.mark.skipif(installed("umap"), reason="umap is installed")
def test_umap_says_which_extra_it_needs() -> None:
    with pytest.raises(MissingExtra, match=r"'\.\[maps\]'"):
        embedding_map(BLOBS, "umap")
