"""What a stack is made of: networks, recipe, the batches of an epoch, and the scale of a regression's targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equipoise.foundation import BadInput
from equipoise.training.material import Material

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
    def shown(self) -> dict[str, torch.Tensor]:
        """What the layers that are shown gave in the last call, ``[R, row, ...]``, by name."""

    def show(self, layer: str) -> None:
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
    places: torch.Tensor
    rows: torch.Tensor
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    weights: torch.Tensor | None

    def batch(self, cut: slice) -> Arranged:
        """Return one batch."""
        places, rows, target, cell, group = (
            one[:, cut] for one in (self.places, self.rows, self.target, self.cell, self.group)
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
    def of(cls, material: Material) -> Scale:
        """Return the scale of the original training targets; classes have none."""
        if material.task != "regression":
            return cls()
        assert material.train.target is not None
        known = material.train.target[np.isfinite(material.train.target)].astype(np.float64)
        return cls(float(known.mean()), float(known.std()) or 1.0)
