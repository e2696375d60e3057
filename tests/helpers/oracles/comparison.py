"""Slow, obvious references for every registered comparison: whole kernels, plain loops, nothing of the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def linear(x: Array) -> Array:
    z = x - x.mean(axis=0)
    return z @ z.T


def distances(x: Array) -> Array:
    return np.array([[math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in x] for p in x])


def median_distance(x: Array) -> float:
    apart = distances(x)
    return float(np.median([apart[i, j] for i in range(len(x)) for j in range(i)]))


def rbf(x: Array, bandwidth: float | None = None, variant: str = "centred") -> Array:
    s = median_distance(x) if bandwidth is None else bandwidth
    kernel = np.exp(-(distances(x) ** 2) / (2 * s**2))
    if variant == "literal":
        return kernel
    centring = np.eye(len(x)) - 1 / len(x)
    return centring @ kernel @ centring


def kernel_of(x: Array, kernel: str, **options: Any) -> Array:
    return linear(x) if kernel == "linear" else rbf(x, **options)


def pnka(before: Array, after: Array, kernel: str = "linear", self_term: bool = True, **options: Any) -> Array:
    k, l = kernel_of(before, kernel, **options), kernel_of(after, kernel, **options)  # noqa: E741
    scores = []
    for i in range(len(k)):
        a, b = (k[i], l[i]) if self_term else (np.delete(k[i], i), np.delete(l[i], i))
        scores.append(float(a @ b) / math.sqrt(a @ a) / math.sqrt(b @ b))
    return np.array(scores)


def aggregate_pnka(before: Array, after: Array, **options: Any) -> float:
    return float(np.mean(pnka(before, after, **options)))


def hsic(k: Array, l: Array, debiased: bool) -> float:  # noqa: E741
    """Gretton et al.'s biased estimate, or Song et al.'s unbiased one, both up to a factor."""
    n = len(k)
    if not debiased:
        centring = np.eye(n) - 1 / n
        return float(np.trace(k @ centring @ l @ centring))
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))  # noqa: E741
    ones = np.ones(n)
    cross = (ones @ k @ ones) * (ones @ l @ ones) / ((n - 1) * (n - 2))
    return float(np.trace(k @ l) + cross - 2 / (n - 2) * (ones @ k @ l @ ones)) / (n * (n - 3))


def cka(before: Array, after: Array, kernel: str = "linear", debiased: bool = False, **options: Any) -> float:
    # Not centred: centring is part of HSIC.
    k, l = (  # noqa: E741
        x @ x.T if kernel == "linear" else rbf(x, variant="literal", **options) for x in (before, after)
    )
    return hsic(k, l, debiased) / math.sqrt(hsic(k, k, debiased) * hsic(l, l, debiased))


def neighbours(x: Array, k: int, metric: str) -> list[list[int]]:
    if metric == "cosine":
        x = x / np.sqrt((x**2).sum(axis=1, keepdims=True))
    apart = distances(x)
    return [sorted((j for j in range(len(x)) if j != i), key=lambda j: (apart[i, j], j))[:k] for i in range(len(x))]


def neighbour_overlap(before: Array, after: Array, k: int, metric: str = "cosine") -> Array:
    pairs = zip(neighbours(before, k, metric), neighbours(after, k, metric), strict=True)
    return np.array([len(set(first) & set(second)) / k for first, second in pairs])


COMPARISON_ORACLES: dict[str, Callable[..., Any]] = {
    "pnka": pnka,
    "aggregate_pnka": aggregate_pnka,
    "cka": cka,
    "neighbour_overlap": neighbour_overlap,
}
