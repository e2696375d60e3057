"""Distributions of the training data: what share of it each class and group gets, and which rows make it up.

``interpolate(counts, mode, alpha)`` is the plain function; a condition is registered under its name (``equipoise list
conditions``) and has ``probabilities(counts)``; ``apply(condition, cohort, seed)`` draws the rows. Only the training
split ever changes.
"""

from __future__ import annotations

from equipoise.conditions.applying import apply, draw_training, feasibility
from equipoise.conditions.as_given import AsGiven
from equipoise.conditions.class_ratio import ClassRatio
from equipoise.conditions.condition import Condition, for_seed, make_condition, partition_of, settings_of
from equipoise.conditions.feasible import Cell, Feasibility
from equipoise.conditions.interpolate import interpolate
from equipoise.conditions.interpolation import Interpolation
from equipoise.conditions.minoritised import Minoritised
from equipoise.conditions.sampling import Draw, apportion, draw, largest_size
from equipoise.conditions.stereotyping import Stereotyping

__all__ = [
    "AsGiven",
    "Cell",
    "ClassRatio",
    "Condition",
    "Draw",
    "Feasibility",
    "Interpolation",
    "Minoritised",
    "Stereotyping",
    "apply",
    "apportion",
    "draw",
    "draw_training",
    "feasibility",
    "for_seed",
    "interpolate",
    "largest_size",
    "make_condition",
    "partition_of",
    "settings_of",
]
