"""Uniform confusion (paper 004, S-UC; Alvi et al. 2018, Wang et al. 2020): features that leave a head at a loss."""

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


@treatment("uniform_confusion", alias="S-UC", stage="in", paper="004", extra="train")
class UniformConfusion(Treatment):
    """The network minimises CE + strength (-mean over groups of log q_g), q what a head guesses from its features.

    They take turns: the network learns in one epoch of three, and in the others the head learns to guess the group from
    the features as they are. Adam at a constant rate, 2.5 times the epochs. A cell without rows is no matter.
    """

    parameters: ClassVar[Table] = ADVERSARY
    network_every: ClassVar[int] = EVERY

    def taught(self, context: NetworkContext) -> Confusion:
        """Return how the network is taught."""
        return Confusion(context, self.values, context.features)


class Confusion(WithDomainHead):
    """The head that guesses the group reads the features."""

    def moved(self, phase: str) -> tuple[str, ...]:
        """Network and head, or the head that guesses the group."""
        return (NETWORK, HEAD) if phase == NETWORK_LEARNS else (DOMAIN,)

    def gradients(self, phase: str, parts: Parts, batch: PictureBatch) -> torch.Tensor:
        """Leave the gradient in what moves; return its loss."""
        if phase != NETWORK_LEARNS:
            features, _ = self.at_rest(parts, batch.pictures)
            return self.teach_domain_head(parts, features, batch)
        features, output = self.said(parts, batch.pictures)
        guesses = self.through(parts[DOMAIN], features)
        confusion = self.weighed(-guesses.log_softmax(1).mean(1), batch)
        loss = self.class_loss(output, batch) + self.strength * confusion
        self.torch.autograd.backward(loss, inputs=learning(parts))
        return loss.detach()
