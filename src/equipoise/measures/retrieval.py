"""Does a row find its own class among its nearest? Neighbours are sought among all rows, queries are the group's."""

from __future__ import annotations

import numpy as np

from equipoise.foundation.arrays import ratio
from equipoise.measures.embeddings import embedding_measure, rows_by_group
from equipoise.measures.measure import Floats
from equipoise.tallies.embedded import Embedded

ALONE = "no row of the group has another row of its class"


@embedding_measure(
    "recall_at_k", alias="R@k", gap_alias="k_close_fairness", kind="rate", better="high", bounds=(0.0, 1.0),
    denominator="rows whose class has another member", undefined=ALONE,
)  # fmt: skip
def recall_at_k(embedded: Embedded) -> tuple[Floats, Floats]:
    """Pr[one of the k nearest neighbours is of the same class]; the query itself is left out by its place."""
    return rows_by_group(embedded, embedded.space.hits)


@embedding_measure("mean_average_precision_at_r", alias="MAP@R", better="high", bounds=(0.0, 1.0), undefined=ALONE)
def mean_average_precision_at_r(embedded: Embedded) -> Floats:
    """Mean of 1/R sum of (right so far / rank) at the right ones of the R nearest, R the others of the class."""
    return ratio(*rows_by_group(embedded, embedded.space.average_precisions))


def alone(embedded: Embedded) -> Floats:
    """Return how many rows of each group are the only members of their class: they are no queries."""
    sizes = np.bincount(embedded.space.classes.codes)[embedded.space.classes.codes]
    return rows_by_group(embedded, (sizes == 1).astype(np.float64))[0]
