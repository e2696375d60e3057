"""Equal opportunity by losses (paper 001, EO_CLA and EO_GLB, appendix E.1; Shen et al. 2022): cells fitted alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from equipoise.foundation import treatment
from equipoise.training import Batch, Choice, Need, Parameter, Table, TrainingCallback, TrainingContext, Treatment
from equipoise.treatments._cells import in_common, sums_of_cells

if TYPE_CHECKING:
    import torch


class EqualOpportunity(Treatment):
    """A penalty on how far the loss of each cell is from another loss."""

    requires: ClassVar[frozenset[Need]] = frozenset({Need.ROW_LOSSES})
    parameters: ClassVar[Table] = {
        "strength": Parameter("weight of the differences, lambda", 0.1, least=0, low=1e-3, high=1e1),
        "variant": Choice(
            "the paper's |L_yg - L|, or the authors' signed sum of L_yg (\"authors\")", "paper", ("paper", "authors")
        ),
    }


@treatment("equal_opportunity_class", alias="EO_CLA", stage="in", paper="001", origin="shen2022", extra="train")
class EqualOpportunityClass(EqualOpportunity):
    """The loss gets strength * sum_yg |L_yg - L_y|: groups of one class shall be fitted equally well.

    A cell without rows, in the training data or in a batch, adds nothing.
    """

    not_for_labels: ClassVar[str] = "it compares groups inside a class, and rows with several labels have no class"

    @classmethod
    def during(cls, trials: Sequence[EqualOpportunityClass], context: TrainingContext) -> LossDifferences:
        """Return the trials' penalty."""
        return LossDifferences(trials, context, "class")


@treatment("equal_opportunity_global", alias="EO_GLB", stage="in", paper="001", origin="shen2022", extra="train")
class EqualOpportunityGlobal(EqualOpportunity):
    """The loss gets strength * sum_yg |L_yg - L|: every group of every class shall be fitted as well as everyone.

    A cell without rows, in the training data or in a batch, adds nothing. With the authors' signed sum this is not the
    same penalty up to a constant, as it nearly is inside a class: more cells may lie above L than below. Rows of
    several labels have no class: every group shall be fitted as well as everyone.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")

    @classmethod
    def during(cls, trials: Sequence[EqualOpportunityGlobal], context: TrainingContext) -> LossDifferences:
        """Return the trials' penalty."""
        return LossDifferences(trials, context, "everyone")


class LossDifferences(TrainingCallback):
    """Adds strength * sum over the batch's cells of |L_yg - L_y| (or of |L_yg - L|) to each trial's loss.

    L_yg is the mean loss of the batch's rows of class y and group g; classes of a regression are quarters. The authors
    add sign(L_yg - L_y) L_yg instead. A cell without rows in the batch adds nothing.
    """

    per_trial = ("strengths",)

    def __init__(self, trials: Sequence[Any], context: TrainingContext, to: Literal["class", "everyone"]) -> None:
        self.strengths = context.numbers([trial.values["strength"] for trial in trials])
        self.signed = in_common(trials, "variant") == "authors"
        self.shape = (len(context.classes), len(context.groups))
        self.to = to

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return the weighted sum of differences, ``[trial]``."""
        cells = batch.cell * self.shape[1] + batch.group
        cell_sums = sums_of_cells(batch.loss, cells, self.shape[0] * self.shape[1])
        sums, counts = (values.reshape(-1, *self.shape) for values in cell_sums)
        means = sums / counts.clamp(min=1)
        if self.to == "class":
            middle = sums.sum(dim=2, keepdim=True) / counts.sum(dim=2, keepdim=True).clamp(min=1)
        else:
            middle = batch.loss.mean(dim=1)[:, None, None]
        deviations = means - middle
        terms = deviations.detach().sign() * means if self.signed else deviations.abs()
        penalty: torch.Tensor = self.strengths * (terms * (counts > 0)).sum(dim=(1, 2))
        return penalty
