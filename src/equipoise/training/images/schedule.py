"""How the learning rate goes through a training, from 0 (its start) to 1 (its end)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SCHEDULES = ("steps", "triangle", "cosine", "constant")
# The share of a training in which the triangle rises.
RISE = 0.2


def rates(schedule: str, peak: float, first: int, number: int, total: int) -> NDArray[np.float32]:
    """Return the rates of ``number`` steps from the step ``first`` on, of ``total`` in all.

    ``steps`` divides by ten at each quarter (paper 004: every 50 of 200 epochs); ``triangle`` rises in a line for a
    fifth of the way and falls to 0; ``cosine`` falls to 0 along half a wave. Steps after the end have the last rate.
    """
    done = (np.minimum(np.arange(first, first + number), total - 1) + 0.5) / total
    shapes = {
        "steps": 0.1 ** np.floor(4 * done),
        "triangle": np.minimum(done / RISE, (1 - done) / (1 - RISE)),
        "cosine": (1 + np.cos(np.pi * done)) / 2,
        "constant": np.ones_like(done),
    }
    return (peak * shapes[schedule]).astype(np.float32)
