"""What an embedding is trained by: batches by class, triplets or pairs that are mined, and the loss on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import require
from equipoise.training.callback import Batch, Part, RowLosses, TrainingCallback, TrainingContext
from equipoise.training.metric.drawing import Draws
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.metric.miner import Mined
from equipoise.training.precision import dtype_of
from equipoise.training.preparing import Prepared

if TYPE_CHECKING:
    import torch

OWN = "metric loss"


class MetricObjective(TrainingCallback):
    """The callback of a metric learner: it makes up batches, mines in them and gives each trial its loss.

    Rows that treatments weigh are drawn by their weights: no row of a pair or triplet has a loss that could be weighed.
    """

    def __init__(self, recipe: MetricRecipe, trials: Sequence[Prepared], context: TrainingContext) -> None:
        self.torch = require("torch", extra="train", purpose="Metric learning")
        assert context.draws is not None
        self.recipe, self.trials, self.draws = recipe, trials, context.draws
        self.loss, self.miner, self.sampler = recipe.make_loss(), recipe.make_miner(), recipe.make_sampler()
        self.labels = context.target.cpu().numpy()
        kind = str(dtype_of(context.settings)).removeprefix("torch.")
        self.values = self.loss.start(
            list(context.seeds), len(context.classes), recipe.embedding_size, dtype=kind, device=context.settings.device
        )
        self.device = context.settings.device

    def parts(self) -> Mapping[str, Part]:
        """Return what the loss itself learns, such as the proxies of classes."""
        return {} if self.loss.rate is None else {OWN: Part(list(self.values.values()), self.loss.rate)}

    def batches(self, epoch: int, row_losses: torch.Tensor | None) -> torch.Tensor:
        """Return the batches of an epoch, and renew the numbers that their triplets are drawn by."""
        size = self.recipe.batch_size
        drawn = [
            self.sampler.batches(labels, size, trial.seed, epoch, trial.weights)
            for labels, trial in zip(self.labels, self.trials, strict=True)
        ]
        self.draws.begin(epoch, len(drawn[0]), size)
        places: torch.Tensor = self.torch.from_numpy(np.stack(drawn)).to(self.device)
        return places

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """Return the loss of each trial on what is mined in its batch, ``[trial]``."""
        return self.loss(batch.output, batch.target, self._mined(batch), self.values)

    def anchor_losses(self, batch: Batch) -> RowLosses:
        """Return the loss of each anchor that is mined, with the cell and group of its row."""
        mined = self._mined(batch)
        losses, there = self.loss.anchor_losses(batch.output, batch.target, mined, self.values)
        cell, group = batch.cell, batch.group
        if mined is not None:
            cell, group = cell.gather(1, mined.anchors), group.gather(1, mined.anchors)
        return RowLosses(losses, cell, group, there=there)

    def _mined(self, batch: Batch) -> Mined | None:
        if self.miner is None:
            return None
        return self.miner(batch.output, batch.target, self.draws(None, batch.step, batch.target.shape[1]))


def metric_callback(recipe: MetricRecipe, trials: Sequence[Prepared]) -> Callable[[TrainingContext], MetricObjective]:
    """Return what makes the callback of a metric learner, for trials that train together."""
    return lambda context: MetricObjective(recipe, trials, context)


def metric_context(recipe: MetricRecipe, trials: Sequence[Prepared], device: str) -> dict[str, Any]:
    """Return what callbacks see of metric learning beside what every training has."""
    return {"metric": recipe, "draws": Draws([trial.seed for trial in trials], device)}


def kept_by(
    callbacks: Sequence[TrainingCallback], trial: int, features: Mapping[str, NDArray[np.float32]]
) -> dict[str, NDArray[Any]]:
    """Return what treatments keep of a trial, as they stand now."""
    return {name: array for callback in callbacks for name, array in callback.kept(trial, features).items()}
