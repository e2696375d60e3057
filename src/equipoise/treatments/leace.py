"""Least-squares concept erasure (LEACE; Belrose et al. 2023): the group is gone from inputs or from the hidden layer.

Of rows x with a one-hot group z, both centred by their (weighted) means, let W be the inverse square root of the
covariance of x (a pseudo-inverse where it is singular), and U the left singular vectors of W Sigma_xz with a singular
value above 0. Then

    r(x) = x - W^+ U U' W (x - E[x])

has no covariance with z, so that no linear classifier of the group does better than a constant (their theorem 3.1), and
no other affine map of which that is true moves the rows less (their theorem 4.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from equipoise.foundation import BadInput, plural, treatment
from equipoise.training import (
    Afterwards,
    Choice,
    Codes,
    PostProcessor,
    Predicted,
    Representations,
    Table,
    TrainingInputs,
    Transformation,
    Treatment,
    checked_array,
    fitted_part,
)
from equipoise.treatments._linear_head import HEAD, Heads, LinearHead, NullSpace

Floats = NDArray[np.float64]

# Singular values of W Sigma_xz are correlations (times a standard deviation below 1): less than this is rounding.
UNCORRELATED = 1e-8
# Where columns vary by so different amounts the smallest are lost in the covariance of all.
UNEVEN = 1e4
# How many roundings a number of a representation may be off by.
ROUNDINGS = 4
HEAD_ALONE = "LEACE: nothing was erased (erase = false); only the classifier was refitted."


@fitted_part
class ConceptEraser(Transformation):
    """r(x) = x - L R (x - mean), with L ``[column, direction]`` and R ``[direction, column]``."""

    kind = "leace"

    def __init__(self, mean: Floats, left: Floats, right: Floats) -> None:
        self.mean, self.left, self.right = mean, left, right

    @property
    def directions(self) -> int:
        """How many dimensions are erased: at most the number of groups less one."""
        return int(self.left.shape[1])

    def __call__(self, inputs: NDArray[Any]) -> Floats:
        """Return the inputs without what tells the group."""
        rows = inputs.astype(np.float64)
        return np.asarray(rows - ((rows - self.mean) @ self.right.T) @ self.left.T)

    def state(self) -> dict[str, Any]:
        """Return mean, L and R."""
        return {"mean": self.mean, "left": self.left, "right": self.right}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make it again."""
        mean = checked_array(state, "mean", [None], "LEACE")
        left = checked_array(state, "left", [len(mean), None], "LEACE")
        return cls(mean, left, checked_array(state, "right", [left.shape[1], len(mean)], "LEACE"))


@fitted_part
class ErasedHead(PostProcessor):
    """A linear head on what an eraser leaves of the hidden layer; without an eraser, on the layer as it is."""

    kind = "leace_head"
    reads = "representations"

    def __init__(self, eraser: ConceptEraser | None, head: LinearHead) -> None:
        self.eraser, self.head = eraser, head

    def transform(self, representations: NDArray[Any]) -> NDArray[Any]:
        """Return what is left of the hidden layer."""
        return representations if self.eraser is None else self.eraser(representations)

    def predict(self, values: NDArray[Any], group: Codes | None = None) -> Predicted:
        """Return class codes with probabilities, or numbers."""
        rows = self.transform(values).astype(np.float64)
        return Predicted(self.head.values(rows), None if self.head.regression else self.head.scores(rows))

    def state(self) -> dict[str, Any]:
        """Return the arrays of both."""
        head_state = {"weights": self.head.weights, "biases": self.head.biases, "regression": self.head.regression}
        return head_state if self.eraser is None else {**head_state, **self.eraser.state()}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make both again."""
        weights = checked_array(state, "weights", [None, None], "LEACE")
        biases = checked_array(state, "biases", [len(weights)], "LEACE")
        head = LinearHead(weights, biases, bool(state.get("regression")))
        return cls(ConceptEraser.restore(state) if "mean" in state else None, head)


def fit_eraser(inputs: NDArray[Any], group: Codes, weights: NDArray[np.float64] | None = None) -> ConceptEraser:
    """Return the eraser of groups from rows.

    Parameters
    ----------
    inputs : array of shape (n_rows, n_columns)
        What the group is to be erased from.
    group : array of shape (n_rows,)
        Codes of two groups or more; rows with the code -1 have no part in it.
    weights : array of shape (n_rows,), optional
        What each row counts.
    """
    is_known = group >= 0
    rows, codes = inputs[is_known].astype(np.float64), group[is_known]
    present, members = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        raise BadInput("LEACE has training rows of only one group", available="training rows of two groups or more")
    shares = _shares(weights, is_known)
    mean = shares @ rows
    centred = rows - mean
    concept = np.eye(len(present))[members]
    covariance = (centred * shares[:, None]).T @ centred
    crossed = (centred * shares[:, None]).T @ (concept - shares @ concept)
    rounding = _rounding(inputs.dtype, rows)
    scale = _scales(np.sqrt(covariance.diagonal()), np.sqrt(rounding))
    # The eraser of scaled columns is the scaled one: units decide nothing but which numbers can be told apart.
    eraser = _eraser(mean, covariance / np.outer(scale, scale), crossed / scale[:, None], rounding / scale**2)
    return ConceptEraser(mean, scale[:, None] * eraser.left, eraser.right / scale)


def _scales(spreads: Floats, rounding: Floats) -> Floats:
    """Return a power of two for each column that makes spreads alike; 1 where they are alike enough as they are."""
    varying = (spreads > rounding) & (spreads > 0)
    scales = np.ones_like(spreads)
    if varying.any() and spreads[varying].max() > UNEVEN * spreads[varying].min():
        scales[varying] = 2.0 ** np.round(np.log2(spreads[varying]))
    return scales


def _rounding(kind: np.dtype[Any], rows: Floats) -> Floats:
    """Return the variance that rounding alone may give each column, in the precision in which rows were given."""
    precision = float(np.finfo(kind).eps) if kind.kind == "f" else 0.0
    return np.asarray((ROUNDINGS * precision * np.abs(rows).max(axis=0, initial=0.0)) ** 2)


def _eraser(mean: Floats, covariance: Floats, crossed: Floats, rounding: Floats) -> ConceptEraser:
    values, vectors = np.linalg.eigh(covariance)
    # The usual threshold of a pseudo-inverse, and what rounding gives a direction: below it rows do not vary. Noise
    # of float32 that was whitened would take the place of the group, and other rows have other noise.
    noise = rounding @ vectors**2
    varying = values > np.maximum(max(values[-1], 0.0) * len(values) * np.finfo(np.float64).eps, noise)
    roots, vectors = np.sqrt(values[varying]), vectors[:, varying]
    whiten, unwhiten = (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
    left_vectors, lengths, _ = np.linalg.svd(whiten @ crossed, full_matrices=False)
    basis = left_vectors[:, lengths > UNCORRELATED]
    return ConceptEraser(mean, unwhiten @ basis, basis.T @ whiten)


def _shares(weights: NDArray[np.float64] | None, is_known: NDArray[np.bool_]) -> Floats:
    counted = is_known.astype(np.float64)[is_known] if weights is None else weights[is_known]
    if not counted.sum():
        raise BadInput("All training rows weigh 0", available="a weight above 0 for some rows")
    return np.asarray(counted / counted.sum())


@treatment("leace", alias="LEACE", stage="post", paper="Belrose et al. 2023")
class ConceptErasure(Treatment):
    """The last hidden layer is moved as little as possible until no linear classifier tells the group from it.

    A multinomial logistic regression of the class (least squares in a regression) is then fitted on what is left, as
    INLP does. Weights of rows, where a treatment before training gave some, are those of the moments and of the
    classifier. Nothing is chosen on dev rows.

    With ``erase = false`` the classifier is fitted on the hidden layer as it is: the control, which tells what of
    LEACE's effect is that of its classifier. A study with LEACE has it as well.

    Numbers agree with the authors' package ``concept-erasure``, without its shrinkage of covariances, to 1e-6. Crossed
    groups are erased as they are crossed; training rows of one group are refused.
    """

    not_for_labels: ClassVar[str] = "the classifier that it fits on the hidden layer tells one class per row"
    parameters: ClassVar[Table] = {"erase": Choice("whether the group is erased", True), **HEAD}
    head: ClassVar[Table] = HEAD
    control: ClassVar[Mapping[str, Any]] = {"erase": False}
    control_name: ClassVar[str] = "refitted head alone"

    def erase(self, representations: Representations) -> ConceptEraser | None:
        """Return the eraser of the groups from an embedding."""
        if not self.values["erase"]:
            return None
        assert representations.train.group is not None
        with threadpool_limits(limits=1, user_api="blas"):
            eraser = fit_eraser(representations.train.inputs, representations.train.group, representations.weights)
        eraser.notes = (_note(eraser, "the embedding"),)
        return eraser

    def after(self, representations: Representations) -> Afterwards:
        """Return the predictions of a classifier that was fitted on erased rows."""
        # One thread: small products lose more than they win by several, and workers share the machine.
        with threadpool_limits(limits=1, user_api="blas"):
            head, note = self._fitted(representations)
            dev, test = (head.predict(rows.inputs) for rows in (representations.dev, representations.test))
        return Afterwards(dev, test, (note,), postprocessor=head)

    def _fitted(self, representations: Representations) -> tuple[ErasedHead, str]:
        train = representations.train
        assert train.target is not None
        assert train.group is not None
        heads = Heads(
            train.target, len(representations.classes), representations.task == "regression", representations.weights,
            strength=self.values["head_c"],
        )  # fmt: skip
        rows = train.inputs.astype(np.float64)
        if not self.values["erase"]:
            return ErasedHead(None, heads.fitted(rows, NullSpace(rows.shape[1]))), HEAD_ALONE
        eraser = fit_eraser(rows, train.group, representations.weights)
        head = heads.fitted(eraser(rows), NullSpace(rows.shape[1]))
        return ErasedHead(eraser, head), _note(eraser, "the hidden layer")


@treatment("leace_inputs", alias="LEACE-X", stage="pre", paper="Belrose et al. 2023")
class ConceptErasureOfInputs(Treatment):
    """The inputs are moved as little as possible until no linear classifier tells the group from them.

    Then any learner that takes rows of numbers is trained on them: of a linear one the group is hidden, and one that is
    not linear may find it again. Weights of rows that a treatment before it gave are those of the moments.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> ConceptEraser:
        """Return the eraser of the groups of the training rows."""
        with threadpool_limits(limits=1, user_api="blas"):
            eraser = fit_eraser(rows.inputs, rows.group, rows.weights)
        eraser.notes = (_note(eraser, "the inputs"),)
        return eraser


def _note(eraser: ConceptEraser, where: str) -> str:
    if not eraser.directions:
        return f"LEACE: no column of {where} has a covariance with the group, so nothing was erased."
    erased = plural(eraser.directions, "dimension")
    return f"LEACE: the group was erased from {where} ({erased} of {len(eraser.mean):,})."
