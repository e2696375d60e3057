"""The classifier that INLP puts on what is left: multinomial logistic regression, or least squares for numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from equipoise.foundation.errors import BadInput
from equipoise.training.material import Predicted
from equipoise.treatments.null_space import NullSpace

Floats = NDArray[np.float64]

# The first head begins from nothing; the others from one that has one direction more.
FIRST_STEPS, LATER_STEPS = 100, 20


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A linear map of *unprojected* rows (the projection is inside the weights): ``[output, column]`` and biases."""

    weights: Floats
    biases: Floats
    regression: bool

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

    def predicted(self, rows: Floats) -> Predicted:
        """Return class codes with probabilities, or numbers."""
        if self.regression:
            return Predicted(self.values(rows))
        return Predicted(self.values(rows), self.scores(rows))


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
            return LinearHead(weights, biases, True)
        if len(weights) == 1:  # two classes: the logit of the first is 0
            weights, biases = np.vstack([np.zeros_like(weights), weights]), np.r_[0.0, biases]
        every = np.zeros((self.classes, weights.shape[1])), np.full(self.classes, -np.inf)
        codes = self.model.classes_.astype(np.int64)
        every[0][codes], every[1][codes] = weights, biases
        return LinearHead(*every, False)
