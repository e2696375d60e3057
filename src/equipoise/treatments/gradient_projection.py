"""Gradient projection (paper 004, S-GR; Zhang et al. 2018, Wang et al. 2020): steps that do not help an adversary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import treatment
from equipoise.training import NETWORK, Batch, Leaves, Need, TrainingContext
from equipoise.treatments._domain_heads import DOMAIN, NETWORK_LEARNS, DomainAdversary, WithDomainHead

if TYPE_CHECKING:
    import torch

# Gradients of the adversary that are shorter have no direction to project on.
SHORTEST = 1e-5


@treatment("gradient_projection", alias="S-GR", stage="in", paper="004", extra="train")
class GradientProjection(DomainAdversary):
    """The network moves by g_c - strength g_d - (the projection of g_c on g_d), tensor by tensor.

    g_c is the gradient of the cross-entropy of the class, g_d that of a head which guesses the group from the class
    logits. The head learns in every epoch, the network in one of three. Adam at a constant rate, 2.5 times the epochs.
    Where g_d is no longer than 0.00001 nothing is projected. A cell without rows is no matter.

    Qian et al. (2021) call this gradient reversal. The authors' code takes g_d after the head has moved, here it is
    taken before. Where a batch is taken in pieces, each piece is projected by itself.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "multilabel")
    requires: ClassVar[frozenset[Need]] = DomainAdversary.requires | {Need.LOGITS}

    @classmethod
    def during(cls, trials: Sequence[GradientProjection], context: TrainingContext) -> Projection:
        """Return the trials' heads that guess the group."""
        return Projection(context, trials, len(context.labels or context.classes))


class Projection(WithDomainHead):
    """The head that guesses the group reads the logits of classes or labels."""

    def moved(self, phase: str) -> tuple[str, ...]:
        """Everything, or the head that guesses the group."""
        return (NETWORK, DOMAIN) if phase == NETWORK_LEARNS else (DOMAIN,)

    def objective(self, phase: str, batch: Batch, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss of the class, or that of the group where the network rests."""
        return loss if phase == NETWORK_LEARNS else self.group_loss(batch.output, batch)

    def gradients(self, phase: str, batch: Batch, loss: torch.Tensor, leaves: Leaves) -> bool:
        """Project the gradient of the class, where the network learns."""
        if phase != NETWORK_LEARNS:
            return False
        against = self.group_loss(batch.output, batch)
        (of_class,) = leaves.gradients(loss, NETWORK, again=True)
        of_group, of_head = leaves.gradients(against, NETWORK, DOMAIN)
        leaves.set(NETWORK, [self.projected(g_c, g_d) for g_c, g_d in zip(of_class, of_group, strict=True)])
        leaves.set(DOMAIN, of_head)
        return True

    def projected(self, g_c: Any, g_d: Any) -> Any:
        """Return g_c - strength g_d - (g_c . g_d / |g_d|^2) g_d of each trial, without the last where g_d is too short.

        What has no gradient of the group moves by that of the class.
        """
        import torch

        if g_c is None or g_d is None:
            return g_c
        if g_d.ndim == 1:  # one number a trial
            return self.projected(g_c[:, None], g_d[:, None])[:, 0]
        inner = tuple(range(1, g_d.ndim))
        length = torch.linalg.vector_norm(g_d, dim=inner, keepdim=True)
        # No branch and no constant that has to travel to the device: a step is recorded once and replayed.
        along = (length > SHORTEST) * (g_c * g_d).sum(inner, keepdim=True) / length.clamp_min(SHORTEST).square()
        return g_c - (self.strengths.view(length.shape) + along) * g_d
