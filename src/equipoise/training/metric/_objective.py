"""How an embedding is trained: loss and miner by name, batches by class, and what is mined in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, registry, require
from equipoise.training._callback import Batch, Part, RowLosses, TrainingCallback, TrainingContext
from equipoise.training._numerics import dtype_of
from equipoise.training._preparation import PreparedJob
from equipoise.training._stack import Recipe
from equipoise.training.metric._loss import MetricLoss
from equipoise.training.metric._mining import MinedTriplets, Miner, UniformNumbers
from equipoise.training.metric._presets import make_loss, make_miner, make_sampler
from equipoise.training.metric._sampler import Sampler

if TYPE_CHECKING:
    import torch

# The word for the miner that the first preset of a loss has, or for none where the loss needs none.
USUAL = "usual"
SAMPLER = "samples_per_class"


@dataclass(frozen=True)
class MetricRecipe:
    """Rates and decays are one a trial; the rest is the same for all that train together."""

    loss: str
    miner: str | None
    embedding_size: int
    epochs: int
    batch_size: int
    per_class: int
    rates: tuple[float, ...]
    decays: tuple[float, ...]
    loss_values: Mapping[str, Any] = field(default_factory=dict)
    miner_values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> Recipe:
        """How the heads of these trials are moved, for a stack: no trial stops early."""
        return Recipe(self.epochs, self.batch_size, None, self.rates, self.decays)

    def make_loss(self) -> MetricLoss:
        """Return the loss."""
        return make_loss(self.loss, **self.loss_values)

    def make_miner(self) -> Miner | None:
        """Return the miner; None where the loss needs none."""
        return make_miner(self.miner, self.make_loss(), **self.miner_values)

    def make_sampler(self) -> Sampler:
        """Return what makes up batches."""
        return make_sampler(SAMPLER, per_class=self.per_class)


def recipe_of(trials: Sequence[PreparedJob]) -> MetricRecipe:
    """Return how trials that train together are trained, from their hyper-parameters."""
    values = trials[0].values
    return MetricRecipe(
        loss=values["loss"],
        miner=miner_of(values["loss"], values["miner"]),
        embedding_size=int(values["embedding_size"]),
        epochs=int(values["epochs"]),
        batch_size=int(values["batch_size"]),
        per_class=int(values["per_class"]),
        rates=tuple(float(trial.values["learning_rate"]) for trial in trials),
        decays=tuple(float(trial.values["weight_decay"]) for trial in trials),
        loss_values=dict(values["loss_values"] or {}),
        miner_values=dict(values["miner_values"] or {}),
    )


def miner_of(loss: str, miner: str | None) -> str | None:
    """Return the name of a miner: the one that was named, or the usual one of the loss."""
    if miner != USUAL:
        return miner
    kind: Any = registry.get("metric_loss", loss).implementation
    if kind.needs == "nothing":
        return None
    presets: list[Any] = [entry.implementation for entry in registry.entries("metric_preset")]
    # By name the first that has the loss: with distances where there are several.
    for preset in presets:
        if preset.loss == loss:
            miner_name: str | None = preset.miner
            return miner_name
    raise BadInput(f"No preset says which miner the loss {loss!r} usually has", help="name a miner.")


def check_recipe(values: Mapping[str, Any]) -> None:
    """Refuse a loss, a miner and values of theirs that do not go together."""
    for name in ("loss_values", "miner_values"):
        if not isinstance(values[name] or {}, Mapping):
            raise BadInput(f"{name} is {values[name]!r}", available='names and numbers, such as {"margin": 0.1}')
    loss = make_loss(values["loss"], **(values["loss_values"] or {}))
    make_miner(miner_of(values["loss"], values["miner"]), loss, **(values["miner_values"] or {}))


LOSS_PART = "metric loss"


class MetricObjective(TrainingCallback):
    """The callback of a metric learner: it makes up batches, mines in them and gives each trial its loss.

    Rows that treatments weigh are drawn by their weights: no row of a pair or triplet has a loss that could be weighed.
    """

    def __init__(self, recipe: MetricRecipe, trials: Sequence[PreparedJob], context: TrainingContext) -> None:
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
        return {} if self.loss.rate is None else {LOSS_PART: Part(list(self.values.values()), self.loss.rate)}

    def batches(self, epoch: int, row_losses: torch.Tensor | None) -> torch.Tensor:
        """Return the batches of an epoch, and renew the numbers that their triplets are drawn by."""
        size = self.recipe.batch_size
        batch_places = [
            self.sampler.batches(labels, size, trial.seed, epoch, trial.weights)
            for labels, trial in zip(self.labels, self.trials, strict=True)
        ]
        self.draws.begin(epoch, len(batch_places[0]), size)
        places: torch.Tensor = self.torch.from_numpy(np.stack(batch_places)).to(self.device)
        return places

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """Return the loss of each trial on what is mined in its batch, ``[trial]``."""
        return self.loss(batch.output, batch.target, self._mined(batch), self.values)

    def anchor_losses(self, batch: Batch) -> RowLosses:
        """Return the loss of each anchor that is mined, with the cell and group of its row."""
        mined = self._mined(batch)
        losses, mask = self.loss.anchor_losses(batch.output, batch.target, mined, self.values)
        cell, group = batch.cell, batch.group
        if mined is not None:
            cell, group = cell.gather(1, mined.anchors), group.gather(1, mined.anchors)
        return RowLosses(losses, cell, group, mask=mask)

    def _mined(self, batch: Batch) -> MinedTriplets | None:
        if self.miner is None:
            return None
        return self.miner(batch.output, batch.target, self.draws(None, batch.step, batch.target.shape[1]))


def metric_callback(
    recipe: MetricRecipe, trials: Sequence[PreparedJob]
) -> Callable[[TrainingContext], MetricObjective]:
    """Return what makes the callback of a metric learner, for trials that train together."""
    return lambda context: MetricObjective(recipe, trials, context)


def metric_context(recipe: MetricRecipe, trials: Sequence[PreparedJob], device: str) -> dict[str, Any]:
    """Return what callbacks see of metric learning beside what every training has."""
    return {"metric": recipe, "draws": UniformNumbers([trial.seed for trial in trials], device)}


def stored_arrays_of(
    callbacks: Sequence[TrainingCallback], trial: int, features: Mapping[str, NDArray[np.float32]]
) -> dict[str, NDArray[Any]]:
    """Return what treatments keep of a trial, as they stand now."""
    return {name: array for callback in callbacks for name, array in callback.stored_arrays(trial, features).items()}
