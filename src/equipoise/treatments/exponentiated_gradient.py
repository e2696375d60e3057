"""A mixture of refitted classifiers under a constraint on groups (Agarwal et al. 2018), by Fairlearn's reduction."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, plural, require, treatment
from equipoise.training import (
    Adjustment,
    Choice,
    Codes,
    Mixture,
    Parameter,
    Predicted,
    Scored,
    Table,
    TrainingRows,
    Treatment,
    checked_settings,
    fitted_part,
)
from equipoise.treatments._readout import randomly_decided

Floats = NDArray[np.float64]

PURPOSE = "exponentiated_gradient"
# Fairlearn's classes of constraints.
CONSTRAINTS = {
    "demographic_parity": "DemographicParity",
    "equalized_odds": "EqualizedOdds",
    "true_positive_rate_parity": "TruePositiveRateParity",
    "false_positive_rate_parity": "FalsePositiveRateParity",
    "error_rate_parity": "ErrorRateParity",
}


@fitted_part
class DrawnClasses(Adjustment):
    """The second class with the chance that its score is."""

    kind = PURPOSE

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, predicted: Predicted, group: Codes | None, ids: Codes) -> Predicted:
        """Return classes drawn by the seed and the ids of rows, and the scores as they are."""
        assert predicted.scores is not None
        return randomly_decided(predicted.scores[:, 1].astype(np.float64), self.seed, PURPOSE, ids)

    def state(self) -> dict[str, Any]:
        """Return the seed."""
        return {"seed": self.seed}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make it again."""
        return cls(checked_settings(state, {"seed": int}, PURPOSE)["seed"])


@treatment("exponentiated_gradient", stage="in", paper="Agarwal et al. 2018", extra="train")
class ExponentiatedGradient(Treatment):
    """An estimator is refitted with other weights of rows, until a mixture of what was fitted fulfils a constraint.

    The constraint is on the training rows: groups may differ by ``eps`` from all rows together. A prediction is drawn
    from the mixture by the trial's seed; the score of the second class is the weight of the classifiers that predict
    it. Groups are not needed at prediction. The estimator must take weights of rows.

    ``eps`` is Fairlearn's ``difference_bound`` and ``eps``. A constraint on a rate is about the groups that have it.
    """

    parameters: ClassVar[Table] = {
        "constraint": Choice("what is to be equal among groups", "demographic_parity", tuple(CONSTRAINTS)),
        "eps": Parameter("by how much groups may differ from all rows", 0.01, 1e-9, 1e-3, 0.1, most=1.0),
        "max_iter": Parameter("most iterations, each with a fit", 50, 1, 10, 100, integer=True),
    }
    tasks: ClassVar[tuple[str, ...]] = ("class",)
    not_for_labels: ClassVar[str] = "it is defined for a target of two classes, and rows have several labels"
    two_classes: ClassVar[bool] = True

    def wrap(self, estimator: Any, rows: TrainingRows, weight_option: str) -> ClassifierMixture:
        """Return the reduction of the estimator."""
        if len(np.unique(rows.group)) < 2:
            raise BadInput("The training rows have only one group", available="training rows of two groups or more")
        if len(np.unique(rows.target)) < 2:
            raise BadInput("All training rows have the same class", available="two classes")
        return ClassifierMixture(self._reduction(estimator, weight_option), rows.group)

    def adjust(self, scored: Scored) -> DrawnClasses:
        """Draw from the mixture, for each row by itself."""
        return DrawnClasses(scored.seed)

    def _reduction(self, estimator: Any, weight_option: str) -> Any:
        library = require("fairlearn.reductions", extra="train", purpose="The treatment exponentiated_gradient")
        eps = float(self.values["eps"])
        constraint = getattr(library, CONSTRAINTS[self.values["constraint"]])(difference_bound=eps)
        return library.ExponentiatedGradient(
            estimator, constraint, eps=eps, max_iter=int(self.values["max_iter"]), sample_weight_name=weight_option
        )


class ClassifierMixture(Mixture):
    """Classifiers of two classes with weights that add up to 1, fitted by a reduction."""

    def __init__(self, reduction: Any, group: Codes) -> None:
        super().__init__([], np.zeros(0))
        self.reduction, self.group = reduction, group
        self.notes: tuple[str, ...] = ()

    def fit(self, inputs: NDArray[Any], target: Codes) -> Self:
        """Fit classifiers one after another, and find the best mixture of them."""
        reduction = self.reduction
        with warnings.catch_warnings():
            # What its own use of pandas warns of says nothing about the fit.
            warnings.filterwarnings("ignore", module="fairlearn")
            reduction.fit(inputs, target, sensitive_features=self.group)
        # The weights are those of all classifiers, by number; most of them are 0.
        weights = reduction.weights_.sort_index().to_numpy(dtype=np.float64)
        positive = np.flatnonzero(weights > 0)
        self.classifiers = [reduction.predictors_[index] for index in positive.tolist()]
        self.weights = weights[positive] / weights[positive].sum()
        self.notes = (
            f"Exponentiated gradient: a mixture of {plural(len(positive), 'classifier')}, "
            "from which predictions are drawn by the seed of the trial.",
        )
        if reduction.best_gap_ > reduction.nu:
            self.notes += (
                f"Exponentiated gradient: not converged after {plural(reduction.last_iter_ + 1, 'iteration')} (gap "
                f"{reduction.best_gap_:.2g}, wanted {reduction.nu:.2g}): the constraint may be missed. A larger "
                "max_iter may help.",
            )
        return self
