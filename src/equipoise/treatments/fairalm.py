"""FairALM (paper 004, A-ALM; Lokhande et al. 2020): multipliers that hold the losses of groups together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import require, treatment
from equipoise.training import Batch, TrainingContext
from equipoise.treatments._favourable_losses import GapTreatment, PairLosses

if TYPE_CHECKING:
    import torch

# Steps on each batch, after which the multipliers move once.
STEPS = 5


@treatment("fairalm", alias="A-ALM", stage="in", paper="004", origin="lokhande2020", extra="train")
class FairALM(GapTreatment):
    """The loss gets (eta/4 + (l_0 - l_1)/2) L_0 + (eta/4 + (l_1 - l_0)/2) L_1 in five steps on every batch.

    L_s is the mean loss of the batch's rows of the favourable class in group s. After the five steps the multipliers
    move: l_0 becomes (l_0 - l_1)/2 + eta/2 (L_0 - L_1), then l_1 becomes (l_1 - l_0)/2 + eta/2 (L_1 - L_0), by the new
    l_0 and the losses of the fifth step. Of more than two groups it is the mean over all pairs, each with multipliers
    of its own, and of several favourable classes that over classes. A group that the batch lacks adds nothing, and its
    pairs keep their multipliers.

    With ``strength = 0`` every batch is taken five times and nothing is constrained: the control, which tells what of
    the effect is that of five times as many steps. A study with FairALM has it as well.
    """

    control: ClassVar[Mapping[str, Any]] = {"strength": 0}
    control_name: ClassVar[str] = "five steps a batch alone"

    @classmethod
    def during(cls, trials: Sequence[FairALM], context: TrainingContext) -> Multipliers:
        """Return the trials' multipliers."""
        return Multipliers(trials, context)


class Multipliers(PairLosses):
    """The multipliers of both groups of each pair, ``[trial, class, 2, pair]``, 0 at first."""

    repeats = STEPS
    per_trial = (*PairLosses.per_trial, "multipliers")

    def __init__(self, trials: Sequence[FairALM], context: TrainingContext) -> None:
        super().__init__(trials, context)
        self._torch = require("torch", extra="train", purpose="FairALM")
        self.multipliers = self.first.new_zeros(len(trials), len(self.classes), *self.pairs.shape)

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return the weighted losses, ``[trial]``; the last step on a batch moves the multipliers."""
        losses, mask = self.losses(batch)
        weights = self.eta[:, None, None, None] / 4 + (self.multipliers - self.multipliers.flip(2)) / 2
        penalty = self.mean_over_pairs((weights * losses).sum(2))
        if batch.repeat == self.repeats - 1:
            self._move(losses.detach(), mask.all(2))
        return penalty

    def _move(self, losses: torch.Tensor, mask: torch.Tensor) -> None:
        first, second = self.multipliers.unbind(2)
        raised = self.eta[:, None, None] / 2 * (losses[:, :, 0] - losses[:, :, 1])
        new_first = (first - second) / 2 + raised
        new_second = (second - new_first) / 2 - raised
        moved = self._torch.stack([new_first, new_second], dim=2)
        self.multipliers.copy_(self._torch.where(mask[:, :, None], moved, self.multipliers))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the multipliers."""
        return {"multipliers": self.multipliers}
