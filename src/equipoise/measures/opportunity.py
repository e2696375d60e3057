"""Paper 001's view: the root mean square of the per-class TPR gaps, fairness, and the distance to the optimum."""

from __future__ import annotations

import numpy as np

from equipoise.measures.measure import Floats, measure
from equipoise.measures.odds import equalized_odds_true_positive
from equipoise.tallies.confusion import Confusion, ratio


@measure(
    "true_positive_rate_gap",
    alias="GAP",
    kind="gap",
    better="low",
    needs="counts",
    paper="001",
    title="root mean square gap of true positive rates",
    classwise=False,
    of="true_positive_rate",
)
def true_positive_rate_gap(table: Confusion) -> Floats:
    """GAP = sqrt(mean_y (max_g TPR_yg - min_g TPR_yg)^2) over the classes defined in all groups."""
    gaps = equalized_odds_true_positive.by_class(table)
    defined = ~np.isnan(gaps)
    squares = np.where(defined, gaps, 0.0) ** 2
    return np.sqrt(ratio(squares.sum(axis=-1), defined.sum(axis=-1).astype(np.float64)))


@true_positive_rate_gap.variant("authors")
def true_positive_rate_gap_authors(table: Confusion) -> Floats:
    """Counts get +1e-5 and a class's gap is sum_g |TPR_yg - TPR_y|, as in the authors' code."""
    small = 1e-5
    everyone = table.everyone
    rates = (table.true_positives + small) / (table.positives + 2 * small)
    overall = (everyone.true_positives + small) / (everyone.positives + 2 * small)
    gaps = np.abs(rates - overall).sum(axis=-2)
    return np.asarray(np.sqrt((gaps**2).mean(axis=-1)), dtype=np.float64)


@measure(
    "fairness",
    kind="summary",
    better="high",
    needs="counts",
    paper="001",
    title="1 - GAP",
    classwise=False,
    of="true_positive_rate",
)
def fairness(table: Confusion) -> Floats:
    """Fairness = 1 - GAP, paper 001's word for it."""
    return 1.0 - true_positive_rate_gap.by_class(table)


@measure(
    "distance_to_optimum",
    alias="DTO",
    kind="summary",
    better="low",
    needs="counts",
    paper="001",
    bounds=(0.0, float(np.sqrt(2.0))),
    classwise=False,
    of="true_positive_rate",
)
def distance_to_optimum(table: Confusion) -> Floats:
    """DTO = sqrt((1 - accuracy)^2 + (1 - Fairness)^2): the distance to the fixed point (1, 1)."""
    everyone = table.everyone
    accuracy = ratio(everyone.correct, everyone.people)[..., 0, 0]
    return distance(accuracy, fairness.by_class(table))


@fairness.variant("authors")
def fairness_authors(table: Confusion) -> Floats:
    """1 - GAP with GAP as in the authors' code."""
    return 1.0 - true_positive_rate_gap.by_class(table, "authors")


@distance_to_optimum.variant("authors")
def distance_to_optimum_authors(table: Confusion) -> Floats:
    """DTO with GAP as in the authors' code."""
    everyone = table.everyone
    return distance(ratio(everyone.correct, everyone.people)[..., 0, 0], fairness.by_class(table, "authors"))


def distance(performance: Floats, equity: Floats) -> Floats:
    """Return the distance of (performance, fairness) to the best there can be, (1, 1)."""
    return np.asarray(np.hypot(1.0 - performance, 1.0 - equity), dtype=np.float64)
