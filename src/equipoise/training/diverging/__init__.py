"""Where two identical runs first differ: which step, which tensor, by how much, and how the difference grew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.training.diverging._first_difference import ALL_LAYERS as ALL_LAYERS
    from equipoise.training.diverging._first_difference import Divergence as Divergence
    from equipoise.training.diverging._first_difference import Flips as Flips
    from equipoise.training.diverging._first_difference import Growth as Growth
    from equipoise.training.diverging._first_difference import first_difference as first_difference
    from equipoise.training.diverging._steppers import ModuleStepper as ModuleStepper
    from equipoise.training.diverging._steppers import ObservedTensor as ObservedTensor
    from equipoise.training.diverging._steppers import StackStepper as StackStepper
    from equipoise.training.diverging._steppers import Stepper as Stepper

_MODULES = {
    "_first_difference": ("ALL_LAYERS", "Divergence", "Flips", "Growth", "first_difference"),
    "_steppers": ("ModuleStepper", "ObservedTensor", "StackStepper", "Stepper"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
