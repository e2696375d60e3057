"""Reweighting (paper 001, RW; Han et al. 2022a): rows of small cells weigh more, so that all cells weigh the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import treatment
from equipoise.training import Choice, Table, TrainingRows, Treatment


@treatment("reweighting", alias="RW", stage="pre", paper="001", origin="han2022a")
class Reweighting(Treatment):
    """Rows are weighted by the inverse of their cell's share: N / (CG n_yg), or n_y / (G n_yg) inside each class.

    The weights have the mean 1 and multiply the loss, which is averaged over rows. Cells without rows do not count: CG
    is how many cells have any, and G how many groups a class has.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    parameters: ClassVar[Table] = {
        "balance": Choice(
            "what weighs the same: all cells (the paper), or the groups inside a class (the authors' scripts)",
            "joint", ("joint", "stratified_y"),
        )
    }  # fmt: skip

    def weigh(self, rows: TrainingRows) -> NDArray[np.float64]:
        """Return the weight of every row."""
        counts = rows.counts.astype(np.float64)
        present = counts > 0
        if self.values["balance"] == "joint":
            shared = np.broadcast_to(counts.sum() / present.sum(), counts.shape)
        else:
            shared = counts.sum(axis=1, keepdims=True) / np.maximum(present.sum(axis=1, keepdims=True), 1)
        weights = np.divide(shared, counts, out=np.zeros_like(counts), where=present)
        return np.asarray(weights[rows.cell, rows.group])
