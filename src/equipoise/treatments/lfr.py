"""Learned fair representations (Zemel et al. 2013, in AIF360's form): every person as a mixture of a few prototypes.

K prototypes v_k with weights w_k; a row x belongs to prototype k with probability

    M_k(x) = exp(-|x - v_k|) / sum_j exp(-|x - v_j|),    x_hat = sum_k M_k v_k,    y_hat = sum_k M_k w_k (clipped)

    L   = individual * L_x + utility * L_y + group * L_z
    L_x = sum over the two groups of the mean of (x_hat - x)^2 over the group's rows and the features
    L_y = mean over rows of -[y log y_hat + (1 - y) log(1 - y_hat)]
    L_z = mean over k of |mean of M_k in one group - mean of M_k in the other|

With G groups L_x is 2/G times the sum over groups and L_z the mean over all pairs of groups: both are the lines above
when G = 2.

L depends on rows only through x, so equal rows count once, with weights. L has kinks where a difference of L_z is 0,
where a prototype lies on a row, and where y_hat meets its clip; there the gradient is a subgradient (0 for that part).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from equipoise.foundation import (
    BadInput,
    distinct_rows,
    listing,
    plural,
    stream,
    treatment,
)
from equipoise.tallies import (
    factorise,
    label_of,
)
from equipoise.training import (
    Parameter,
    Table,
    TrainingInputs,
    Transformation,
    Treatment,
    check_parameters,
    checked_array,
    fitted_part,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

CLIP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Equal rows as one: the distinct rows of X, and how many people of each group and class stand behind each."""

    rows: Floats  # [pattern, feature]
    positives: Floats  # [pattern]: people of class 1
    negatives: Floats  # [pattern]
    shares: Floats  # [group, pattern]: the part of the group that has this pattern
    reconstruction: Floats  # [pattern]: what a squared error of this pattern counts in L_x
    pairs: tuple[tuple[int, int], ...]

    @property
    def people(self) -> float:
        """How many rows there were before equal ones were put together."""
        return float(self.positives.sum() + self.negatives.sum())


def distinct_patterns(rows: Floats, positive: NDArray[np.bool_], groups: Ints) -> Patterns:
    """Put equal rows together. ``groups`` numbers each row's group from 0."""
    distinct, inverse = distinct_rows(rows)
    count, size = int(groups.max()) + 1, len(distinct)
    members = np.bincount(groups * size + inverse, minlength=count * size).reshape(count, size).astype(np.float64)
    positives = np.asarray(np.bincount(inverse, weights=positive, minlength=size), dtype=np.float64)
    shares = members / members.sum(axis=1, keepdims=True)
    return Patterns(
        rows=distinct,
        positives=positives,
        negatives=members.sum(axis=0) - positives,
        shares=shares,
        reconstruction=shares.sum(axis=0) * 2.0 / count / rows.shape[1],
        pairs=tuple(combinations(range(count), 2)),
    )


@dataclass(frozen=True)
class LFRWeights:
    """What each part of the objective counts: A_y, A_z and A_x of the paper."""

    utility: float
    group: float
    individual: float


@dataclass(frozen=True)
class LFRParts:
    """The three parts of the objective before they are weighted: L_y, L_z and L_x."""

    utility: float
    group: float
    individual: float

    def total(self, weights: LFRWeights) -> float:
        """L: the weighted sum."""
        return weights.utility * self.utility + weights.group * self.group + weights.individual * self.individual


def prototype_memberships(rows: Floats, prototypes: Floats) -> Floats:
    """M ``[row, prototype]``: the softmax of minus the Euclidean distance."""
    return _softmax(cdist(prototypes, rows)).T


def lfr_objective_parts(outcome_weights: Floats, prototypes: Floats, patterns: Patterns) -> LFRParts:
    """Return L_y, L_z and L_x at a point."""
    member = prototype_memberships(patterns.rows, prototypes)
    guess = np.clip(member @ outcome_weights, CLIP, 1.0 - CLIP)
    error = member @ prototypes - patterns.rows
    means = patterns.shares @ member
    gaps = [np.abs(means[first] - means[other]).mean() for first, other in patterns.pairs]
    logs = patterns.positives @ np.log(guess) + patterns.negatives @ np.log(1.0 - guess)
    return LFRParts(
        utility=float(-logs / patterns.people),
        group=float(np.mean(gaps)),
        individual=float(patterns.reconstruction @ (error**2).sum(axis=1)),
    )


class Evaluation(NamedTuple):
    """L at a point; what the optimiser saw (L, or L with its |.| smoothed) and the gradient of that."""

    exact: float
    value: float
    gradient: Floats


class LFRObjective:
    """L and its gradient as a function of one vector: the weights w, then the prototypes row by row.

    Arrays are kept as [prototype, pattern], so that what runs over patterns runs along memory.
    """

    def __init__(self, patterns: Patterns, prototypes: int, weights: LFRWeights) -> None:
        self.weights = weights
        self.count = prototypes
        self.features = patterns.rows.shape[1]
        self._rows = patterns.rows
        self._columns = np.ascontiguousarray(patterns.rows.T)
        self._positives = patterns.positives / patterns.people
        self._negatives = patterns.negatives / patterns.people
        self._reconstruction = patterns.reconstruction
        first, other = (list(side) for side in zip(*patterns.pairs, strict=True))
        self._contrasts = patterns.shares[first] - patterns.shares[other]  # [pair, pattern]

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        """Return w and the prototypes of a point."""
        return point[: self.count], point[self.count :].reshape(self.count, self.features)

    def __call__(self, point: Floats, smoothing: float = 0.0) -> Evaluation:
        """Return L and its gradient; with ``smoothing`` s, of L with sqrt(t^2 + s^2) in place of |t| in L_z.

        The chain runs through M: with G = dL/dM and P = M (G - sum_k M G), dL/d|x - v_k| = -P, and
        d|x - v|/dv = (v - x)/|x - v|.
        """
        w, prototypes = self.split(point)
        distance = cdist(prototypes, self._rows)
        member = _softmax(distance)
        utility, by_weight, by_member = self._utility(w, member)
        individual, by_prototype, chained = self._individual(prototypes, member)
        by_member += chained
        gap, smoothed, chained = self._group(member, smoothing)
        by_member += chained
        by_member -= np.einsum("ku,ku->u", member, by_member)
        by_member *= member
        # At distance 0 the direction is not defined: the subgradient 0 is taken.
        pull = np.divide(by_member, distance, out=np.zeros_like(distance), where=distance > 0)
        by_prototype += pull @ self._rows - prototypes * pull.sum(axis=1)[:, None]
        plain = utility + individual
        return Evaluation(plain + gap, plain + smoothed, np.concatenate([by_weight, by_prototype.ravel()]))

    def _utility(self, w: Floats, member: Floats) -> tuple[float, Floats, Floats]:
        """A_y L_y, and its derivatives by w and by M."""
        raw = w @ member
        guess = np.minimum(np.maximum(raw, CLIP), 1.0 - CLIP)
        value = -float(self._positives @ np.log(guess) + self._negatives @ np.log(1.0 - guess))
        slope = self._negatives / (1.0 - guess) - self._positives / guess
        slope *= self.weights.utility * (raw == guess)  # where it is clipped, y_hat does not move
        return self.weights.utility * value, member @ slope, np.multiply.outer(w, slope)

    def _individual(self, prototypes: Floats, member: Floats) -> tuple[float, Floats, Floats | float]:
        """A_x L_x, and its derivatives by the prototypes (M fixed) and by M."""
        if self.weights.individual == 0:
            return 0.0, np.zeros_like(prototypes), 0.0
        error = prototypes.T @ member - self._columns  # [feature, pattern]
        scaled = error * (self.weights.individual * self._reconstruction)
        value = float(np.vdot(error, scaled))
        scaled *= 2.0
        return value, member @ scaled.T, prototypes @ scaled

    def _group(self, member: Floats, smoothing: float) -> tuple[float, float, Floats | float]:
        """A_z L_z, the same smoothed, and the derivative of that by M."""
        if self.weights.group == 0:
            return 0.0, 0.0, 0.0
        gaps = self._contrasts @ member.T  # [pair, prototype]
        exact = float(np.abs(gaps).mean())
        if smoothing:
            length = np.sqrt(gaps**2 + smoothing**2)
            smoothed, slope = float(length.mean()), gaps / length
        else:
            smoothed, slope = exact, np.sign(gaps)
        chained = (slope.T * (self.weights.group / gaps.size)) @ self._contrasts
        return self.weights.group * exact, self.weights.group * smoothed, chained


def _softmax(distance: Floats) -> Floats:
    """Return the softmax of minus the distances over the first axis."""
    member: Floats = np.exp(distance.min(axis=0) - distance)
    member /= member.sum(axis=0)
    return member


# |.| is smoothed less and less: with its kink the optimiser stops at the first point where a difference is 0.
STAGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SAME_SCORE = 1e-6
# Squares of larger numbers, summed over rows, leave what a float64 can hold.
LARGEST = 1e100


class Step(NamedTuple):
    """One evaluation of the objective during a fit; the seconds run from the beginning of the fit."""

    start: int
    evaluation: int
    seconds: float
    objective: float


class Budget(Exception):
    """A start has used its evaluations."""


class LearnedFairRepresentations:
    """LFR: every person as a mixture of a few prototypes that keep the label and hide the group.

    Minimises ``individual_fairness * L_x + utility * L_y + group_fairness * L_z`` (``lfr_objective`` has the formulas)
    by L-BFGS-B from several random starts; the start with the lowest objective is kept.

    After ``fit``: ``prototypes_`` [prototype, feature]; ``weights_``, the probability of class 1 at each prototype;
    ``objective_`` and its ``parts_``; ``history_``, every evaluation; ``objectives_``, the lowest of each start;
    ``classes_`` (the second is the one predicted); ``groups_``; ``base_rate_``; ``patterns_``, how many distinct rows
    there were; ``collapsed_`` and, in words, ``collapse_``: at the base rate as threshold every row gets one class.

    The gradient is exact, and equal rows count once with a weight. L_z has kinks at which L-BFGS-B stops too early, so
    it is smoothed, less and less (sqrt(t^2 + s^2), s from 0.1 down to 0.00001); what is reported and kept is the exact
    objective.
    """

    parameters: Mapping[str, Parameter] = {
        "prototypes": Parameter("how many prototypes", 5, least=1, low=2, high=20, integer=True),
        "utility": Parameter("weight of the cross-entropy, A_y", 1.0, least=0, low=0.1, high=10),
        "group_fairness": Parameter("weight of the difference between groups, A_z", 50.0, least=0, low=0.1, high=100),
        "individual_fairness": Parameter(
            "weight of the error of reconstruction, A_x", 0.01, least=0, low=1e-3, high=10
        ),
        "starts": Parameter("how many random starts", 3, least=1, low=1, high=10, scale="linear", integer=True),
        "evaluations": Parameter("most evaluations a start", 5000, least=1, low=500, high=5000, integer=True),
        "threshold": Parameter("y_hat above it is class 1", 0.5, least=0, low=0.1, high=0.9, scale="linear"),
    }

    def __init__(
        self,
        prototypes: int = 5,
        *,
        utility: float = 1.0,
        group_fairness: float = 50.0,
        individual_fairness: float = 0.01,
        starts: int = 3,
        evaluations: int = 5000,
        threshold: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.prototypes = prototypes
        self.utility = utility
        self.group_fairness = group_fairness
        self.individual_fairness = individual_fairness
        self.starts = starts
        self.evaluations = evaluations
        self.threshold = threshold
        self.seed = seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters, as scikit-learn's ``clone`` asks for them."""
        return {name: getattr(self, name) for name in (*self.parameters, "seed")}

    def set_params(self, **values: object) -> LearnedFairRepresentations:
        """Set hyper-parameters by name."""
        for name, value in values.items():
            if name not in self.get_params():
                raise BadInput(f"LFR has no parameter {name!r}", available=listing(self.get_params()))
            setattr(self, name, value)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike) -> LearnedFairRepresentations:  # noqa: N803
        """Learn the prototypes from rows, their two classes and their groups."""
        began = time.perf_counter()
        check_parameters(self.parameters, self.get_params())
        weights = LFRWeights(self.utility, self.group_fairness, self.individual_fairness)
        if not any((weights.utility, weights.group, weights.individual)):
            raise BadInput("All three weights are 0", available="at least one of them above 0")
        rows = _rows(X)
        positive, self.classes_ = classes_of(y, len(rows))
        codes, self.groups_ = groups_of(sensitive_features, len(rows))
        patterns = distinct_patterns(rows, positive, codes)
        search = _Search(LFRObjective(patterns, int(self.prototypes), weights), int(self.evaluations), began)
        # One thread: the matrices are so small that several would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            for start in range(int(self.starts)):
                search.descend(start, self._first(rows, start))
        self.weights_, self.prototypes_ = (part.copy() for part in search.objective.split(search.point))
        self.parts_: LFRParts = lfr_objective_parts(self.weights_, self.prototypes_, patterns)
        self.objective_ = self.parts_.total(weights)
        self.objectives_ = tuple(search.lowest)
        self.history_ = tuple(search.history)
        self.patterns_ = len(patterns.rows)
        self.base_rate_ = float(positive.mean())
        self.collapse_ = self._collapse(prototype_memberships(patterns.rows, self.prototypes_) @ self.weights_)
        return self

    def _first(self, rows: Floats, start: int) -> Floats:
        """Return the point where a start begins."""
        generator = stream(self.seed, "lfr", start)
        weights = generator.uniform(size=self.prototypes)
        # For balanced 0/1 columns this is AIF360's uniform start on [0, 1]; other units keep their scale.
        away = generator.uniform(-1.0, 1.0, (self.prototypes, rows.shape[1]))
        return np.concatenate([weights, (rows.mean(axis=0) + rows.std(axis=0) * away).ravel()])

    @property
    def collapsed_(self) -> bool:
        """Tell whether every row of the training data gets one class at the base rate as threshold."""
        self._check_fitted()
        return bool(self.collapse_)

    def transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return x_hat: each row as its mixture of prototypes."""
        member: Floats = self.memberships(X)
        return member @ self.prototypes_

    def memberships(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return M [row, prototype]: how much of each row is each prototype."""
        self._check_fitted()
        rows = _rows(X)
        if rows.shape[1] != self.prototypes_.shape[1]:
            raise BadInput(
                f"X has {rows.shape[1]:,} columns", available=f"the {self.prototypes_.shape[1]:,} columns of the fit"
            )
        return prototype_memberships(rows, self.prototypes_)

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return the probability of each class, in the order of ``classes_``."""
        guess = np.clip(self.memberships(X) @ self.weights_, 0.0, 1.0)
        return np.column_stack([1.0 - guess, guess])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the class of each row: the second of ``classes_`` where its probability is above the threshold."""
        second = self.predict_proba(X)[:, 1] > self.threshold
        chosen: NDArray[Any] = np.asarray(self.classes_)[second.astype(int)]
        return chosen

    def _check_fitted(self) -> None:
        if not hasattr(self, "prototypes_"):
            raise BadInput("LFR has not been fitted", help="call fit(X, y, sensitive_features) first.")

    def _collapse(self, guess: Floats) -> str:
        """Say in words that nothing but one class is left; nothing where two are."""
        above = guess > self.base_rate_
        if float(np.ptp(guess)) < SAME_SCORE:
            collapse = f"every row gets the same score ({guess.mean():.3f})"
        elif above.all() or not above.any():
            collapse = f"every row is predicted {self.classes_[int(above[0])]!r}"
        else:
            return ""
        return (
            f"Collapse at the base rate {self.base_rate_:.3f} as threshold: {collapse}. With a large group_fairness "
            "this can be the optimum: lower it, or raise utility."
        )


def _rows(X: ArrayLike) -> Floats:  # noqa: N803
    """Return X as rows of numbers whose distances can be computed."""
    rows = rows_of(X)
    size = np.abs(rows)
    if size.max() > LARGEST:
        row, column = (int(position) for position in np.argwhere(size > LARGEST)[0])
        raise BadInput(
            f"X has {rows[row, column]:.3g} in row {row:,}, column {column:,}: no distance can be computed with it",
            available=f"numbers up to {LARGEST:g} in size",
            help="scale the columns first, to a standard deviation of 1, say.",
        )
    return rows


@fitted_part
class PrototypeMixture(Transformation):
    """x_hat: each row as its mixture of prototypes ``[prototype, column]``."""

    kind = "lfr"

    def __init__(self, prototypes: Floats) -> None:
        self.prototypes = prototypes

    def __call__(self, inputs: NDArray[Any]) -> Floats:
        """Return each row as its mixture."""
        return np.asarray(prototype_memberships(inputs.astype(np.float64), self.prototypes) @ self.prototypes)

    def state(self) -> dict[str, Any]:
        """Return the prototypes."""
        return {"prototypes": self.prototypes}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make it again."""
        return cls(checked_array(state, "prototypes", [None, None], "LFR"))


@treatment("lfr", alias="LFR", stage="pre", paper="003", origin="zemel2013")
class PrototypeRepresentation(Treatment):
    """LFR: every person as a mixture of a few prototypes that keep the label and hide the group.

    ``LearnedFairRepresentations`` is fitted on the training rows, and the learner is trained on x_hat in place of the
    inputs. Rows of several weights are refused: the objective counts people.
    """

    parameters: ClassVar[Table] = {
        name: parameter for name, parameter in LearnedFairRepresentations.parameters.items() if name != "threshold"
    }
    tasks: ClassVar[tuple[str, ...]] = ("class",)
    not_for_labels: ClassVar[str] = "it is defined for a target of two classes, and rows have several labels"
    two_classes: ClassVar[bool] = True

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> PrototypeMixture:
        """Return the mixture of the prototypes that were learnt."""
        if rows.weights is not None:
            raise BadInput(
                "A treatment before LFR weighs rows, and the objective of LFR counts people",
                available="rows that count alike",
                help="let lfr come first, or use downsampling or oversampling in place of weights.",
            )
        settings = {name: int(value) if LearnedFairRepresentations.parameters[name].integer else float(value)
                    for name, value in self.values.items()}  # fmt: skip
        model = LearnedFairRepresentations(seed=int(generator.integers(2**32))).set_params(**settings)
        model.fit(rows.inputs, rows.target, rows.group)
        mixture = PrototypeMixture(model.prototypes_)
        mixture.notes = (model.collapse_,) if model.collapse_ else ()
        return mixture


class _Search:
    """The lowest point seen so far over all starts, and the way there."""

    def __init__(self, objective: LFRObjective, evaluations: int, began: float) -> None:
        self.objective = objective
        self.evaluations = evaluations
        self.began = began
        self.history: list[Step] = []
        self.lowest: list[float] = []
        self.point: Floats = np.array([])
        self._best = float("inf")
        self._used = 0

    def descend(self, start: int, point: Floats) -> None:
        """Minimise from one start, with the kinks smoothed less at every stage."""
        self.lowest.append(float("inf"))
        self._used = 0
        count = self.objective.count
        bounds = [(0.0, 1.0)] * count + [(None, None)] * (len(point) - count)
        try:
            for smoothing in STAGES if self.objective.weights.group else (0.0,):
                optimum = minimize(
                    self._evaluate, point, args=(start, smoothing), jac=True, method="L-BFGS-B", bounds=bounds,
                    options={"maxfun": self.evaluations, "maxiter": self.evaluations},
                )  # fmt: skip
                point = optimum.x
        except Budget:
            return

    def _evaluate(self, point: Floats, start: int, smoothing: float) -> tuple[float, Floats]:
        if self._used >= self.evaluations:
            raise Budget
        evaluation = self.objective(point, smoothing)
        self._used += 1
        self.history.append(Step(start, self._used, time.perf_counter() - self.began, evaluation.exact))
        self.lowest[start] = min(self.lowest[start], evaluation.exact)
        if evaluation.exact < self._best:
            self._best, self.point = evaluation.exact, point.copy()
        return evaluation.value, evaluation.gradient


def rows_of(X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
    """Return X as rows by columns of finite numbers."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"X is not made of numbers ({error})", help="encode categories as 0/1 columns.") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise BadInput(f"X has the shape {rows.shape}", available="rows by columns, at least one of each")
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = (int(position) for position in np.argwhere(bad)[0])
        raise BadInput(
            f"X has {int(bad.sum()):,} missing or infinite values, the first in row {row:,}, column {column:,}",
            help="drop or fill them.",
        )
    return rows


def classes_of(y: ArrayLike, rows: int) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """Return which rows are of the second class, and the two classes in order."""
    labels = _column(y, rows, "y")
    try:
        classes = np.unique(labels).tolist()
    except TypeError as error:
        raise BadInput(f"y mixes kinds of values ({error})", available="exactly two classes of one kind") from error
    if len(classes) != 2:
        raise BadInput(
            f"y has {plural(len(classes), 'class', 'classes')} ({listing(classes)})", available="exactly two classes"
        )
    return np.asarray(labels == classes[1], dtype=np.bool_), (classes[0], classes[1])


def groups_of(sensitive_features: ArrayLike, rows: int) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return each row's group as a number, and the groups' names."""
    coded = factorise(_column(sensitive_features, rows, "sensitive_features"))
    if len(coded.labels) < 2:
        raise BadInput(f"There is only one group ({listing(coded.labels)})", available="two groups or more")
    return coded.codes.astype(np.intp), tuple(str(label) for label in coded.labels)


def _column(values: ArrayLike, rows: int, name: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.shape != (rows,):
        raise BadInput(
            f"{name} has the shape {column.shape}", available=f"one value for each of the {rows:,} rows of X"
        )
    if column.dtype.kind in "Of":
        missing = [label_of(value) is None for value in column.tolist()]
        if any(missing):
            raise BadInput(
                f"{name} has {sum(missing):,} missing values, the first in row {missing.index(True):,}",
                help="drop those rows or name them.",
            )
    return column
