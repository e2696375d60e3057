"""Cells, a class in a group: their names, and the error for those without training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.foundation.errors import BadInput, listing
from equipoise.training.treatment import TrainingRows

WAY_OUT = (
    "merge the group or the class with another, choose a condition that gives every cell rows, or a treatment that "
    "does not need them (see docs/treatments.md)."
)


def refuse_empty_cells(rows: TrainingRows, treatment: str) -> None:
    """Refuse training rows that lack a group in a class; a class that nobody has is no matter."""
    counts = rows.counts
    empty = (counts == 0) & (counts.sum(axis=1, keepdims=True) > 0)
    if empty.any():
        names = listing(f"{rows.classes[c]} / {rows.groups[g]}" for c, g in np.argwhere(empty).tolist())
        raise BadInput(
            f"The treatment {treatment} has no training rows of {names} (class / group)",
            available="at least one training row of every group in every class",
            help=WAY_OUT,
        )


def in_common(trials: Sequence[Any], name: str) -> Any:
    """Return a choice that trials which train together share."""
    values = {trial.values[name] for trial in trials}
    if len(values) != 1:
        raise BadInput(
            f"Trials that train together have {name} = {listing(sorted(map(str, values)))}",
            available="one value for all of them",
            help="train them separately.",
        )
    return values.pop()
