"""A race among restarts: at a few points of a search the half that is behind drops out.

Most restarts are known to lose long before the end. With 16 of them a race costs 2.6 whole searches instead of 16; the
one that is left has then been through every step, as without a race. All see the same latents, so their losses can be
compared step by step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.hyperplane import Floats

# The last two part after this share of the steps, the four before them after half of it, and so on.
LAST = 0.4
# So much of the stretch since the halving before counts: what a restart did at first says little.
LATELY = 0.25


def halvings(restarts: int, steps: int) -> dict[int, int]:
    """Return how many restarts go on after how many steps; halvings that would fall on one step become one."""
    rounds = math.ceil(math.log2(restarts))
    after = {max(1, round(LAST * steps / 2 ** (rounds - number))): number for number in range(1, rounds + 1)}
    return {step: math.ceil(restarts / 2**number) for step, number in after.items() if step < steps}


def ahead(losses: Floats, number: int) -> NDArray[np.intp]:
    """Return the places of so many restarts, those with the lowest losses ``[restart, step]`` of late, in order."""
    lately = losses[:, -max(1, round(LATELY * losses.shape[1])) :].mean(axis=1)
    return np.sort(np.argsort(lately, kind="stable")[:number])


def cost(restarts: int, steps: int) -> int:
    """Return how many steps all restarts of a race take together."""
    taken, done, running = 0, 0, restarts
    for step, left in halvings(restarts, steps).items():
        taken, done, running = taken + (step - done) * running, step, left
    return taken + (steps - done) * running
