"""The ArcFace loss (paper 000, Definition 13, whose sum runs over the wrong things; Deng et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import BadInput, registered, require
from equipoise.training import Parameter, Table
from equipoise.training.metric import (
    LossTensors,
    MetricLoss,
    MinedTriplets,
    check_class_count,
    full_precision,
    loss_generator,
    take_entries,
    trainable_tensor,
)

if TYPE_CHECKING:
    import torch

# The cosine is held this far from 0 and from 1, so that a negative one becomes 0 and has no gradient.
CLAMP = 1e-10


@registered("metric_loss", "arcface", paper="000", extra="train")
class ArcFace(MetricLoss):
    """Cross-entropy over all classes of scale x cosine to a learnt vector, with margin added to the true class's angle.

    Cosines are clamped to [1e-10, 1 - 1e-10], as in the base code; in float32 the upper end is the number before 1.
    """

    parameters: ClassVar[Table] = {
        "margin": Parameter("angle added to the true class, in radians", 0.5, least=0, low=0.1, high=1.0, most=1.57),
        "scale": Parameter("factor of the cosines, s", 16.0, least=1e-6, low=4.0, high=64.0),
    }
    rate: ClassVar[float | None] = 5e-4

    def start(
        self, seeds: int | Sequence[int], classes: int, width: int, *, dtype: str = "float32", device: str = "cpu"
    ) -> dict[str, torch.Tensor]:
        """Return the classes' vectors, uniform within 1 / sqrt(dimension) of 0."""
        check_class_count(classes, "arcface")
        reach = width**-0.5
        return {
            "vectors": trainable_tensor(
                lambda seed: loss_generator(seed, "arcface").uniform(-reach, reach, (classes, width)),
                seeds,
                dtype,
                device,
            )
        }

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each sample."""
        if tensors is None:
            raise BadInput("ArcFace was given no vectors", help="pass what start(...) returned, as tensors=.")
        library = require("torch", extra="train", purpose="Metric learning")
        vectors = library.nn.functional.normalize(tensors["vectors"], dim=-1)
        rows = full_precision(embeddings)
        # At 1 itself the slope of the arc cosine is infinite.
        top = min(1 - CLAMP, 1 - library.finfo(rows.dtype).eps / 2)
        cosines = (rows @ vectors.mT).clamp(CLAMP, top)
        true = take_entries(cosines, labels)
        wider = (true.acos() + self.values["margin"]).cos()
        logits = self.values["scale"] * cosines.scatter(-1, labels.unsqueeze(-1), wider.unsqueeze(-1))
        losses: torch.Tensor = logits.logsumexp(-1) - self.values["scale"] * wider
        return losses, None
