"""Slow, obvious references for measures of an embedding: plain loops over rows and pairs.

The formulas share nothing with the package. Two things are asked of it, because they are choices and not formulas:
which rows a seeded sample takes, and which cluster k-means gave a row (both have tests of their own).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise.tallies import (
    EmbeddingTally,
    embed,
)

NAN = math.nan
Reference = Callable[..., float]
Point = Sequence[float]


def apart(x: Point, y: Point) -> float:
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else NAN


def nearest(place: int, points: Sequence[Point]) -> list[int]:
    """All other rows, the nearest first; random points have no ties."""
    others = [other for other in range(len(points)) if other != place]
    return sorted(others, key=lambda other: apart(points[place], points[other]))


def recall(rows: Sequence[int], points: Sequence[Point], classes: Sequence[Any], k: int = 1) -> float:
    queries = [place for place in rows if classes.count(classes[place]) > 1]
    return mean(
        [float(any(classes[other] == classes[place] for other in nearest(place, points)[:k])) for place in queries]
    )


def average_precision(rows: Sequence[int], points: Sequence[Point], classes: Sequence[Any]) -> float:
    found = []
    for place in rows:
        others = classes.count(classes[place]) - 1
        if others:
            right, total = 0, 0.0
            for rank, other in enumerate(nearest(place, points)[:others], start=1):
                if classes[other] == classes[place]:
                    right += 1
                    total += right / rank
            found.append(total / others)
    return mean(found)


def alignment(rows: Sequence[int], points: Sequence[Point], classes: Sequence[Any], same: bool) -> float:
    """Over every pair of two rows of which at least one is among the rows."""
    members = set(rows)
    pairs = [(first, second) for first in range(len(points)) for second in range(first)]
    return mean(
        [
            apart(points[first], points[second])
            for first, second in pairs
            if (first in members or second in members) and (classes[first] == classes[second]) == same
        ]
    )


def singular_values(points: Sequence[Point]) -> list[float]:
    """By the eigenvalues of a Gram matrix of exact sums, not by a decomposition of the rows."""
    n, width = len(points), len(points[0])
    if n >= width:
        gram = [[sum(p[i] * p[j] for p in points) for j in range(width)] for i in range(width)]
    else:
        gram = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in points] for p in points]
    return [math.sqrt(max(value, 0.0)) for value in np.linalg.eigvalsh(np.array(gram)).tolist()]


def uniformity(points: Sequence[Point]) -> float:
    if len(points) < 2:
        return NAN
    values = singular_values(points)
    share = 1 / len(values)
    return sum(share * math.log(share / (value / sum(values))) for value in values)


def rbf(points: Sequence[Point]) -> float:
    kernels = [math.exp(-2 * apart(points[i], points[j])) for i in range(len(points)) for j in range(i)]
    return math.log(mean(kernels)) if kernels else NAN


def entropy(labels: Sequence[Any]) -> float:
    return -sum(math.log(labels.count(label) / len(labels)) for label in labels) / len(labels)


def mutual(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    both = list(zip(classes, clusters, strict=True))
    return entropy(classes) + entropy(clusters) - entropy(both)


def chance(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    """The mean mutual information over all ways to deal the clusters out, size by size."""
    n, total = len(classes), 0.0
    for a in [classes.count(label) for label in set(classes)]:
        for b in [clusters.count(label) for label in set(clusters)]:
            for both in range(max(1, a + b - n), min(a, b) + 1):
                probability = math.comb(b, both) * math.comb(n - b, a - both) / math.comb(n, a)
                total += probability * both / n * math.log(n * both / (a * b))
    return total


def half_entropies(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    return (entropy(classes) + entropy(clusters)) / 2


def normalised(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    return mutual(classes, clusters) / half_entropies(classes, clusters) if len(set(classes)) > 1 else NAN


def adjusted(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    if len(set(classes)) < 2:
        return NAN
    by_chance, highest = chance(classes, clusters), half_entropies(classes, clusters)
    return (mutual(classes, clusters) - by_chance) / (highest - by_chance) if highest > by_chance + 1e-9 else NAN


def by_chance(classes: Sequence[Any], clusters: Sequence[Any]) -> float:
    return chance(classes, clusters) / half_entropies(classes, clusters) if len(set(classes)) > 1 else NAN


class Asked:
    """One embedding, and the value of one group's rows by name."""

    def __init__(self, embedded: EmbeddingTally) -> None:
        self.embedded = embedded
        self.points = embedded.space.points.tolist()
        self.classes = embedded.space.classes.codes.tolist()

    def value(self, name: str, group: int) -> float:
        rows = np.flatnonzero(self.embedded.codes == group).tolist()
        if name in ("uniformity", "rbf_uniformity"):
            least = min((self.embedded.codes == place).sum() for place in range(len(self.embedded.groups)))
            drawn = self.embedded.sample(group, int(least), name.replace("_", " "))
            return {"uniformity": uniformity, "rbf_uniformity": rbf}[name]([self.points[row] for row in drawn])
        if "mutual_information" in name:
            classes = [self.classes[row] for row in rows]
            clusters = [int(self.embedded.space.clusters[row]) for row in rows]
            return TABLES[name](classes, clusters)
        return PLAIN[name](rows, self.points, self.classes)


PLAIN: dict[str, Callable[[Any, Any, Any], float]] = {
    "recall_at_k": recall,
    "mean_average_precision_at_r": average_precision,
    "intra_class_alignment": lambda rows, points, classes: alignment(rows, points, classes, True),
    "inter_class_alignment": lambda rows, points, classes: alignment(rows, points, classes, False),
}
TABLES: dict[str, Callable[[Any, Any], float]] = {
    "normalised_mutual_information": normalised,
    "adjusted_mutual_information": adjusted,
    "normalised_mutual_information_by_chance": by_chance,
}
BETTER_LOW = ("intra_class_alignment", "uniformity", "rbf_uniformity")
VALUES = (*PLAIN, "uniformity", "rbf_uniformity", *TABLES)


def value_reference(name: str) -> Reference:
    def reference(target: Any, points: Any, group: Any, weights: Any = None, favourable: Any = None) -> float:
        return Asked(embed(points, target).overall).value(name, 0)

    return reference


def gap_reference(name: str) -> Reference:
    """The largest group's value minus the plain mean of the others', turned round where low is better."""

    def reference(target: Any, points: Any, group: Any, weights: Any = None, favourable: Any = None) -> float:
        embedded = embed(points, target, group)
        sizes = [int((embedded.codes == place).sum()) for place in range(len(embedded.groups))]
        if sizes.count(max(sizes)) > 1:
            return NAN
        values = [Asked(embedded).value(name, place) for place in range(len(embedded.groups))]
        largest = sizes.index(max(sizes))
        others = [value for index, value in enumerate(values) if index != largest]
        gap = values[largest] - sum(others) / len(others)
        return -gap if name in BETTER_LOW else gap

    return reference


EMBEDDING_ORACLES: dict[str, Reference] = {
    **{name: value_reference(name) for name in VALUES},
    **{f"{name}_gap": gap_reference(name) for name in VALUES if not name.endswith("_by_chance")},
}
