"""From inputs to an embedding: a network where there is one, a head, length 1 where the loss wants it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.imports import require
from equipoise.training.images.backbones import checked
from equipoise.training.images.run import show_layer
from equipoise.training.metric.heads.head import LinearHeads, no_such_layer

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

NETWORK, HEAD, SCALE = "network.", "head.", "scale."
# Numbers that are read at once: they bound the memory that embedding takes.
AT_ONCE = 4_000_000


@dataclass(eq=False)
class Embedder:
    """The parts of an embedding. ``scale`` are mean and spread ``[channel, 1, 1]`` of pictures, which come as bytes."""

    network: torch.nn.Module | None
    head: torch.nn.Linear
    unit_length: bool
    scale: tuple[torch.Tensor, torch.Tensor] | None = None
    # What the layers that are shown gave in the last call, by name.
    shown: dict[str, torch.Tensor] = field(default_factory=dict)
    _hooks: list[RemovableHandle] = field(default_factory=list)

    def show(self, layer: str, inputs: torch.Tensor) -> tuple[int, ...]:
        """Let calls show a layer of the network; return its shape for one row, as a first look at inputs tells it."""
        if self.network is None:
            raise no_such_layer(layer)
        self._hooks.append(show_layer(self.network, layer, self.shown))
        self.read(inputs[:1])
        return tuple(self.shown.pop(layer).shape[1:])

    def hide(self) -> None:
        """Show no layers any more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self.shown.clear()

    def parameters(self) -> list[torch.Tensor]:
        """Everything that learns."""
        own = [] if self.network is None else [one for one in self.network.parameters() if one.requires_grad]
        return [*own, *self.head.parameters()]

    def features(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return what stands under the head."""
        if self.scale is not None:
            mean, spread = self.scale
            inputs = (inputs.to(mean.dtype) - mean) / spread
        return inputs if self.network is None else checked(self.network(inputs), len(inputs))

    def embedding(self, features: torch.Tensor) -> torch.Tensor:
        """Return the embedding of features."""
        library = require("torch", extra="train", purpose="Metric learning")
        found: torch.Tensor = self.head(features)
        return library.nn.functional.normalize(found, dim=-1) if self.unit_length else found

    def training(self, on: bool) -> None:
        """Switch between training and reading."""
        if self.network is not None:
            self.network.train(on)

    def read(self, inputs: torch.Tensor) -> NDArray[np.float32]:
        """Return the embeddings of rows on the CPU, in parts and without gradients."""
        library = require("torch", extra="train", purpose="Metric learning")
        self.training(False)
        step = max(AT_ONCE // max(int(np.prod(inputs.shape[1:])), 1), 1)
        device = self.head.weight.device
        found = []
        with library.inference_mode():
            for begin in range(0, len(inputs), step):
                part = self.embedding(self.features(inputs[begin : begin + step].to(device)))
                found.append(part.float().cpu().numpy())
        empty = np.zeros((0, self.head.out_features), dtype=np.float32)
        return np.concatenate(found) if found else empty

    def state(self) -> dict[str, torch.Tensor]:
        """Return every value, by name, where it lies."""
        found = {HEAD + name: value for name, value in self.head.state_dict().items()}
        if self.network is not None:
            found |= {NETWORK + name: value for name, value in self.network.state_dict().items()}
        if self.scale is not None:
            found |= {SCALE + name: value for name, value in zip(("mean", "spread"), self.scale, strict=True)}
        return found

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Go back to values that ``state`` gave."""
        for name, value in self.state().items():
            value.copy_(state[name])


def made_head(
    seed: int, features: int, width: int, *, unit_length: bool, dtype: torch.dtype, device: str
) -> torch.nn.Linear:
    """Return a head with the start values that the learner of studies has for this seed."""
    library = require("torch", extra="train", purpose="Metric learning")
    start = LinearHeads([seed], features, width, unit_length=unit_length, dtype=dtype, device=device)
    head: torch.nn.Linear = library.nn.Linear(features, width, dtype=dtype, device=device)
    with library.no_grad():
        head.weight.copy_(start.weight[0].T)
        head.bias.copy_(start.bias[0, 0])
    return head
