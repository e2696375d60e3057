"""Linear classifiers on what is left of representations when directions are taken away, one after another."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from equipoise.foundation import BadInput
from equipoise.training import (
    Codes,
    Parameter,
    PostProcessor,
    Predicted,
    Reads,
    Table,
    Transformation,
    checked_array,
    fitted_part,
)

Floats = NDArray[np.float64]

# A direction shorter than this, against the longest, is what rounding left of one that is gone.
RANK_TOLERANCE = 1e-8


def without_directions(rows: Floats, basis: Floats) -> Floats:
    """Return rows without some directions, ``basis [direction, column]``, which are orthonormal."""
    return np.asarray(rows - (rows @ basis.T) @ basis)


class NullSpace:
    """The intersection of the null spaces of all directions so far; ``basis [direction, column]`` spans what is gone.

    With B orthonormal the projection is I - B'B: the same as projecting onto the null space of the sum of the row-space
    projections (Ravfogel et al. 2020, after Ben-Israel 2015).
    """

    def __init__(self, columns: int) -> None:
        self.basis: Floats = np.zeros((0, columns))

    def new(self, directions: Floats) -> Floats:
        """Return an orthonormal basis of what directions have outside of what is gone already."""
        longest = np.linalg.norm(directions, axis=1).max(initial=0.0)
        rest = self.project(self.project(directions))  # twice: once leaves rounding behind
        _, lengths, right_vectors = np.linalg.svd(rest, full_matrices=False)
        return np.asarray(right_vectors[lengths > RANK_TOLERANCE * longest])

    def without(self, directions: Floats) -> NullSpace:
        """Return the space that is left when these directions (orthonormal, from ``new``) are gone too."""
        space = NullSpace(self.basis.shape[1])
        space.basis = np.vstack([self.basis, directions])
        return space

    def project(self, rows: Floats) -> Floats:
        """Return rows projected onto the space: what they are without the directions that are gone."""
        return without_directions(rows, self.basis)

    @property
    def projection(self) -> Floats:
        """The projection as a matrix ``[column, column]``."""
        return np.eye(self.basis.shape[1]) - self.basis.T @ self.basis


@fitted_part
class NullSpaceProjection(Transformation):
    """Rows without some directions, ``basis [direction, column]``, which are orthonormal."""

    kind: ClassVar[str] = "null_space"

    def __init__(self, basis: Floats, notes: tuple[str, ...] = ()) -> None:
        self.basis, self.notes = basis, notes

    def __call__(self, inputs: NDArray[Any]) -> Floats:
        """Return the rows that are left."""
        return without_directions(inputs.astype(np.float64), self.basis)

    def state(self) -> dict[str, Any]:
        """Return the directions."""
        return {"basis": self.basis}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> NullSpaceProjection:
        """Make it again."""
        return cls(checked_array(state, "basis", (None, None), "the directions of a projection"))


MODEL_ROLE = "the saved linear head"
# Of treatments that fit a logistic regression afterwards; the least squares of a regression have no penalty.
HEAD: Table = {
    "head_c": Parameter("C of the logistic regression that is fitted afterwards: less shrinks it more", 1.0, 1e-12,
                        1e-3, 1e3),
}  # fmt: skip
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
        values: NDArray[np.float32] = softmax(self.outputs(rows), axis=1).astype(np.float32)
        return values

    def predict(self, values: NDArray[Any], group: Codes | None = None) -> Predicted:
        """Return class codes with probabilities, or numbers, of rows of representations."""
        rows = values.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.weights.shape[1]:
            raise BadInput(f"The rows have the shape {rows.shape}", available=f"{self.weights.shape[1]} numbers each")
        with threadpool_limits(limits=1, user_api="blas"):
            return Predicted(self.values(rows), None if self.regression else self.scores(rows))

    def transform(self, representations: NDArray[Any]) -> NDArray[Any]:
        """Return rows without the directions that were taken away."""
        return without_directions(representations.astype(np.float64), self.basis)

    def state(self) -> dict[str, Any]:
        """Return weights, biases and the directions."""
        return {"weights": self.weights, "biases": self.biases, "basis": self.basis, "regression": self.regression}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> LinearHead:
        """Make it again from its state."""
        weights = checked_array(state, "weights", (None, None), MODEL_ROLE)
        biases = checked_array(state, "biases", (len(weights),), MODEL_ROLE)
        basis = checked_array(state, "basis", (None, weights.shape[1]), MODEL_ROLE)
        finite = np.isfinite(weights).all() and np.isfinite(basis).all() and not np.isnan(biases).any()
        if not isinstance(state.get("regression"), bool) or not finite or not len(weights):
            raise BadInput(f"The numbers of {MODEL_ROLE} are not all finite, or it says not what they are for")
        return cls(weights, biases, state["regression"], basis)


class Heads:
    """Fits one head after another; each begins where the last one ended, since one direction less changes little."""

    def __init__(
        self, target: NDArray[Any], classes: int, regression: bool, weights: NDArray[np.float64] | None = None,
        *, strength: float = 1.0,
    ) -> None:  # fmt: skip
        from sklearn.linear_model import LinearRegression, LogisticRegression

        self.target = target
        self.weights = weights
        self.classes = classes
        self.regression = regression
        self.model = (
            LinearRegression() if regression else LogisticRegression(C=strength, max_iter=FIRST_STEPS, warm_start=True)
        )
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
        weights = space.project(np.atleast_2d(self.model.coef_).astype(np.float64))
        biases = np.atleast_1d(np.asarray(self.model.intercept_, dtype=np.float64))
        if self.regression:
            return LinearHead(weights, biases, True, space.basis)
        if len(weights) == 1:  # two classes: the logit of the first is 0
            weights, biases = np.vstack([np.zeros_like(weights), weights]), np.r_[0.0, biases]
        every = np.zeros((self.classes, weights.shape[1])), np.full(self.classes, -np.inf)
        codes = self.model.classes_.astype(np.int64)
        every[0][codes], every[1][codes] = weights, biases
        return LinearHead(*every, False, space.basis)
