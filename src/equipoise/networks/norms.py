"""Batch normalisation, learning or frozen: a frozen one uses the statistics it was given, also while others train.

Parts one after another (``chain_kind``) take a normalisation and the ReLU behind it at once where that can be done.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from equipoise.foundation.imports import require
from equipoise.networks.fused_norm import fits, hooked, normed


@cache
def norm_kind(frozen: bool = False) -> Any:
    """Return the class of a normalisation of pictures; classes are made once."""
    nn = require("torch", extra="train", purpose="A network").nn
    if not frozen:
        return nn.BatchNorm2d

    class FrozenNorm(nn.BatchNorm2d):  # type: ignore[misc, name-defined]
        """A batch normalisation that neither learns nor counts; its values have the same names."""

        def __init__(self, width: int) -> None:
            super().__init__(width)
            self.requires_grad_(False)
            self.eval()

        def train(self, mode: bool = True) -> FrozenNorm:
            """Stay as it is, whatever the network around it does."""
            super().train(False)
            return self

    return FrozenNorm


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
