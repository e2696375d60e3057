"""Proxy-NCA (paper 000, Definition 12; Movshovitz-Attias et al. 2017), as the base code of the paper scales it."""

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

SPREAD = 1 / 8


@registered("metric_loss", "proxy_nca", paper="000", extra="train")
class ProxyNCA(MetricLoss):
    """mean of |x - p_y|^2 + log sum_(c != y) exp(-|x - p_c|^2), with a learnt proxy p_c of every class.

    Embeddings and proxies are brought to length 1 and multiplied by scale. The own class is not in the sum, so the loss
    may be negative.
    """

    parameters: ClassVar[Table] = {
        "scale": Parameter("length of embeddings and proxies", 3.0, least=1e-6, low=1.0, high=6.0),
    }
    rate: ClassVar[float | None] = 5e-4

    def start(
        self, seeds: int | Sequence[int], classes: int, width: int, *, dtype: str = "float32", device: str = "cpu"
    ) -> dict[str, torch.Tensor]:
        """Return the proxies, normal with a spread of 1/8."""
        check_class_count(classes, "proxy_nca")
        return {
            "proxies": trainable_tensor(
                lambda seed: SPREAD * loss_generator(seed, "proxy_nca").standard_normal((classes, width)),
                seeds, dtype, device,
            )
        }  # fmt: skip

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the loss of each sample."""
        if tensors is None:
            raise BadInput("Proxy-NCA was given no proxies", help="pass what start(...) returned, as tensors=.")
        library = require("torch", extra="train", purpose="Metric learning")
        rows, proxies = (
            self.values["scale"] * library.nn.functional.normalize(values, dim=-1)
            for values in (full_precision(embeddings), tensors["proxies"])
        )
        squares = rows.square().sum(-1, keepdim=True) + proxies.square().sum(-1).unsqueeze(-2) - 2 * rows @ proxies.mT
        rest = (-squares).scatter(-1, labels.unsqueeze(-1), -library.inf).logsumexp(-1)
        losses: torch.Tensor = take_entries(squares, labels) + rest
        return losses, None
