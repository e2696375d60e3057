"""What a network loses by treating cells differently: how far each cell's loss is from its class's, or from all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from equipoise.foundation.imports import require
from equipoise.training.parameters import Choice, Parameter, Table
from equipoise.training.treatment import Batch, DuringTraining, StackContext
from equipoise.treatments.cells import in_common

if TYPE_CHECKING:
    import torch

PARAMETERS: Table = {
    "strength": Parameter("weight of the differences, lambda", 0.1, least=0, low=1e-3, high=1e1),
    "variant": Choice(
        "the paper's |L_yg - L|, or the authors' signed sum of L_yg (\"authors\")", "paper", ("paper", "authors")
    ),
}


class LossDifferences(DuringTraining):
    """Adds strength * sum over the batch's cells of |L_yg - L_y| (or of |L_yg - L|) to each trial's loss.

    L_yg is the mean loss of the batch's rows of class y and group g; classes of a regression are quarters. The authors
    add sign(L_yg - L_y) L_yg instead. A cell without rows in the batch adds nothing.
    """

    def __init__(self, trials: Sequence[Any], context: StackContext, to: Literal["class", "everyone"]) -> None:
        library: Any = require("torch", extra="train", purpose="A penalty on differences of losses")
        dtype = library.float64 if context.settings.precision == "float64" else library.float32
        self.strengths: torch.Tensor = library.tensor(
            [trial.values["strength"] for trial in trials], dtype=dtype, device=context.group.device
        )
        self.signed = in_common(trials, "variant") == "authors"
        self.shape = (len(context.classes), len(context.groups))
        self.to = to

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return the weighted sum of differences, ``[trial]``."""
        cells = batch.cell * self.shape[1] + batch.group
        nothing = batch.loss.new_zeros(len(batch.loss), self.shape[0] * self.shape[1])
        sums = nothing.scatter_add(1, cells, batch.loss).reshape(-1, *self.shape)
        counts = nothing.scatter_add(1, cells, batch.loss.new_ones(batch.loss.shape)).reshape(-1, *self.shape)
        means = sums / counts.clamp(min=1)
        if self.to == "class":
            middle = sums.sum(dim=2, keepdim=True) / counts.sum(dim=2, keepdim=True).clamp(min=1)
        else:
            middle = batch.loss.mean(dim=1)[:, None, None]
        apart = means - middle
        terms = apart.detach().sign() * means if self.signed else apart.abs()
        penalty: torch.Tensor = self.strengths * (terms * (counts > 0)).sum(dim=(1, 2))
        return penalty

    def keep(self, trials: torch.Tensor) -> None:
        """Go on with the strengths of these trials."""
        self.strengths = self.strengths[trials]
