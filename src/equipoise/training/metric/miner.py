"""What a miner is, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import require
from equipoise.training.parameters import Table, completed

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Mined:
    """Places in the batch, all ``[..., triplet]``; where ``there`` is False no triplet was found and the rest is void.

    ``negatives`` is None where every sample of another class is one.
    """

    anchors: torch.Tensor
    positives: torch.Tensor
    negatives: torch.Tensor | None
    there: torch.Tensor


class Miner:
    """Something that picks triplets, registered under its name; one subclass a file in ``miners``.

    It is called with embeddings ``[..., sample, dimension]``, labels ``[..., sample]`` and uniform numbers
    ``[..., 2, sample]`` (``drawing``), which decide alone: the same numbers give the same triplets. An anchor without a
    positive or without a negative has no triplet.
    """

    parameters: ClassVar[Table] = {}
    # "triplets", or "pairs" of an anchor and a positive.
    gives: ClassVar[str] = "triplets"

    def __init__(self, **values: Any) -> None:
        self.values = completed(self.parameters, values, f"the miner {type(self).__name__}")

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> Mined:
        """Return the triplets of a batch, without gradients."""
        raise NotImplementedError


def everybody(labels: torch.Tensor) -> torch.Tensor:
    """Return every place of the batch: each sample is an anchor once."""
    library = require("torch", extra="train", purpose="Mining")
    places: torch.Tensor = library.arange(labels.shape[-1], device=labels.device).expand(labels.shape)
    return places
