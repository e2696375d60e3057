"""A map of an embedding: two coordinates for each of at most 5,000 points, by PCA, UMAP or t-SNE.

PCA is linear and says how much of the variance the two axes show. UMAP and t-SNE keep neighbours and nothing else:
distances between clusters, and their sizes, mean nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from equipoise.cohorts import open_embedding
from equipoise.foundation import BadInput, Floats, require, stream

METHODS = ("pca", "umap", "tsne")
# Charts hold no more marks than this.
SAMPLE = 5_000
# Neighbours are sought in so many principal components at the most.
COMPONENTS = 50


@dataclass(frozen=True)
class EmbeddingMap:
    """Coordinates on a map. ``rows`` are the indices of the points in the embedding, in rising order.

    ``explained`` is the share of the sample's variance that each axis shows (PCA only; none where nothing varies).
    """

    method: str
    rows: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    explained: tuple[float, float] | None
    of: int
    seed: int
    notes: tuple[str, ...]


def embedding_map(points: object, method: str = "pca", sample: int = SAMPLE, seed: int = 0) -> EmbeddingMap:
    """Place a random sample of the points (all, where there are few) on a plane.

    Parameters
    ----------
    points : array or path
        One row per point.
    method : {"pca", "umap", "tsne"}
        PCA is linear; the others keep neighbours and nothing else.
    sample : int
        The largest number of points, at most 5,000.
    seed : int
        The seed of the sample and of the method.

    Returns
    -------
    EmbeddingMap

    Examples
    --------
    >>> import numpy as np
    >>> picture = embedding_map(np.eye(4)[:, :2])
    >>> picture.rows, picture.of
    ((0, 1, 2, 3), 4)
    """
    if method not in METHODS:
        raise BadInput(f"There is no map {method!r}", available=", ".join(METHODS))
    if not 1 <= sample <= SAMPLE:
        raise BadInput(f"sample was {sample:,}", available=f"1 to {SAMPLE:,} points")
    umap = _umap() if method == "umap" else None
    matrix = open_embedding(points, name="the embedding").points
    rows = np.arange(len(matrix))
    notes: list[str] = []
    if len(matrix) > sample:
        rows = np.sort(stream(seed, "map").choice(rows, sample, replace=False))
        notes.append(f"{sample:,} of {len(matrix):,} points, drawn at random")
    chosen = np.asarray(matrix[rows], dtype=np.float64)
    varying = chosen[:, np.ptp(chosen, axis=0) > 0]
    explained = None
    if not varying.shape[1]:
        notes.append("all points of the map are the same")
        coordinates = np.zeros((len(rows), 2))
    else:
        components, shares = _principal(varying, min(COMPONENTS if method != "pca" else 2, *varying.shape))
        # Few points or dimensions have no neighbourhoods to keep: their principal components are the map.
        if method == "pca" or len(rows) < 5 or varying.shape[1] < 2:
            explained = shares
            coordinates = _two_columns(components)
            if method != "pca":
                notes.append(f"too few points or dimensions for {method}: principal components")
        else:
            coordinates = _neighbours(components, method, seed, umap)
    return EmbeddingMap(
        method=method,
        rows=tuple(rows.tolist()),
        x=tuple(coordinates[:, 0].tolist()),
        y=tuple(coordinates[:, 1].tolist()),
        explained=explained,
        of=len(matrix),
        seed=seed,
        notes=tuple(notes),
    )


def _umap() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a part that needs TensorFlow, which nobody asked for
        return require("umap", extra="maps", purpose="A UMAP map")


def _principal(points: Floats, number: int) -> tuple[Floats, tuple[float, float]]:
    """Return the first principal components, and the shares of variance of two of them."""
    from sklearn.decomposition import PCA

    # A scale that is far from 1 would over- or underflow when squared.
    scaled = (points - points.mean(axis=0)) / np.ptp(points, axis=0).max()
    pca = PCA(number, svd_solver="full").fit(scaled)
    shares = [*pca.explained_variance_ratio_.tolist(), 0.0]
    return np.asarray(pca.transform(scaled), dtype=np.float64), (shares[0], shares[1])


def _two_columns(components: Floats) -> Floats:
    return np.pad(components, ((0, 0), (0, max(0, 2 - components.shape[1]))))[:, :2]


def _neighbours(points: Floats, method: str, seed: int, umap: Any) -> Floats:
    """Place points so that neighbours stay neighbours."""
    number = int(stream(seed, "map", method).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "umap":
            projection = umap.UMAP(n_neighbors=min(15, len(points) - 1), random_state=number, n_jobs=1, init="pca")
        else:
            from sklearn.manifold import TSNE

            projection = TSNE(perplexity=min(30.0, (len(points) - 1) / 3), init="pca", random_state=number)
        return np.asarray(projection.fit_transform(points), dtype=np.float64)
