"""Semi-hard mining (paper 000, Definition 5, which lost its inequality signs; Schroff et al. 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import registered
from equipoise.training import Parameter, Table
from equipoise.training.metric import (
    MinedTriplets,
    Miner,
    all_positions,
    pairs_of,
    sample_columns,
    squared_distances,
    take_entries,
)

if TYPE_CHECKING:
    import torch


@registered("miner", "semi_hard", paper="000", extra="train")
class SemiHard(Miner):
    """Each anchor: any positive, and any negative with d(a,p) < d(a,n) < d(a,p) + slack, any at all if none is so."""

    parameters: ClassVar[Table] = {
        "slack": Parameter("width of the window, gamma; the margin of the loss", 0.2, least=0, low=0.05, high=1.0),
    }

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return a triplet for every anchor."""
        same_class, different_class = pairs_of(labels)
        distances = squared_distances(embeddings).sqrt_()
        positives, with_positive = sample_columns(same_class.long(), uniforms[..., 0, :])
        near = take_entries(distances, positives).unsqueeze(-1)
        window = different_class & (distances > near) & (distances < near + self.values["slack"])
        negatives, with_negative = sample_columns(preferred(window, different_class), uniforms[..., 1, :])
        return MinedTriplets(all_positions(labels), positives, negatives, with_positive & with_negative)


def preferred(preference: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return weights 1 for what is wanted, or for all that is allowed in a row where nothing wanted is."""
    return (preference | (allowed & ~preference.any(-1, keepdim=True))).long()
