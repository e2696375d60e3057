"""Equal opportunity over all classes (paper 001, EO_GLB; Shen et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from equipoise.foundation.registry import treatment
from equipoise.training.parameters import Table
from equipoise.training.treatment import StackContext, Treatment
from equipoise.treatments.loss_differences import PARAMETERS, LossDifferences


@treatment("equal_opportunity_global", alias="EO_GLB", stage="in", paper="001", extra="train")
class EqualOpportunityGlobal(Treatment):
    """The loss gets strength * sum_yg |L_yg - L|: every group of every class shall be fitted as well as everyone.

    A cell without rows, in the training data or in a batch, adds nothing. With the authors' signed sum this is not the
    same penalty up to a constant, as it nearly is inside a class: more cells may lie above L than below.
    """

    parameters: ClassVar[Table] = PARAMETERS

    @classmethod
    def during(cls, trials: Sequence[EqualOpportunityGlobal], context: StackContext) -> LossDifferences:
        """Return the trials' penalty."""
        return LossDifferences(trials, context, "everyone")
