"""Training rows re-balanced so that every class x group weighs the same: by repeating, by leaving out, by weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.splits import Codes
from equipoise.foundation.errors import BadInput

Floats = NDArray[np.float64]
Rebalance = Literal["up", "down", "weights"]

WORDS: dict[str, str] = {
    "up": "re-balanced by up-sampling",
    "down": "re-balanced by down-sampling",
    "weights": "re-balanced by weights",
}


def rebalancing(given: bool | str) -> Rebalance | None:
    """Return the way to re-balance: True is ``"up"``, which every learner can take and which loses nobody."""
    if given is False:
        return None
    if given is True or given == "up":
        return "up"
    if given == "down":
        return "down"
    if given == "weights":
        return "weights"
    raise BadInput(f"rebalance was {given!r}", available="False, True (the same as 'up'), 'up', 'down', 'weights'")


def rebalanced(cells: Codes, way: Rebalance, generator: np.random.Generator) -> tuple[Codes, Floats | None]:
    """Return places into ``cells`` (a class x group each) to train on, with weights where rows are weighted.

    Up: every row, and random repeats until each cell is as large as the largest. Down: a random part of each cell, as
    large as the smallest. A cell without rows stays without.
    """
    _, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    if way == "weights":
        return np.arange(len(cells)), len(cells) / (len(sizes) * sizes[codes])
    parts = []
    for cell in range(len(sizes)):
        rows = np.flatnonzero(codes == cell)
        if way == "down":
            parts.append(generator.choice(rows, int(sizes.min()), replace=False))
        else:
            parts += [rows, generator.choice(rows, int(sizes.max() - sizes[cell]), replace=True)]
    return np.sort(np.concatenate(parts)).astype(np.int64), None
