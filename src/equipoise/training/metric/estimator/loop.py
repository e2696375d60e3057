"""An embedding in training by itself: its steps, and the last good state where a loss breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.training.callback import (
    EVERY_EPOCH,
    LAST,
    NETWORK,
    Batch,
    CallbackList,
    Leaves,
    Part,
    TrainingContext,
    callbacks_of,
)
from equipoise.training.images.run import only
from equipoise.training.material import Material, Settings
from equipoise.training.metric.drawing import Draws
from equipoise.training.metric.estimator.embedder import Embedder
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.metric.objective import metric_callback
from equipoise.training.plain import Losses, Plain, PlainTraining
from equipoise.training.preparing import Prepared
from equipoise.training.stacking import group_columns, linear_layers
from equipoise.training.trainer import Trainer

if TYPE_CHECKING:
    import torch

    from equipoise.training.metric.estimator.feeding import Fed

STOPPED = "{broken}: training stopped, and the values of epoch {epoch} were kept."


class Feed(Protocol):
    """What yields batches epoch by epoch, and the numbers that miners draw by."""

    @property
    def draws(self) -> Draws:
        """The numbers, by name and step."""

    def first(self) -> torch.Tensor:
        """Return a few inputs, to see what a backbone makes of them."""

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[Fed]:
        """Yield the batches of an epoch."""


class EmbedderTraining(PlainTraining):
    """An embedding in training: a stack of one trial, with the metric loss and the treatments as its callbacks."""

    def __init__(
        self, embedder: Embedder, feed: Feed, trial: Prepared, material: Material, recipe: MetricRecipe,
        settings: Settings,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Metric learning")
        self.embedder, self.feed, self.recipe, self.epochs = embedder, feed, recipe, recipe.epochs
        # The values after the last epoch whose losses were finite.
        self.kept: dict[str, torch.Tensor] = {}
        self.context = self._context(trial, material, settings)
        self.callbacks = callbacks_of([trial.treatments], lambda: self.context, metric_callback(recipe, [trial]))
        self.optimisers = {NETWORK: self._adam(Part(embedder.parameters()))}
        self.optimisers |= {name: self._adam(part) for name, part in self.callbacks.parts.items()}

    def _context(self, trial: Prepared, material: Material, settings: Settings) -> TrainingContext:
        """Return what callbacks see."""
        assert material.train.target is not None
        assert material.train.group is not None
        target, group = (
            self.torch.from_numpy(codes[trial.rows])[None].to(settings.device)
            for codes in (material.train.target, material.train.group)
        )
        return TrainingContext(
            seeds=(trial.seed,),
            width=self.recipe.embedding_size,
            classes=material.classes,
            groups=material.groups,
            target=target,
            cell=target,
            group=group,
            batch_size=self.recipe.batch_size,
            settings=settings,
            linear=linear_layers((trial.seed,), settings),
            layer=self._shape_of,
            features=self.embedder.head.in_features,
            epochs=self.recipe.epochs,
            metric=self.recipe,
            draws=self.feed.draws,
            **group_columns(material, [trial], settings),
        )

    def _shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a layer for one row; one other than the embedding is put into every batch from now on."""
        return (self.recipe.embedding_size,) if name == LAST else self.embedder.show(name, self.feed.first())

    def _adam(self, part: Part) -> torch.optim.Optimizer:
        """Return what moves a part: at its own rate, or as the network is moved."""
        rate, decay = (self.recipe.rates, self.recipe.decays) if part.rate is None else (part.rate, part.decay)
        made: torch.optim.Optimizer = self.torch.optim.Adam(list(part.tensors), lr=only(rate), weight_decay=only(decay))
        return made

    def steps(self, epoch: int) -> Iterator[Losses]:
        """Take the steps of an epoch (they count from 1)."""
        self.embedder.training(True)
        self.callbacks.begin(epoch)
        phase, place = self.callbacks.phase(epoch), -1
        for place, fed in enumerate(self.feed.batches(epoch, self.callbacks)):
            yield {"loss": self.step(fed, place, phase)}
        if place < 0:
            raise BadInput("The data loader returned no batch", available="at least one batch of (inputs, labels)")

    def keep(self, epoch: int, losses: Mapping[str, float]) -> None:
        """Remember the values."""
        self.kept = {name: value.clone() for name, value in self.embedder.state().items()}

    def step(self, fed: Fed, place: int = 0, phase: str = EVERY_EPOCH) -> torch.Tensor:
        """Move everything that moves in a phase by one batch, as often as callbacks take each; return the loss."""
        return [self._step(fed, place, phase, repeat) for repeat in range(self.callbacks.repeats)][-1]

    def _step(self, fed: Fed, place: int, phase: str, repeat: int) -> torch.Tensor:
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        batch = self._batch(fed, place, phase, repeat)
        parts = {name: part.tensors for name, part in self.callbacks.parts.items()}
        leaves = Leaves({NETWORK: self.embedder.parameters(), **parts}, lone={NETWORK})
        return self.callbacks.descend(phase, batch, leaves, self.optimisers).sum()

    def _batch(self, fed: Fed, place: int, phase: str, repeat: int) -> Batch:
        """Return a batch as callbacks see it; rows that nothing places have no group."""
        group = self.context.group[0][fed.places.clamp_min(0)].masked_fill(fed.places < 0, -1)
        # Where the network rests, no gradient goes back through it.
        with nullcontext() if NETWORK in self.callbacks.moved(phase) else self.torch.no_grad():
            features = self.embedder.features(fed.inputs)
            embedding = self.embedder.embedding(features)[None]
        labels = fed.labels[None]
        layers = {name: layer[None] for name, layer in self.embedder.shown.items()}
        return Batch(
            fed.places[None], labels, labels, group[None], None, embedding, embedding, None, features[None], place,
            layers, repeat,
        )  # fmt: skip


def trained(training: EmbedderTraining) -> tuple[list[float], str | None]:
    """Train for all epochs; return the mean loss of each, and in words where and why it ended before.

    Where a loss is not finite the values of the epoch before come back; in the first epoch there are none, and it is an
    error.
    """
    trainer = Trainer(Plain([training]))
    trainer.run()
    (standing,) = trainer.standings
    history = [epoch.loss for epoch in standing.history]
    if standing.broken is None:
        return history, None
    if not history:
        raise BadInput(standing.broken, help="a lower learning_rate may help, or inputs of a smaller scale.")
    with training.torch.no_grad():
        training.embedder.restore(training.kept)
    return history, STOPPED.format(broken=standing.broken, epoch=len(history))
