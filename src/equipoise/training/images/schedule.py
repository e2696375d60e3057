"""How the learning rate goes through a training, from 0 (its start) to 1 (its end)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SCHEDULES = ("steps", "triangle", "cosine", "constant")
# The share of a training in which the triangle rises.
RISE = 0.2


def rates(schedule: str, peak: float, first: int, number: int, total: int, warm_up: float = 0.0) -> NDArray[np.float32]:
    """Return the rates of ``number`` steps from the step ``first`` on, of ``total`` in all.

    ``steps`` divides by ten at each quarter (paper 004: every 50 of 200 epochs); ``triangle`` rises in a line for a
    fifth of the way and falls to 0; ``cosine`` falls to 0 along half a wave. Steps after the end have the last rate.
    In the first W = round(``warm_up`` x ``total``) steps the rate rises in a line to the peak, (s + 1/2) / W of it in
    step s from 0 on; the schedule then goes through all of its way in the steps that are left.
    """
    steps = np.minimum(np.arange(first, first + number), total - 1)
    warm = min(round(warm_up * total), total - 1)
    done = np.maximum(steps - warm + 0.5, 0.0) / (total - warm)
    shapes = {
        "steps": 0.1 ** np.floor(4 * done),
        "triangle": np.minimum(done / RISE, (1 - done) / (1 - RISE)),
        "cosine": (1 + np.cos(np.pi * done)) / 2,
        "constant": np.ones_like(done),
    }
    shares = np.where(steps < warm, (steps + 0.5) / max(warm, 1), shapes[schedule])
    return (peak * shares).astype(np.float32)
