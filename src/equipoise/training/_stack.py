"""Trials that train together: one loop for a stack of networks, each with its own rows, order, weights and rates.

A lone trial is a stack of one. Nothing mixes trials: every tensor begins with the trial, losses are added up over
trials only so that one backward pass serves all, and the gradient of a trial is that of its own loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equipoise.foundation import BadInput, require
from equipoise.networks import StackedMLP, stacked_mlp
from equipoise.training._adam import StackedAdam
from equipoise.training._callback import (
    EVERY_EPOCH,
    LAST,
    NETWORK,
    Batch,
    Leaves,
    Part,
    TrainingCallback,
    TrainingContext,
    callbacks_of,
)
from equipoise.training._compatibility import Need, required
from equipoise.training._dataset import EncodedDataset, Settings
from equipoise.training._losses import label_loss, weights_of_trials
from equipoise.training._numerics import dtype_of, is_jittered
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import Orders, seed_of

if TYPE_CHECKING:
    import torch


class Network(Protocol):
    """R networks as one: leaves ``[R, ...]``, and from inputs ``[R, row, feature]`` the output and the last layer."""

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves, in a fixed order."""

    @property
    def values(self) -> list[torch.Tensor]:
        """All that the networks have learnt, leaves and running statistics, without gradients."""

    def set_values(self, values: Sequence[torch.Tensor]) -> None:
        """Go on with other values, of any number of trials."""

    @property
    def layer_outputs(self) -> dict[str, torch.Tensor]:
        """What the layers that are shown gave in the last call, ``[R, row, ...]``, by name."""

    def record_layer(self, layer: str) -> None:
        """Let calls show a layer; a name that the network does not have is refused."""

    def training(self, on: bool) -> None:
        """Switch between training and predicting."""

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and last hidden layer."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained. Rates and decays are one a trial; the rest is the same for all of a stack.

    ``patience`` is how many epochs without a better one are waited for; None trains to the end.
    """

    epochs: int
    batch_size: int
    patience: int | None
    rates: tuple[float, ...]
    decays: tuple[float, ...]

    def even_size(self, rows: int) -> int:
        """Return the size of a batch when the rows are dealt evenly among as few as the batch size allows.

        A last batch of a few rows would move the network as far as a whole one: of 2,049 rows every third step would
        follow one person.
        """
        number = -(-rows // self.batch_size)
        return -(-rows // max(number, 1))


@dataclass(frozen=True, eq=False)
class Arranged:
    """The batches of an epoch, one after the other: places in a trial's rows, and what those rows are."""

    size: int
    positions: torch.Tensor
    rows: torch.Tensor
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    weights: torch.Tensor | None

    def batch(self, cut: slice) -> Arranged:
        """Return one batch."""
        places, rows, target, cell, group = (
            tensor[:, cut] for tensor in (self.positions, self.rows, self.target, self.cell, self.group)
        )
        weights = None if self.weights is None else self.weights[:, cut]
        return Arranged(self.size, places, rows, target, cell, group, weights)


def layer(hidden: Any) -> Any:
    """Return a hidden layer that a treatment needs; a network that shows none is refused."""
    if hidden is None:
        raise BadInput(
            "A treatment of this trial reads the last hidden layer, and the network returns logits alone, which no "
            "linear layer made",
            help="let its forward return (logits, hidden).",
        )
    return hidden


@dataclass(frozen=True)
class Scale:
    """The mean and spread of a regression's training targets: networks learn them standardised."""

    mean: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, dataset: EncodedDataset) -> Scale:
        """Return the scale of the original training targets; classes have none."""
        if dataset.task != "regression":
            return cls()
        assert dataset.train.target is not None
        known_target = dataset.train.target[np.isfinite(dataset.train.target)].astype(np.float64)
        return cls(float(known_target.mean()), float(known_target.std()) or 1.0)


# Rows are read in parts of so many numbers, which bounds the memory that predicting takes.
PART = 2**23


class Stack:
    """The state of a stack in training. ``running`` are the positions of its trials that have not stopped.

    ``learner`` makes a callback of the learner's own, such as a metric loss; ``context_values`` is what a callback sees
    of the training beside what every stack has, and ``inputs`` those of the training rows if the device has them.
    """

    def __init__(
        self,
        network: Network,
        trials: Sequence[PreparedJob],
        dataset: EncodedDataset,
        recipe: Recipe,
        settings: Settings,
        *,
        learner: Callable[[TrainingContext], TrainingCallback] | None = None,
        context_values: Mapping[str, Any] | None = None,
        inputs: torch.Tensor | None = None,
    ) -> None:
        self.torch = require("torch", extra="train", purpose="Training a network")
        self.network, self.trials, self.recipe, self.settings = network, trials, recipe, settings
        self.running = list(range(len(trials)))
        self.scale = Scale.of(dataset)
        train = dataset.train
        assert train.target is not None
        assert train.cell is not None
        assert train.group is not None
        rows = np.stack([trial.rows for trial in trials])
        self.inputs = self.tensor(train.inputs) if inputs is None else inputs
        self.rows = self.torch.from_numpy(rows).to(settings.device)
        self.target = self.goals(train.target[rows], dataset.task)
        self.cell = self.torch.from_numpy(train.cell[rows]).to(settings.device)
        self.group = self.torch.from_numpy(train.group[rows]).to(settings.device)
        # A metric learner draws rows by their weights: they are not weighed a second time.
        self.weights = None if "metric" in (context_values or {}) else self._weights()
        self.orders = Orders(trials, train.ids, settings.device)
        self.task = dataset.task
        label_weights = weights_of_trials(trials, dataset)
        self.label_weights = None if label_weights is None else self.tensor(label_weights)
        treatments = [trial.treatments for trial in trials]
        self.callbacks = callbacks_of(treatments, lambda: self._context(dataset, context_values or {}), learner)
        self.optimisers = {NETWORK: StackedAdam(network.parameters, recipe.rates, recipe.decays)}
        for name, part in self.callbacks.parts.items():
            rates = recipe.rates if part.rate is None else part.rate
            decays = recipe.decays if part.rate is None else part.decay
            self.optimisers[name] = StackedAdam(part.tensors, rates, decays)

    def tensor(self, values: Any) -> torch.Tensor:
        """Return floats of the precision, on the device."""
        dtype = dtype_of(self.settings)
        converted: torch.Tensor = self.torch.as_tensor(values).to(device=self.settings.device, dtype=dtype)
        return converted

    def epoch(self, number: int) -> torch.Tensor:
        """Train for one epoch; return the losses ``[step, trial]``, still on the device."""
        return self.follow(self.arranged(number), phase=self.callbacks.phase(number))

    def arranged(self, number: int) -> Arranged:
        """Return the batches of an epoch, with all that their rows have but inputs."""
        self.callbacks.begin(number)
        places, size = self._positions(number)
        return Arranged(
            size,
            places,
            self.rows.gather(1, places),
            along(self.target, places),
            self.cell.gather(1, places),
            self.group.gather(1, places),
            None if self.weights is None else self.weights.gather(1, places),
        )

    def follow(self, batches: Arranged, steps: int | None = None, phase: str = EVERY_EPOCH) -> torch.Tensor:
        """Take the steps of an epoch, or the first of them; return the losses ``[step, trial]``."""
        self.network.training(True)
        begins = list(range(0, batches.positions.shape[1], batches.size))[:steps]
        losses = [
            self.step(batches.batch(slice(begin, begin + batches.size)), phase, step)
            for step, begin in enumerate(begins)
        ]
        joined: torch.Tensor = self.torch.stack(losses)
        return joined

    def step(self, rows: Arranged, phase: str = EVERY_EPOCH, number: int = 0) -> torch.Tensor:
        """Take one step with a batch, the ``number``-th of its epoch, or as many as a treatment takes on each.

        Returns what each trial made smaller by the last of them.
        """
        inputs = self.gathered(self.inputs, rows.rows)
        steps = range(self.callbacks.repeats)
        return [self._step(rows, inputs, phase, number, repeat) for repeat in steps][-1]

    def _step(self, rows: Arranged, inputs: torch.Tensor, phase: str, number: int, repeat: int) -> torch.Tensor:
        # Where the network rests, no gradient goes back through it.
        with nullcontext() if NETWORK in self.callbacks.moved(phase) else self.torch.no_grad():
            output, hidden = self.network(inputs)
            losses = None if self.callbacks.by_batch else self.row_losses(output, rows.target, rows.group)
        batch = Batch(
            rows.positions, rows.target, rows.cell, rows.group, rows.weights, hidden, output, losses, inputs, number,
            self.network.layer_outputs, repeat,
        )  # fmt: skip
        return self.callbacks.descend(phase, batch, self._leaves(), self.optimisers)

    def _leaves(self) -> Leaves:
        parts = {name: optimiser.parameters for name, optimiser in self.optimisers.items()}
        return Leaves({**parts, NETWORK: self.network.parameters})

    def gathered(self, inputs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the inputs of rows ``[trial, row]``."""
        return inputs.index_select(0, rows.reshape(-1)).view(*rows.shape, *inputs.shape[1:])

    def row_losses(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row: a treatment's, cross-entropy, squared error, or the mean over labels."""
        losses = self.callbacks.row_loss(output, target, group)
        if losses is not None:
            return losses
        if self.task == "multilabel":
            return label_loss(output, target, self.label_weights)
        if self.task == "regression":
            return (output[..., 0] - target) ** 2
        # Classes before rows, as the output lies in memory; a gather has a deterministic form on every device.
        return -output.mT.log_softmax(1).gather(1, target[:, None]).squeeze(1)

    def select_trials(self, trials: list[int]) -> None:
        """Go on with these of the running trials only (positions among the running)."""
        chosen = self.torch.tensor(trials, dtype=self.torch.long, device=self.settings.device)
        self.network.set_values([value[chosen] for value in self.network.values])
        self.optimisers[NETWORK].select_trials(chosen, self.network.parameters)
        for name, part in self.callbacks.parts.items():
            if part.layer is None:
                raise AssertionError(f"the part {name} of a stack is no layer, and cannot go on with fewer trials")
            part.layer.set_parameters(
                [parameter.detach()[chosen].requires_grad_() for parameter in part.layer.parameters]
            )
            self.optimisers[name].select_trials(chosen, part.layer.parameters)
        self.rows, self.target, self.cell, self.group = (
            tensor[chosen] for tensor in (self.rows, self.target, self.cell, self.group)
        )
        self.weights = None if self.weights is None else self.weights[chosen]
        self.label_weights = None if self.label_weights is None else self.label_weights[chosen]
        self.running = [self.running[position] for position in trials]
        for callback in self.callbacks:
            callback.select_trials(chosen)

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

    def _positions(self, number: int) -> tuple[torch.Tensor, int]:
        """Return the places of an epoch, batch after batch ``[trial, row]``, and the size of a batch."""
        batches_given, size = self._given(number), self.recipe.even_size(self.rows.shape[1])
        if batches_given is not None:
            arranged, size = batches_given.flatten(1), batches_given.shape[2]
        else:
            arranged = self.orders.positions(number, self.running)
        if is_jittered(self.settings.rounding):
            arranged = self.orders.jittered(arranged, size, number, self.running)
        return arranged, size

    def _given(self, number: int) -> torch.Tensor | None:
        """Return the batches that a treatment makes, if one does."""
        return self.callbacks.batches(number, self._all_row_losses)

    def _all_row_losses(self) -> torch.Tensor:
        parts = [
            self.row_losses(output, self.target[:, cut], self.group[:, cut])
            for cut, output, _ in self.read(self.rows, self.inputs)
        ]
        losses: torch.Tensor = self.torch.cat(parts, dim=1)
        return losses

    def goals(self, target: Any, task: str) -> torch.Tensor:
        """Return targets as the network learns them: class codes, standardised numbers, or presence of labels."""
        if task == "multilabel":
            return self.tensor(target)
        if task == "regression":
            return self.tensor((target - self.scale.mean) / self.scale.spread)
        codes: torch.Tensor = self.torch.from_numpy(target).to(self.settings.device)
        return codes

    def _weights(self) -> torch.Tensor | None:
        if all(trial.weights is None for trial in self.trials):
            return None
        ones = np.ones(self.rows.shape[1])
        return self.tensor(np.stack([ones if trial.weights is None else trial.weights for trial in self.trials]))

    def _context(self, dataset: EncodedDataset, context_values: Mapping[str, Any]) -> TrainingContext:
        """Return what callbacks see of all trials."""
        self.network.training(False)
        with self.torch.no_grad():
            hidden = self.network(self.gathered(self.inputs, self.rows[:, :1]))[1]
        if any(Need.HIDDEN in required(type(treatment)) for treatment in self.trials[0].treatments):
            hidden = layer(hidden)

        def shape_of(name: str) -> tuple[int, ...]:
            if name == LAST:
                return (layer(hidden).shape[-1],)
            self.network.record_layer(name)
            with self.torch.no_grad():
                self.network(self.gathered(self.inputs, self.rows[:, :1]))
            return tuple(self.network.layer_outputs[name].shape[2:])

        return context_of(
            self.trials,
            dataset,
            self.settings,
            (self.target, self.cell, self.group),
            width=0 if hidden is None else hidden.shape[-1],
            batch_size=self.recipe.even_size(self.rows.shape[1]),
            layer=shape_of,
            features=self.inputs.shape[-1],
            epochs=self.recipe.epochs,
            **context_values,
        )


def along(values: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return the values ``[trial, row, ...]`` of some rows ``[trial, row]``."""
    if values.ndim == 2:
        return values.gather(1, positions)
    return values.gather(1, positions[..., None].expand(-1, -1, values.shape[2]))


def context_of(
    trials: Sequence[PreparedJob],
    dataset: EncodedDataset,
    settings: Settings,
    rows: tuple[torch.Tensor, ...],
    **varying_values: Any,
) -> TrainingContext:
    """Return what callbacks see of trials that train together: what all trainings have, and what is their ``own``.

    ``rows`` are target, cell and group of the training rows.
    """
    torch = require("torch", extra="train", purpose="Training a network")
    assert dataset.train.group is not None
    codes = dataset.attribute_codes(np.stack([dataset.train.group[trial.rows] for trial in trials]))
    seeds = tuple(trial.seed for trial in trials)
    target, cell, group = rows
    shared_values = {
        "attributes": dataset.attributes,
        "values": dataset.attribute_values,
        "codes": torch.from_numpy(np.ascontiguousarray(codes)).to(settings.device),
        "labels": dataset.labels,
        "linear": linear_layers(seeds, settings),
    }
    return TrainingContext(
        seeds=seeds,
        classes=dataset.classes,
        groups=dataset.groups,
        target=target,
        cell=cell,
        group=group,
        settings=settings,
        **(shared_values | varying_values),
    )


def linear_layers(seeds: Sequence[int], settings: Settings) -> Callable[[str, int, int], Part]:
    """Return what makes linear layers for callbacks, one a trial, as ``TrainingContext.linear`` is called."""

    def linear(name: str, inputs: int, outputs: int) -> Part:
        head_seeds = [seed_of(seed, name) for seed in seeds]
        stack_of_heads = stacked_mlp(
            (inputs, outputs), head_seeds, part=name, dtype=dtype_of(settings), device=settings.device
        )
        return Part(stack_of_heads.parameters, layer=StackedLinear(stack_of_heads))

    return linear


class StackedLinear:
    """Linear layers of trials that train together, one each."""

    def __init__(self, layers: StackedMLP) -> None:
        self._layers = layers

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves ``[trial, ...]``."""
        return self._layers.parameters

    def set_parameters(self, parameters: Sequence[torch.Tensor]) -> None:
        """Take other leaves, those of the trials that go on."""
        self._layers.set_parameters(parameters)

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return ``[trial, row, output]``."""
        return self._layers(inputs)[0]
