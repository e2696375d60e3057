"""Trials that train together: one loop for a stack of networks, each with its own rows, order, weights and rates.

A lone trial is a stack of one. Nothing mixes trials: every tensor begins with the trial, losses are added up over
trials only so that one backward pass serves all, and the gradient of a trial is that of its own loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.training.adam import StackedAdam
from equipoise.training.material import Material, Settings
from equipoise.training.ordering import Orders
from equipoise.training.precision import dtype_of
from equipoise.training.preparing import Prepared, overrides
from equipoise.training.rounding import is_jittered
from equipoise.training.stack_parts import Arranged, Network, Recipe, Scale, layer
from equipoise.training.treatment import Batch, DuringTraining, StackContext

if TYPE_CHECKING:
    import torch

# Rows are read in parts of so many numbers, which bounds the memory that predicting takes.
PART = 2**23


class Stack:
    """The state of a stack in training. ``running`` are the positions of its trials that have not stopped."""

    def __init__(
        self, network: Network, trials: Sequence[Prepared], material: Material, recipe: Recipe, settings: Settings
    ) -> None:
        self.torch = require("torch", extra="train", purpose="Training a network")
        self.network, self.trials, self.recipe, self.settings = network, trials, recipe, settings
        self.running = list(range(len(trials)))
        self.scale = Scale.of(material)
        train = material.train
        assert train.target is not None
        assert train.cell is not None
        assert train.group is not None
        rows = np.stack([trial.rows for trial in trials])
        self.inputs = self.tensor(train.inputs)
        self.rows = self.torch.from_numpy(rows).to(settings.device)
        self.target = self.goals(train.target[rows], material.task)
        self.cell = self.torch.from_numpy(train.cell[rows]).to(settings.device)
        self.group = self.torch.from_numpy(train.group[rows]).to(settings.device)
        self.weights = self._weights()
        self.orders = Orders(trials, train.ids, settings.device)
        self._regression = material.task == "regression"
        self.optimiser = StackedAdam(network.parameters, recipe.rates, recipe.decays)
        self.during = self._treatments(material)

    def tensor(self, values: Any) -> torch.Tensor:
        """Return floats of the precision, on the device."""
        dtype = dtype_of(self.settings)
        found: torch.Tensor = self.torch.as_tensor(values).to(device=self.settings.device, dtype=dtype)
        return found

    def epoch(self, number: int) -> None:
        """Train for one epoch."""
        self.follow(self.arranged(number))

    def arranged(self, number: int) -> Arranged:
        """Return the batches of an epoch, with all that their rows have but inputs."""
        places, size = self._places(number)
        return Arranged(
            size,
            places,
            self.rows.gather(1, places),
            self.target.gather(1, places),
            self.cell.gather(1, places),
            self.group.gather(1, places),
            None if self.weights is None else self.weights.gather(1, places),
        )

    def follow(self, batches: Arranged, steps: int | None = None) -> None:
        """Take the steps of an epoch, or the first of them."""
        self.network.training(True)
        for begin in list(range(0, batches.places.shape[1], batches.size))[:steps]:
            self.step(batches.batch(slice(begin, begin + batches.size)))

    def step(self, rows: Arranged) -> torch.Tensor:
        """Take one step with a batch; return what each trial made smaller by it."""
        output, hidden = self.network(self.gathered(self.inputs, rows.rows))
        losses = self.row_losses(output, rows.target)
        total = losses.mean(1) if rows.weights is None else (losses * rows.weights).mean(1)
        if self.during:
            weight = self.torch.ones_like(losses) if rows.weights is None else rows.weights
            known = (rows.places, rows.target, rows.cell, rows.group, weight)
            seen = Batch(*known, None if hidden is None else hidden.detach(), output.detach(), losses.detach())
            batch = Batch(*known, hidden, output, losses)
            for treatment in self.during:
                treatment.before_step(seen)
                penalty = treatment.penalty(batch)
                total = total if penalty is None else total + penalty
        # Only the network learns here: what a discriminator's weights would get is not even computed.
        summed: Any = total.sum()
        summed.backward(inputs=self.network.parameters)
        self.optimiser.step()
        made_smaller: torch.Tensor = total.detach()
        return made_smaller

    def gathered(self, inputs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the inputs of rows ``[trial, row]``."""
        return inputs.index_select(0, rows.reshape(-1)).view(*rows.shape, *inputs.shape[1:])

    def row_losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the plain loss of each row: cross-entropy, or the squared error of a regression."""
        if self._regression:
            return (output[..., 0] - target) ** 2
        # Classes before rows, as the output lies in memory; a gather has a deterministic form on every device.
        return -output.mT.log_softmax(1).gather(1, target[:, None]).squeeze(1)

    def keep(self, trials: list[int]) -> None:
        """Go on with these of the running trials only (positions among the running)."""
        chosen = self.torch.tensor(trials, dtype=self.torch.long, device=self.settings.device)
        self.network.set_values([one[chosen] for one in self.network.values])
        self.optimiser.keep(chosen, self.network.parameters)
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
        self.network.training(False)
        with self.torch.no_grad():
            for begin in range(0, number, step):
                cut = slice(begin, min(begin + step, number))
                part = inputs[cut].expand(trials, -1, -1) if rows is None else self.gathered(inputs, rows[:, cut])
                yield cut, *self.network(part)

    def _places(self, number: int) -> tuple[torch.Tensor, int]:
        """Return the places of an epoch, batch after batch ``[trial, row]``, and the size of a batch."""
        given, size = self._given(number), self.recipe.even_size(self.rows.shape[1])
        if given is not None:
            arranged, size = given.flatten(1), given.shape[2]
        else:
            arranged = self.orders.places(number, self.running)
        if is_jittered(self.settings.rounding):
            arranged = self.orders.jittered(arranged, size, number, self.running)
        return arranged, size

    def _given(self, number: int) -> torch.Tensor | None:
        """Return the batches that a treatment makes, if one does."""
        made = []
        for treatment in self.during:
            losses = self._all_row_losses() if treatment.needs_row_losses else None
            found = treatment.batches(number, losses)
            if found is not None:
                made.append(found)
        if len(made) > 1:
            raise BadInput("Two treatments of a trial both make the batches", help="use one of them.")
        return made[0] if made else None

    def _all_row_losses(self) -> torch.Tensor:
        parts = [self.row_losses(output, self.target[:, cut]) for cut, output, _ in self.read(self.rows, self.inputs)]
        losses: torch.Tensor = self.torch.cat(parts, dim=1)
        return losses

    def goals(self, target: Any, task: str) -> torch.Tensor:
        """Return targets as the network learns them: class codes, or standardised numbers."""
        if task == "regression":
            return self.tensor((target - self.scale.mean) / self.scale.spread)
        codes: torch.Tensor = self.torch.from_numpy(target).to(self.settings.device)
        return codes

    def _weights(self) -> torch.Tensor | None:
        if all(trial.weights is None for trial in self.trials):
            return None
        ones = np.ones(self.rows.shape[1])
        return self.tensor(np.stack([ones if one.weights is None else one.weights for one in self.trials]))

    def _treatments(self, material: Material) -> list[DuringTraining]:
        """Make what acts during training: one for each kind of treatment, for all trials together."""
        if not overrides(self.trials[0].treatments, "during"):
            return []
        self.network.training(False)
        with self.torch.no_grad():
            hidden = self.network(self.gathered(self.inputs, self.rows[:, :1]))[1]
        if any(one.reads_hidden for one in self.trials[0].treatments):
            hidden = layer(hidden)
        context = StackContext(
            seeds=tuple(trial.seed for trial in self.trials),
            width=0 if hidden is None else hidden.shape[-1],
            classes=material.classes,
            groups=material.groups,
            target=self.target,
            cell=self.cell,
            group=self.group,
            batch_size=self.recipe.even_size(self.rows.shape[1]),
            settings=self.settings,
        )
        kinds = zip(*(trial.treatments for trial in self.trials), strict=True)
        made = [type(same[0]).during(same, context) for same in kinds]
        return [one for one in made if one is not None]
