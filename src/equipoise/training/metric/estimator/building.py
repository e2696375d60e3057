"""The parts of an embedding, built: a backbone by name or copied, a head as wide as its features, a file's values."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.imports import require
from equipoise.foundation.text import listing
from equipoise.networks.building import EFFICIENTNET, NETWORKS, SMALL, WITH_LARGE, build
from equipoise.networks.norms import freeze_norms
from equipoise.training.images.backbones import LARGE, checked
from equipoise.training.images.pictures import FIXED
from equipoise.training.material import Settings
from equipoise.training.metric.estimator.embedder import SCALE, Embedder, made_head
from equipoise.training.precision import dtype_of

if TYPE_CHECKING:
    import torch


def network_of(
    backbone: Any, inputs: tuple[int, ...], settings: Settings, *, frozen_norm: bool
) -> torch.nn.Module | None:
    """Build a backbone by its name, or copy one, on the device; None where inputs are features."""
    library = require("torch", extra="train", purpose="MetricLearner")
    if backbone is None:
        return None
    made: Any
    if isinstance(backbone, str):
        if backbone not in NETWORKS:
            raise unknown_name("backbone", backbone, NETWORKS, "the networks for pictures")
        channels, height = inputs[:2]
        made, _ = build(backbone, channels, large=height >= LARGE and backbone in WITH_LARGE, frozen_norm=frozen_norm)
    elif isinstance(backbone, library.nn.Module):
        made = copy.deepcopy(backbone)
        if frozen_norm:
            freeze_norms(made)
    else:
        raise BadInput(
            f"The backbone is of the kind {type(backbone).__name__}",
            available=f"None, {', '.join(NETWORKS)}, or a torch module that returns features",
        )
    placed: torch.nn.Module = made.to(device=settings.device, dtype=dtype_of(settings))
    return placed


def embedder_of(
    network: torch.nn.Module | None, first: torch.Tensor, width: int, seed: int, settings: Settings,
    *, unit_length: bool, scale: tuple[list[float], list[float]] | None,
) -> Embedder:  # fmt: skip
    """Put a head on a backbone, which shows by a first look at a few rows how many features it has."""
    library = require("torch", extra="train", purpose="MetricLearner")
    dtype = dtype_of(settings)
    there = None
    if scale is not None:
        mean, spread = (library.tensor(one, dtype=dtype, device=settings.device)[:, None, None] for one in scale)
        there = (mean, spread)
    made = Embedder(network, library.nn.Linear(1, width), unit_length, there)
    made.training(False)
    with library.no_grad():
        features = checked(made.features(first), len(first)).shape[1]
    made.head = made_head(seed, features, width, unit_length=unit_length, dtype=dtype, device=settings.device)
    return made


def restored(
    network: torch.nn.Module | None, said: dict[str, Any], tensors: dict[str, torch.Tensor], settings: Settings
) -> Embedder:
    """Return an embedding with the values of a file; what does not fit is named."""
    library = require("torch", extra="train", purpose="MetricLearner")
    unit_length, width = bool(said["unit_length"]), int(said["values"]["embedding_size"])
    head = made_head(
        0, int(said["features"]), width, unit_length=unit_length, dtype=dtype_of(settings), device=settings.device
    )
    scale = None
    if f"{SCALE}mean" in tensors:
        scale = (tensors[f"{SCALE}mean"].to(settings.device), tensors[f"{SCALE}spread"].to(settings.device))
    made = Embedder(network, head, unit_length, scale)
    state = made.state()
    apart = sorted(set(state) ^ set(tensors))
    apart += [name for name, value in state.items() if name in tensors and value.shape != tensors[name].shape]
    if apart:
        raise BadInput(
            f"The weights of the file do not fit the backbone: {listing(apart, 4)}",
            help="give the backbone that it was trained with.",
        )
    with library.no_grad():
        made.restore(tensors)
    return made


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
