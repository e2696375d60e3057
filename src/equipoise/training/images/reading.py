"""How a network reads pictures: scaled, a part at a time, with the batch statistics of training held fixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import require
from equipoise.training.images.pictures import Scaling, View
from equipoise.training.material import Settings
from equipoise.training.precision import casting_of, dtype_of, layout_of

if TYPE_CHECKING:
    import torch

# Pictures at once, and their pixels: they bound the memory that reading takes.
AT_ONCE, PIXELS = 1_000, 4_000_000


class PictureInputs:
    """How stored pictures become what a network sees: the part and the size that are shown, and the scaling."""

    def __init__(self, view: View, scaling: Scaling, settings: Settings) -> None:
        self.view, self.scaling, self.settings = view, scaling, settings

    def shown(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return pictures as the network takes them: scaled, and laid in memory as its weights are."""
        return self.scaling(pictures).contiguous(memory_format=layout_of(self.settings))

    def seen(self, inputs: NDArray[np.uint8]) -> torch.Tensor:
        """Return stored pictures on the device as a network sees them where nothing is drawn."""
        library = require("torch", extra="train", purpose="A network on pictures")
        here = library.from_numpy(np.ascontiguousarray(inputs)).to(self.settings.device).permute(0, 3, 1, 2)
        if self.view.resizes:
            middle = self.view.middle(library.arange(len(here), device=here.device))
            here = self.view.resized(here, middle, dtype_of(self.settings))
        return self.shown(here)


class PictureReader:
    """A network and its head as they read pictures, in training and afterwards alike.

    With ``unit_length`` outputs are scaled to length 1; ``own`` tells of a network that nobody knows.
    """

    def __init__(
        self, inputs: PictureInputs, network: torch.nn.Module, head: torch.nn.Module, *, unit_length: bool = False,
        own: bool = False,
    ) -> None:  # fmt: skip
        self.inputs, self.network, self.head = inputs, network, head
        self.unit_length, self.own = unit_length, own

    def said(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and outputs of pictures, in full precision."""
        with casting_of(self.inputs.settings)():
            features = self.network(pictures)
            output = self.head(features)
        output = whole(output)
        if self.unit_length:
            library = require("torch", extra="train", purpose="A network on pictures")
            output = library.nn.functional.normalize(output, dim=-1)
        return whole(features), output

    def mode(self) -> AbstractContextManager[None]:
        """Return the context of a reading: what an own network keeps of it must be of use to a training."""
        library = require("torch", extra="train", purpose="A network on pictures")
        found: AbstractContextManager[None] = library.no_grad() if self.own else library.inference_mode()
        return found

    def parts(self, inputs: NDArray[np.uint8]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield features and outputs of pictures, a part of them at a time.

        Network and head have to be in evaluation mode.
        """
        number = min(at_once(*inputs.shape[1:3]), at_once(*self.inputs.view.sides))
        for start in range(0, len(inputs), number):
            with self.mode():
                part = self.said(self.inputs.seen(inputs[start : start + number]))
            yield part


def whole(output: torch.Tensor) -> torch.Tensor:
    """Return float32 for what was computed in fewer bits."""
    return output.float() if output.element_size() < 4 else output


def at_once(height: int, width: int) -> int:
    """Return how many pictures of a size are read at once."""
    return min(AT_ONCE, max(PIXELS // (height * width), 1))
