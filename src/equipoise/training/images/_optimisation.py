"""How the parameters of a network on pictures move: optimisers, schedules of the rate, and weights in bfloat16.

The rate lies in a tensor on the device, so that a recorded step follows a schedule. Where a network computes in
bfloat16 its weights stay in float32, and every layer would cast its own each time: dozens of short kernels forwards, as
many for the gradients. ``low_weights`` does it in two: what a layer reads as its weight is the cast one;
``parameters()`` are the weights in float32, and gradients arrive at them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    options: dict[str, Any] = {"lr": rate, "weight_decay": descent.weight_decay, "fused": on_gpu}
    optimizer: torch.optim.Optimizer
    if descent.optimiser == "adam":
        optimizer = library.optim.Adam(parameters, capturable=on_gpu, **options)
    else:
        optimizer = library.optim.SGD(parameters, momentum=descent.momentum, **options)
    return optimizer


def state_of(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the tensors that an optimiser remembers, by the place of the parameter and their name."""
    tensors: dict[str, torch.Tensor] = {}
    places = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for index, parameter in enumerate(places):
        for name, value in optimiser.state.get(parameter, {}).items():
            if value is not None:
                tensors[f"{index}.{name}"] = value
    return tensors


def load(optimiser: torch.optim.Optimizer, state: dict[str, torch.Tensor]) -> None:
    """Give a new optimiser what another one remembered, laid out in memory as the parameters are.

    The kernels that move all parameters at once read them, their gradients and their moments by one set of strides.
    """
    library = require("torch", extra="train", purpose="Training")
    places = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for name, value in state.items():
        index, _, entry = name.partition(".")
        parameter = places[int(index)]
        if value.shape == parameter.shape:
            optimiser.state[parameter][entry] = library.empty_like(parameter, requires_grad=False).copy_(value)
        elif value.ndim:
            raise ValueError(f"{entry} has the shape {tuple(value.shape)}, its parameter {tuple(parameter.shape)}")
        else:
            # Adam counts its steps on the CPU unless they are recorded.
            optimiser.state[parameter][entry] = value.to(parameter.device if parameter.device.type == "cuda" else "cpu")


SCHEDULES = ("steps", "triangle", "cosine", "constant")
# The share of a training in which the triangle rises.
RISE = 0.2


def rates(schedule: str, peak: float, first: int, number: int, total: int, warm_up: float = 0.0) -> NDArray[np.float32]:
    """Return the rates of ``number`` steps from the step ``first`` on, of ``total`` in all.

    ``steps`` divides by ten at each quarter (paper 004: every 50 of 200 epochs); ``triangle`` rises in a line for a
    fifth of the way and falls to 0; ``cosine`` falls to 0 along half a wave. Steps after the end have the last rate.
    In the first W = round(``warm_up`` x ``total``) steps the rate rises in a line to the peak, (s + 1/2) / W of it in
    step s from 0 on; the schedule then goes through all of its way in the steps that are left.
    """
    steps = np.minimum(np.arange(first, first + number), total - 1)
    warm = min(round(warm_up * total), total - 1)
    done = np.maximum(steps - warm + 0.5, 0.0) / (total - warm)
    shapes = {
        "steps": 0.1 ** np.floor(4 * done),
        "triangle": np.minimum(done / RISE, (1 - done) / (1 - RISE)),
        "cosine": (1 + np.cos(np.pi * done)) / 2,
        "constant": np.ones_like(done),
    }
    shares = np.where(steps < warm, (steps + 0.5) / max(warm, 1), shapes[schedule])
    return (peak * shares).astype(np.float32)


@contextlib.contextmanager
def low_weights(parts: Iterable[torch.nn.Module]) -> Iterator[None]:
    """Let the convolutions and products of parts read their weights in bfloat16."""
    torch = require("torch", extra="train", purpose="Training")
    layers = [layer for part in parts for layer in part.modules() if isinstance(layer, _multiplying(torch))]
    named = [(layer, name, weight) for layer in layers for name, weight in layer.named_parameters(recurse=False)
             if weight.dtype == torch.float32]  # fmt: skip
    if not named:
        yield
        return
    lowered = _casting().apply(*(weight for _, _, weight in named))
    try:
        for (layer, name, _), low in zip(named, lowered, strict=True):
            # An attribute of the object hides the parameter of this name, which stays where it is.
            object.__setattr__(layer, name, low)
        yield
    finally:
        for layer, name, _ in named:
            layer.__dict__.pop(name, None)


def _multiplying(torch: Any) -> tuple[Any, ...]:
    """Name the layers that autocast computes in bfloat16."""
    return (torch.nn.Conv2d, torch.nn.Linear)


@cache
def _casting() -> Any:
    torch = require("torch", extra="train", purpose="Training")

    class Casting(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """All tensors to bfloat16; their gradients back to float32."""

        @staticmethod
        def forward(ctx: Any, *weights: Any) -> Any:
            ctx.set_materialize_grads(False)
            return _cast(torch, weights, torch.bfloat16)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            cast_gradients = iter(
                _cast(torch, [gradient for gradient in gradients if gradient is not None], torch.float32)
            )
            return tuple(None if gradient is None else next(cast_gradients) for gradient in gradients)

    return Casting


def _cast(torch: Any, tensors: Any, dtype: Any) -> tuple[Any, ...]:
    """Return tensors in another type, each laid in memory as it was."""
    cast_tensors = tuple(torch.empty_like(tensor, dtype=dtype) for tensor in tensors)
    if cast_tensors:
        torch._foreach_copy_(cast_tensors, tensors)
    return cast_tensors
