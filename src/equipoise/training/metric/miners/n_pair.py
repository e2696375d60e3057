"""The pairs of the n-pair loss (paper 000, Definition 10; Sohn 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import registered
from equipoise.training.metric import MinedTriplets, Miner, all_positions, pairs_of, sample_columns

if TYPE_CHECKING:
    import torch


@registered("miner", "n_pair", paper="000", extra="train")
class NPairs(Miner):
    """Each anchor: any positive; every sample of another class is a negative."""

    gives: ClassVar[str] = "pairs"

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return a pair for every anchor."""
        same_class, different_class = pairs_of(labels)
        positives, with_positive = sample_columns(same_class.long(), uniforms[..., 0, :])
        return MinedTriplets(all_positions(labels), positives, None, with_positive & different_class.any(-1))
