"""FairBatch (paper 001; Roh et al. 2021): batches take more of the group that is fitted worst, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.conditions import apportion
from equipoise.foundation import require, stream, treatment
from equipoise.training import Codes, Need, Parameter, Table, TrainingCallback, TrainingContext, Treatment

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]


@treatment("fairbatch", alias="FairBatch", stage="in", paper="001", origin="roh2021", extra="train")
class FairBatch(Treatment):
    """Before each epoch the group of a class whose loss lies furthest from the class's gets more of the batch, or less.

    Its share of the class moves by ``step`` (up where its loss is above the class's, down where it is below), and the
    other groups share the opposite; where a share falls below 0 all are raised by what is missing; then they are
    divided by their sum. A batch has its classes in the ratio of the data. A group without rows in a class has no share
    of it, and the others are moved among themselves; in a class of one group nothing moves.

    A batch of B rows has about B n_y / N times the share of every cell, in whole numbers that sum to B. The authors'
    code stops at a cell of 0 or 1 rows, hence no results of the paper at alpha 1.75 and 2; in a regression it compares
    predictions with the numbers of bins.
    """

    not_for_labels: ClassVar[str] = "it compares groups inside a class, and rows with several labels have no class"
    requires: ClassVar[frozenset[Need]] = frozenset({Need.BATCHES, Need.ROW_LOSSES})
    parameters: ClassVar[Table] = {
        "step": Parameter("how far a share moves in an epoch, alpha", 0.1, least=0, low=1e-3, high=1e1)
    }

    @classmethod
    def during(cls, trials: Sequence[FairBatch], context: TrainingContext) -> FairBatches:
        """Return what deals out the trials' batches."""
        return FairBatches([trial.values["step"] for trial in trials], context)


class FairBatches(TrainingCallback):
    """Deals out the rows of every trial by its shares ``[trial, class, group]``, a group's share of its class.

    Batches have all the same size, so cells are rounded by largest remainder (the authors round each by itself). The
    rows of a cell come in random order, and begin anew where they end.
    """

    needs_row_losses = True

    def __init__(self, steps: Sequence[float], context: TrainingContext) -> None:
        self._torch: Any = require("torch", extra="train", purpose="FairBatch")
        self._device = context.cell.device
        self.steps = np.asarray(steps, dtype=np.float64)
        self.seeds = np.asarray(context.seeds, dtype=object)
        self.cells: Codes = (context.cell * len(context.groups) + context.group).cpu().numpy()
        rows = self.cells.shape[1]
        self.size = min(context.batch_size, rows)
        self.number = rows // self.size
        shape = (len(context.classes), len(context.groups))
        counted = [np.bincount(cells, minlength=shape[0] * shape[1]) for cells in self.cells]
        self.counts: Codes = np.stack(counted).reshape(-1, *shape)
        self.shares = self.counts / np.maximum(self.counts.sum(axis=2, keepdims=True), 1)

    def batches(self, epoch: int, row_losses: torch.Tensor | None) -> torch.Tensor:
        """Move the shares by what the rows lose now, and deal out the epoch's batches."""
        assert row_losses is not None
        losses = row_losses.detach().cpu().numpy().astype(np.float64)
        for trial, (cells, counts, step) in enumerate(zip(self.cells, self.counts, self.steps, strict=True)):
            sums = np.bincount(cells, weights=losses[trial], minlength=counts.size).reshape(counts.shape)
            self.shares[trial] = moved_shares(self.shares[trial], sums, counts, float(step))
        dealt = [
            self._dealt(trial, stream(seed, "fairbatch", epoch).permutation(len(self.cells[trial])))
            for trial, seed in enumerate(self.seeds.tolist())
        ]
        places: torch.Tensor = self._torch.from_numpy(np.stack(dealt)).to(self._device)
        return places

    def _dealt(self, trial: int, shuffled: Codes) -> Codes:
        """Return the batches of a trial, ``[batch, row]``."""
        counts = self.counts[trial]
        shares = self.shares[trial] * counts.sum(axis=1, keepdims=True) / counts.sum()
        sizes = apportion(shares, self.size).reshape(-1)
        arranged = shuffled[np.argsort(self.cells[trial][shuffled], kind="stable")]
        parts = np.split(arranged, np.cumsum(counts.reshape(-1))[:-1])
        row_parts = [
            np.resize(part, (self.number, size)) for part, size in zip(parts, sizes.tolist(), strict=True) if size
        ]
        return np.concatenate(row_parts, axis=1)

    def select_trials(self, trials: torch.Tensor) -> None:
        """Go on with these trials."""
        places = trials.cpu().numpy()
        self.steps, self.seeds, self.cells = self.steps[places], self.seeds[places], self.cells[places]
        self.counts, self.shares = self.counts[places], self.shares[places]

    def state(self) -> dict[str, torch.Tensor]:
        """Return the shares."""
        return {"shares": self._torch.from_numpy(self.shares)}


def moved_shares(shares: Floats, sums: Floats, counts: Codes, step: float) -> Floats:
    """Return the next epoch's shares ``[class, group]``, from the sums of losses and the number of rows in cells."""
    moved = shares.copy()
    for index, (present, total) in enumerate(zip(counts > 0, counts.sum(axis=1), strict=True)):
        if present.sum() < 2:
            continue
        gaps = sums[index, present] / counts[index, present] - sums[index].sum() / total
        # The last of several that lie equally far, as in the authors' code.
        furthest = len(gaps) - 1 - int(np.argmax(np.abs(gaps[::-1])))
        change = np.full(len(gaps), -step / (len(gaps) - 1))
        change[furthest] = step
        new = moved[index, present] + np.sign(gaps[furthest]) * change
        new -= min(float(new.min()), 0.0)
        moved[index, present] = new / new.sum()
    return moved
