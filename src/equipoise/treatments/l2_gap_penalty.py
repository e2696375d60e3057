"""A squared penalty on the gap between groups (paper 004, A-L2; Lokhande et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.foundation import treatment
from equipoise.training import Batch, TrainingContext
from equipoise.treatments._favourable_losses import GapTreatment, PairLosses

if TYPE_CHECKING:
    import torch


@treatment("l2_gap_penalty", alias="A-L2", stage="in", paper="004", origin="lokhande2020", extra="train")
class SquaredGapPenalty(GapTreatment):
    """The loss gets eta / 2 (L_0 - L_1)^2, L_s the mean loss of the batch's rows of the favourable class in group s.

    Of more than two groups it is the mean over all pairs, and of several favourable classes that over classes. A pair
    of which the batch, or the training data, lacks a group adds nothing.

    In the authors' code this penalty never clears its gradients, and a batch without one of the groups gives NaN.
    """

    @classmethod
    def during(cls, trials: Sequence[SquaredGapPenalty], context: TrainingContext) -> SquaredGaps:
        """Return the trials' penalty."""
        return SquaredGaps(trials, context)


class SquaredGaps(PairLosses):
    """Adds eta / 2 times the mean over pairs of the squared gap."""

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return the weighted squares, ``[trial]``."""
        losses, mask = self.losses(batch)
        gaps = (losses[:, :, 0] - losses[:, :, 1]) * mask.all(2)
        return self.eta / 2 * self.mean_over_pairs(gaps.square())
