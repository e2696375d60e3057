"""The margin loss with a boundary of its own for every class (paper 000, Definition 9; Wu et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from equipoise.foundation import BadInput, registered
from equipoise.training import Parameter, Table
from equipoise.training.metric import (
    SMALLEST_SQUARE,
    LossTensors,
    MetricLoss,
    MinedTriplets,
    check_mined,
    take_rows,
    trainable_tensor,
    triplet_squares,
)

if TYPE_CHECKING:
    import torch


@registered("metric_loss", "margin", paper="000", extra="train")
class Margin(MetricLoss):
    """sum([d(a,p) - beta_y + margin]_+ + [beta_y - d(a,n) + margin]_+) / M, with a learnt beta_y of the anchor's class.

    M is the number of triplets with at least one active term: the base code of the paper means the number of active
    terms, but adds two booleans. Where M = 0 the loss is 0.
    """

    parameters: ClassVar[Table] = {
        "margin": Parameter("distance kept on both sides of the boundary", 0.2, least=0, low=0.05, high=1.0),
        "boundary": Parameter("where every beta starts", 1.2, least=0, low=0.6, high=1.6),
    }
    needs: ClassVar[Literal["triplets", "pairs", "nothing"]] = "triplets"
    rate: ClassVar[float | None] = 5e-4

    def start(
        self, seeds: int | Sequence[int], classes: int, width: int, *, dtype: str = "float32", device: str = "cpu"
    ) -> dict[str, torch.Tensor]:
        """Return beta, the same for every class at first."""
        return {"beta": trainable_tensor(lambda seed: np.full(classes, self.values["boundary"]), seeds, dtype, device)}

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each triplet."""
        near, far, mask = triplet_squares(embeddings, mined, "margin")
        if tensors is None:
            raise BadInput("The margin loss was given no beta", help="pass what start(...) returned, as tensors=.")
        classes = labels.gather(-1, check_mined(mined, "margin").anchors)
        beta = take_rows(tensors["beta"].unsqueeze(-1), classes).squeeze(-1)
        margin = self.values["margin"]
        positive = ((near + SMALLEST_SQUARE).sqrt() - beta + margin).relu()
        negative = (beta - (far + SMALLEST_SQUARE).sqrt() + margin).relu()
        terms: torch.Tensor = positive + negative
        return terms, (terms.detach() > 0) & mask
