"""Batch normalisation, learning or frozen: a frozen one uses the statistics it was given, also while others train."""

from __future__ import annotations

from functools import cache
from typing import Any

from equipoise.foundation.imports import require


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
