"""Equalized odds: are the errors shared equally? (paper 004, appendix A.2; Hardt et al. 2016)"""

from __future__ import annotations

import numpy as np

from equipoise.measures.measure import Floats, largest_difference, measure
from equipoise.tallies.confusion import Confusion, ratio


@measure(
    "equalized_odds_true_positive",
    alias="EOTP",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    of="true_positive_rate",
)
def equalized_odds_true_positive(table: Confusion) -> Floats:
    """EOTP = max_g TPR_g - min_g TPR_g."""
    return largest_difference(ratio(table.true_positives, table.positives))


@measure(
    "equalized_odds_false_positive",
    alias="EOFP",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    of="false_positive_rate",
)
def equalized_odds_false_positive(table: Confusion) -> Floats:
    """EOFP = max_g FPR_g - min_g FPR_g."""
    return largest_difference(ratio(table.false_positives, table.negatives))


@measure(
    "equalized_odds",
    alias="EO",
    kind="gap",
    better="low",
    needs="counts",
    paper="field",
    of="true_positive_rate",
)
def equalized_odds(table: Confusion) -> Floats:
    """max(EOTP, EOFP): the larger of the two gaps; undefined as soon as one of them is."""
    return np.maximum(equalized_odds_true_positive.by_class(table), equalized_odds_false_positive.by_class(table))


@equalized_odds_true_positive.variant("authors")
def equalized_odds_true_positive_authors(table: Confusion) -> Floats:
    """0 whenever the second group's rate is 0, as in the authors' code; two groups only."""
    return _authors(ratio(table.true_positives, table.positives))


@equalized_odds_false_positive.variant("authors")
def equalized_odds_false_positive_authors(table: Confusion) -> Floats:
    """0 whenever the second group's rate is 0, as in the authors' code; two groups only."""
    return _authors(ratio(table.false_positives, table.negatives))


def _authors(rates: Floats) -> Floats:
    if rates.shape[-2] != 2:
        return np.full((*rates.shape[:-2], rates.shape[-1]), np.nan)
    return np.where(rates[..., 1, :] == 0, 0.0, largest_difference(rates))
