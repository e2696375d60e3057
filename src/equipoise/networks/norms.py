"""Batch normalisation, learning or frozen: a frozen one uses the statistics it was given, also while others train.

Parts one after another (``chain_kind``) take a normalisation and the ReLU behind it at once where that can be done.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput, listing, require
from equipoise.networks.fused_norm import fits, hooked, normed

if TYPE_CHECKING:
    import torch


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
    return {name: one for name, one in network.named_modules() if isinstance(one, kind)}


def freeze_norms(network: torch.nn.Module) -> None:
    """Let every batch normalisation of a network neither learn nor count from now on."""
    norms = norms_of(network)
    if not norms:
        raise BadInput(
            f"frozen_norm=True was given, and the backbone ({type(network).__name__}) has no batch normalisation",
            available="frozen_norm=True with a backbone that has torch.nn.BatchNorm2d or its like",
            help="leave frozen_norm out: other normalisations count nothing over batches.",
        )
    uncounted = [name for name, one in norms.items() if getattr(one, "running_mean", None) is None]
    if uncounted:
        raise BadInput(
            f"frozen_norm=True was given, and {listing(uncounted, 4)} of the backbone keeps no running statistics, so "
            "that it normalises by each batch in any case",
            available="normalisations with track_running_stats=True",
            help="leave frozen_norm out, or build the backbone with running statistics.",
        )
    for one in norms.values():
        one.requires_grad_(False)
        # A module around it may switch to training at any time: its class answers for it.
        kind: Any = type(one)
        one.__class__ = frozen_kind(kind)
        one.eval()


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
