"""An embedding in training by itself: what it is fed with, its steps, and the last good state where a loss breaks.

It is fed with batches by class out of arrays or pictures, or with those of a data loader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing, require, stream
from equipoise.training._callback import (
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
from equipoise.training._dataset import Codes, EncodedDataset, Settings
from equipoise.training._plain import Losses, Plain, PlainTraining
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import copies_of
from equipoise.training._stack import context_of
from equipoise.training._trainer import Trainer
from equipoise.training.images._pictures import Crop, Pictures, View, shifted
from equipoise.training.images._run import only
from equipoise.training.metric._embedder import Embedder
from equipoise.training.metric._mining import ROWS, UniformNumbers
from equipoise.training.metric._objective import MetricRecipe, metric_callback

if TYPE_CHECKING:
    import torch

STOPPED = "{broken}: training stopped, and the values of epoch {epoch} were kept."


@dataclass(frozen=True, eq=False)
class FeedBatch:
    """One batch on the device: inputs, class codes, and places in the training rows (-1 where nothing says them)."""

    inputs: torch.Tensor
    labels: torch.Tensor
    positions: torch.Tensor


class Feed(Protocol):
    """What yields batches epoch by epoch, and the numbers that miners draw by."""

    @property
    def draws(self) -> UniformNumbers:
        """The numbers, by name and step."""

    def first(self) -> torch.Tensor:
        """Return a few inputs, to see what a backbone makes of them."""

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[FeedBatch]:
        """Yield the batches of an epoch."""


class LoaderDraws(UniformNumbers):
    """Numbers for batches of any size, each from a stream of its own: a loader does not say how many there will be."""

    def __init__(self, seed: int, device: str) -> None:
        super().__init__([seed], device)
        self.seed, self.device, self.epoch = seed, device, 1

    def begin(self, epoch: int, steps: int, batch_size: int) -> None:
        """Go on to another epoch."""
        self.epoch = epoch

    def __call__(self, name: str | None, step: Any, rows: int) -> torch.Tensor:
        """Return the numbers of a step, ``[1, 2, sample]``."""
        library = require("torch", extra="train", purpose="Metric learning")
        names = ("mining", self.epoch, step) if name is None else ("mining", self.epoch, step, name)
        tensor: torch.Tensor = library.from_numpy(stream(self.seed, *names).random((1, ROWS, rows)))
        return tensor.to(self.device)


class ArrayFeed:
    """Rows ``[row, ...]`` that are all there: callbacks make up the batches, the same for the same seed."""

    def __init__(self, inputs: torch.Tensor, labels: Codes, rows: Codes, seed: int, device: str) -> None:
        self.inputs, self.labels, self.rows = inputs, labels[rows], rows
        self.seed, self.device = seed, device
        self.draws = UniformNumbers([seed], device)

    def first(self) -> torch.Tensor:
        """Return a few inputs, to see what a backbone makes of them."""
        return self.inputs[:2].to(self.device)

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[FeedBatch]:
        """Yield the batches of an epoch (they count from 1)."""
        library = require("torch", extra="train", purpose="Metric learning")
        arranged = callbacks.batches(epoch, _no_row_losses)
        assert arranged is not None, "a metric loss makes up its batches"
        for positions in arranged[0].cpu().numpy():
            labels, places = (
                library.from_numpy(codes).to(self.device) for codes in (self.labels[positions], positions)
            )
            yield FeedBatch(self.inputs_at(self.rows[positions], positions, epoch), labels, places)

    def inputs_at(self, rows: Codes, positions: Codes, epoch: int) -> torch.Tensor:
        """Return the inputs of some rows."""
        library = require("torch", extra="train", purpose="Metric learning")
        return self.inputs[library.from_numpy(rows)].to(self.device)


class ShiftedFeed(ArrayFeed):
    """Pictures ``[row, channel, height, width]`` for a network of one's own, changed at random."""

    def __init__(
        self, inputs: torch.Tensor, labels: Codes, rows: Codes, seed: int, device: str,
        *, augmentation: bool | str = True,
    ) -> None:  # fmt: skip
        super().__init__(inputs, labels, rows, seed, device)
        self._view = View(int(inputs.shape[2]), int(inputs.shape[3]), augmentation)
        library = require("torch", extra="train", purpose="Metric learning")
        self._ids, self._copies = (library.from_numpy(codes).to(device) for codes in (rows, copies_of(rows)))
        self._crop, self._box, self._epoch = Crop.plain(self._ids), self._view.middle(self._ids), 0

    def inputs_at(self, rows: Codes, positions: Codes, epoch: int) -> torch.Tensor:
        """Return pictures of some rows as they are shown in an epoch: the same for the same seed."""
        library = require("torch", extra="train", purpose="Metric learning")
        if epoch != self._epoch:
            keys = (self.seed, epoch, self._ids, self._copies)
            self._crop, self._box, self._epoch = self._view.crop(*keys), self._view.box(*keys), epoch
        place_tensor = library.from_numpy(positions).to(self.device)
        cut_rows = self.cut(rows, self._crop.of(place_tensor))
        # Pictures of whole numbers stay so where nothing is interpolated.
        kind = cut_rows.dtype if cut_rows.is_floating_point() else library.float32
        return self._view.resized(cut_rows, self._box.of(place_tensor), kind) if self._view.resizes else cut_rows

    def cut(self, rows: Codes, crop: Crop) -> torch.Tensor:
        """Return the pictures of some rows, shifted and mirrored."""
        return shifted(super().inputs_at(rows, rows, 0), crop)


class PictureFeed(ShiftedFeed):
    """Pictures as bytes on the device, changed at random where that is asked for."""

    def __init__(
        self, pictures: NDArray[np.uint8], labels: Codes, rows: Codes, seed: int, device: str,
        *, augmentation: bool | str,
    ) -> None:  # fmt: skip
        self.pictures = Pictures(pictures, device)
        inputs = self.pictures.torch.from_numpy(pictures).permute(0, 3, 1, 2)
        super().__init__(inputs, labels, rows, seed, device, augmentation=augmentation)

    def cut(self, rows: Codes, crop: Crop) -> torch.Tensor:
        """Return the pictures of some rows, shifted and mirrored."""
        return self.pictures.crops(self.pictures.torch.from_numpy(rows).to(self.device), crop)


class LoaderFeed:
    """A data loader that yields (inputs, labels): its batches are taken as they come."""

    def __init__(self, loader: Iterable[Any], classes: NDArray[Any], seed: int, device: str, dtype: torch.dtype):
        self.loader, self.device, self.dtype = loader, device, dtype
        self.classes = classes
        self.draws = LoaderDraws(seed, device)

    def first(self) -> torch.Tensor:
        """Return the first inputs, to see what a backbone makes of them."""
        inputs, _ = pair_of(next(iter(self.loader)))
        return ready(inputs[:2], self.device, self.dtype)

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[FeedBatch]:
        """Yield the batches of an epoch; no callback has a say in them."""
        library = require("torch", extra="train", purpose="Metric learning")
        self.draws.begin(epoch, 0, 0)
        for batch in self.loader:
            inputs, labels = pair_of(batch)
            codes = library.from_numpy(self._codes(labels)).to(self.device)
            places = library.full((len(codes),), -1, device=self.device)
            yield FeedBatch(ready(inputs, self.device, self.dtype), codes, places)

    def _codes(self, labels: NDArray[Any]) -> Codes:
        places = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        strange = labels[self.classes[places] != labels]
        if len(strange):
            raise BadInput(
                f"The data loader returned the label {listing([repr(strange.tolist()[0])])}, which is new",
                available="the labels of its first pass, or those that y names",
                help="name all labels with y=, such as fit(loader, y=all_labels).",
            )
        return places.astype(np.int64)


def _no_row_losses() -> torch.Tensor:
    raise AssertionError("no row of metric learning has a loss of its own")


def pair_of(batch: Any) -> tuple[Any, NDArray[Any]]:
    """Return inputs and labels of a batch of a data loader."""
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise BadInput(
            f"The data loader returned a batch of the kind {type(batch).__name__}",
            available="(inputs, labels): a tuple or list of two",
        )
    labels = np.asarray(batch[1])
    if labels.ndim != 1 or len(labels) != len(batch[0]):
        raise BadInput(
            f"The data loader returned {len(batch[0]):,} inputs and labels of the shape {labels.shape}",
            available="one label for each input",
        )
    return batch[0], labels


def ready(inputs: Any, device: str, dtype: torch.dtype) -> torch.Tensor:
    """Return inputs on the device; numbers with a point in the precision that parameters have."""
    library = require("torch", extra="train", purpose="Metric learning")
    moved = library.as_tensor(inputs).to(device)
    tensor: torch.Tensor = moved.to(dtype) if moved.is_floating_point() else moved
    return tensor


class EmbedderTraining(PlainTraining):
    """An embedding in training: a stack of one trial, with the metric loss and the treatments as its callbacks."""

    def __init__(
        self, embedder: Embedder, feed: Feed, trial: PreparedJob, dataset: EncodedDataset, recipe: MetricRecipe,
        settings: Settings,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Metric learning")
        self.embedder, self.feed, self.recipe, self.epochs = embedder, feed, recipe, recipe.epochs
        # The values after the last epoch whose losses were finite.
        self.last_values: dict[str, torch.Tensor] = {}
        self.context = self._context(trial, dataset, settings)
        self.callbacks = callbacks_of([trial.treatments], lambda: self.context, metric_callback(recipe, [trial]))
        self.optimisers = {NETWORK: self._adam(Part(embedder.parameters()))}
        self.optimisers |= {name: self._adam(part) for name, part in self.callbacks.parts.items()}

    def _context(self, trial: PreparedJob, dataset: EncodedDataset, settings: Settings) -> TrainingContext:
        """Return what callbacks see."""
        assert dataset.train.target is not None
        assert dataset.train.group is not None
        target, group = (
            self.torch.from_numpy(codes[trial.rows])[None].to(settings.device)
            for codes in (dataset.train.target, dataset.train.group)
        )
        return context_of(
            [trial],
            dataset,
            settings,
            (target, target, group),
            width=self.recipe.embedding_size,
            batch_size=self.recipe.batch_size,
            layer=self._shape_of,
            features=self.embedder.head.in_features,
            epochs=self.recipe.epochs,
            metric=self.recipe,
            draws=self.feed.draws,
        )

    def _shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a layer for one row; one other than the embedding is put into every batch from now on."""
        return (self.recipe.embedding_size,) if name == LAST else self.embedder.record_layer(name, self.feed.first())

    def _adam(self, part: Part) -> torch.optim.Optimizer:
        """Return what moves a part: at its own rate, or as the network is moved."""
        rate, decay = (self.recipe.rates, self.recipe.decays) if part.rate is None else (part.rate, part.decay)
        optimizer: torch.optim.Optimizer = self.torch.optim.Adam(
            list(part.tensors), lr=only(rate), weight_decay=only(decay)
        )
        return optimizer

    def steps(self, epoch: int) -> Iterator[Losses]:
        """Take the steps of an epoch (they count from 1)."""
        self.embedder.training(True)
        self.callbacks.begin(epoch)
        phase, step = self.callbacks.phase(epoch), -1
        for step, fed in enumerate(self.feed.batches(epoch, self.callbacks)):
            yield {"loss": self.step(fed, step, phase)}
        if step < 0:
            raise BadInput("The data loader returned no batch", available="at least one batch of (inputs, labels)")

    def on_epoch_end(self, epoch: int, losses: Mapping[str, float]) -> None:
        """Remember the values."""
        self.last_values = {name: value.clone() for name, value in self.embedder.state().items()}

    def step(self, fed: FeedBatch, position: int = 0, phase: str = EVERY_EPOCH) -> torch.Tensor:
        """Move everything that moves in a phase by one batch, as often as callbacks take each; return the loss."""
        return [self._step(fed, position, phase, repeat) for repeat in range(self.callbacks.repeats)][-1]

    def _step(self, fed: FeedBatch, step: int, phase: str, repeat: int) -> torch.Tensor:
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        batch = self._batch(fed, step, phase, repeat)
        parts = {name: part.tensors for name, part in self.callbacks.parts.items()}
        leaves = Leaves({NETWORK: self.embedder.parameters(), **parts}, lone={NETWORK})
        return self.callbacks.descend(phase, batch, leaves, self.optimisers).sum()

    def _batch(self, fed: FeedBatch, step: int, phase: str, repeat: int) -> Batch:
        """Return a batch as callbacks see it; rows that nothing places have no group."""
        group = self.context.group[0][fed.positions.clamp_min(0)].masked_fill(fed.positions < 0, -1)
        # Where the network rests, no gradient goes back through it.
        with nullcontext() if NETWORK in self.callbacks.moved(phase) else self.torch.no_grad():
            features = self.embedder.features(fed.inputs)
            embedding = self.embedder.embedding(features)[None]
        labels = fed.labels[None]
        layers = {name: layer[None] for name, layer in self.embedder.layer_outputs.items()}
        return Batch(
            fed.positions[None], labels, labels, group[None], None, embedding, embedding, None, features[None], step,
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
        training.embedder.restore(training.last_values)
    return history, STOPPED.format(broken=standing.broken, epoch=len(history))
