"""Iterative null-space projection (paper 001, INLP; Ravfogel et al. 2020) of a trained network's last hidden layer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from equipoise.foundation import BadInput, stream, treatment
from equipoise.training import (
    UNDEFINED,
    Afterwards,
    Choice,
    Codes,
    Parameter,
    Representations,
    Rows,
    Table,
    Treatment,
    needs_scores,
    scores_of,
)
from equipoise.training.metric import nearest
from equipoise.treatments._linear_head import HEAD, Heads, NullSpace, NullSpaceProjection

Floats = NDArray[np.float64]

# Of both classifiers: the authors' logistic regression has it.
STRENGTH = 0.1
MOST_STEPS = 100
HEAD_ALONE = "INLP: nothing was removed (iterations = 0); only the classifier was refitted."


@treatment("inlp", alias="INLP", stage="post", paper="001", origin="ravfogel2020")
class IterativeNullSpaceProjection(Treatment):
    """The last hidden layer loses, one after another, the directions from which a linear classifier tells the group.

    A classifier of the group is trained on what is left (class-balanced weights), and its directions are taken away;
    after each iteration a multinomial logistic regression of the class (least squares in a regression) is a candidate,
    and dev rows choose among them (the last is taken where the study takes last epochs). It ends where dev groups are
    told no better than by chance. Weights of rows, where a treatment before training gave some, are those of the
    candidates; classifiers of the group balance the groups.

    ``conditional_on_class`` trains each classifier inside one class, drawn at random (the quarter of a regression). A
    cell without rows: the classifier tells the groups that are there, and a class with one group only is not drawn.

    With ``iterations = 0`` nothing is taken away, and the logistic regression is fitted on the hidden layer as it is:
    the control, which tells what of INLP's effect is that of its classifier. A study with INLP has it as well.

    The classifier is a linear SVM with C = 0.1 (scikit-learn's ``LinearSVC`` to four digits). With ``least_squares`` it
    is a linear regression of the group (1 and -1, balanced, without a penalty; one for each of three groups or more),
    and its direction is taken away: with a number as the target all of INLP is then least squares. Where dev groups
    are told no better than by chance (mean recall at most 1/G) every further classifier would be the same. From an
    embedding directions are taken away and no classifier is fitted: dev rows choose by the class of their nearest
    training row.
    """

    not_for_labels: ClassVar[str] = "the classifier that it fits on the hidden layer tells one class per row"
    parameters: ClassVar[Table] = {
        "iterations": Parameter("most classifiers of the group", 300, least=0, low=300, high=300, integer=True),
        "classifier": Choice(
            "linear SVM (the paper), logistic regression (the authors' code), or a linear regression of the group",
            "svm",
            ("svm", "logistic", "least_squares"),
        ),
        "conditional_on_class": Choice("whether each classifier sees one class only", False),
        **HEAD,
    }
    head: ClassVar[Table] = HEAD

    control: ClassVar[Mapping[str, Any]] = {"iterations": 0}
    control_name: ClassVar[str] = "refitted head alone"

    def after(self, representations: Representations) -> Afterwards:
        """Return the predictions of the candidate that dev rows like best."""
        # One thread: small products lose more than they win by several, and workers share the machine.
        with threadpool_limits(limits=1, user_api="blas"):
            return self._chosen(representations)

    def erase(self, representations: Representations) -> NullSpaceProjection | None:
        """Return the projection of an embedding that dev rows like best, each by its nearest training row."""
        if not int(self.values["iterations"]):
            return None
        with threadpool_limits(limits=1, user_api="blas"):
            search = _Search(representations, self.values["classifier"], self.values["conditional_on_class"])
            target, dev = representations.train.target, representations.dev.inputs.astype(np.float64)
            assert target is not None
            spaces, classes = [], []
            for space in search.spaces(int(self.values["iterations"])):
                spaces.append(space)
                classes.append(target[nearest(space.project(dev), search.train)])
            scores = scores_of(
                np.stack(classes), representations.dev, len(representations.classes), len(representations.groups),
                representations.task,
                performance=representations.performance, fairness=representations.fairness,
            )  # fmt: skip
            best = scores.best(representations.selection)
        notes = (f"INLP: {search.as_searched(len(spaces), best, representations.selection)}", *search.notes)
        return NullSpaceProjection(spaces[best].basis, notes)

    def _chosen(self, representations: Representations) -> Afterwards:
        assert representations.train.target is not None
        heads = Heads(
            representations.train.target,
            len(representations.classes),
            representations.task == "regression",
            representations.weights,
            strength=self.values["head_c"],
        )
        dev, test = (rows.inputs.astype(np.float64) for rows in (representations.dev, representations.test))
        if not int(self.values["iterations"]):
            head = heads.fitted(representations.train.inputs.astype(np.float64), NullSpace(dev.shape[1]))
            return Afterwards(head.predict(dev), head.predict(test), (HEAD_ALONE,), postprocessor=head)
        search = _Search(representations, self.values["classifier"], self.values["conditional_on_class"])
        fitted = [heads.fitted(search.train, space) for space in search.spaces(int(self.values["iterations"]))]
        predictions = np.stack([head.values(dev) for head in fitted])
        scored = needs_scores(representations.performance)
        scores = scores_of(
            predictions, representations.dev, len(representations.classes), len(representations.groups),
            representations.task,
            performance=representations.performance, fairness=representations.fairness,
            scores=np.stack([head.scores(dev) for head in fitted]) if scored else None,
        )  # fmt: skip
        best = scores.best(representations.selection)
        notes = [f"INLP: {search.as_searched(len(fitted), best, representations.selection)}", *search.notes]
        if representations.selection == "dto" and np.isnan(scores.fairness[best]):
            notes.append(UNDEFINED[representations.task])
        head = fitted[best]
        return Afterwards(head.predict(dev), head.predict(test), tuple(notes), postprocessor=head)


class _Search:
    """Takes directions away from training and dev rows; ``train`` and ``dev`` are what is left of them."""

    def __init__(self, representations: Representations, classifier: str, conditional: bool) -> None:
        self.train, self.train_group, self.train_cell = _rows_of_known_group(representations.train)
        self.dev, self.dev_group, self.dev_cell = _rows_of_known_group(representations.dev)
        self.classifier = classifier
        self.classes = (
            _classes_of_several_groups(self.train_group, self.train_cell, representations) if conditional else [None]
        )
        self.generator = stream(representations.seed, "inlp")
        self.notes: list[str] = []
        self.found_any = False
        if len(np.unique(self.train_group)) < 2:
            raise BadInput("INLP has training rows of only one group", available="training rows of two groups or more")

    def spaces(self, iterations: int) -> Iterator[NullSpace]:
        """Yield the space that is left after each iteration; where the first finds nothing, the whole space."""
        space = NullSpace(self.train.shape[1])
        silent: set[int | None] = set()  # classes in which nothing more is told from what is left
        for _ in range(iterations):
            chosen = self.classes[int(self.generator.integers(len(self.classes)))]
            new = np.zeros((0, self.train.shape[1])) if chosen in silent else space.new(self._group_directions(chosen))
            if not len(new):
                silent.add(chosen)
                if len(silent) == len(self.classes):
                    self.notes.append("No classifier predicts the groups of dev rows better than chance any more.")
                    break
                continue
            silent.clear()
            self.found_any = True
            space = space.without(new)
            self.train -= (self.train @ new.T) @ new
            self.dev -= (self.dev @ new.T) @ new
            yield space
        if not self.found_any:
            yield space

    def as_searched(self, candidates: int, best: int, selection: str) -> str:
        """Say which candidate was taken."""
        if not self.found_any:
            return "the group could not be predicted from the hidden layer, so nothing was removed."
        if selection == "last":
            return f"the last of {candidates} iterations was taken."
        return f"dev rows chose iteration {best + 1} of {candidates}."

    def _group_directions(self, chosen: int | None) -> Floats:
        """Return the directions by which a classifier tells groups; none where it does so no better than chance."""
        train, dev = (
            np.ones(len(cells), dtype=np.bool_) if chosen is None else cells == chosen
            for cells in (self.train_cell, self.dev_cell)
        )
        codes = self.train_group[train]
        if self.classifier == "svm":
            weights, biases = linear_svm(self.train[train], codes, STRENGTH)
        elif self.classifier == "least_squares":
            weights, biases = linear_regressors(self.train[train], codes)
        else:
            weights, biases = _logistic(self.train[train], codes)
        outputs = self.dev[dev] @ weights.T + biases
        groups = np.unique(codes)
        guess = groups[(outputs[:, 0] > 0).astype(np.int64) if len(weights) == 1 else outputs.argmax(axis=1)]
        return weights if _better_than_chance(guess, self.dev_group[dev], groups) else weights[:0]


def _logistic(rows: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return weights and biases as ``linear_svm`` does, of the authors' logistic regression."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=MOST_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, codes)
    return model.coef_.astype(np.float64), model.intercept_.astype(np.float64)


def _rows_of_known_group(rows: Rows) -> tuple[Floats, Codes, Codes]:
    """Return the rows that have a group, which a classifier of groups can be trained or tried on, and their cells."""
    assert rows.group is not None
    assert rows.cell is not None
    is_known = rows.group >= 0
    return rows.inputs[is_known].astype(np.float64), rows.group[is_known], rows.cell[is_known]


def _better_than_chance(guess: Codes, truth: Codes, groups: Codes) -> bool:
    """Tell whether the mean recall of the groups is above 1 / their number; of fewer than two there is no telling."""
    recalls = [float((guess[truth == group] == group).mean()) for group in groups.tolist() if (truth == group).any()]
    return len(recalls) < 2 or float(np.mean(recalls)) > 1.0 / len(groups)


def _classes_of_several_groups(group: Codes, cell: Codes, representations: Representations) -> list[int | None]:
    """Return the classes in which training rows have two groups or more."""
    several = [code for code in range(len(representations.classes)) if len(np.unique(group[cell == code])) > 1]
    if not several:
        raise BadInput(
            "No class has training rows of two groups, so INLP cannot be conditional on the class",
            help="leave conditional_on_class out, or merge classes or groups.",
        )
    return list(several)


def _sides(codes: Codes) -> tuple[Floats, Floats]:
    """Return 1 or -1 ``[machine, row]``, the side of each row, and what rows count so that both sides count the same.

    One machine tells two groups apart (the second against the first); of more, each has one, in the order of the codes.
    """
    present = np.unique(codes)
    sides = present[1:] if len(present) == 2 else present
    member = codes == sides[:, None]
    share = member.mean(axis=1, keepdims=True)
    return np.where(member, 1.0, -1.0), np.where(member, 0.5 / share, 0.5 / (1.0 - share))


def linear_regressors(rows: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return weights and biases as ``linear_svm`` does, of linear regressions of 1 and -1 by least squares.

    Each minimises sum_i s_i (w . x_i + b - t_i)^2 with s_i the inverse of the side's share, halved. Directions in which
    rows do not vary, such as those that are gone already, have no part in w.
    """
    signs, balance = _sides(codes)
    weights, biases = np.zeros((len(signs), rows.shape[1])), np.zeros(len(signs))
    for machine, (sign, counts) in enumerate(zip(signs, balance / len(codes), strict=True)):
        mean, roots = counts @ rows, np.sqrt(counts)
        # Balanced sides: the mean of 1 and -1 is 0.
        weights[machine] = np.linalg.lstsq((rows - mean) * roots[:, None], sign * roots, rcond=FLAT)[0]
        biases[machine] = -weights[machine] @ mean
    return weights, biases


# Rows that vary by less than this in a direction, against the one in which they vary most, do not vary in it: a hidden
# layer has the digits of float32.
FLAT = 1e-6
MOST_SVM_STEPS = 2_000


def linear_svm(rows: Floats, codes: Codes, strength: float) -> tuple[Floats, Floats]:
    """Return weights ``[machine, column]`` and biases: one machine for two groups (the second against the first), else
    one a group, in the order of the groups' codes.

    Minimises 1/2 |w|^2 + C sum_i s_i max(0, 1 - t_i (w . x_i + b))^2 with b inside |w| and s_i the inverse of the
    side's share, halved: scikit-learn's ``LinearSVC(C, class_weight="balanced", dual=False)``, which takes several
    times as long on the dense rows of a hidden layer (a test holds the two equal).
    """
    signs, balance = _sides(codes)
    costs = strength * balance
    shape = (len(signs), rows.shape[1] + 1)

    def objective(point: Floats) -> tuple[float, Floats]:
        machines = point.reshape(shape)
        short = np.maximum(1.0 - signs * (machines[:, :-1] @ rows.T + machines[:, -1:]), 0.0)
        pull = -2.0 * costs * signs * short
        slope = machines + np.column_stack([pull @ rows, pull.sum(axis=1)])
        return float(0.5 * point @ point + (costs * short**2).sum()), slope.reshape(-1)

    optimum = minimize(
        objective, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_SVM_STEPS, "maxfun": 2 * MOST_SVM_STEPS, "maxcor": 30, "gtol": 1e-4, "ftol": 1e-10},
    )  # fmt: skip
    machines = optimum.x.reshape(shape)
    return machines[:, :-1], machines[:, -1]
