"""The multi-similarity loss, which mines for itself (paper 000, Definition 11 and equation 7; Wang et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import registered, require
from equipoise.training import Parameter, Table
from equipoise.training.metric import LossTensors, MetricLoss, MinedTriplets, full_precision, log1p_sum_exp, pairs_of

if TYPE_CHECKING:
    import torch


@registered("metric_loss", "multi_similarity", paper="000", extra="train")
class MultiSimilarity(MetricLoss):
    """mean of log(1 + sum exp(-alpha (s_ap - base))) / alpha + log(1 + sum exp(beta (s_an - base))) / beta.

    s is the inner product. An anchor keeps the negatives with s_an + slack > min s_ap and the positives with
    s_ap - slack < max s_an; one that keeps none of either is left out of the mean.
    """

    parameters: ClassVar[Table] = {
        "alpha": Parameter("sharpness for positives", 2.0, least=1e-6, low=1.0, high=10.0),
        "beta": Parameter("sharpness for negatives", 40.0, least=1e-6, low=10.0, high=100.0),
        "base": Parameter("similarity that divides positives from negatives, lambda", 0.5, least=-1, low=0.0, high=1.0,
                          scale="linear"),
        "slack": Parameter("how far from hard a pair may be, epsilon", 0.1, least=0, low=0.01, high=0.5),
    }  # fmt: skip

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each anchor."""
        alpha, beta, base, slack = (self.values[name] for name in ("alpha", "beta", "base", "slack"))
        rows = full_precision(embeddings)
        likeness = rows @ rows.mT
        positives, negatives = informative_pairs(likeness.detach(), labels, slack)
        near = log1p_sum_exp(-alpha * (likeness - base), positives) / alpha
        far = log1p_sum_exp(beta * (likeness - base), negatives) / beta
        return near + far, positives.any(-1) & negatives.any(-1)


def informative_pairs(likeness: torch.Tensor, labels: torch.Tensor, slack: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which positives and which negatives every anchor keeps, ``[..., anchor, sample]``."""
    library = require("torch", extra="train", purpose="Metric learning")
    same_class, different_class = pairs_of(labels)
    least = likeness.masked_fill(~same_class, library.inf).amin(-1, keepdim=True)
    most = likeness.masked_fill(~different_class, -library.inf).amax(-1, keepdim=True)
    return same_class & (likeness - slack < most), different_class & (likeness + slack > least)
