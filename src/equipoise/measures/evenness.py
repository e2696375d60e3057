"""Uniformity (paper 000, Definition 3): does a group's part of the space use all directions alike?

Both numbers depend on how many rows there are, so groups are compared at the size of the smallest: of each larger group
a seeded sample without replacement is taken.
"""

from __future__ import annotations

import numpy as np

from equipoise.measures.embeddings import INFINITE, embedding_measure
from equipoise.measures.measure import Floats
from equipoise.tallies.embedded import Embedded

# Rows whose pairs are formed for the RBF: half a million pairs.
RBF_ROWS = 1000
RBF_WEIGHT = 2.0


def common_size(embedded: Embedded) -> int:
    """Return how many rows of each group are looked at: as many as the smallest group that has any."""
    people = embedded.people[embedded.people > 0]
    return int(people.min(initial=len(embedded.space)))


@embedding_measure(
    "uniformity", alias="U_KL", better="low", bounds=(0.0, INFINITE),
    undefined="the group has fewer than 2 rows, or its rows do not span min(n, d) directions",
)  # fmt: skip
def uniformity(embedded: Embedded) -> Floats:
    """KL(uniform || s), s the singular values of the rows (not centred, not squared) over their sum."""
    size = common_size(embedded)
    rows = [embedded.space.rows(embedded.sample(group, size, "uniformity")) for group in range(len(embedded.groups))]
    return np.array([divergence(singular_values(points), points.shape, spacing(embedded)) for points in rows])


def singular_values(rows: Floats) -> Floats:
    """Return the min(n, d) singular values, without squaring the rows on the way."""
    return np.asarray(np.linalg.svd(rows, compute_uv=False)) if len(rows) > 1 else np.zeros(0)


def spacing(embedded: Embedded) -> float:
    """Return the spacing of the numbers the embedding is stored in: what is smaller is rounding, not rank."""
    kind = embedded.space.points.dtype
    return float(np.finfo(kind).eps) if kind.kind == "f" else float(np.finfo(np.float64).eps)


def divergence(values: Floats, shape: tuple[int, ...], precision: float) -> float:
    """Return sum u log(u / s) with u = 1 / number; undefined where one of the values is 0 but for rounding.

    Numbers of n x d rows that are rounded to a relative spacing e have, by that alone, singular values of up to about
    e / 4 times their root mean square times sqrt(n) + sqrt(d); twice that is taken for 0.
    """
    if not len(values):
        return float("nan")
    n, d = shape
    noise = precision / 2 * np.sqrt((values**2).sum() / (n * d)) * (np.sqrt(n) + np.sqrt(d))
    if values.min() <= max(noise, 1e-13 * values.max()):
        return float("nan")
    return float(max(-np.log(values / values.sum()).mean() - np.log(len(values)), 0.0))


@embedding_measure("rbf_uniformity", better="low", bounds=(-INFINITE, 0.0), undefined="the group has fewer than 2 rows")
def rbf_uniformity(embedded: Embedded) -> Floats:
    """Logarithm of E exp(-2 |x - y|^2) over pairs of two rows of the group, at most 1,000 of them (Wang and Isola)."""
    size = min(common_size(embedded), RBF_ROWS)
    rows = [embedded.sample(group, size, "rbf uniformity") for group in range(len(embedded.groups))]
    return np.array([rbf(embedded.space.rows(places)) for places in rows])


def rbf(rows: Floats) -> float:
    """Return the log of the mean kernel over all pairs of different rows."""
    if len(rows) < 2:
        return float("nan")
    exponents = -RBF_WEIGHT * squared_distances(rows)[np.tri(len(rows), k=-1, dtype=bool)]
    largest = float(exponents.max())
    return largest + float(np.log(np.exp(exponents - largest).mean()))


def squared_distances(rows: Floats) -> Floats:
    """Return the squared distances between all rows."""
    centred = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * centred @ centred.T, 0.0), dtype=np.float64)
