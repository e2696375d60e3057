"""ResNet-18 and ResNet-50 (He et al. 2016): from pictures to pooled features, as a sequence of named parts.

For pictures of 32 x 32 the first step keeps the size, without pooling; for large ones (224 x 224) it is the paper's. In
a bottleneck the middle convolution has the stride, as in the weights that are in use today. Libraries have their fast
kernels for channels by the eight, and a picture has three: in bfloat16 on a graphics card zeros fill them up.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require
from equipoise.networks._norms import chain_kind, norm_kind, normed

if TYPE_CHECKING:
    import torch

EIGHT = 8


@cache
def picture_convolution_kind() -> Any:
    """Return the class of a convolution of pictures; it is made once."""
    torch = require("torch", extra="train", purpose="A network")

    class PictureConvolution(torch.nn.Conv2d):  # type: ignore[misc, name-defined]
        """A convolution whose channels are filled up where that is faster; its weights have the same shape."""

        def forward(self, x: Any) -> Any:
            if x.is_cuda and torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16:
                return self._conv_forward(filled(x.bfloat16()), filled(self.weight), self.bias)
            return super().forward(x)

    return PictureConvolution


def filled(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with zeros behind its channels (its second dimension), to a multiple of eight, channels last."""
    library = require("torch", extra="train", purpose="A network")
    more: torch.Tensor = library.nn.functional.pad(tensor, (0, 0, 0, 0, 0, -tensor.shape[1] % EIGHT))
    return more.contiguous(memory_format=library.channels_last)


WIDTHS = (64, 128, 256, 512)
# The kind of block, and how many of them each stage has.
SHAPES = {"resnet18": ("plain", (2, 2, 2, 2)), "resnet50": ("bottleneck", (3, 4, 6, 3))}
# How many times wider than its inner convolutions a block ends.
WIDER = {"plain": 1, "bottleneck": 4}


def resnet(
    name: str, channels: int = 3, *, large: bool = False, frozen_norm: bool = False
) -> tuple[torch.nn.Module, int]:
    """Build a ResNet without its head; return it with its number of features.

    Its parts are ``stem``, ``stage1`` to ``stage4`` and ``pool``. With ``frozen_norm`` the normalisation neither learns
    nor counts.
    """
    nn = require("torch", extra="train", purpose="A ResNet").nn
    kind, numbers = SHAPES[name]
    norm, block = norm_kind(frozen_norm), block_kinds()[kind]
    network = nn.Sequential()
    network.add_module("stem", _stem(nn, channels, norm, large))
    before = WIDTHS[0]
    for stage, (width, number) in enumerate(zip(WIDTHS, numbers, strict=True), start=1):
        blocks = []
        for index in range(number):
            stride = 2 if stage > 1 and index == 0 else 1
            blocks.append(block(before, width, stride, norm))
            before = width * WIDER[kind]
        network.add_module(f"stage{stage}", nn.Sequential(*blocks))
    network.add_module("pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    return network, before


def resnet18(classes: int, channels: int = 3) -> torch.nn.Module:
    """Build ResNet-18 for pictures of 32 x 32 with its ``head``."""
    nn = require("torch", extra="train", purpose="A ResNet").nn
    network, features = resnet("resnet18", channels)
    network.add_module("head", nn.Linear(features, classes))
    return network


def _stem(nn: Any, channels: int, norm: Any, large: bool) -> Any:
    size, stride = (7, 2) if large else (3, 1)
    stem = chain_kind()()
    stem.add_module("conv", picture_convolution_kind()(channels, WIDTHS[0], size, stride, size // 2, bias=False))
    stem.add_module("norm", norm(WIDTHS[0]))
    stem.add_module("relu", nn.ReLU())
    if large:
        stem.add_module("pool", nn.MaxPool2d(3, 2, 1))
    return stem


@cache
def block_kinds() -> dict[str, Any]:
    """Return the classes of blocks, made once: what is compiled for one network serves the next."""
    nn = require("torch", extra="train", purpose="A ResNet").nn

    def past(width_in: int, width: int, stride: int, norm: Any) -> Any:
        """Return the way past a block: nothing, or a projection where size or width change."""
        if stride == 1 and width_in == width:
            return nn.Identity()
        return chain_kind()(nn.Conv2d(width_in, width, 1, stride, bias=False), norm(width))

    class PlainBlock(nn.Module):  # type: ignore[misc, name-defined]
        """Two convolutions and the way past them."""

        def __init__(self, width_in: int, width: int, stride: int, norm: Any) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
            self.norm1 = norm(width)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norm2 = norm(width)
            self.past = past(width_in, width, stride, norm)

        def forward(self, x: Any) -> Any:
            y = normed(self.norm1, self.conv1(x))
            return normed(self.norm2, self.conv2(y), self.past(x))

    class Bottleneck(nn.Module):  # type: ignore[misc, name-defined]
        """Three convolutions, the middle one narrow, and the way past them."""

        def __init__(self, width_in: int, width: int, stride: int, norm: Any) -> None:
            super().__init__()
            wide = width * WIDER["bottleneck"]
            self.conv1 = nn.Conv2d(width_in, width, 1, bias=False)
            self.norm1 = norm(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.norm2 = norm(width)
            self.conv3 = nn.Conv2d(width, wide, 1, bias=False)
            self.norm3 = norm(wide)
            self.past = past(width_in, wide, stride, norm)

        def forward(self, x: Any) -> Any:
            y = normed(self.norm1, self.conv1(x))
            y = normed(self.norm2, self.conv2(y))
            return normed(self.norm3, self.conv3(y), self.past(x))

    return {"plain": PlainBlock, "bottleneck": Bottleneck}
