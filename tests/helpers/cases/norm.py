"""Errors of the kernels of a normalisation against float64: run by itself, under Triton's interpreter on a CPU."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import torch

from equipoise.networks import _norms as fused_norm

# Whether something comes past, and whether negatives are cut off.
WAYS = ((False, False), (False, True), (True, True))
# Shapes that fill no tile and channels that fill no block, and how many parts the rows are divided into at most: with
# two, a part has several tiles.
SHAPES = (
    ((3, 8, 5, 7), 384), ((2, 24, 3, 3), 384), ((5, 72, 13, 1), 384), ((5, 72, 29, 1), 2), ((1, 136, 1, 5), 384),
    ((13, 64, 9, 7), 2),
)  # fmt: skip
MOMENTUM, EPSILON = 0.1, 1e-5
# So near to 0 rounding decides what the ReLU cuts off: gradients are not compared there.
NEAR = 1e-5


def batch(shape: tuple[int, ...], dtype: torch.dtype, device: str, offset: float = 0.0) -> list[Any]:
    """A batch, what came past, a gradient, weight and bias; ``offset`` is how many deviations from 0 channels lie."""
    drawn = torch.Generator().manual_seed(5)
    x, past, gradient = (
        torch.randn(shape, generator=drawn).to(device, dtype).contiguous(memory_format=torch.channels_last)
        for _ in range(3)
    )
    line = torch.linspace(-1, 1, shape[1], device=device)[None, :, None, None]
    x = (x * (0.5 + line.abs()) + offset * (1 + line)).to(dtype).contiguous(memory_format=torch.channels_last)
    weight, bias = torch.randn((2, shape[1]), generator=drawn).to(device)
    return [x, past, gradient, weight, bias]


def fused(x: Any, past: Any, gradient: Any, weight: Any, bias: Any, added: bool, relu: bool) -> dict[str, Any]:
    """What the kernels say, with every gradient."""
    wanted = [one.clone().requires_grad_() for one in (x, weight, bias, past)]
    mean, variance = torch.full_like(weight, 0.5), torch.full_like(weight, 2.0)
    counted = torch.tensor(41, device=x.device)
    y = fused_norm.norm_function().apply(
        wanted[0], wanted[3] if added else None, wanted[1], wanted[2], mean, variance, counted, MOMENTUM, EPSILON, relu
    )
    found = torch.autograd.grad(y, wanted if added else wanted[:3], gradient)
    names = ("x", "weight", "bias", "past")
    return {"y": y.detach(), "running_mean": mean, "running_var": variance, "counted": counted,
            **dict(zip(names, found, strict=False))}  # fmt: skip


def exact(x: Any, past: Any, gradient: Any, weight: Any, bias: Any, added: bool, relu: bool) -> dict[str, Any]:
    """The same by torch's own operations in float64."""
    wanted = [one.double().requires_grad_() for one in (x, weight, bias, past)]
    mean, variance = (torch.full_like(weight, value).double() for value in (0.5, 2.0))
    y = torch.nn.functional.batch_norm(wanted[0], mean, variance, wanted[1], wanted[2], True, MOMENTUM, EPSILON)
    before = y + wanted[3] if added else y
    y = before.relu() if relu else before
    found = torch.autograd.grad(y, wanted if added else wanted[:3], gradient.double())
    names = ("x", "weight", "bias", "past")
    near = relu & (before.detach().abs() < NEAR)
    return {"y": y.detach(), "near": near, "running_mean": mean, "running_var": variance, "counted": torch.tensor(42),
            **dict(zip(names, found, strict=False))}  # fmt: skip


def errors(given: list[Any], added: bool, relu: bool) -> dict[str, float]:
    """The largest difference of each result, as a share of its largest value (at least 1)."""
    ours, theirs = fused(*given, added, relu), exact(*given, added, relu)
    assert ours["y"].is_contiguous(memory_format=torch.channels_last)
    near = theirs.pop("near")
    found = {}
    for name, their in theirs.items():
        apart = (ours[name].double() - their.to(ours[name].device)).abs()
        if name in ("x", "past"):
            apart = apart.masked_fill(near, 0.0)
        found[name] = float(apart.max() / their.abs().max().clamp(min=1.0).to(apart.device))
    return found


def all_errors(device: str) -> list[dict[str, Any]]:
    """The errors of every case."""
    found = []
    plan_of = fused_norm.plan_of
    for shape, parts in SHAPES:
        fused_norm.plan_of = partial(plan_of, parts=parts)
        for dtype, offset in ((torch.float32, 0.0), (torch.float32, 100.0), (torch.bfloat16, 0.0)):
            for added, relu in WAYS:
                said = errors(batch(shape, dtype, device, offset), added, relu)
                found.append({"shape": shape, "parts": parts, "dtype": str(dtype), "offset": offset, "added": added,
                              "relu": relu, "errors": said})  # fmt: skip
    fused_norm.plan_of = plan_of
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(all_errors("cpu")))
