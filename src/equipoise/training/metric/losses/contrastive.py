"""The contrastive loss (paper 000, Definition 7; Hadsell et al. 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from equipoise.foundation import registered
from equipoise.training import Parameter, Table
from equipoise.training.metric import SMALLEST_SQUARE, LossTensors, MetricLoss, MinedTriplets, triplet_squares

if TYPE_CHECKING:
    import torch


@registered("metric_loss", "contrastive", paper="000", extra="train")
class Contrastive(MetricLoss):
    """mean over triplets of [d(a,p) - positive_margin]_+, plus the mean of [negative_margin - d(a,n)]_+."""

    parameters: ClassVar[Table] = {
        "positive_margin": Parameter("how far a positive may be", 0.0, least=0, low=0.0, high=0.5, scale="linear"),
        "negative_margin": Parameter("how far a negative must be", 1.0, least=0, low=0.5, high=2.0),
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
        near, far, mask = triplet_squares(embeddings, mined, "contrastive")
        positive = ((near + SMALLEST_SQUARE).sqrt() - self.values["positive_margin"]).relu()
        negative = (self.values["negative_margin"] - (far + SMALLEST_SQUARE).sqrt()).relu()
        return positive + negative, mask
