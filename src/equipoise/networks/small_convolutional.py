"""A small convolutional network: four convolutions with normalisation, fast enough for a CPU (97,680 parameters)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import require
from equipoise.networks.norms import chain_kind, norm_kind

if TYPE_CHECKING:
    import torch

WIDTHS = (16, 32, 64, 128)


def small_convolutional(channels: int = 3, *, frozen_norm: bool = False) -> tuple[torch.nn.Module, int]:
    """Build it without its head; return it with its number of features.

    Its parts are ``block1`` to ``block4``, of which all but the first halve the picture, and ``pool``.
    """
    nn = require("torch", extra="train", purpose="A small convolutional network").nn
    norm = norm_kind(frozen_norm)
    network = nn.Sequential()
    before = channels
    for number, width in enumerate(WIDTHS, start=1):
        block = chain_kind()()
        block.add_module("conv", nn.Conv2d(before, width, 3, 1 if number == 1 else 2, 1, bias=False))
        block.add_module("norm", norm(width))
        block.add_module("relu", nn.ReLU())
        network.add_module(f"block{number}", block)
        before = width
    network.add_module("pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    return network, before
