"""Gradient projection (paper 004, S-GR; Zhang et al. 2018, Wang et al. 2020): steps that do not help an adversary."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation.registry import treatment
from equipoise.training.images.teaching import HEAD, NETWORK, NetworkContext, PictureBatch
from equipoise.training.parameters import Table
from equipoise.training.treatment import Treatment
from equipoise.treatments.domain_heads import ADVERSARY, DOMAIN, EVERY, NETWORK_LEARNS, WithDomainHead, learning

if TYPE_CHECKING:
    import torch

    from equipoise.training.images.teaching import Parts

# Gradients of the adversary that are shorter have no direction to project on.
SHORTEST = 1e-5


@treatment("gradient_projection", alias="S-GR", stage="in", paper="004", extra="train")
class GradientProjection(Treatment):
    """The network moves by g_c - strength g_d - (the projection of g_c on g_d), tensor by tensor.

    g_c is the gradient of the cross-entropy of the class, g_d that of a head which guesses the group from the class
    logits. The head learns in every epoch, the network in one of three. Adam at a constant rate, 2.5 times the epochs.
    Where g_d is no longer than 0.00001 nothing is projected. A cell without rows is no matter.
    """

    parameters: ClassVar[Table] = ADVERSARY
    network_every: ClassVar[int] = EVERY

    def taught(self, context: NetworkContext) -> Projection:
        """Return how the network is taught."""
        return Projection(context, self.values, len(context.classes))


class Projection(WithDomainHead):
    """The head that guesses the group reads the class logits."""

    def moved(self, phase: str) -> tuple[str, ...]:
        """Everything, or the head that guesses the group."""
        return (NETWORK, HEAD, DOMAIN) if phase == NETWORK_LEARNS else (DOMAIN,)

    def gradients(self, phase: str, parts: Parts, batch: PictureBatch) -> torch.Tensor:
        """Leave the gradient in what moves; return the loss of the class, or of the group where the network rests."""
        if phase != NETWORK_LEARNS:
            _, output = self.at_rest(parts, batch.pictures)
            return self.teach_domain_head(parts, output, batch)
        _, output = self.said(parts, batch.pictures)
        loss = self.class_loss(output, batch)
        against = self.group_loss(self.through(parts[DOMAIN], output), batch)
        network, head = learning(parts), list(parts[DOMAIN].parameters())
        g_class = self.torch.autograd.grad(loss, network, retain_graph=True)
        g_group = self.torch.autograd.grad(against, [*network, *head])
        for parameter, g_c, g_d in zip(network, g_class, g_group, strict=False):
            parameter.grad = self.projected(g_c, g_d)
        for parameter, g_d in zip(head, g_group[len(network) :], strict=True):
            parameter.grad = g_d
        return loss.detach()

    def projected(self, g_c: torch.Tensor, g_d: torch.Tensor) -> torch.Tensor:
        """Return g_c - strength g_d - (g_c . g_d / |g_d|^2) g_d, without the last where g_d is too short."""
        length = g_d.norm()
        # No branch and no constant that has to travel to the device: a step is recorded once and replayed.
        along = (length > SHORTEST) * (g_c * g_d).sum() / length.clamp_min(SHORTEST).square()
        moved: torch.Tensor = g_c - (self.strength + along) * g_d
        return moved
