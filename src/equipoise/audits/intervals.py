"""Intervals of rates, and how many people are behind each of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.view import View
from equipoise.evidence.proportions import wilson
from equipoise.measures.measure import Measure
from equipoise.tallies.confusion import Confusion, ratio

Floats = NDArray[np.float64]

# F1 counts a person twice: it is no proportion, and Wilson's interval is not for it.
NOT_PROPORTIONS = ("f1",)


def effective(measure: Measure, weights: Confusion, squares: Confusion | None) -> tuple[Floats, Floats]:
    """Return successes and trials as if every row counted once: (sum of weights)^2 / sum of squared weights trials."""
    numerators, denominators = measure.function(weights)
    if squares is None:
        return numerators, denominators
    trials = ratio(denominators**2, measure.function(squares)[1])
    return np.nan_to_num(ratio(numerators, denominators) * trials), np.nan_to_num(trials)


def rate_intervals(measure: Measure, view: View, values: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return Wilson's interval for every group (and class); NaN where the rate is no proportion of independent rows."""
    if measure.name in NOT_PROPORTIONS or view.units is not None:
        unknown = np.full_like(values, np.nan)
        return unknown, unknown
    squares = view.squares
    if squares is not None and squares.groups != view.shown.groups:
        squares = squares.everyone
    return wilson(*effective(measure, view.shown, squares), level)
