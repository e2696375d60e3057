"""Trials that train together: one loop for a stack of networks, each with its own rows, order, weights and rates.

A lone trial is a stack of one. Nothing mixes trials: every tensor begins with the trial, losses are added up over
trials only so that one backward pass serves all, and the gradient of a trial is that of its own loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.training.adam import StackedAdam
from equipoise.training.fixing import copies_of, sample_keys
from equipoise.training.material import Codes, Material, Settings
from equipoise.training.preparing import Prepared
from equipoise.training.rounding import jittered
from equipoise.training.treatment import Batch, DuringTraining, StackContext

if TYPE_CHECKING:
    import torch

# Rows are read in parts of so many numbers, which bounds the memory that predicting takes.
PART = 2**23


class Network(Protocol):
    """R networks as one: leaves ``[R, ...]``, and from inputs ``[R, row, feature]`` the output and the last layer."""

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves, in a fixed order."""

    def set_parameters(self, parameters: Sequence[torch.Tensor]) -> None:
        """Take other values."""

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and last hidden layer."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained. Rates and decays are one a trial; the rest is the same for all of a stack."""

    epochs: int
    batch_size: int
    patience: int
    rates: tuple[float, ...]
    decays: tuple[float, ...]


class Stack:
    """The state of a stack in training. ``running`` are the positions of its trials that have not stopped."""

    def __init__(
        self, network: Network, trials: Sequence[Prepared], material: Material, recipe: Recipe, settings: Settings
    ) -> None:
        self._torch = require("torch", extra="train", purpose="Training a network")
        self.network, self.trials, self.recipe, self.settings = network, trials, recipe, settings
        self.running = list(range(len(trials)))
        self.scale = Scale.of(material)
        train = material.train
        assert train.target is not None
        assert train.cell is not None
        assert train.group is not None
        rows = np.stack([trial.rows for trial in trials])
        self.inputs = self.tensor(train.inputs)
        self.rows = self._torch.from_numpy(rows).to(settings.device)
        self.target = self._target(train.target[rows], material.task)
        self.cell = self._torch.from_numpy(train.cell[rows]).to(settings.device)
        self.group = self._torch.from_numpy(train.group[rows]).to(settings.device)
        self.weights = self._weights()
        self._ids = [train.ids[trial.rows] for trial in trials]
        self._copies = [copies_of(ids) for ids in self._ids]
        self._regression = material.task == "regression"
        self.optimiser = StackedAdam(network.parameters, recipe.rates, recipe.decays)
        self.during = self._treatments(material)

    def tensor(self, values: Any) -> torch.Tensor:
        """Return floats of the precision, on the device."""
        dtype = getattr(self._torch, self.settings.precision)
        found: torch.Tensor = self._torch.as_tensor(values).to(device=self.settings.device, dtype=dtype)
        return found

    def epoch(self, number: int, steps: int | None = None) -> None:
        """Train for one epoch, or for its first steps only."""
        arranged, size = self._arranged(number)
        rows, target = self.rows.gather(1, arranged), self.target.gather(1, arranged)
        cell, group = self.cell.gather(1, arranged), self.group.gather(1, arranged)
        weights = None if self.weights is None else self.weights.gather(1, arranged)
        last = arranged.shape[1] if steps is None else min(steps * size, arranged.shape[1])
        for begin in range(0, last, size):
            cut = slice(begin, begin + size)
            self._step(
                arranged[:, cut], rows[:, cut], target[:, cut], cell[:, cut], group[:, cut],
                None if weights is None else weights[:, cut],
            )  # fmt: skip

    def _step(
        self,
        places: torch.Tensor,
        rows: torch.Tensor,
        target: torch.Tensor,
        cell: torch.Tensor,
        group: torch.Tensor,
        weights: torch.Tensor | None,
    ) -> None:
        output, hidden = self.network(self.gathered(self.inputs, rows))
        losses = self.row_losses(output, target)
        total = losses.mean(1) if weights is None else (losses * weights).mean(1)
        if self.during:
            weight = self._torch.ones_like(losses) if weights is None else weights
            seen = Batch(
                places, target, cell, group, weight, hidden.detach(), output.detach(), losses.detach()
            )
            batch = Batch(places, target, cell, group, weight, hidden, output, losses)
            for treatment in self.during:
                treatment.before_step(seen)
                penalty = treatment.penalty(batch)
                total = total if penalty is None else total + penalty
        # Only the network learns here: what a discriminator's weights would get is not even computed.
        total.sum().backward(inputs=self.network.parameters)
        self.optimiser.step()

    def gathered(self, inputs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the inputs of rows ``[trial, row]``."""
        return inputs.index_select(0, rows.reshape(-1)).view(*rows.shape, *inputs.shape[1:])

    def row_losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the plain loss of each row: cross-entropy, or the squared error of a regression."""
        if self._regression:
            return (output[..., 0] - target) ** 2
        flat = self._torch.nn.functional.cross_entropy(
            output.flatten(0, 1), target.reshape(-1), reduction="none"
        )
        return flat.view(target.shape)  # type: ignore[no-any-return]

    def keep(self, trials: list[int]) -> None:
        """Go on with these of the running trials only (positions among the running)."""
        chosen = self._torch.tensor(trials, dtype=self._torch.long, device=self.settings.device)
        kept = [one.detach()[chosen].requires_grad_() for one in self.network.parameters]
        self.network.set_parameters(kept)
        self.optimiser.keep(chosen, kept)
        self.rows, self.target, self.cell, self.group = (
            one[chosen] for one in (self.rows, self.target, self.cell, self.group)
        )
        self.weights = None if self.weights is None else self.weights[chosen]
        self.running = [self.running[place] for place in trials]
        for treatment in self.during:
            treatment.keep(chosen)

    def read(self, rows: torch.Tensor | None, inputs: torch.Tensor) -> Iterator[tuple[slice, Any, Any]]:
        """Yield parts of rows with what the networks say of them: (rows, output, hidden), without gradients.

        ``rows`` are ``[trial, row]`` positions in the inputs; without them every trial reads all inputs.
        """
        trials = len(self.running)
        number = len(inputs) if rows is None else rows.shape[1]
        step = max(PART // (trials * max(inputs.shape[1], 256)), 256)
        with self._torch.no_grad():
            for begin in range(0, number, step):
                cut = slice(begin, min(begin + step, number))
                part = inputs[cut].expand(trials, -1, -1) if rows is None else self.gathered(inputs, rows[:, cut])
                yield cut, *self.network(part)

    def _arranged(self, number: int) -> tuple[torch.Tensor, int]:
        """Return the places of an epoch, batch after batch ``[trial, row]``, and the size of a batch."""
        given, size = self._given(number), self.recipe.batch_size
        if given is not None:
            arranged, size = given.flatten(1), given.shape[2]
        else:
            arranged = self._ordered(number)
        if self.settings.rounding != "jitter":
            return arranged, size
        moved = arranged.cpu().numpy()
        trials = [self.trials[place].job for place in self.running]
        permuted = [jittered(one, size, job.seed, job.repeat, number) for one, job in zip(moved, trials, strict=True)]
        return self._torch.from_numpy(np.stack(permuted)).to(arranged.device), size

    def _ordered(self, number: int) -> torch.Tensor:
        """Return each trial's own order: that of its samples' numbers, which all repeats of a seed share."""
        keys: dict[Any, Codes] = {}
        for place in self.running:
            key = self._order_key(place)
            if key not in keys:
                keys[key] = sample_keys(key[0], number, self._ids[place], self._copies[place], "order")
        if self.settings.device == "cpu":
            orders = {key: np.argsort(found) for key, found in keys.items()}
            stacked = np.stack([orders[self._order_key(place)] for place in self.running])
            return self._torch.from_numpy(stacked)  # type: ignore[no-any-return]
        stacked = np.stack([keys[self._order_key(place)] for place in self.running])
        return self._torch.from_numpy(stacked).to(self.settings.device).argsort(1)  # type: ignore[no-any-return]

    def _order_key(self, place: int) -> tuple[int, int]:
        """Trials with one seed and the very same array of rows have one order."""
        trial = self.trials[place]
        return trial.seed, id(trial.rows)

    def _given(self, number: int) -> torch.Tensor | None:
        """Return the batches that a treatment makes, if one does."""
        made = []
        for treatment in self.during:
            losses = self._all_row_losses() if treatment.needs_row_losses else None
            found = treatment.batches(number, losses)
            if found is not None:
                made.append(found)
        if len(made) > 1:
            raise BadInput("Two treatments of a trial both make the batches", way_out="use one of them.")
        return made[0] if made else None

    def _all_row_losses(self) -> torch.Tensor:
        parts = [self.row_losses(output, self.target[:, cut]) for cut, output, _ in self.read(self.rows, self.inputs)]
        return self._torch.cat(parts, dim=1)  # type: ignore[no-any-return]

    def _target(self, target: Any, task: str) -> torch.Tensor:
        if task == "regression":
            return self.tensor((target - self.scale.mean) / self.scale.spread)
        return self._torch.from_numpy(target).to(self.settings.device)  # type: ignore[no-any-return]

    def _weights(self) -> torch.Tensor | None:
        if all(trial.weights is None for trial in self.trials):
            return None
        ones = np.ones(self.rows.shape[1])
        return self.tensor(np.stack([ones if one.weights is None else one.weights for one in self.trials]))

    def _treatments(self, material: Material) -> list[DuringTraining]:
        """Make what acts during training: one for each kind of treatment, for all trials together."""
        if not any(trial.treatments for trial in self.trials):
            return []
        with self._torch.no_grad():
            width = self.network(self.gathered(self.inputs, self.rows[:, :1]))[1].shape[-1]
        context = StackContext(
            seeds=tuple(trial.seed for trial in self.trials),
            width=int(width),
            classes=material.classes,
            groups=material.groups,
            target=self.target,
            cell=self.cell,
            group=self.group,
            batch_size=self.recipe.batch_size,
            settings=self.settings,
        )
        kinds = zip(*(trial.treatments for trial in self.trials), strict=True)
        made = [type(same[0]).during(same, context) for same in kinds]
        return [one for one in made if one is not None]


@dataclass(frozen=True)
class Scale:
    """The mean and spread of a regression's training targets: networks learn them standardised."""

    mean: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, material: Material) -> Scale:
        """Return the scale of the original training targets; classes have none."""
        if material.task != "regression":
            return cls()
        assert material.train.target is not None
        known = material.train.target[np.isfinite(material.train.target)].astype(np.float64)
        return cls(float(known.mean()), float(known.std()) or 1.0)
