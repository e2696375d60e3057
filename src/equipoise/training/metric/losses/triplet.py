"""The triplet loss (paper 000, Definition 8, where the squares are missing; Hoffer and Ailon 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from equipoise.foundation import registered
from equipoise.training import Parameter, Table
from equipoise.training.metric import LossTensors, MetricLoss, MinedTriplets, triplet_squares

if TYPE_CHECKING:
    import torch


@registered("metric_loss", "triplet", paper="000", extra="train")
class Triplet(MetricLoss):
    """mean over triplets of [d(a,p)^2 - d(a,n)^2 + margin]_+."""

    parameters: ClassVar[Table] = {
        "margin": Parameter("how much farther away a negative must be, squared", 0.2, least=0, low=0.05, high=1.0),
    }
    needs: ClassVar[Literal["triplets", "pairs", "nothing"]] = "triplets"

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each triplet."""
        near, far, mask = triplet_squares(embeddings, mined, "triplet")
        return (near - far + self.values["margin"]).relu(), mask
