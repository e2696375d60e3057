"""Oversampling (paper 004, S-RS; Wang et al. 2020): rows of small cells are repeated, a whole number of times."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from equipoise.foundation import treatment
from equipoise.training import Choice, Codes, Table, TrainingRows, Treatment


@treatment("oversampling", alias="S-RS", stage="pre", paper="004")
class Oversampling(Treatment):
    """Every row of a cell stands floor(n_y* / n_yg) times in the training rows, n_y* the largest cell of its class.

    Nothing is drawn: at 95 to 5 each row of a small cell stands there 19 times. ``joint`` repeats up to the largest
    cell of all. A cell without rows is no matter: there is nothing to repeat.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    parameters: ClassVar[Table] = {
        "balance": Choice(
            "up to which cell rows are repeated: the largest of their class (the paper), or the largest of all",
            "within_class", ("within_class", "joint"),
        )
    }  # fmt: skip

    def choose(self, rows: TrainingRows, generator: np.random.Generator) -> Codes:
        """Return every row as often as it is to stand there, copies side by side."""
        counts = rows.counts
        axis = 1 if self.values["balance"] == "within_class" else None
        times = counts.max(axis=axis, keepdims=True) // np.maximum(counts, 1)
        return np.repeat(np.arange(len(rows.cell)), times[rows.cell, rows.group])
