"""Equal opportunity inside each class (paper 001, EO_CLA and appendix E.1; Shen et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from equipoise.foundation.registry import treatment
from equipoise.training.parameters import Table
from equipoise.training.treatment import StackContext, Treatment
from equipoise.treatments.loss_differences import PARAMETERS, LossDifferences


@treatment("equal_opportunity_class", alias="EO_CLA", stage="in", paper="001", extra="train")
class EqualOpportunityClass(Treatment):
    """The loss gets strength * sum_yg |L_yg - L_y|: groups of one class shall be fitted equally well.

    A cell without rows, in the training data or in a batch, adds nothing.
    """

    parameters: ClassVar[Table] = PARAMETERS

    @classmethod
    def during(cls, trials: Sequence[EqualOpportunityClass], context: StackContext) -> LossDifferences:
        """Return the trials' penalty."""
        return LossDifferences(trials, context, "class")
