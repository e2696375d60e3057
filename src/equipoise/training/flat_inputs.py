"""Learners that take a row of numbers refuse pictures.

Flattening them would be possible and wrong to do silently: a perceptron or a linear model of 3,072 pixels knows nothing
of neighbouring ones, and a study of it would be read as one of networks for pictures.
"""

from __future__ import annotations

from equipoise.foundation import BadInput
from equipoise.training.material import Material


def flat_width(material: Material, learner: str) -> int:
    """Return how many numbers a row has; pictures are refused."""
    shape = material.train.inputs.shape
    if len(shape) != 2:
        raise BadInput(
            f"The learner {learner!r} was given pictures ({' x '.join(map(str, shape[1:]))})",
            available="rows of numbers: it does not use which pixels are neighbours",
            help='learner = "image_network" takes pictures.',
        )
    return int(shape[1])
