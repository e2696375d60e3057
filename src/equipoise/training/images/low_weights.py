"""Weights in bfloat16 for one step, cast all at once.

Where a network computes in bfloat16 its weights stay in float32, and every layer casts its own each time: dozens of
short kernels forwards, as many for the gradients. Here two kernels do it. What a layer reads as its weight is the cast
one; ``parameters()`` are the weights in float32, and gradients arrive at them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch


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
            there = iter(_cast(torch, [one for one in gradients if one is not None], torch.float32))
            return tuple(None if one is None else next(there) for one in gradients)

    return Casting


def _cast(torch: Any, tensors: Any, dtype: Any) -> tuple[Any, ...]:
    """Return tensors in another type, each laid in memory as it was."""
    found = tuple(torch.empty_like(one, dtype=dtype) for one in tensors)
    if found:
        torch._foreach_copy_(found, tensors)
    return found
