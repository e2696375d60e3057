"""The classifier that INLP puts on what is left: multinomial logistic regression, or least squares for numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from equipoise.foundation import BadInput
from equipoise.training.material import Codes, Predicted
from equipoise.training.model import PostProcessor, Reads, checked_array, fitted_part
from equipoise.treatments.null_space import NullSpace

Floats = NDArray[np.float64]

WHAT = "the saved linear head"
# The first head begins from nothing; the others from one that has one direction more.
FIRST_STEPS, LATER_STEPS = 100, 20


@fitted_part
class LinearHead(PostProcessor):
    """A linear map of *unprojected* rows (the projection is inside the weights): ``[output, column]`` and biases.

    ``basis [direction, column]`` are the directions that were taken away, orthonormal.
    """

    kind: ClassVar[str] = "linear_head"
    reads: ClassVar[Reads] = "representations"

    def __init__(self, weights: Floats, biases: Floats, regression: bool, basis: Floats | None = None) -> None:
        self.weights, self.biases, self.regression = weights, biases, regression
        self.basis = np.zeros((0, weights.shape[1])) if basis is None else basis

    def outputs(self, rows: Floats) -> Floats:
        """Return the logit of every class (minus infinity for one without training rows), or one number."""
        return np.asarray(rows @ self.weights.T + self.biases)

    def values(self, rows: Floats) -> NDArray[Any]:
        """Return class codes, or numbers."""
        outputs = self.outputs(rows)
        return outputs[:, 0].astype(np.float32) if self.regression else outputs.argmax(axis=1)

    def scores(self, rows: Floats) -> NDArray[np.float32]:
        """Return the probability of every class."""
        found: NDArray[np.float32] = softmax(self.outputs(rows), axis=1).astype(np.float32)
        return found

    def predict(self, values: NDArray[Any], group: Codes | None = None) -> Predicted:
        """Return class codes with probabilities, or numbers, of rows of representations."""
        rows = values.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.weights.shape[1]:
            raise BadInput(f"The rows have the shape {rows.shape}", available=f"{self.weights.shape[1]} numbers each")
        with threadpool_limits(limits=1, user_api="blas"):
            return Predicted(self.values(rows), None if self.regression else self.scores(rows))

    def transform(self, representations: NDArray[Any]) -> NDArray[Any]:
        """Return rows without the directions that were taken away."""
        rows = representations.astype(np.float64)
        return np.asarray(rows - (rows @ self.basis.T) @ self.basis)

    def state(self) -> dict[str, Any]:
        """Return weights, biases and the directions."""
        return {"weights": self.weights, "biases": self.biases, "basis": self.basis, "regression": self.regression}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> LinearHead:
        """Make it again from its state."""
        weights = checked_array(state, "weights", (None, None), WHAT)
        biases = checked_array(state, "biases", (len(weights),), WHAT)
        basis = checked_array(state, "basis", (None, weights.shape[1]), WHAT)
        finite = np.isfinite(weights).all() and np.isfinite(basis).all() and not np.isnan(biases).any()
        if not isinstance(state.get("regression"), bool) or not finite or not len(weights):
            raise BadInput(f"The numbers of {WHAT} are not all finite, or it says not what they are for")
        return cls(weights, biases, state["regression"], basis)


class Heads:
    """Fits one head after another; each begins where the last one ended, since one direction less changes little."""

    def __init__(
        self, target: NDArray[Any], classes: int, regression: bool, weights: NDArray[np.float64] | None = None
    ) -> None:
        from sklearn.linear_model import LinearRegression, LogisticRegression

        self.target = target
        self.weights = weights
        self.classes = classes
        self.regression = regression
        self.model = LinearRegression() if regression else LogisticRegression(max_iter=FIRST_STEPS, warm_start=True)
        if not regression and len(np.unique(target)) < 2:
            raise BadInput("All training rows have the same class", available="two classes or more")

    def fitted(self, rows: Floats, space: NullSpace) -> LinearHead:
        """Fit a head on projected rows."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # The authors stop after ten steps; a head that has nearly converged is a head.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(rows, self.target, sample_weight=self.weights)
        if not self.regression:
            self.model.max_iter = LATER_STEPS
        weights = space.left(np.atleast_2d(self.model.coef_).astype(np.float64))
        biases = np.atleast_1d(np.asarray(self.model.intercept_, dtype=np.float64))
        if self.regression:
            return LinearHead(weights, biases, True, space.basis)
        if len(weights) == 1:  # two classes: the logit of the first is 0
            weights, biases = np.vstack([np.zeros_like(weights), weights]), np.r_[0.0, biases]
        every = np.zeros((self.classes, weights.shape[1])), np.full(self.classes, -np.inf)
        codes = self.model.classes_.astype(np.int64)
        every[0][codes], every[1][codes] = weights, biases
        return LinearHead(*every, False, space.basis)
