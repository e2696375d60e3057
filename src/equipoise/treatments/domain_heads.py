"""What the two adversaries of paper 004 share: a head that guesses the group, epochs in turn, and an optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equipoise.training.images.teaching import HEAD, NETWORK, NetworkContext, OwnRecipe, PictureBatch, Teaching
from equipoise.training.parameters import Parameter, Table

if TYPE_CHECKING:
    import torch

    from equipoise.training.images.teaching import Parts

DOMAIN = "domain"
# The network learns in the first of so many epochs. The authors count from 0 and take those that 3 divides: 167 of 500.
EVERY = 3
NETWORK_LEARNS, NETWORK_RESTS = "network learns", "network rests"

ADVERSARY: Table = {
    "strength": Parameter("weight of what hides the group, alpha", 1.0, least=0, low=1e-2, high=1e2),
    "learning_rate": Parameter("step size of Adam, constant", 1e-4, least=1e-12, low=1e-5, high=1e-2),
    "weight_decay": Parameter("the weight of half the squared parameters in the loss", 3e-4, 0.0, 1e-6, 1e-2),
    "longer": Parameter("epochs against those of the learner (the paper: 500 against 200)", 2.5, 1e-3, 1.0, 3.0,
                        shapes=True),
}  # fmt: skip


class WithDomainHead(Teaching):
    """A network with a second head that guesses the group from ``reads`` numbers; both have Adam at a constant rate."""

    def __init__(self, context: NetworkContext, values: Mapping[str, Any], reads: int) -> None:
        super().__init__(context)
        self.strength = float(values["strength"])
        self.reads = reads
        self.recipe = OwnRecipe("adam", values["learning_rate"], values["weight_decay"], values["longer"])

    def parts(self) -> Parts:
        """Build the head, then the head that guesses the group."""
        return {**super().parts(), DOMAIN: self.torch.nn.Linear(self.reads, len(self.context.groups))}

    def phase(self, epoch: int) -> str:
        """Let the network learn in one epoch of three."""
        return NETWORK_LEARNS if (epoch - 1) % EVERY == 0 else NETWORK_RESTS

    def weighed(self, losses: torch.Tensor, batch: PictureBatch) -> torch.Tensor:
        """Return the mean of a loss of each row, by the weights that treatments before training gave."""
        return (losses * batch.weight).mean()

    def class_loss(self, output: torch.Tensor, batch: PictureBatch) -> torch.Tensor:
        """Return the mean cross-entropy of the class."""
        return self.weighed(self.row_loss(output, batch.target, batch.group), batch)

    def group_loss(self, guesses: torch.Tensor, batch: PictureBatch) -> torch.Tensor:
        """Return the mean cross-entropy of the group."""
        losses = self.torch.nn.functional.cross_entropy(guesses, batch.group, reduction="none")
        return self.weighed(losses, batch)

    def at_rest(self, parts: Parts, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and outputs that no gradient goes back through; batch statistics are those of training."""
        with self.torch.no_grad():
            return self.said(parts, pictures)

    def teach_domain_head(self, parts: Parts, read: torch.Tensor, batch: PictureBatch) -> torch.Tensor:
        """Leave the gradient of guessing the group in the head that guesses it; return the loss."""
        loss = self.group_loss(self.through(parts[DOMAIN], read), batch)
        self.torch.autograd.backward(loss)
        return loss.detach()


def learning(parts: Parts) -> list[torch.Tensor]:
    """Return the parameters of network and head that learn."""
    return [one for name in (NETWORK, HEAD) for one in parts[name].parameters() if one.requires_grad]
