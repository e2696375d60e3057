"""From inputs to an embedding: a network where there is one, a head, length 1 where the loss wants it; how it is built.

A backbone is built by name or copied, a head is as wide as its features, and values come back from a file.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    listing,
    require,
    unknown_name,
)
from equipoise.networks import EFFICIENTNET, NETWORKS, SMALL, WITH_LARGE, build, freeze_norms
from equipoise.training._dataset import Settings
from equipoise.training._numerics import dtype_of
from equipoise.training.images._backbones import LARGE, checked
from equipoise.training.images._pictures import FIXED
from equipoise.training.images._run import record_layer
from equipoise.training.metric._heads import LinearHeads, unknown_layer

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
    layer_outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    _hooks: list[RemovableHandle] = field(default_factory=list)

    def record_layer(self, layer: str, inputs: torch.Tensor) -> tuple[int, ...]:
        """Let calls show a layer of the network; return its shape for one row, as a first look at inputs tells it."""
        if self.network is None:
            raise unknown_layer(layer)
        self._hooks.append(record_layer(self.network, layer, self.layer_outputs))
        self.read(inputs[:1])
        return tuple(self.layer_outputs.pop(layer).shape[1:])

    def hide(self) -> None:
        """Show no layers any more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self.layer_outputs.clear()

    def parameters(self) -> list[torch.Tensor]:
        """Everything that learns."""
        network_parameters = (
            []
            if self.network is None
            else [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        )
        return [*network_parameters, *self.head.parameters()]

    def features(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return what stands under the head."""
        if self.scale is not None:
            mean, spread = self.scale
            inputs = (inputs.to(mean.dtype) - mean) / spread
        return inputs if self.network is None else checked(self.network(inputs), len(inputs))

    def embedding(self, features: torch.Tensor) -> torch.Tensor:
        """Return the embedding of features."""
        library = require("torch", extra="train", purpose="Metric learning")
        tensor: torch.Tensor = self.head(features)
        return library.nn.functional.normalize(tensor, dim=-1) if self.unit_length else tensor

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
        parts = []
        with library.inference_mode():
            for begin in range(0, len(inputs), step):
                part = self.embedding(self.features(inputs[begin : begin + step].to(device)))
                parts.append(part.float().cpu().numpy())
        empty = np.zeros((0, self.head.out_features), dtype=np.float32)
        return np.concatenate(parts) if parts else empty

    def state(self) -> dict[str, torch.Tensor]:
        """Return every value, by name, where it lies."""
        tensors = {HEAD + name: value for name, value in self.head.state_dict().items()}
        if self.network is not None:
            tensors |= {NETWORK + name: value for name, value in self.network.state_dict().items()}
        if self.scale is not None:
            tensors |= {SCALE + name: value for name, value in zip(("mean", "spread"), self.scale, strict=True)}
        return tensors

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Go back to values that ``state`` gave."""
        for name, value in self.state().items():
            value.copy_(state[name])


def build_head(
    seed: int, features: int, width: int, *, unit_length: bool, dtype: torch.dtype, device: str
) -> torch.nn.Linear:
    """Return a head with the start values that the learner of studies has for this seed."""
    library = require("torch", extra="train", purpose="Metric learning")
    start = LinearHeads([seed], features, width, unit_length=unit_length, dtype=dtype, device=device)
    head: torch.nn.Linear = library.nn.Linear(features, width, dtype=dtype, device=device)
    with library.no_grad():
        head.weight.copy_(start.weights[0][0].T)
        head.bias.copy_(start.biases[0][0, 0])
    return head


def network_of(
    backbone: Any, inputs: tuple[int, ...], settings: Settings, *, frozen_norm: bool
) -> torch.nn.Module | None:
    """Build a backbone by its name, or copy one, on the device; None where inputs are features."""
    library = require("torch", extra="train", purpose="MetricLearner")
    if backbone is None:
        return None
    module: Any
    if isinstance(backbone, str):
        if backbone not in NETWORKS:
            raise unknown_name("backbone", backbone, NETWORKS, "the networks for pictures")
        channels, height = inputs[:2]
        module, _ = build(backbone, channels, large=height >= LARGE and backbone in WITH_LARGE, frozen_norm=frozen_norm)
    elif isinstance(backbone, library.nn.Module):
        module = copy.deepcopy(backbone)
        if frozen_norm:
            freeze_norms(module)
    else:
        raise BadInput(
            f"The backbone is of the kind {type(backbone).__name__}",
            available=f"None, {', '.join(NETWORKS)}, or a torch module that returns features",
        )
    placed: torch.nn.Module = module.to(device=settings.device, dtype=dtype_of(settings))
    return placed


def embedder_of(
    network: torch.nn.Module | None, first: torch.Tensor, width: int, seed: int, settings: Settings,
    *, unit_length: bool, scale: tuple[list[float], list[float]] | None,
) -> Embedder:  # fmt: skip
    """Put a head on a backbone, which shows by a first look at a few rows how many features it has."""
    library = require("torch", extra="train", purpose="MetricLearner")
    dtype = dtype_of(settings)
    scale_tensors = None
    if scale is not None:
        mean, spread = (library.tensor(values, dtype=dtype, device=settings.device)[:, None, None] for values in scale)
        scale_tensors = (mean, spread)
    embedder = Embedder(network, library.nn.Linear(1, width), unit_length, scale_tensors)
    embedder.training(False)
    with library.no_grad():
        features = checked(embedder.features(first), len(first)).shape[1]
    embedder.head = build_head(seed, features, width, unit_length=unit_length, dtype=dtype, device=settings.device)
    return embedder


def restored(
    network: torch.nn.Module | None, description: dict[str, Any], tensors: dict[str, torch.Tensor], settings: Settings
) -> Embedder:
    """Return an embedding with the values of a file; what does not fit is named."""
    library = require("torch", extra="train", purpose="MetricLearner")
    unit_length, width = bool(description["unit_length"]), int(description["values"]["embedding_size"])
    head = build_head(
        0,
        int(description["features"]),
        width,
        unit_length=unit_length,
        dtype=dtype_of(settings),
        device=settings.device,
    )
    scale = None
    if f"{SCALE}mean" in tensors:
        scale = (tensors[f"{SCALE}mean"].to(settings.device), tensors[f"{SCALE}spread"].to(settings.device))
    embedder = Embedder(network, head, unit_length, scale)
    state = embedder.state()
    mismatched = sorted(set(state) ^ set(tensors))
    mismatched += [name for name, value in state.items() if name in tensors and value.shape != tensors[name].shape]
    if mismatched:
        raise BadInput(
            f"The weights of the file do not fit the backbone: {listing(mismatched, 4)}",
            help="give the backbone that it was trained with.",
        )
    with library.no_grad():
        embedder.restore(tensors)
    return embedder


def scale_of(
    pictures: NDArray[np.uint8], rows: NDArray[np.int64], backbone: str = SMALL
) -> tuple[list[float], list[float]]:
    """Return mean and spread of each channel over some rows; one that never changes is left in its own units.

    A backbone that scales pictures of [0, 1] by itself is given those.
    """
    if backbone == EFFICIENTNET:
        (mean,), (spread,) = FIXED["unit"]
        return [mean] * pictures.shape[3], [spread] * pictures.shape[3]
    values = np.arange(256.0)
    means, spreads = [], []
    for channel in range(pictures.shape[3]):
        counts = np.bincount(pictures[rows, ..., channel].reshape(-1), minlength=256)
        shares = counts / counts.sum()
        mean = float(shares @ values)
        spread = float(np.sqrt(max(shares @ values**2 - mean**2, 0.0)))
        means.append(mean)
        spreads.append(spread if spread > 0 else 1.0)
    return means, spreads
