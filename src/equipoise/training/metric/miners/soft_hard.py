"""Soft-hard mining (paper 000, appendix A.1; Roth and Brattoli 2019): hard pairs, though not the hardest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import registered, require
from equipoise.training.metric import (
    MinedTriplets,
    Miner,
    all_positions,
    pairs_of,
    sample_columns,
    squared_distances,
)
from equipoise.training.metric.miners.semi_hard import preferred

if TYPE_CHECKING:
    import torch


@registered("miner", "soft_hard", paper="000", extra="train")
class SoftHard(Miner):
    """Each anchor: a positive beyond its nearest negative, a negative within its farthest positive; else any."""

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return a triplet for every anchor."""
        library = require("torch", extra="train", purpose="Mining")
        same_class, different_class = pairs_of(labels)
        squares = squared_distances(embeddings)
        nearest = squares.masked_fill(~different_class, library.inf).amin(-1, keepdim=True)
        farthest = squares.masked_fill(~same_class, -library.inf).amax(-1, keepdim=True)
        positives, with_positive = sample_columns(
            preferred(same_class & (squares > nearest), same_class), uniforms[..., 0, :]
        )
        negatives, with_negative = sample_columns(
            preferred(different_class & (squares < farthest), different_class), uniforms[..., 1, :]
        )
        return MinedTriplets(all_positions(labels), positives, negatives, with_positive & with_negative)
