"""Soft-hard mining (paper 000, appendix A.1; Roth and Brattoli 2019): hard pairs, though not the hardest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import registered, require
from equipoise.training.metric._mining import Mined, Miner, drawn, everybody, pairs_of, squared_distances
from equipoise.training.metric.miners.semi_hard import preferred

if TYPE_CHECKING:
    import torch


@registered("miner", "soft_hard", paper="000", extra="train")
class SoftHard(Miner):
    """Each anchor: a positive beyond its nearest negative, a negative within its farthest positive; else any."""

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> Mined:
        """Return a triplet for every anchor."""
        library = require("torch", extra="train", purpose="Mining")
        same_class, different_class = pairs_of(labels)
        squares = squared_distances(embeddings)
        nearest = squares.masked_fill(~different_class, library.inf).amin(-1, keepdim=True)
        farthest = squares.masked_fill(~same_class, -library.inf).amax(-1, keepdim=True)
        positives, with_positive = drawn(preferred(same_class & (squares > nearest), same_class), uniforms[..., 0, :])
        negatives, with_negative = drawn(
            preferred(different_class & (squares < farthest), different_class), uniforms[..., 1, :]
        )
        return Mined(everybody(labels), positives, negatives, with_positive & with_negative)
