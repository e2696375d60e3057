"""How near a found direction is to the truth (paper 002, section 5.1): cosines, their difference and who leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.discovery.hyperplane import Hyperplane
from equipoise.foundation.errors import BadInput


@dataclass(frozen=True)
class Recovery:
    """|cos| to the biased attribute (high is good), |cos| to the target (low is good), and the first less the second.

    A direction drawn at random at right angles to target and known attributes has a difference far above 0 by chance
    (0.34 in ten dimensions with three of them known): compare with that, never with 0.
    """

    biased: float
    target: float
    difference: float


def recovery(direction: Hyperplane, biased: Hyperplane, target: Hyperplane) -> Recovery:
    """Return how near a direction is to the truth."""
    to_biased, to_target = abs(direction.cosine(biased)), abs(direction.cosine(target))
    return Recovery(to_biased, to_target, to_biased - to_target)


def leading(differences: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return for each method the share of settings in which its difference is the largest; a tie is shared.

    A setting in which a method has no difference (NaN) is led by another; one in which nobody has any does not count.
    """
    lengths = {len(values) for values in differences.values()}
    if len(lengths) != 1 or not lengths - {0}:
        raise BadInput(
            f"The methods have {sorted(lengths)} settings",
            available="as many of each method, in one order, and at least one",
        )
    table = np.array([list(values) for values in differences.values()], dtype=np.float64)
    table = table[:, ~np.isnan(table).all(axis=0)]
    if not table.shape[1]:
        return dict.fromkeys(differences, float("nan"))
    first = table == np.nanmax(table, axis=0)
    shares = (first / first.sum(axis=0)).mean(axis=1)
    return dict(zip(differences, shares.tolist(), strict=True))
