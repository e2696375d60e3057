"""The n-pair loss (paper 000, Definition 10 and equation 6, which squares the norm; Sohn 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from equipoise.foundation import registered
from equipoise.training import Parameter, Table
from equipoise.training.metric import (
    LossTensors,
    MetricLoss,
    MinedTriplets,
    check_mined,
    full_precision,
    log1p_sum_exp,
    masked_mean,
    pairs_of,
    take_entries,
    take_rows,
)

if TYPE_CHECKING:
    import torch


@registered("metric_loss", "n_pair", paper="000", extra="train")
class NPair(MetricLoss):
    """mean over anchors of log(1 + sum_n exp(a.n - a.p)), plus norm_weight times the mean length of the batch.

    Embeddings keep their length; n is every sample of another class. Without any pair the loss is 0.
    """

    parameters: ClassVar[Table] = {
        "norm_weight": Parameter("weight of the mean length, nu", 0.005, least=0, low=1e-4, high=0.1),
    }
    needs: ClassVar[Literal["triplets", "pairs", "nothing"]] = "pairs"
    unit_length: ClassVar[bool] = False

    def __call__(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        learnt: LossTensors | None = None,
    ) -> torch.Tensor:
        """Return the loss of each head."""
        terms, lengths, mask = self._terms(embeddings, labels, check_mined(mined, "n_pair"))
        return masked_mean(terms, mask) + lengths * mask.any(-1)

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each anchor."""
        terms, lengths, mask = self._terms(embeddings, labels, check_mined(mined, "n_pair"))
        return terms + lengths.unsqueeze(-1), mask

    def _terms(
        self, embeddings: torch.Tensor, labels: torch.Tensor, triplets: MinedTriplets
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the term of each anchor, the weighted mean length of the batch, and which anchors there are."""
        rows = full_precision(embeddings)
        products = take_rows(rows @ rows.mT, triplets.anchors)
        different_class = take_rows(pairs_of(labels)[1], triplets.anchors)
        terms = log1p_sum_exp(products - take_entries(products, triplets.positives).unsqueeze(-1), different_class)
        lengths: torch.Tensor = self.values["norm_weight"] * rows.norm(dim=-1).mean(-1)
        return terms, lengths, triplets.mask
