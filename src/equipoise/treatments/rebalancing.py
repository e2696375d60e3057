"""Rebalancing to a ratio (paper 004, C-R and I-R; Wang et al. 2019): rows of much larger groups are dropped."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from equipoise.foundation import treatment
from equipoise.training import Codes, Parameter, Table, TrainingRows, Treatment
from equipoise.treatments._cells import refuse_empty_cells, sample_cells


@treatment("rebalancing", alias="C-R", stage="pre", paper="004", origin="wang2019")
class Rebalancing(Treatment):
    """Inside a class every group keeps at most ``ratio`` times as many rows as the smallest group has.

    The rows to keep are drawn without replacement; groups within the ratio lose none. A cell without rows would leave
    nothing of its class, so it is refused.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    parameters: ClassVar[Table] = {
        "ratio": Parameter("how many times as many rows as the smallest group a group may have", 1, least=1, low=1,
                           high=3, scale="linear", integer=True),
    }  # fmt: skip

    def choose(self, rows: TrainingRows, generator: np.random.Generator) -> Codes:
        """Draw the rows to keep."""
        refuse_empty_cells(rows, "rebalancing")
        counts = rows.counts
        most = int(self.values["ratio"]) * counts.min(axis=1, keepdims=True)
        return sample_cells(rows, np.minimum(counts, most), generator)
