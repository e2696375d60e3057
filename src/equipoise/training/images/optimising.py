"""Optimisers whose rate lies in a tensor on the device, so that a recorded step follows a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Descent:
    """How parameters move: "sgd" with momentum, or "adam"; with weight decay."""

    optimiser: str
    momentum: float
    weight_decay: float


def optimiser_of(
    parameters: Iterable[torch.nn.Parameter], descent: Descent, rate: torch.Tensor
) -> torch.optim.Optimizer:
    """Return torch's own optimiser over parameters; ``rate`` is read at every step."""
    library = require("torch", extra="train", purpose="Training")
    on_gpu = rate.device.type == "cuda"
    how: dict[str, Any] = {"lr": rate, "weight_decay": descent.weight_decay, "fused": on_gpu}
    made: torch.optim.Optimizer
    if descent.optimiser == "adam":
        made = library.optim.Adam(parameters, capturable=on_gpu, **how)
    else:
        made = library.optim.SGD(parameters, momentum=descent.momentum, **how)
    return made


def state_of(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the tensors that an optimiser remembers, by the place of the parameter and their name."""
    found: dict[str, torch.Tensor] = {}
    places = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for place, parameter in enumerate(places):
        for name, value in optimiser.state.get(parameter, {}).items():
            if value is not None:
                found[f"{place}.{name}"] = value
    return found


def load(optimiser: torch.optim.Optimizer, kept: dict[str, torch.Tensor]) -> None:
    """Give a new optimiser what another one remembered, laid out in memory as the parameters are.

    The kernels that move all parameters at once read them, their gradients and their moments by one set of strides.
    """
    library = require("torch", extra="train", purpose="Training")
    places = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for name, value in kept.items():
        place, _, entry = name.partition(".")
        parameter = places[int(place)]
        if value.shape == parameter.shape:
            optimiser.state[parameter][entry] = library.empty_like(parameter, requires_grad=False).copy_(value)
        elif value.ndim:
            raise ValueError(f"{entry} has the shape {tuple(value.shape)}, its parameter {tuple(parameter.shape)}")
        else:
            # Adam counts its steps on the CPU unless they are recorded.
            optimiser.state[parameter][entry] = value.to(parameter.device if parameter.device.type == "cuda" else "cpu")
