"""Distributions of the training data: what share of it each class and group gets, and which rows make it up.

``interpolate(counts, mode, alpha)`` is the plain function; a condition is registered under its name (``equipoise list
conditions``) and has ``probabilities(counts)``; ``apply(condition, cohort, seed)`` draws the rows. Only the training
split ever changes.
"""

from __future__ import annotations

from equipoise.conditions._condition import (
    Condition,
    SeededCondition,
    TrainingCells,
    apply,
    by_class,
    draw_training,
    feasibility,
    for_seed,
    make_condition,
    partition_of,
    remarks_of,
    settings_of,
    sizing_shares,
)
from equipoise.conditions._sampling import (
    Cell,
    Draw,
    Feasibility,
    apportion,
    draw,
    feasibility_of,
    largest_size,
    shares_of,
)
from equipoise.conditions.as_given import AsGiven
from equipoise.conditions.composition import ClassRatio, Stereotyping
from equipoise.conditions.interpolation import ALIASES, Interpolation, interpolate
from equipoise.conditions.minoritised import Minoritised

__all__ = [
    "ALIASES",
    "AsGiven",
    "Cell",
    "ClassRatio",
    "Condition",
    "Draw",
    "Feasibility",
    "Interpolation",
    "Minoritised",
    "SeededCondition",
    "Stereotyping",
    "TrainingCells",
    "apply",
    "apportion",
    "by_class",
    "draw",
    "draw_training",
    "feasibility",
    "feasibility_of",
    "for_seed",
    "interpolate",
    "largest_size",
    "make_condition",
    "partition_of",
    "remarks_of",
    "settings_of",
    "shares_of",
    "sizing_shares",
]
