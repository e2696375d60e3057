"""Demographic parity and disparate impact: are the groups selected equally often? (paper 004, appendix A.2)"""

from __future__ import annotations

import numpy as np

from equipoise.measures.measure import Floats, largest_difference, measure
from equipoise.tallies.confusion import Confusion, ratio


def selection_rates(table: Confusion) -> Floats:
    """PPR_g: how often each group is predicted to be of each class."""
    return ratio(table.predicted, table.people)


@measure(
    "demographic_parity",
    alias="DP",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    of="selection_rate",
)
def demographic_parity(table: Confusion) -> Floats:
    """DP = max_g PPR_g - min_g PPR_g; with two groups |PPR_0 - PPR_1|."""
    return largest_difference(selection_rates(table))


@measure(
    "impact_ratio",
    kind="ratio",
    better="high",
    needs="predictions",
    paper="004",
    of="selection_rate",
)
def impact_ratio(table: Confusion) -> Floats:
    """min_g PPR_g / max_g PPR_g: the plain ratio, 1 is parity; the four-fifths rule asks for 0.8."""
    rates = selection_rates(table)
    return ratio(rates.min(axis=-2), rates.max(axis=-2))


@measure(
    "disparate_impact",
    alias="DI",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    title="normalised disparate impact",
    of="selection_rate",
)
def disparate_impact(table: Confusion) -> Floats:
    """DI = 1 - min_g PPR_g / max_g PPR_g; undefined for a class that is never predicted."""
    return 1.0 - impact_ratio.by_class(table)


@disparate_impact.variant("authors")
def disparate_impact_authors(table: Confusion) -> Floats:
    """A class that is never predicted for any group counts as fully unfair (1), as in the authors' code."""
    rates = selection_rates(table)
    never = rates.max(axis=-2) == 0
    return np.where(never, 1.0, disparate_impact.by_class(table))


@measure(
    "standardised_mean_difference",
    alias="SMD",
    kind="gap",
    better="low",
    needs="predictions",
    paper="field",
    bounds=(0.0, float("inf")),
    of="selection_rate",
)
def standardised_mean_difference(table: Confusion) -> Floats:
    """SMD = DP / sqrt(PPR (1 - PPR)): the gap in standard deviations of the outcome over everyone."""
    everyone = selection_rates(table.everyone)[..., 0, :]
    return ratio(demographic_parity.by_class(table), np.sqrt(everyone * (1.0 - everyone)))
