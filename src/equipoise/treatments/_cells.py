"""Cells, a class in a group: rows drawn from them, sums of losses over them, the error for those without rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput, listing
from equipoise.training import Codes, TrainingRows

if TYPE_CHECKING:
    import torch

HELP = (
    "merge the group or the class with another, choose a condition that gives every cell rows, or a treatment that "
    "does not need them (see docs/guide/treatments.md)."
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
            help=HELP,
        )


def sample_cells(rows: TrainingRows, per_cell: Codes, generator: np.random.Generator) -> Codes:
    """Return positions, in order, of so many rows of each cell ``[class, group]``, drawn without replacement."""
    cells = rows.cell * len(rows.groups) + rows.group
    shuffled = generator.permutation(len(cells))
    arranged = shuffled[np.argsort(cells[shuffled], kind="stable")]
    sizes = rows.counts.reshape(-1)
    within = np.arange(len(cells)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(arranged[within < np.repeat(per_cell.reshape(-1), sizes)])


def sums_of_cells(
    losses: torch.Tensor, cells: torch.Tensor, number: int, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of the losses of each cell and how many it has, both ``[trial, cell]``.

    ``mask`` marks the losses that count; None: all.
    """
    nothing = losses.new_zeros(len(losses), number)
    counted = losses.new_ones(losses.shape)
    if mask is not None:
        losses, counted = losses * mask, counted * mask
    return nothing.scatter_add(1, cells, losses), nothing.scatter_add(1, cells, counted)


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
