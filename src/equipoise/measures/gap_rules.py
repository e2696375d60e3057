"""How the values of groups become one gap: the five rules of paper 000 (appendix D.4).

Every rule takes values ``[..., group]`` that are better high, so that a positive gap means that the minoritised, or the
worst, are worse off. Where a value is better low, its negative is given. A gap is undefined as soon as one of the
values it compares is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def sets_difference(values: Floats, first: Mask, second: Mask) -> Floats:
    """Return the mean over one set of groups minus the mean over another: majoritised minus minoritised, I-III minus
    IV-VI, or any two named sets. Undefined where a set is empty.
    """
    if not first.any() or not second.any():
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values[..., first].mean(axis=-1) - values[..., second].mean(axis=-1), dtype=np.float64)


def largest_and_others(people: Floats) -> tuple[Mask, Mask]:
    """Return the largest group and all others, as two sets; both are empty where no group is the largest."""
    largest = people == people.max(initial=0.0)
    if largest.sum() != 1:
        return np.zeros(len(people), dtype=bool), np.zeros(len(people), dtype=bool)
    return largest, ~largest


def best_minus_worst(values: Floats) -> Floats:
    """Return the best group's value minus the worst group's. It is never negative."""
    return np.asarray(values.max(axis=-1) - values.min(axis=-1), dtype=np.float64)


def against_worst(values: Floats) -> Floats:
    """Return each group's value minus the worst group's, ``[..., group]``."""
    return np.asarray(values - values.min(axis=-1, keepdims=True), dtype=np.float64)


def each_against_worst(values: Floats) -> Floats:
    """Return the mean, over the groups that are better than the worst, of their distance to it; 0 where none is."""
    apart = against_worst(values)
    better = (apart > 0).sum(axis=-1)
    return np.asarray(apart.sum(axis=-1) / np.maximum(better, 1), dtype=np.float64)


def halves_difference(values: Floats) -> Floats:
    """Return the mean of the top half of the groups minus that of the bottom half; a middle group is in neither."""
    half = values.shape[-1] // 2
    if not half:
        return np.full(values.shape[:-1], np.nan)
    ranked = np.sort(values, axis=-1)  # NaN comes last, and into the mean
    return np.asarray(ranked[..., -half:].mean(axis=-1) - ranked[..., :half].mean(axis=-1), dtype=np.float64)


# By the name that ``variant=`` takes.
RULES = {
    "best_minus_worst": best_minus_worst,
    "each_against_worst": each_against_worst,
    "halves": halves_difference,
}
