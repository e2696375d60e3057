"""Do clusters of the space agree with the classes? One clustering of everything; each group is read from its own rows.

Mutual information is high by chance alone where classes are small (with 200 equal classes and clusters 0.38 at 30 rows
a class, 0.79 at 3), so its chance level, and the adjusted number from which chance is taken off, stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.measures.embeddings import embedding_measure
from equipoise.measures.measure import Floats
from equipoise.tallies.embedded import Embedded
from equipoise.tallies.labels import Codes

ONE_CLASS = "the group has one class only"


@dataclass(frozen=True)
class Contingency:
    """How many rows have a class and a cluster: the cells that occur, and the sizes of classes and clusters."""

    cells: Floats
    class_of: Codes
    cluster_of: Codes
    classes: Floats
    clusters: Floats

    @property
    def rows(self) -> float:
        """How many rows there are."""
        return float(self.cells.sum())

    @property
    def mutual(self) -> float:
        """The mutual information of class and cluster, in nats."""
        margins = self.classes[self.class_of] * self.clusters[self.cluster_of]
        return float((self.cells / self.rows * np.log(self.cells * self.rows / margins)).sum())

    @property
    def mean_entropy(self) -> float:
        """The mean of the entropies of class and cluster."""
        return (entropy(self.classes) + entropy(self.clusters)) / 2


def contingency(classes: Codes, clusters: Codes) -> Contingency:
    """Count rows by class and cluster."""
    width = int(clusters.max(initial=0)) + 1
    keys, cells = np.unique(classes * width + clusters, return_counts=True)
    return Contingency(
        cells=cells.astype(np.float64),
        class_of=keys // width,
        cluster_of=keys % width,
        classes=np.bincount(classes, minlength=1).astype(np.float64),
        clusters=np.bincount(clusters, minlength=1).astype(np.float64),
    )


def entropy(sizes: Floats) -> float:
    """Return the entropy of parts of these sizes, in nats."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


def expected_mutual(classes: Floats, clusters: Floats) -> float:
    """Return the mutual information that parts of these sizes have by chance (Vinh et al., hypergeometric).

    Parts of the same size add the same, so each pair of sizes is looked at once.
    """
    from scipy.special import gammaln

    n = float(classes.sum())
    log_factorial = gammaln(np.arange(int(n) + 1) + 1.0)
    b, times_b = np.unique(clusters[clusters > 0].astype(np.int64), return_counts=True)
    total = 0.0
    for a, times_a in zip(*np.unique(classes[classes > 0].astype(np.int64), return_counts=True), strict=True):
        common = np.arange(1, int(min(a, b.max())) + 1)
        possible = (common <= b[:, None]) & (common >= a + b[:, None] - n)
        m = np.where(possible, common, np.maximum(a + b[:, None] - int(n), 0))
        log_chance = (
            log_factorial[a] + log_factorial[b][:, None]
            + log_factorial[int(n) - a] + log_factorial[int(n) - b][:, None]
            - log_factorial[int(n)] - log_factorial[m] - log_factorial[a - m] - log_factorial[b[:, None] - m]
            - log_factorial[np.maximum(int(n) - a - b[:, None] + m, 0)]
        )  # fmt: skip
        terms = common / n * np.log(n * common / (a * b[:, None].astype(np.float64))) * np.exp(log_chance)
        total += float(times_a) * float((times_b[:, None] * np.where(possible, terms, 0.0)).sum())
    return total


def tables(embedded: Embedded) -> list[Contingency | None]:
    """Return each group's table; None where a group has fewer than two classes, where nothing can be told."""
    found: list[Contingency | None] = []
    for group in range(len(embedded.groups)):
        rows = embedded.codes == group
        classes = embedded.space.classes.codes[rows]
        several = len(np.unique(classes)) > 1
        found.append(contingency(classes, embedded.space.clusters[rows]) if several else None)
    return found


def normalised(table: Contingency | None) -> float:
    """Return I / mean entropy."""
    return float("nan") if table is None else max(table.mutual, 0.0) / table.mean_entropy


def adjusted(table: Contingency | None) -> float:
    """Return (I - chance) / (mean entropy - chance); undefined where chance alone reaches the mean entropy."""
    if table is None:
        return float("nan")
    chance = expected_mutual(table.classes, table.clusters)
    room = table.mean_entropy - chance
    return (table.mutual - chance) / room if room > 1e-9 * table.mean_entropy else float("nan")


@embedding_measure("normalised_mutual_information", alias="NMI", better="high", bounds=(0.0, 1.0), undefined=ONE_CLASS)
def normalised_mutual_information(embedded: Embedded) -> Floats:
    """2 I(class; cluster) / (H(class) + H(cluster)) over the group's rows, one k-means of everything."""
    return np.array([normalised(table) for table in tables(embedded)])


@embedding_measure(
    "adjusted_mutual_information", alias="AMI", better="high", bounds=(-1.0, 1.0), paper="field",
    undefined=f"{ONE_CLASS}, or chance alone reaches the largest value (every row in its own class)",
)  # fmt: skip
def adjusted_mutual_information(embedded: Embedded) -> Floats:
    """(I - chance) / ((H(class) + H(cluster)) / 2 - chance): 0 is what random clusters have."""
    return np.array([adjusted(table) for table in tables(embedded)])


@embedding_measure(
    "normalised_mutual_information_by_chance", better="none", bounds=(0.0, 1.0), paper="field", undefined=ONE_CLASS
)
def normalised_mutual_information_by_chance(embedded: Embedded) -> Floats:
    """The NMI that clusters of the same sizes have by chance: read NMI against it, not against 0."""
    return np.array(
        [
            float("nan") if table is None else expected_mutual(table.classes, table.clusters) / table.mean_entropy
            for table in tables(embedded)
        ]
    )
