"""One network in training: everything one step reads and writes stays where it is, so that the step can be recorded.

Orders, crops and rates of an epoch are written into fixed tensors when it begins; a step finds its place by a counter
on the device. Nothing in it depends on which other runs share the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.networks.building import SMALL, build
from equipoise.training.device_keys import device_keys
from equipoise.training.fixing import copies_of, fix_seeds
from equipoise.training.images.low_weights import low_weights
from equipoise.training.images.optimising import Descent, optimiser_of
from equipoise.training.images.pictures import Crop, Pictures, Scaling
from equipoise.training.images.schedule import rates
from equipoise.training.images.teaching import NETWORK, NetworkContext, PictureBatch, Teaching
from equipoise.training.material import Material, Settings
from equipoise.training.precision import casting_of, dtype_of, layout_of
from equipoise.training.preparing import Prepared, overrides, training_rows
from equipoise.training.rounding import is_jittered, jittered

if TYPE_CHECKING:
    import torch

# What teaches the network of a trial, where its treatments do not say it.
Teach = Callable[[Prepared, NetworkContext], Teaching]
# Pictures of so many pixels and more are first made smaller by a network that has a form for it.
LARGE = 128


@dataclass(frozen=True)
class ImageRecipe:
    """How a network is trained: the learner's hyper-parameters, or the treatment's own where it has some."""

    network: str
    epochs: int
    batch_size: int
    learning_rate: float
    schedule: str
    augmentation: bool
    descent: Descent


class Run:
    """One trial's network, its optimisers and the tensors of the epoch it is in."""

    def __init__(
        self, trial: Prepared, material: Material, pictures: Pictures, settings: Settings, pieces: int = 1,
        teach: Teach | None = None,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Training on pictures")
        self.trial, self.material, self.pictures, self.settings = trial, material, pictures, settings
        # A batch that does not fit is taken in so many pieces, whose gradients are added up.
        self.pieces = pieces
        fix_seeds(trial.seed)
        channels, name = material.train.inputs.shape[3], trial.values["network"]
        large, frozen = pictures.height >= LARGE and name != SMALL, bool(trial.values.get("frozen_norm", False))
        network, features = build(name, channels, large=large, frozen_norm=frozen)
        self.teaching = self._teaching(features, teach)
        parts = {NETWORK: network, **self.teaching.parts()}
        self.recipe = recipe_of(trial.values, self.teaching)
        self.parts = {name: self._placed(part) for name, part in parts.items()}
        self.rows = self._there(trial.rows)
        self.batch_size = min(self.recipe.batch_size, len(trial.rows))
        self.steps = len(trial.rows) // self.batch_size
        self.scaling = Scaling(pictures, trial.rows, dtype_of(settings))
        self._place_tensors()
        self.optimisers = {name: self._optimiser(name, part) for name, part in self.parts.items()}

    def _optimiser(self, name: str, part: torch.nn.Module) -> torch.optim.Optimizer:
        own = self.teaching.own_rates().get(name)
        if own is None:
            return optimiser_of(part.parameters(), self.recipe.descent, self.rate)
        rate: torch.Tensor = self.torch.full_like(self.rate, own.learning_rate)
        return optimiser_of(part.parameters(), Descent("adam", 0.0, own.weight_decay), rate)

    def _teaching(self, features: int, teach: Teach | None) -> Teaching:
        trial = self.trial
        acting = overrides(trial.treatments, "taught")
        if len(acting) > 1:
            raise BadInput(f"Two treatments teach the network ({', '.join(acting)})", available="one at most")
        context = NetworkContext(
            features, self.material.classes, self.material.groups, training_rows(trial.rows, self.material).counts,
            casting_of(self.settings),
        )  # fmt: skip
        if teach is not None:
            return teach(trial, context)
        for treatment in trial.treatments:
            found = treatment.taught(context)
            if found is not None:
                return found
        return Teaching(context)

    def _placed(self, part: torch.nn.Module) -> torch.nn.Module:
        moved: Any = part.to(device=self.settings.device, dtype=dtype_of(self.settings)).train()
        placed: torch.nn.Module = moved.to(memory_format=layout_of(self.settings))
        return placed

    def _there(self, values: Any) -> torch.Tensor:
        tensor: torch.Tensor = self.torch.from_numpy(np.ascontiguousarray(values)).to(self.settings.device)
        return tensor

    def _place_tensors(self) -> None:
        """Make the tensors that steps read and write."""
        trial, train, torch = self.trial, self.material.train, self.torch
        assert train.target is not None
        assert train.group is not None
        samples = train.ids[trial.rows]
        self.ids, self.copies = self._there(samples), self._there(copies_of(samples))
        self.target, self.group = self._there(train.target[trial.rows]), self._there(train.group[trial.rows])
        weights = np.ones(len(trial.rows)) if trial.weights is None else trial.weights
        self.weight = self._there(weights / weights.mean()).to(dtype_of(self.settings))
        self.places = torch.zeros((self.steps, self.batch_size), dtype=torch.int64, device=self.settings.device)
        self.crop = Crop.plain(self.ids)
        self.rates = torch.zeros(self.steps, device=self.settings.device)
        self.rate = torch.zeros((), device=self.settings.device)
        self.counter = torch.zeros(1, dtype=torch.int64, device=self.settings.device)
        self.losses = torch.zeros(self.steps, device=self.settings.device)

    def begin(self, epoch: int) -> None:
        """Write the order, the crops and the rates of an epoch (they count from 1)."""
        given = self.teaching.places(epoch)
        if given is None:
            keys = device_keys(self.trial.seed, epoch, self.ids, self.copies, "order")
            # What does not fill a batch waits for another epoch's order.
            places = keys.argsort()[: self.steps * self.batch_size]
        else:
            places = self._there(given.reshape(-1))
        if is_jittered(self.settings.rounding):
            job = self.trial.job
            places = self._there(jittered(places.cpu().numpy(), self.batch_size, job.seed, job.repeat, epoch))
        self.places.copy_(places.view_as(self.places))
        if self.recipe.augmentation:
            self.crop.take(Crop.drawn(self.trial.seed, epoch, self.ids, self.copies))
        total = self.steps * self.recipe.epochs
        recipe = self.recipe
        found = rates(recipe.schedule, recipe.learning_rate, (epoch - 1) * self.steps, self.steps, total)
        self.rates.copy_(self._there(found))
        self.counter.zero_()

    def step(self, phase: str) -> None:
        """Move the network by one batch."""
        for part in self.parts.values():
            part.zero_grad(set_to_none=True)
        places = self.places.index_select(0, self.counter)[0]
        with self._casting():
            if self.pieces == 1:
                loss = self.teaching.gradients(phase, self.parts, self._batch(places))
            else:
                loss = self._in_pieces(phase, places)
        self.rate.copy_(self.rates.index_select(0, self.counter)[0])
        for name in self.teaching.moved(phase):
            self.optimisers[name].step()
        self.losses.index_copy_(0, self.counter, loss.reshape(1).to(self.losses.dtype))
        self.counter.add_(1)

    def _casting(self) -> AbstractContextManager[None]:
        return low_weights(self.parts.values()) if self.settings.precision == "bfloat16" else nullcontext()

    def _batch(self, places: torch.Tensor) -> PictureBatch:
        pictures = self.pictures.crops(self.rows.index_select(0, places), self.crop.of(places))
        target, group, weight = (one.index_select(0, places) for one in (self.target, self.group, self.weight))
        return PictureBatch(self.shown(pictures), target, group, weight, places, self.counter)

    def shown(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return pictures as the network takes them: scaled, and laid in memory as its weights are."""
        return self.scaling(pictures).contiguous(memory_format=layout_of(self.settings))

    def _in_pieces(self, phase: str, places: torch.Tensor) -> torch.Tensor:
        """Add up the gradients of the pieces of a batch, each by its share of the rows."""
        moving = [one for name in self.teaching.moved(phase) for one in self.parts[name].parameters()]
        summed: list[Any] = [None] * len(moving)
        total: torch.Tensor = self.torch.zeros((), device=self.settings.device)
        for piece in places.tensor_split(self.pieces):
            for part in self.parts.values():
                part.zero_grad(set_to_none=True)
            share = len(piece) / len(places)
            total = total + share * self.teaching.gradients(phase, self.parts, self._batch(piece))
            for at, parameter in enumerate(moving):
                if parameter.grad is not None:
                    added = share * parameter.grad
                    summed[at] = added if summed[at] is None else summed[at] + added
        for parameter, gradient in zip(moving, summed, strict=True):
            parameter.grad = gradient
        return total

    def phase(self, epoch: int) -> str:
        """Name the kind of step of an epoch."""
        return self.teaching.phase(epoch)


def recipe_of(values: dict[str, Any], teaching: Teaching) -> ImageRecipe:
    """Return how a network is trained; a treatment's own optimiser has its own rate and goes on for longer."""
    own = teaching.recipe
    epochs = int(values["epochs"])
    shared = {"network": values["network"], "batch_size": int(values["batch_size"])}
    if own is not None:
        return ImageRecipe(
            **shared, epochs=max(round(own.longer * epochs), 1), learning_rate=own.learning_rate, schedule="constant",
            augmentation=values["augmentation"], descent=Descent(own.optimiser, values["momentum"], own.weight_decay),
        )  # fmt: skip
    return ImageRecipe(
        **shared, epochs=epochs, learning_rate=values["learning_rate"], schedule=values["schedule"],
        augmentation=values["augmentation"], descent=Descent("sgd", values["momentum"], values["weight_decay"]),
    )  # fmt: skip
