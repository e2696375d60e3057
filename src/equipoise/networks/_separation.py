"""Adversarial separation (Milbich et al. 2020, DiVA), stacked: how far one embedding can be told from another.

A network xi reads one embedding and is to meet the other. It learns to raise the correlation that the embeddings learn
to lower: one loss serves both, because the gradient is reversed on its way into the embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require
from equipoise.networks._mlp import StackedMLP, stacked_mlp

if TYPE_CHECKING:
    import torch

# The width of xi's hidden layer.
WIDTH = 512


@cache
def gradient_reversal() -> Any:
    """Return the function of values and a strength that leaves values as they are and turns the gradient round."""
    torch = require("torch", extra="train", purpose="A network")

    class GradientReversal(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """R: the same values, minus the gradient times a strength (a number, or a tensor that needs no gradient)."""

        @staticmethod
        def forward(ctx: Any, values: Any, strength: Any = 1) -> Any:
            ctx.strength = strength
            return values.view_as(values)

        @staticmethod
        def backward(ctx: Any, slope: Any) -> Any:
            return -ctx.strength * slope, None

    return GradientReversal.apply


class Separation:
    """xi of R trials: Linear(D, 512) - ReLU - Linear(512, D), its output brought to length 1."""

    def __init__(self, networks: StackedMLP) -> None:
        self.networks = networks

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves ``[R, ...]``."""
        return self.networks.parameters

    def __call__(self, target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """Return |R(target) * xi(R(source))|^2 of every row, ``[R, row]``: summed over the dimensions.

        Both embeddings ``[R, row, D]`` are brought to length 1 once more after the reversal.
        """
        normalize = require("torch", extra="train", purpose="A network").nn.functional.normalize
        turned = gradient_reversal()
        aimed, read = (normalize(turned(rows), dim=-1) for rows in (target, source))
        met: torch.Tensor = aimed * normalize(self.networks(read)[0], dim=-1)
        return met.square().sum(-1)


def separation(
    width: int, seeds: Sequence[int], *, part: str = "separation", dtype: Any = None, device: str = "cpu"
) -> Separation:
    """Build xi for embeddings of a width, one a seed; ``part`` names the stream of its first values."""
    sizes = (width, WIDTH, width)
    return Separation(stacked_mlp(sizes, seeds, part=part, activation="relu", dtype=dtype, device=device))
