"""Subgroup fairness: how far each group is from everyone, weighted by its share (paper 004, appendix A.2)."""

from __future__ import annotations

import numpy as np

from equipoise.measures.measure import Floats, measure
from equipoise.tallies.confusion import Confusion, ratio


def _weighted_distance(rates: Floats, overall: Floats, shares: Floats) -> Floats:
    """Sum over g of share_g |rate - rate_g|; undefined as soon as one group's rate is."""
    return np.asarray((shares * np.abs(rates - overall)).sum(axis=-2), dtype=np.float64)


def _shares(table: Confusion) -> Floats:
    """Pr[g] = (P_g + N_g) / (P + N)."""
    return ratio(table.people, table.everyone.people)


@measure(
    "statistical_parity_subgroup_fairness",
    alias="SPSF",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    of="selection_rate",
)
def statistical_parity_subgroup_fairness(table: Confusion) -> Floats:
    """SPSF = sum_g Pr[g] |PPR - PPR_g|."""
    everyone = table.everyone
    return _weighted_distance(
        ratio(table.predicted, table.people), ratio(everyone.predicted, everyone.people), _shares(table)
    )


@measure(
    "false_positive_subgroup_fairness",
    alias="FPSF",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    of="false_positive_rate",
)
def false_positive_subgroup_fairness(table: Confusion) -> Floats:
    """FPSF = sum_g Pr[g] |FPR - FPR_g|."""
    return _weighted_distance(*_false_positive_rates(table), _shares(table))


@false_positive_subgroup_fairness.variant("authors")
def false_positive_subgroup_fairness_authors(table: Confusion) -> Floats:
    """Weights N_g / (P + N), the share of the data that is negative and in g, as in the authors' code."""
    return _weighted_distance(*_false_positive_rates(table), ratio(table.negatives, table.everyone.people))


def _false_positive_rates(table: Confusion) -> tuple[Floats, Floats]:
    everyone = table.everyone
    return ratio(table.false_positives, table.negatives), ratio(everyone.false_positives, everyone.negatives)
