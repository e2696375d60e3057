"""Distributions of the training data: what share of it each class and group gets, and which rows make it up.

``interpolate(counts, mode, alpha)`` is the plain function; a condition is registered under its name (``equipoise list
conditions``) and has ``probabilities(counts)``; ``apply(condition, cohort, seed)`` draws the rows. Only the training
split ever changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.conditions._as_given import AsGiven as AsGiven
    from equipoise.conditions._composition import ClassRatio as ClassRatio
    from equipoise.conditions._composition import Stereotyping as Stereotyping
    from equipoise.conditions._condition import Condition as Condition
    from equipoise.conditions._condition import SeededCondition as SeededCondition
    from equipoise.conditions._condition import TrainingCells as TrainingCells
    from equipoise.conditions._condition import apply as apply
    from equipoise.conditions._condition import by_class as by_class
    from equipoise.conditions._condition import draw_training as draw_training
    from equipoise.conditions._condition import feasibility as feasibility
    from equipoise.conditions._condition import for_seed as for_seed
    from equipoise.conditions._condition import make_condition as make_condition
    from equipoise.conditions._condition import partition_of as partition_of
    from equipoise.conditions._condition import remarks_of as remarks_of
    from equipoise.conditions._condition import settings_of as settings_of
    from equipoise.conditions._condition import sizing_shares as sizing_shares
    from equipoise.conditions._interpolation import ALIASES as ALIASES
    from equipoise.conditions._interpolation import Interpolation as Interpolation
    from equipoise.conditions._interpolation import interpolate as interpolate
    from equipoise.conditions._minoritised import Minoritised as Minoritised
    from equipoise.conditions._sampling import Cell as Cell
    from equipoise.conditions._sampling import Draw as Draw
    from equipoise.conditions._sampling import Feasibility as Feasibility
    from equipoise.conditions._sampling import apportion as apportion
    from equipoise.conditions._sampling import draw as draw
    from equipoise.conditions._sampling import feasibility_of as feasibility_of
    from equipoise.conditions._sampling import largest_size as largest_size
    from equipoise.conditions._sampling import shares_of as shares_of

_MODULES = {
    "_condition": (
        "Condition", "SeededCondition", "TrainingCells", "apply", "by_class", "draw_training", "feasibility",
        "for_seed", "make_condition", "partition_of", "remarks_of", "settings_of", "sizing_shares",
    ),
    "_sampling": ("Cell", "Draw", "Feasibility", "apportion", "draw", "feasibility_of", "largest_size", "shares_of"),
    "_as_given": ("AsGiven",),
    "_composition": ("ClassRatio", "Stereotyping"),
    "_interpolation": ("ALIASES", "Interpolation", "interpolate"),
    "_minoritised": ("Minoritised",),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
