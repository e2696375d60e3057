"""Batch normalisation, learning or frozen, with what follows it in fewer passes over memory.

On a graphics card a step of a ResNet in bfloat16 spends as long on normalisations as on convolutions, for each reads
and writes whole batches several times. Here it is three short kernels forwards and three back. They take pictures in
bfloat16 with channels last, in training or without gradients; all else is left to torch's own operations.

A frozen normalisation uses the statistics it was given, also while others train. Parts one after another
(``chain_kind``) take a normalisation and the ReLU behind it at once where that can be done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput, listing, require

if TYPE_CHECKING:
    import torch

# Channels at once, and numbers in a tile of them where sums are taken and where batches are written.
CHANNELS, SUMMED_TILE, WRITTEN_TILE = 64, 4096, 2048
# How all kernels are compiled: without fused products and sums a formula gives the same number wherever it stands.
COMPILED: dict[str, Any] = {"enable_fp_fusion": False}
# Where sums are taken three tiles are on their way at once: one program has many.
SUMMED: dict[str, Any] = {"num_warps": 4, "stages": 3, **COMPILED}
WRITTEN: dict[str, Any] = {"num_warps": 2, **COMPILED}
MERGING: dict[str, Any] = {"num_warps": 4, **COMPILED}
# The parts that sums are taken in at most: three programs for each processor of a large card, all at work at once.
PARTS = 384
# Where parts are merged, all of them are at once (a power of two), of so many channels.
MERGED_PARTS, MERGED = 512, 8
# What the kernels take: places within a batch are numbers of 32 bits.
MOST_CHANNELS, MOST_NUMBERS = 2048, 2**30
# How far a small trial may lie from torch's own, which rounds more often: 2 units in the last place of bfloat16 near 4.
TOLERANCE = 2**-5


def normed(norm: Any, x: torch.Tensor, past: torch.Tensor | None = None, *, relu: bool = True) -> torch.Tensor:
    """Return relu(norm(x) + past), or without ``past``, or without either: with ``past`` there is always a ReLU."""
    tensor: torch.Tensor
    if fits(norm, x, past):
        if not norm.training:
            invstd = (norm.running_var + norm.eps).rsqrt()
            tensor = _normalised(x, past, norm.running_mean, invstd, norm.weight, norm.bias, relu)
            return tensor
        tensor = norm_function().apply(
            x, past, norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked,
            norm.momentum, norm.eps, relu,
        )  # fmt: skip
        return tensor
    tensor = norm(x) if past is None else norm(x) + past
    return tensor.relu() if relu or past is not None else tensor


def fits(norm: Any, x: torch.Tensor, past: torch.Tensor | None = None) -> bool:
    """Tell whether the kernels take these tensors; where hooks wait for what leaves the normalisation, they do not."""
    torch = require("torch", extra="train", purpose="A network")
    if not x.is_cuda or x.dtype != torch.bfloat16 or x.dim() != 4:
        return False
    # With statistics that stand still there is a way forwards, not back.
    if not norm.training and torch.is_grad_enabled():
        return False
    rows, channels = x.numel() // max(x.shape[1], 1), x.shape[1]
    tensors = [x] if past is None else [x, past]
    return bool(
        type(norm) is torch.nn.BatchNorm2d
        and norm.affine
        and norm.track_running_stats
        and norm.momentum is not None
        and norm.weight.dtype == norm.running_mean.dtype == torch.float32
        and channels == norm.num_features
        and channels % 8 == 0
        and channels <= MOST_CHANNELS
        # Of one row there is no variance: torch says so.
        and rows > 1
        and x.numel() <= MOST_NUMBERS
        and all(tensor.shape == x.shape and tensor.dtype == x.dtype and tensor.device == x.device for tensor in tensors)
        and all(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in tensors)
        and x.device.index == torch.cuda.current_device()
        and not hooked(norm)
        and not torch.compiler.is_compiling()
        and usable()
    )


def hooked(part: Any) -> bool:
    """Tell whether somebody waits for what enters or leaves a layer: it is then called by itself."""
    return bool(part._forward_hooks or part._forward_pre_hooks or part._backward_hooks or part._backward_pre_hooks)


@dataclass(frozen=True)
class Plan:
    """How a batch is divided among programs."""

    rows: int
    channels: int
    block_channels: int
    rows_each: int

    @property
    def parts(self) -> int:
        """Parts of the rows that sums are taken in."""
        return -(-self.rows // self.rows_each)

    @property
    def blocks(self) -> int:
        """Blocks of channels."""
        return -(-self.channels // self.block_channels)

    @property
    def summed_rows(self) -> int:
        """Rows of a tile where sums are taken."""
        return SUMMED_TILE // self.block_channels

    @property
    def written_rows(self) -> int:
        """Rows of a tile where a batch is written."""
        return WRITTEN_TILE // self.block_channels

    @property
    def tiles(self) -> tuple[int, int]:
        """Programs of a kernel that writes a batch."""
        return -(-self.rows // self.written_rows), self.blocks

    @property
    def summed(self) -> dict[str, Any]:
        """What the kernels that take sums are compiled for."""
        return {"block_rows": self.summed_rows, "block_channels": self.block_channels, **SUMMED}

    @property
    def written(self) -> dict[str, Any]:
        """What the kernels that write a batch are compiled for."""
        return {"block_rows": self.written_rows, "block_channels": self.block_channels, **WRITTEN}


def plan_of(rows: int, channels: int, parts: int = PARTS) -> Plan:
    """Divide rows into ``parts`` at most, fewer where there are several blocks of channels."""
    block_channels = min(CHANNELS, 1 << (channels - 1).bit_length())
    block_rows = SUMMED_TILE // block_channels
    tiles = -(-rows // block_rows)
    row_parts = min(tiles, max(parts // -(-channels // block_channels), 1))
    return Plan(rows, channels, block_channels, -(-tiles // row_parts) * block_rows)


@cache
def norm_function() -> Any:
    """Return the function that torch differentiates, made once."""
    torch = require("torch", extra="train", purpose="A network")
    from torch.autograd.function import once_differentiable

    class NormFunction(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A normalisation with what follows it."""

        @staticmethod
        def forward(
            ctx: Any, x: Any, past: Any, weight: Any, bias: Any, running_mean: Any, running_variance: Any,
            counted: Any, momentum: float, epsilon: float, relu: bool,
        ) -> Any:  # fmt: skip
            mean, invstd = _statistics(x, running_mean, running_variance, counted, momentum, epsilon)
            y = _normalised(x, past, mean, invstd, weight, bias, relu)
            ctx.relu = relu
            ctx.save_for_backward(x, None if past is None else y, mean, invstd, weight, bias)
            return y

        @staticmethod
        @once_differentiable  # type: ignore[misc, untyped-decorator, unused-ignore]
        def backward(ctx: Any, gradient: Any) -> Any:
            gradient = gradient.contiguous(memory_format=torch.channels_last)
            x, y, mean, invstd, weight, bias = ctx.saved_tensors
            gradients = _gradients(gradient, x, y, mean, invstd, weight, bias, ctx.relu)
            return (*gradients, None, None, None, None, None, None)

    return NormFunction


def _kernels() -> Any:
    from equipoise.networks import _fused_norm_kernels as fused_norm_kernels

    return fused_norm_kernels


def _plan(x: torch.Tensor) -> Plan:
    return plan_of(x.numel() // x.shape[1], x.shape[1])


def _statistics(
    x: Any, running_mean: Any, running_variance: Any, counted: Any, momentum: float, epsilon: float
) -> tuple[Any, Any]:
    """Return mean and 1 / standard deviation of each channel; the running statistics move."""
    kernels, plan = _kernels(), _plan(x)
    means, squares = running_mean.new_empty((2, plan.parts, plan.channels))
    mean, invstd = running_mean.new_empty((2, plan.channels))
    kernels.collect[(plan.parts, plan.blocks)](
        x, means, squares, plan.rows, plan.channels, plan.rows_each, **plan.summed
    )  # fmt: skip
    kernels.settle[(-(-plan.channels // MERGED),)](
        means, squares, running_mean, running_variance, counted, mean, invstd, plan.rows, plan.channels,
        plan.rows_each, plan.parts, epsilon, momentum, block_parts=MERGED_PARTS, block_channels=MERGED, **MERGING,
    )  # fmt: skip
    return mean, invstd


def _normalised(x: Any, past: Any, mean: Any, invstd: Any, weight: Any, bias: Any, relu: bool) -> Any:
    kernels, plan = _kernels(), _plan(x)
    y = _like(x)
    kernels.normalise[plan.tiles](
        x, x if past is None else past, y, mean, invstd, weight, bias, plan.rows, plan.channels,
        add=past is not None, relu=relu or past is not None, **plan.written,
    )  # fmt: skip
    return y


def _gradients(
    gradient: Any, x: Any, y: Any, mean: Any, invstd: Any, weight: Any, bias: Any, relu: bool
) -> tuple[Any, Any, Any, Any]:
    """Return the gradients of x, of what came past, of weight and of bias."""
    kernels, plan = _kernels(), _plan(x)
    added = y is not None
    # Where nothing came past, x stands for the two that are not touched.
    masked = _like(x) if added else None
    sums, products = mean.new_empty((2, plan.parts, plan.channels))
    weight_gradient, bias_gradient, slope, level = (mean.new_empty(plan.channels) for _ in range(4))
    kernels.gather[(plan.parts, plan.blocks)](
        gradient, x, y if added else x, masked if added else x, mean, invstd, weight, bias, sums, products,
        plan.rows, plan.channels, plan.rows_each, add=added, relu=relu, **plan.summed,
    )  # fmt: skip
    kernels.settle_back[(-(-plan.channels // MERGED),)](
        sums, products, invstd, weight, weight_gradient, bias_gradient, slope, level, plan.rows, plan.channels,
        plan.parts, block_parts=MERGED_PARTS, block_channels=MERGED, **MERGING,
    )  # fmt: skip
    dx = _like(x)
    kernels.back[plan.tiles](
        masked if added else gradient, x, dx, mean, invstd, weight, bias, slope, level, plan.rows, plan.channels,
        relu=relu and not added, **plan.written,
    )  # fmt: skip
    return dx, masked, weight_gradient, bias_gradient


def _like(x: Any) -> Any:
    torch = require("torch", extra="train", purpose="A network")
    return torch.empty_like(x, memory_format=torch.channels_last)


@cache
def usable() -> bool:
    """Tell whether the kernels compile on this machine and say what torch says of a small batch: tried once."""
    torch = require("torch", extra="train", purpose="A network")
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cuda", enabled=False):
            return all(_agrees(torch, *options) for options in ((False, False), (False, True), (True, True)))
    except torch.OutOfMemoryError:
        raise
    except Exception:  # noqa: BLE001 - whatever is amiss, torch's own operations do the same
        return False


def _agrees(torch: Any, added: bool, relu: bool) -> bool:
    """Compare a batch and its gradients with torch's own; nothing is drawn, for the caller's seeds are fixed."""
    line = torch.arange(4 * CHANNELS * 16, device="cuda")
    x, past, gradient = (
        ((line * step % 997).float() / 400 - 1).bfloat16().view(4, CHANNELS, 4, 4)
        .contiguous(memory_format=torch.channels_last).requires_grad_() for step in (31, 57, 83)
    )  # fmt: skip
    # Far from 0: where a sum lies near it, rounding decides what the ReLU cuts off.
    past = past.detach().sign().mul(4).requires_grad_()
    outcomes = []
    for fused in (True, False):
        norm = torch.nn.BatchNorm2d(CHANNELS, device="cuda")
        if fused:
            y = norm_function().apply(
                x, past if added else None, norm.weight, norm.bias, norm.running_mean, norm.running_var,
                norm.num_batches_tracked, norm.momentum, norm.eps, relu,
            )  # fmt: skip
        else:
            y = norm(x) + past if added else norm(x)
            y = y.relu() if relu else y
        leaves = (x, norm.weight, norm.bias, *((past,) if added else ()))
        gradients = torch.autograd.grad(y, leaves, gradient.detach())
        outcomes.append([y, *gradients, norm.running_mean, norm.running_var, norm.num_batches_tracked])
    return all(
        bool((value.double() - other.double()).abs().max() <= TOLERANCE * other.double().abs().max().clamp(min=1.0))
        for value, other in zip(*outcomes, strict=True)
    )


@cache
def norm_kind(frozen: bool = False) -> Any:
    """Return the class of a normalisation of pictures; classes are made once."""
    nn = require("torch", extra="train", purpose="A network").nn
    if not frozen:
        return nn.BatchNorm2d

    class FrozenNorm(frozen_kind(nn.BatchNorm2d)):  # type: ignore[misc]
        """A batch normalisation that neither learns nor counts; its values have the same names."""

        def __init__(self, width: int) -> None:
            super().__init__(width)
            self.requires_grad_(False)
            self.eval()

    return FrozenNorm


@cache
def frozen_kind(kind: Any) -> Any:
    """Return the class of normalisations of a kind that stay in evaluation mode, whatever is done around them."""

    class Frozen(kind):  # type: ignore[misc]
        """A normalisation that uses the statistics it has, also while others train."""

        def train(self, mode: bool = True) -> Frozen:
            """Stay as it is."""
            super().train(False)
            return self

    Frozen.__name__ = Frozen.__qualname__ = f"Frozen{kind.__name__}"
    return Frozen


def norms_of(network: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Return the normalisations of a network that count means and variances over batches, by name."""
    library = require("torch", extra="train", purpose="A network")
    kind = library.nn.modules.batchnorm._NormBase
    return {name: module for name, module in network.named_modules() if isinstance(module, kind)}


def freeze_norms(network: torch.nn.Module) -> None:
    """Let every batch normalisation of a network neither learn nor count from now on."""
    norms = norms_of(network)
    if not norms:
        raise BadInput(
            f"frozen_norm=True was given, and the backbone ({type(network).__name__}) has no batch normalisation",
            available="frozen_norm=True with a backbone that has torch.nn.BatchNorm2d or its like",
            help="leave frozen_norm out: other normalisations count nothing over batches.",
        )
    uncounted = [name for name, norm in norms.items() if getattr(norm, "running_mean", None) is None]
    if uncounted:
        raise BadInput(
            f"frozen_norm=True was given, and {listing(uncounted, 4)} of the backbone keeps no running statistics, so "
            "that it normalises by each batch in any case",
            available="normalisations with track_running_stats=True",
            help="leave frozen_norm out, or build the backbone with running statistics.",
        )
    for norm in norms.values():
        norm.requires_grad_(False)
        # A module around it may switch to training at any time: its class answers for it.
        kind: Any = type(norm)
        norm.__class__ = frozen_kind(kind)
        norm.eval()


@cache
def chain_kind() -> Any:
    """Return the class of parts one after another; it is made once."""
    nn = require("torch", extra="train", purpose="A network").nn

    class Chain(nn.Sequential):  # type: ignore[misc, name-defined]
        """A sequence in which a normalisation and the ReLU behind it are one step where the kernels take them."""

        def forward(self, x: Any) -> Any:
            parts = list(self)
            done = False
            for part, behind in zip(parts, [*parts[1:], None], strict=True):
                if done:
                    done = False
                elif isinstance(part, nn.BatchNorm2d) and fits(part, x):
                    done = type(behind) is nn.ReLU and not hooked(behind)
                    x = normed(part, x, relu=done)
                else:
                    x = part(x)
            return x

    return Chain
