"""What an epoch, a setting or a treatment is chosen by: performance and fairness, each better high, best at 1.

Training chooses epochs by these numbers on dev rows, and reports rank treatments by them: both read this one table. All
are functions of counts (or of scores, or of residuals), over any number of trials at once, with numpy alone, so that a
compute node needs nothing else.

Beside them stands what a constant prediction would score: it treats all groups alike and knows nothing, so measures of
fairness alone reward it. Every summary shows what it would get, and a model that has collapsed to (nearly) one is
marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cohorts import Task
from equipoise.foundation import (
    BadInput,
    Floats,
    ratio,
    unknown_name,
)

Performance = Literal["accuracy", "balanced_accuracy", "auc", "f1", "pearson", "r2", "average_precision"]
Fairness = Literal["GAP", "DP", "EO", "EOTP", "worst_group"]

# Where the largest training class has more than so many times the rows of the smallest, accuracy says little.
SKEWED_CLASSES = 4.0


@dataclass(frozen=True)
class Objective:
    """One number to choose by: ``measure`` is the registered measure it is (or is 1 minus), where there is one."""

    name: str
    label: str
    formula: str
    tasks: tuple[Task, ...]
    bounds: tuple[float, float] = (0.0, 1.0)
    measure: str | None = None
    needs_scores: bool = False


def _table(*rows: Objective) -> Mapping[str, Objective]:
    return {row.name: row for row in rows}


PERFORMANCES = _table(
    Objective(
        "accuracy", "Accuracy", "right rows / all rows, of several labels the mean over labels",
        ("class", "multilabel"), measure="accuracy",
    ),
    Objective(
        "balanced_accuracy", "Balanced accuracy", "mean true positive rate of the classes; of several labels the mean "
        "over labels of those of present and absent", ("class", "multilabel"),
    ),
    Objective(
        "auc", "AUC", "area under the ROC curve; of more than two classes or labels the mean of each against the rest",
        ("class", "multilabel"), measure="auc", needs_scores=True,
    ),
    Objective("f1", "Macro F1", "mean F1 of the classes or labels", ("class", "multilabel"), measure="f1"),
    Objective(
        "average_precision", "Mean average precision", "mean over labels of the area under the steps of precision by "
        "recall", ("multilabel",), needs_scores=True,
    ),
    Objective("pearson", "Pearson's r", "correlation with the target", ("regression",), (-1.0, 1.0), "pearson"),
    Objective("r2", "R2", "1 - mean squared error / variance of the target", ("regression",), (-np.inf, 1.0)),
)  # fmt: skip

FAIRNESSES = _table(
    Objective(
        "GAP", "Fairness (1 - GAP)", "1 - root mean square over classes of the largest difference of true positive "
        "rates; of a regression 1 - the largest difference of Pearson's r", ("class", "regression", "multilabel"),
        (-1.0, 1.0), "true_positive_rate_gap",
    ),
    Objective(
        "DP", "Fairness (1 - DP)", "1 - largest difference of selection rates, mean over classes",
        ("class", "multilabel"), measure="demographic_parity",
    ),
    Objective(
        "EO", "Fairness (1 - EO)", "1 - the larger of the gaps of true and of false positive rates, mean over classes",
        ("class", "multilabel"), measure="equalized_odds",
    ),
    Objective(
        "EOTP", "Fairness (1 - EOTP)", "1 - largest difference of true positive rates, mean over classes",
        ("class", "multilabel"), measure="equalized_odds_true_positive",
    ),
    Objective(
        "worst_group", "Worst group", "the performance in the group in which it is lowest",
        ("class", "regression", "multilabel"), (-np.inf, 1.0),
    ),
)  # fmt: skip


assert set(PERFORMANCES) == set(get_args(Performance))
assert set(FAIRNESSES) == set(get_args(Fairness))


class PerformanceReason(StrEnum):
    """Why a study has its performance measure."""

    GIVEN = "given"
    USUAL = "usual"
    SKEWED = "skewed classes"


STUDIED: Mapping[Task, str] = {
    "class": "a study of classes", "regression": "a regression", "multilabel": "a study of several labels a row",
}  # fmt: skip


def check_performance(name: str, task: Task) -> Performance:
    """Return the name if a task has such a performance; otherwise say which there are."""
    return _checked("performance", name, PERFORMANCES, task)  # type: ignore[return-value]


def check_fairness(name: str, task: Task) -> Fairness:
    """Return the name if a task has such a fairness; otherwise say which there are."""
    return _checked("fairness", name, FAIRNESSES, task)  # type: ignore[return-value]


def _checked(what: str, name: str, table: Mapping[str, Objective], task: Task) -> str:
    names = [row.name for row in table.values() if task in row.tasks]
    if name not in names:
        raise unknown_name(what, str(name), names, STUDIED[task])
    return name


def default_performance(task: Task, training_rows: ArrayLike) -> tuple[Performance, PerformanceReason]:
    """Return what performance is where nothing is said: accuracy, or balanced accuracy where classes are skewed.

    Parameters
    ----------
    task : "class", "regression" or "multilabel"
        Of a regression it is Pearson's r. Of several labels it is macro F1: most labels are rare, and accuracy is high
        where none is ever predicted.
    training_rows : array of shape (n_classes,)
        How many training rows each class has, before any condition. Classes without rows do not count.
    """
    if task == "regression":
        return "pearson", PerformanceReason.USUAL
    if task == "multilabel":
        return "f1", PerformanceReason.USUAL
    if class_skew(training_rows) > SKEWED_CLASSES:
        return "balanced_accuracy", PerformanceReason.SKEWED
    return "accuracy", PerformanceReason.USUAL


def class_skew(training_rows: ArrayLike) -> float:
    """Return how many times the rows of the smallest class the largest has; 1 where there are fewer than two."""
    rows = np.asarray(training_rows, dtype=np.float64)
    rows = rows[rows > 0]
    return float(rows.max() / rows.min()) if len(rows) > 1 else 1.0


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How many rows are of a class, are predicted to be, and are both: three arrays ``[..., group, class]``.

    Of several labels a class is a label that is present. A row may have any number of them, so ``rows [..., group]``
    says how many rows there are; of classes it is None, and they add up to the rows.
    """

    actual: Floats
    predicted: Floats
    right: Floats
    rows: Floats | None = None

    @classmethod
    def of(cls, confusion: ArrayLike) -> ClassCounts:
        """Read them off tables ``[..., group, true class, predicted class]``."""
        cells = np.asarray(confusion, dtype=np.float64)
        return cls(cells.sum(axis=-1), cells.sum(axis=-2), np.diagonal(cells, axis1=-2, axis2=-1))

    @property
    def overall(self) -> ClassCounts:
        """All groups together, ``[..., class]``."""
        rows = None if self.rows is None else self.rows.sum(axis=-1)
        return ClassCounts(self.actual.sum(axis=-2), self.predicted.sum(axis=-2), self.right.sum(axis=-2), rows)

    def groups(self, indices: Any) -> ClassCounts:
        """Return some of the groups."""
        rows = None if self.rows is None else self.rows[..., indices]
        return ClassCounts(
            self.actual[..., indices, :], self.predicted[..., indices, :], self.right[..., indices, :], rows
        )

    @classmethod
    def of_labels(cls, cells: ArrayLike) -> ClassCounts:
        """Read them off ``[..., group, label, outcome]``: true negatives, false positives, false negatives, true ones.

        That is the flattened table ``[truly present, predicted present]`` of each label.
        """
        counts = np.asarray(cells, dtype=np.float64)
        rows = counts.sum(axis=-1).max(axis=-1) if counts.shape[-2] else counts.sum(axis=(-1, -2))
        return cls(counts[..., 2] + counts[..., 3], counts[..., 1] + counts[..., 3], counts[..., 3], rows)

    @property
    def people(self) -> Floats:
        """How many rows there are, ``[..., group, 1]``."""
        return self.actual.sum(axis=-1, keepdims=True) if self.rows is None else self.rows[..., None]


def class_performance(name: Performance, counts: ClassCounts) -> Floats:
    """Return accuracy, balanced accuracy or macro F1 of counts ``[..., class]``, as ``[...]``; AUC is ``auc_of``.

    Undefined (NaN) without rows. Macro F1 is the mean over the classes that rows are or are predicted to be of, and
    balanced accuracy over those that rows are of, as in scikit-learn. Of several labels every number is the mean over
    the labels for which it is defined.
    """
    if counts.rows is not None and name in ("accuracy", "balanced_accuracy"):
        negatives = counts.people - counts.actual
        rejected = negatives - (counts.predicted - counts.right)
        if name == "accuracy":
            return _mean(ratio(counts.right + rejected, np.broadcast_to(counts.people, counts.right.shape)))
        # NaN where a label is present in all rows or in none: chance would be another number there.
        return _mean((ratio(counts.right, counts.actual) + ratio(rejected, negatives)) / 2.0)
    if name == "accuracy":
        return ratio(counts.right.sum(axis=-1), counts.actual.sum(axis=-1))
    if name == "balanced_accuracy":
        return _mean(ratio(counts.right, counts.actual))
    if name == "f1":
        return _mean(ratio(2.0 * counts.right, counts.actual + counts.predicted))
    raise BadInput(f"{name} is not a function of counts", available="accuracy, balanced_accuracy, f1")


def class_fairness(name: Fairness, counts: ClassCounts, performance: Performance) -> Floats:
    """Return fairness of counts ``[..., group, class]``, as ``[...]``; 1 is the best.

    Gaps between groups are undefined (NaN) where a group lacks what is compared; of several classes the defined ones
    count. ``worst_group`` is the least of the groups' performance (for AUC: the least of ``auc_of``).
    """
    if name == "worst_group":
        return np.asarray(class_performance(performance, counts).min(axis=-1))
    if name == "DP":
        return 1.0 - _mean(_largest_difference(ratio(counts.predicted, counts.people)))
    true_positive = _largest_difference(ratio(counts.right, counts.actual))
    if name == "GAP":
        return 1.0 - np.sqrt(_mean(true_positive**2))
    if name == "EO":
        false_positive = _largest_difference(ratio(counts.predicted - counts.right, counts.people - counts.actual))
        return 1.0 - _mean(np.maximum(true_positive, false_positive))
    return 1.0 - _mean(true_positive)


def auc_of(scores: ArrayLike, target: ArrayLike) -> Floats:
    """Return the area under the ROC curve of scores ``[..., row, class]``, as ``[...]``; ties count one half.

    Of two classes it is that of the second; of more the mean of each class against the rest, over the classes that
    some rows are of and some are not. Undefined (NaN) where there is no such class.
    """
    values, codes = np.asarray(scores), np.asarray(target)
    lead = values.shape[:-2]
    flat = values.reshape(-1, *values.shape[-2:])
    number = values.shape[-1]
    classes = [code for code in ([1] if number == 2 else range(number)) if 0 < (codes == code).sum() < len(codes)]
    if not classes:
        return np.full(lead, np.nan)
    areas = np.array([np.mean([_auc(table[:, code], codes == code) for code in classes]) for table in flat])
    return areas.reshape(lead)


def label_scores(name: Performance, scores: ArrayLike, present: ArrayLike) -> Floats:
    """Return the AUC or the average precision of several labels, the mean over labels, as ``[...]``.

    Parameters
    ----------
    name : "auc" or "average_precision"
        Which of them.
    scores : array of shape (..., n_rows, n_labels)
        A higher score makes a label more likely to be present.
    present : array of shape (n_rows, n_labels)
        Whether it is. A label that is present in no row (or, for the AUC, in all) is left out: it has neither.
    """
    values, truth = np.asarray(scores), np.asarray(present).astype(np.bool_)
    lead = values.shape[:-2]
    flat = values.reshape(-1, *values.shape[-2:])
    with_rows = truth.any(axis=0) if name == "average_precision" else truth.any(axis=0) & ~truth.all(axis=0)
    labels = np.flatnonzero(with_rows).tolist()
    if not labels:
        return np.full(lead, np.nan)
    of_label = _average_precision if name == "average_precision" else _auc
    averages = np.array([np.mean([of_label(table[:, label], truth[:, label]) for label in labels]) for table in flat])
    return averages.reshape(lead)


def _average_precision(scores: NDArray[Any], member: NDArray[np.bool_]) -> float:
    """Return sum_n (R_n - R_n-1) P_n over the distinct scores as thresholds."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(member[order])
    ends = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    recall = np.diff(np.concatenate([[0], hits[ends]])) / hits[-1]
    return float((recall * hits[ends] / (ends + 1.0)).sum())


def _auc(scores: NDArray[Any], member: NDArray[np.bool_]) -> float:
    others, positives = np.sort(scores[~member]), scores[member]
    below = np.searchsorted(others, positives, "left").sum(dtype=np.float64)
    not_above = np.searchsorted(others, positives, "right").sum(dtype=np.float64)
    return float((below + not_above) / (2.0 * len(others) * len(positives)))


def r_squared(mean_squared_error: ArrayLike, variance_target: ArrayLike) -> Floats:
    """Return R2 = 1 - mean squared error / variance of the target; undefined (NaN) where the target is constant."""
    return 1.0 - ratio(np.asarray(mean_squared_error, dtype=np.float64), np.asarray(variance_target, dtype=np.float64))


def _largest_difference(rates: Floats) -> Floats:
    """Return the largest difference between groups of rates ``[..., group, class]``; NaN as soon as one is."""
    return np.asarray(rates.max(axis=-2) - rates.min(axis=-2))


def _mean(values: Floats) -> Floats:
    """Return the mean over the classes that are defined; NaN where none is."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1).astype(np.float64))


# A model that predicts one class for this share of rows, or more, has collapsed.
CONSTANT_SHARE = 0.99
# So has one whose balanced accuracy is, at the upper end of its 95% interval, no more than this above chance.
CHANCE_MARGIN = 0.02
_Z = 1.959963984540054


def has_collapsed(confusion: ArrayLike) -> NDArray[np.bool_]:
    """Tell which models have collapsed, from counts on rows that had no part in their training.

    A classifier has collapsed if it predicts one class for 99% of the rows or more, or if the upper end of the 95%
    interval of its balanced accuracy is at most 1/K + 0.02. Both are told from dev rows, never from test rows.

    Parameters
    ----------
    confusion : array of shape (..., n_classes, n_classes)
        Rows by true class and predicted class. Classes without rows do not count towards K.

    Returns
    -------
    array of bool of shape (...)
        False where there are no rows, or rows of one class alone: nothing can be said of a model there.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    return counts_have_collapsed(counts.sum(axis=-1), counts.sum(axis=-2), np.diagonal(counts, axis1=-2, axis2=-1))


def counts_have_collapsed(actual: ArrayLike, predicted: ArrayLike, right: ArrayLike) -> NDArray[np.bool_]:
    """Tell it from rows of each class by truth, by prediction, and by both, ``[..., class]``, as ``has_collapsed``."""
    rows = np.asarray(actual, dtype=np.float64)
    number = (rows > 0).sum(axis=-1)
    _, high = _interval(rows, np.asarray(right, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(predicted, dtype=np.float64).max(axis=-1) / rows.sum(axis=-1)
        by_chance = high <= 1.0 / number + CHANCE_MARGIN
    return np.asarray((number > 1) & ((share >= CONSTANT_SHARE) | by_chance))


def labels_have_collapsed(counts: ClassCounts) -> NDArray[np.bool_]:
    """Tell of each label whether it is predicted no better than by a constant, from counts ``[..., label]``.

    It is where it is predicted for no row or for all, or where the upper end of the 95% interval of its balanced
    accuracy is at most 1/2 + 0.02. The share of rows says nothing here: a label may be rarer than one row in a hundred.
    A label that all rows have, or none, says nothing of a model: False.
    """
    rows = np.broadcast_to(counts.people, counts.actual.shape)
    actual = np.stack([rows - counts.actual, counts.actual], axis=-1)
    rejected = actual[..., 0] - (counts.predicted - counts.right)
    _, high = _interval(actual, np.stack([rejected, counts.right], axis=-1))
    constant = (counts.predicted == 0) | (counts.predicted == rows)
    with np.errstate(invalid="ignore"):
        return np.asarray((actual > 0).all(axis=-1) & (constant | (high <= 0.5 + CHANCE_MARGIN)))


def all_labels_have_collapsed(counts: ClassCounts) -> NDArray[np.bool_]:
    """Tell which models predict no label better than a constant, ``[...]``; False where no label can tell."""
    rows = np.broadcast_to(counts.people, counts.actual.shape)
    telling = (counts.actual > 0) & (counts.actual < rows)
    return np.asarray(telling.any(axis=-1) & (labels_have_collapsed(counts) | ~telling).all(axis=-1))


def has_collapsed_regression(r_squared: ArrayLike) -> NDArray[np.bool_]:
    """Tell which regressions do no better than the mean: R2 of at most 0 on rows that had no part in the training.

    Where R2 is undefined (a constant target) nothing can be said, and the answer is False.
    """
    return np.asarray(np.asarray(r_squared, dtype=np.float64) <= 0.0)


def balanced_accuracy_interval(confusion: ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95% interval of balanced accuracy, the mean of the true positive rates of the classes present.

    Wilson intervals of the rates are combined by the distances of their ends from the rates (MOVER; Zou and Donner
    2008), so a rate of 0 or 1 among few rows still has a width. NaN without rows.

    Parameters
    ----------
    confusion : array of shape (..., n_classes, n_classes)
        Rows by true class and predicted class.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    return _interval(counts.sum(axis=-1), np.diagonal(counts, axis1=-2, axis2=-1))


def _interval(rows: Floats, right: Floats) -> tuple[Floats, Floats]:
    present = rows > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = right / rows
        centre = (rate + _Z**2 / (2 * rows)) / (1 + _Z**2 / rows)
        half = _Z / (1 + _Z**2 / rows) * np.sqrt(rate * (1 - rate) / rows + _Z**2 / (4 * rows**2))
        number = present.sum(axis=-1)
        mean = np.where(present, rate, 0.0).sum(axis=-1) / number
        below, above = (
            np.sqrt((np.where(present, distance, 0.0) ** 2).sum(axis=-1)) / number
            for distance in (rate - (centre - half), (centre + half) - rate)
        )
    return np.maximum(mean - below, 0.0), np.minimum(mean + above, 1.0)


def constant_prediction(confusion: ArrayLike, index: int) -> Floats:
    """Return the counts of a model that predicts the class at ``index`` for every row of ``confusion``."""
    counts = np.asarray(confusion, dtype=np.float64)
    constant = np.zeros_like(counts)
    constant[..., index] = counts.sum(axis=-1)
    return constant
