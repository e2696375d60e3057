"""Uniform confusion (paper 004, S-UC; Alvi et al. 2018, Wang et al. 2020): features that leave a head at a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import treatment
from equipoise.training import Batch, Need, TrainingContext
from equipoise.treatments._domain_heads import NETWORK_LEARNS, DomainAdversary, WithDomainHead

if TYPE_CHECKING:
    import torch


@treatment("uniform_confusion", alias="S-UC", stage="in", paper="004", extra="train")
class UniformConfusion(DomainAdversary):
    """The network minimises CE + strength (-mean over groups of log q_g), q what a head guesses from its features.

    They take turns: the network learns in one epoch of three, and in the others the head learns to guess the group from
    the features as they are. Adam at a constant rate, 2.5 times the epochs. A cell without rows is no matter.

    The authors count epochs from 0 and take those that 3 divides, 167 of 500. While the network rests, its batch
    statistics go on.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    requires: ClassVar[frozenset[Need]] = DomainAdversary.requires | {Need.HIDDEN}

    @classmethod
    def during(cls, trials: Sequence[UniformConfusion], context: TrainingContext) -> Confusion:
        """Return the trials' heads that guess the group."""
        return Confusion(context, trials, context.width)


class Confusion(WithDomainHead):
    """The head that guesses the group reads the features."""

    def objective(self, phase: str, batch: Batch, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss of the class with the confusion, or that of the group where the network rests."""
        if phase != NETWORK_LEARNS:
            return self.group_loss(batch.hidden, batch)
        guesses = self.domain(batch.hidden)
        return loss + self.strengths * batch.mean(-guesses.log_softmax(-1).mean(-1))
