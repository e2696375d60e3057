"""How one network is taught: its head, its losses, and what moves in which epoch. As it stands here, the control's.

A treatment that teaches otherwise returns a subclass from ``taught``. Everything in ``gradients`` runs on the device
without asking the CPU anything (no ``item``, no branches on values), so that a step can be recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.imports import require
from equipoise.training.material import Codes

if TYPE_CHECKING:
    import torch

    Parts = dict[str, torch.nn.Module]

# The part that turns pictures into features, and the one that turns features into outputs; treatments add others.
NETWORK, HEAD = "network", "head"


@dataclass(frozen=True, eq=False)
class NetworkContext:
    """What is known when a network is built: ``features`` is the width of what the network gives its head.

    ``counts`` are the training rows of each ``[class, group]``; ``casting`` is the precision in which parts compute.
    """

    features: int
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: Codes
    casting: Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, eq=False)
class PictureBatch:
    """Pictures ``[row, channel, height, width]``, normalised and augmented, with class, group and weight of each.

    ``places`` are their positions in the trial's rows, and ``step`` says on the device which step of the epoch it is.
    """

    pictures: torch.Tensor
    target: torch.Tensor
    group: torch.Tensor
    weight: torch.Tensor
    places: torch.Tensor | None = None
    step: torch.Tensor | None = None


@dataclass(frozen=True)
class OwnRecipe:
    """An optimiser of a treatment's own ("sgd" or "adam"), at a constant rate; ``longer`` multiplies the epochs."""

    optimiser: str
    learning_rate: float
    weight_decay: float
    longer: float = 1.0


@dataclass(frozen=True)
class OwnRate:
    """A rate and a decay of one part's own, under Adam, at all times."""

    learning_rate: float
    weight_decay: float = 0.0


class Teaching:
    """The control: one head, cross-entropy, every part moves in every epoch."""

    # None: the learner's own recipe.
    recipe: OwnRecipe | None = None

    def __init__(self, context: NetworkContext) -> None:
        self.context = context
        self.torch = require("torch", extra="train", purpose="Training a network")

    @property
    def outputs(self) -> int:
        """How many outputs the head has."""
        return len(self.context.classes)

    def parts(self) -> Parts:
        """Build what stands on the network: seeds are fixed before, and the order of building is the order drawn in."""
        return {HEAD: self.torch.nn.Linear(self.context.features, self.outputs)}

    def own_rates(self) -> Mapping[str, OwnRate]:
        """Name the parts that move at a rate of their own."""
        return {}

    def places(self, epoch: int) -> Codes | None:
        """Return the batches of an epoch, ``[step, row]`` as positions in the trial's rows; None: in random order."""
        return None

    def looks(self, epoch: int, last: int) -> bool:
        """Tell whether the dev rows are read after an epoch."""
        return True

    def classes(self, outputs: NDArray[np.float32]) -> Codes | None:
        """Return the class of each dev row from its outputs, where these are an embedding; None where they are logits.

        What is kept of a trial are then the outputs themselves, as ``outputs.dev`` and ``outputs.test``.
        """
        return None

    def phase(self, epoch: int) -> str:
        """Name what happens in an epoch (they count from 1): each name is one kind of step."""
        return "all"

    def moved(self, phase: str) -> tuple[str, ...]:
        """Name the parts that move in a phase."""
        return (NETWORK, HEAD)

    def said(self, parts: Parts, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and outputs of pictures, in full precision."""
        with self.context.casting():
            features = parts[NETWORK](pictures)
            output = parts[HEAD](features)
        return _whole(features), _whole(output)

    def through(self, part: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
        """Return what a part makes of features or outputs, in full precision."""
        with self.context.casting():
            return _whole(part(inputs))

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row."""
        loss: torch.Tensor = self.torch.nn.functional.cross_entropy(output, target, reduction="none")
        return loss

    def gradients(self, phase: str, parts: Parts, batch: PictureBatch) -> torch.Tensor:
        """Leave the gradient of a batch in the parameters of the parts that move; return the loss."""
        _, output = self.said(parts, batch.pictures)
        loss = (self.row_loss(output, batch.target, batch.group) * batch.weight).mean()
        self.torch.autograd.backward(loss)
        return loss.detach()


def _whole(output: torch.Tensor) -> torch.Tensor:
    """Return float32 for what was computed in fewer bits."""
    return output.float() if output.element_size() < 4 else output
