"""Heads on frozen features that train together: one loop for all, each with its own rows, batches and rates.

Nothing mixes heads: losses are added up only so that one backward pass serves all. What an epoch needs is written to
the device when it begins, and nothing is read back before it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation.imports import require
from equipoise.training.adam import StackedAdam
from equipoise.training.material import Material, Settings
from equipoise.training.metric.drawing import uniforms_of_epoch
from equipoise.training.metric.heads.acting import MetricBatch
from equipoise.training.metric.heads.head import LinearHeads
from equipoise.training.metric.heads.objective import Objective
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.precision import dtype_of
from equipoise.training.preparing import Prepared
from equipoise.training.rounding import is_jittered, jittered

if TYPE_CHECKING:
    import torch


class HeadStack:
    """The state of heads in training."""

    def __init__(
        self, trials: Sequence[Prepared], material: Material, recipe: MetricRecipe, settings: Settings,
        inputs: torch.Tensor | None = None,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Metric learning")
        self.trials, self.recipe, self.settings = trials, recipe, settings
        train = material.train
        assert train.target is not None
        self.seeds = [trial.seed for trial in trials]
        self.inputs = self.tensor(train.inputs) if inputs is None else inputs
        rows = np.stack([trial.rows for trial in trials])
        self.classes = train.target[rows]
        self.rows, self.labels = self._there(rows), self._there(self.classes)
        self.sampler = recipe.make_sampler()
        features = self.inputs.shape[1]
        self.objective = Objective(recipe, trials, material, settings, features)
        self.heads = LinearHeads(
            self.seeds, features, recipe.embedding_size, unit_length=self.objective.loss.unit_length,
            dtype=dtype_of(settings), device=settings.device,
        )  # fmt: skip
        self.optimisers = [
            StackedAdam(self.heads.parameters, recipe.rates, recipe.decays),
            *(StackedAdam(one.tensors, one.rate, one.decay) for one in self.objective.learnt),
        ]
        self.leaves = [leaf for optimiser in self.optimisers for leaf in optimiser.parameters]

    def tensor(self, values: Any) -> torch.Tensor:
        """Return floats of the precision, on the device."""
        found: torch.Tensor = self.torch.as_tensor(values).to(
            device=self.settings.device, dtype=dtype_of(self.settings)
        )
        return found

    def _there(self, values: Any) -> torch.Tensor:
        found: torch.Tensor = self.torch.from_numpy(np.ascontiguousarray(values)).to(self.settings.device)
        return found

    def epoch(self, number: int, steps: int | None = None) -> torch.Tensor:
        """Train for one epoch, or the first steps of it; return the losses ``[step, trial]``, still on the device."""
        places = self._places(number)
        taken = len(places) if steps is None else min(steps, len(places))
        draws = Draws(self.seeds, number, len(places), places.shape[2], self.settings.device)
        losses = [self.step(places[step], draws, step) for step in range(taken)]
        joined: torch.Tensor = self.torch.stack(losses)
        return joined

    def step(self, places: torch.Tensor, draws: Draws, step: int) -> torch.Tensor:
        """Move every head by one batch ``[trial, sample]`` of places; return what each made smaller by it."""
        rows = self.rows.gather(1, places)
        features = self.inputs.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)
        batch = MetricBatch(
            features=features,
            embedding=self.heads(features),
            labels=self.labels.gather(1, places),
            places=places,
            numbers=draws(None, step),
            more=lambda name: draws(name, step),
        )
        total = self.objective(batch)
        summed: Any = total.sum()
        summed.backward(inputs=self.leaves)
        for optimiser in self.optimisers:
            optimiser.step()
        made_smaller: torch.Tensor = total.detach()
        return made_smaller

    def _places(self, number: int) -> torch.Tensor:
        """Return the batches of an epoch as places in each trial's rows, ``[step, trial, sample]``."""
        size = self.recipe.batch_size
        drawn = [
            self.sampler.batches(labels, size, seed, number)
            for labels, seed in zip(self.classes, self.seeds, strict=True)
        ]
        if is_jittered(self.settings.rounding):
            jobs = [trial.job for trial in self.trials]
            drawn = [
                jittered(own.reshape(-1), size, job.seed, job.repeat, number).reshape(own.shape)
                for own, job in zip(drawn, jobs, strict=True)
            ]
        return self._there(np.stack(drawn, axis=1))


class Draws:
    """The uniform numbers of an epoch, made when they are first asked for: the miner's, and further sets by name."""

    def __init__(self, seeds: Sequence[int], epoch: int, steps: int, batch_size: int, device: str) -> None:
        self._how = (seeds, epoch, steps, batch_size, device)
        self._made: dict[str | None, torch.Tensor] = {}

    def __call__(self, name: str | None, step: int) -> torch.Tensor:
        """Return the numbers of a step, ``[trial, 2, sample]``."""
        if name not in self._made:
            self._made[name] = uniforms_of_epoch(*self._how, name=name)
        return self._made[name][step]
