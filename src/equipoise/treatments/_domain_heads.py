"""What the two adversaries of Wang et al. (2020) share: a head that guesses the group, epochs in turn, an optimiser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.training import (
    NETWORK,
    Batch,
    Need,
    OwnRecipe,
    Parameter,
    Part,
    Table,
    TrainingCallback,
    TrainingContext,
    Treatment,
    cross_entropy,
)

if TYPE_CHECKING:
    import torch

DOMAIN = "domain"
# The network learns in the first of so many epochs. The authors count from 0 and take those that 3 divides: 167 of 500.
EVERY = 3
NETWORK_LEARNS, NETWORK_RESTS = "network learns", "network rests"


class DomainAdversary(Treatment):
    """A treatment with a head that guesses the group, and Adam at a constant rate for network and head."""

    network_every: ClassVar[int] = EVERY
    requires: ClassVar[frozenset[Need]] = frozenset({Need.ROW_LOSSES})
    parameters: ClassVar[Table] = {
        "strength": Parameter("weight of what hides the group, alpha", 1.0, least=0, low=1e-2, high=1e2),
        "learning_rate": Parameter("step size of Adam, constant", 1e-4, least=1e-12, low=1e-5, high=1e-2),
        "weight_decay": Parameter("the weight of half the squared parameters in the loss", 3e-4, 0.0, 1e-6, 1e-2),
        "longer": Parameter("epochs against those of the learner (the paper: 500 against 200)", 2.5, 1e-3, 1.0, 3.0,
                            shapes=True),
    }  # fmt: skip

    def recipe(self) -> OwnRecipe:
        """Return Adam at a constant rate, and more epochs."""
        values = self.values
        return OwnRecipe("adam", values["learning_rate"], values["weight_decay"], values["longer"])


class WithDomainHead(TrainingCallback):
    """A head that guesses the group from ``reads`` numbers; it learns in every epoch, the network in one of three."""

    per_trial = ("strengths",)

    def __init__(self, context: TrainingContext, trials: Sequence[Any], reads: int) -> None:
        self.strengths = context.numbers([trial.values["strength"] for trial in trials])
        self.domain = context.linear(DOMAIN, reads, len(context.groups))

    def parts(self) -> Mapping[str, Part]:
        """Return the head that guesses the group."""
        return {DOMAIN: self.domain}

    def phase(self, epoch: int) -> str:
        """Let the network learn in one epoch of three."""
        return NETWORK_LEARNS if (epoch - 1) % EVERY == 0 else NETWORK_RESTS

    def moved(self, phase: str) -> tuple[str, ...]:
        """Network or head: they take turns."""
        return (NETWORK,) if phase == NETWORK_LEARNS else (DOMAIN,)

    def group_loss(self, read: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the mean cross-entropy of the group as the head guesses it from what it reads, ``[trial]``."""
        return batch.mean(cross_entropy(self.domain(read), batch.group))
