"""Discriminators that guess the group from the hidden layer, and what a network loses by what they know.

Stacked: every trial has its own discriminators, all of them are updated at once, and nothing mixes trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require
from equipoise.networks import StackedMLP, stacked_mlp
from equipoise.training import Batch, Parameter, StackedAdam, TrainingCallback, TrainingContext, seed_of

if TYPE_CHECKING:
    import torch

# The authors' discriminator has two hidden layers with ReLU, and Adam at this rate.
RATE = 1e-3
WIDTH = Parameter("width of a discriminator's two hidden layers", 300, least=1, low=300, high=300, integer=True)
# The authors add this to norms, so that a row of zeros has a direction.
SMALL = 1e-6


class Discriminators(TrainingCallback):
    """``copies`` discriminators a trial, updated once a batch; the network is punished for what they can tell.

    The network's loss is CE - strength / K * sum_k CE_k. That of discriminator k is CE_k + diversity * (the sum over
    the others of the mean squared cosine between all pairs of rows of their last hidden layers, norms held fixed).
    ``conditional`` tells the discriminators the class too (the quarter of a regression, the labels of a row that may
    have several), as the authors' gated option "Inputs" does.
    """

    def __init__(
        self,
        context: TrainingContext,
        strengths: Sequence[float],
        *,
        width: int,
        copies: int = 1,
        diversities: Sequence[float] | None = None,
        conditional: bool = False,
    ) -> None:
        library: Any = require("torch", extra="train", purpose="An adversarial treatment")
        self._torch = library
        self.copies = copies
        self.several_labels = bool(context.labels)
        self.classes = len(context.labels or context.classes) if conditional else 0
        self.strengths = context.numbers(strengths)
        self.diversities = None if diversities is None else context.numbers(diversities)
        seeds = [seed_of(seed, "discriminator", copy) for seed in context.seeds for copy in range(copies)]
        sizes = (context.width + self.classes, int(width), int(width), len(context.groups))
        self.networks = stacked_mlp(
            sizes,
            seeds,
            part="discriminator",
            activation="relu",
            dtype=self.strengths.dtype,
            device=str(context.group.device),
        )
        self.optimiser = StackedAdam(self.networks.parameters, RATE)

    def before_step(self, batch: Batch) -> None:
        """Update every discriminator once, on the hidden layer as it is."""
        with self._torch.enable_grad():
            guesses, hidden = self.networks(self._inputs(batch.hidden.detach(), batch))
            losses = self._errors(guesses, batch).sum(dim=1)
            if self.diversities is not None:
                losses = losses + self.diversities * self.likeness(hidden)
            # Every trial has its own parameters, so the sum has the gradients of each.
            gradients = self._torch.autograd.grad(losses.sum(), self.networks.parameters)
        self.optimiser.step(gradients)

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return minus the discriminators' mean cross-entropy times the strength, ``[trial]``."""
        weights, biases = (
            [parameter.detach() for parameter in many] for many in (self.networks.weights, self.networks.biases)
        )
        guesses, _ = StackedMLP(weights, biases, "relu")(self._inputs(batch.hidden, batch))
        return -self.strengths * self._errors(guesses, batch).mean(dim=1)

    def likeness(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the sum over pairs of discriminators of the mean squared cosine of their rows, ``[trial]``.

        A pair stands in the loss of both of its discriminators; counted once here, both get its gradient.
        """
        norms = hidden.detach().norm(dim=-1, keepdim=True) + SMALL
        rows = (hidden / norms).reshape(-1, self.copies, *hidden.shape[1:])
        total: torch.Tensor = self._torch.zeros_like(self.strengths)
        for first in range(self.copies):
            for other in range(first + 1, self.copies):
                total = total + mean_squared_products(rows[:, first], rows[:, other])
        return total

    def select_trials(self, trials: torch.Tensor) -> None:
        """Go on with these trials and their discriminators."""
        places = (trials[:, None] * self.copies + self._torch.arange(self.copies, device=trials.device)).reshape(-1)
        selected = [parameter.detach()[places].requires_grad_() for parameter in self.networks.parameters]
        self.networks.set_parameters(selected)
        self.optimiser.select_trials(places, selected)
        self.strengths = self.strengths[trials]
        self.diversities = None if self.diversities is None else self.diversities[trials]

    def state(self) -> dict[str, torch.Tensor]:
        """Return the discriminators and what their optimiser remembers."""
        values = {f"network {index}": parameter for index, parameter in enumerate(self.networks.parameters)}
        return values | self.optimiser.state()

    def _inputs(self, hidden: torch.Tensor, batch: Batch) -> torch.Tensor:
        if self.classes:
            conditions = (
                batch.target if self.several_labels
                else self._torch.nn.functional.one_hot(batch.cell, self.classes)
            )  # fmt: skip
            hidden = self._torch.cat([hidden, conditions.to(hidden.dtype)], dim=-1)
        return hidden if self.copies == 1 else hidden.repeat_interleave(self.copies, dim=0)

    def _errors(self, guesses: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the mean cross-entropy of every discriminator, ``[trial, copy]``."""
        group = batch.group if self.copies == 1 else batch.group.repeat_interleave(self.copies, dim=0)
        errors: torch.Tensor = self._torch.nn.functional.cross_entropy(
            guesses.flatten(0, 1), group.flatten(), reduction="none"
        )
        return errors.reshape(-1, self.copies, guesses.shape[1]).mean(dim=2)


def mean_squared_products(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the mean of (a . b)^2 over all pairs of rows a of one and b of the other, from ``[trial, row, width]``.

    |A B'|^2 = <A'A, B'B>: with more rows than columns the second is less work.
    """
    rows, width = tensor.shape[1:]
    if rows <= width:
        return tensor.bmm(other.mT).square().mean(dim=(1, 2))
    return (tensor.mT.bmm(tensor) * other.mT.bmm(other)).sum(dim=(1, 2)) / rows**2
