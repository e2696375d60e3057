"""Downsampling (paper 001, DS; Han et al. 2022a): equally many of every group inside a class, classes in proportion."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from equipoise.foundation import treatment
from equipoise.training import Codes, TrainingRows, Treatment
from equipoise.treatments._cells import refuse_empty_cells, sample_cells


@treatment("downsampling", alias="DS", stage="pre", paper="001", origin="han2022a")
class Downsampling(Treatment):
    """Every group gets equally many rows of a class, and classes keep their ratio: floor(r n_y), r = min n_yg / n_y.

    The rows are drawn without replacement. A small class keeps one row a group where the floor would leave it none. A
    cell without rows would leave nothing of its class, so it is refused.

    Where the floor is 0 the authors' code loses the class.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")

    def choose(self, rows: TrainingRows, generator: np.random.Generator) -> Codes:
        """Draw the rows to keep."""
        refuse_empty_cells(rows, "downsampling")
        kept_counts = rows_per_group(rows.counts)
        return sample_cells(rows, np.repeat(kept_counts[:, None], len(rows.groups), axis=1), generator)


def rows_per_group(counts: Codes) -> Codes:
    """Return for each class how many rows of every group are kept, in whole numbers all through."""
    totals = counts.sum(axis=1).tolist()
    pairs = [(least, total) for least, total in zip(counts.min(axis=1).tolist(), totals, strict=True) if total]
    # r as a fraction: the smallest of n_yg / n_y, found without rounding.
    least, of = pairs[0]
    for count, total in pairs[1:]:
        if count * of < least * total:
            least, of = count, total
    return np.array([max(1, least * total // of) if total else 0 for total in totals], dtype=np.int64)
