"""Group DRO (Sagawa et al. 2020): the network minimises the loss of the groups that it fits worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation import require, treatment
from equipoise.training import Choice, Need, Parameter, RowLosses, Table, TrainingCallback, TrainingContext, Treatment
from equipoise.treatments._cells import in_common, sums_of_cells

if TYPE_CHECKING:
    import torch

CELLS, GROUPS = "cells", "groups"


@treatment("group_dro", alias="GroupDRO", stage="in", paper="Sagawa et al. 2020", extra="train")
class GroupDRO(Treatment):
    """The network minimises sum_g q_g L_g; before each step q_g grows by the factor exp(step (L_g + C / sqrt(n_g))).

    L_g is the mean loss of the batch's rows of a cell (class and group) or of a group; weights q of a trial sum to 1
    and begin equal. In metric learning it is the mean loss of the triplets, pairs or samples whose anchor is of the
    group. A group without rows in the batch keeps its weight before q is divided by its sum; one without training rows
    has none.

    In the authors' code C alone raises the weight of a group that a batch lacks. Weights of rows multiply their losses.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    requires: ClassVar[frozenset[Need]] = frozenset({Need.GROUP_LOSSES})
    parameters: ClassVar[Table] = {
        "step": Parameter("step size of the weights, eta_q", 0.01, least=0, low=1e-4, high=1.0),
        "adjustment": Parameter("size adjustment C: small groups count as if their loss were higher", 0.0, least=0,
                                low=0.0, high=5.0, scale="linear"),
        "over": Choice("what is weighed: cells (class and group), or groups alone", CELLS, (CELLS, GROUPS)),
    }  # fmt: skip

    @classmethod
    def during(cls, trials: Sequence[GroupDRO], context: TrainingContext) -> GroupWeights:
        """Return the trials' weights of groups."""
        return GroupWeights(trials, context)


class GroupWeights(TrainingCallback):
    """The weights q ``[trial, group]``, kept as logarithms: a factor that is tiny for long underflows otherwise."""

    per_trial = ("steps", "adjustments", "log_weights")

    def __init__(self, trials: Sequence[GroupDRO], context: TrainingContext) -> None:
        self._torch = require("torch", extra="train", purpose="Group DRO")
        self.steps = context.numbers([trial.values["step"] for trial in trials])[:, None]
        self.groups = len(context.groups)
        self.by_cell = in_common(trials, "over") == CELLS
        self.number = self.groups * len(context.classes) if self.by_cell else self.groups
        sizes = context.numbers([trial.values["adjustment"] for trial in trials])[:, None]
        codes = self._codes(context.cell, context.group)
        _, counts = sums_of_cells(sizes.expand(codes.shape), codes, self.number)
        self.adjustments = sizes / counts.clamp(min=1).sqrt()
        present = (counts > 0).to(counts.dtype)
        self.log_weights = (present / present.sum(1, keepdim=True)).log()

    def combined_loss(self, losses: RowLosses) -> torch.Tensor:
        """Let the weights of badly fitted groups grow; return the weighted sum of the groups' losses, ``[trial]``."""
        codes = self._codes(losses.cell, losses.group)
        sums, counts = sums_of_cells(losses.weighed, codes, self.number, losses.mask)
        means = sums / counts.clamp(min=1)
        with self._torch.no_grad():
            grown = self.log_weights + self.steps * (means + self.adjustments) * (counts > 0)
            self.log_weights.copy_(grown - grown.logsumexp(1, keepdim=True))
        combined: torch.Tensor = (self.log_weights.exp() * means).sum(1)
        return combined

    def _codes(self, cell: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        return cell * self.groups + group if self.by_cell else group

    def state(self) -> dict[str, torch.Tensor]:
        """Return the logarithms of the weights."""
        return {"log q": self.log_weights}
