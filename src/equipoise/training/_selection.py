"""What the dev rows say of a trial: performance, fairness, whether it collapsed, and which epoch or candidate is kept.

The numbers are those of ``equipoise.measures.objectives`` (by default paper 001's, section 4.2: accuracy and 1 - GAP),
over all trials at once and with numpy alone, so that a compute node needs nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing
from equipoise.measures import (
    PERFORMANCES,
    ClassCounts,
    Fairness,
    Performance,
    all_labels_have_collapsed,
    auc_of,
    class_fairness,
    class_performance,
    counts_have_collapsed,
    has_collapsed_regression,
    label_scores,
    labels_have_collapsed,
    r_squared,
)
from equipoise.training._dataset import EncodedDataset, Epoch, Predicted, Rows, Selection, Settings, known_targets

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

UNDEFINED = {
    "class": "Fairness on the dev rows is not defined (no class has rows in every group), so performance alone chose.",
    "regression": "Fairness on the dev rows is not defined (predictions or targets of a group do not vary, or it has "
    "fewer than two rows), so performance alone chose.",
    "multilabel": "Fairness on the dev rows is not defined (no label is present in rows of every group), so "
    "performance alone chose.",
}
COLLAPSED = "Collapsed: on the dev rows the model does no better than a constant prediction."
# Performance and fairness below this count as this much, so that a distance to (1, 1) is at most sqrt(8).
LEAST = -1.0
# More than any distance: what has no fairness comes after all that has one, and what collapsed after both.
BEHIND = 4.0
FAR_BEHIND = 8.0


@dataclass(frozen=True, eq=False)
class Scores:
    """For each trial: performance and fairness (NaN where not defined), and whether it does no better than a constant.

    ``collapsed`` is None where nothing is known of that.
    """

    performance: Floats
    fairness: Floats
    collapsed: Bools | None = None

    @property
    def has_collapsed(self) -> Bools:
        """Which trials do no better than a constant prediction."""
        return np.zeros(len(self.performance), dtype=np.bool_) if self.collapsed is None else self.collapsed

    def best(self, selection: Selection) -> int:
        """Return which of candidates in order is taken: the one with the least loss, or the last."""
        return len(self.performance) - 1 if selection == "last" else int(np.argmin(self.losses(selection)))

    def losses(self, selection: Selection) -> Floats:
        """Return what the best epoch has least of: the distance to (1, 1), or 1 - performance.

        Where fairness is not defined the loss is ``BEHIND`` + 1 - performance: such an epoch never wins over one with a
        distance, and where no epoch has one performance decides. One that collapsed has ``FAR_BEHIND`` more: it never
        wins over one that did not. Where performance is not defined nothing is better.
        """
        losses = 1.0 - np.maximum(self.performance, LEAST)
        if selection == "dto":
            distances = np.hypot(losses, 1.0 - np.maximum(self.fairness, LEAST))
            losses = np.where(np.isnan(self.fairness), BEHIND + losses, distances)
        losses = losses + FAR_BEHIND * self.has_collapsed
        return np.where(np.isnan(losses), np.inf, losses)


def scores_of(
    values: NDArray[Any],
    rows: Rows,
    classes: int,
    groups: int,
    task: str,
    *,
    performance: Performance | None = None,
    fairness: Fairness = "GAP",
    scores: NDArray[Any] | None = None,
) -> Scores:
    """Return the scores of predictions for rows with targets and groups.

    Parameters
    ----------
    values : array of shape (n_trials, n_rows)
        Class codes, or numbers in the unit of the target. Of several labels ``[..., n_labels]``, 1 where one is
        predicted to be present.
    rows : Rows
        What is truly so. Rows without a target do not count; rows without a group count for performance alone.
    classes, groups : int
        How many there are of each.
    task : "class", "regression" or "multilabel"
        What is predicted.
    performance, fairness : str
        What is asked for (``equipoise.measures.objectives``); by default accuracy, Pearson's r of a
        regression, or macro F1 of several labels.
    scores : array of shape (n_trials, n_rows, n_classes), optional
        Needed by AUC and average precision alone.
    """
    assert rows.target is not None
    assert rows.group is not None
    known_rows = known_targets(rows.target)
    values, target, group = values[:, known_rows], rows.target[known_rows], rows.group[known_rows]
    if task == "regression":
        return _of_numbers(values, target, group, groups, performance or "pearson", fairness)
    measure: Performance = performance or ("f1" if task == "multilabel" else "accuracy")
    score_of: Callable[[NDArray[Any], NDArray[Any]], Floats]
    if task == "multilabel":
        # Every number is a mean over the labels for which it is defined; one is predicted at a probability of 0.5.
        counts, score_of = _label_counts(values, target, group, groups), partial(label_scores, measure)
        collapsed = all_labels_have_collapsed(counts.overall)
    else:
        counts, score_of = _counts(values, target, group, classes, groups), auc_of
        by_group = counts.overall
        collapsed = counts_have_collapsed(by_group.actual, by_group.predicted, by_group.right)
    if not PERFORMANCES[measure].needs_scores:
        performances = class_performance(measure, counts.overall)
    elif scores is None:
        raise no_scores()
    else:
        scores = scores[:, known_rows]
        performances = score_of(scores, target)
        if fairness == "worst_group":
            of_groups = [
                score_of(scores[:, group == group_code], target[group == group_code]) for group_code in range(groups)
            ]
            return Scores(performances, np.stack(of_groups).min(axis=0), collapsed)
    return Scores(performances, class_fairness(fairness, counts.groups(slice(groups)), measure), collapsed)


def only_epoch(dev: Predicted, dataset: EncodedDataset, settings: Settings) -> Epoch:
    """Return what the dev rows say of a training without epochs, as its only one."""
    scores = scores_of(
        dev.values[None], dataset.dev, len(dataset.classes), len(dataset.groups), dataset.task,
        performance=settings.performance, fairness=settings.fairness,
        scores=None if dev.scores is None else dev.scores[None],
    )  # fmt: skip
    return Epoch(1, math.nan, float(scores.performance[0]), float(scores.fairness[0]))


def no_scores() -> BadInput:
    """Say that AUC and average precision are undefined without scores."""
    return BadInput(
        "Performance is told from scores (auc, average_precision), and the learner or treatment gives classes without "
        "scores",
        available="a learner with scores, such as mlp, or scikit_learn with an estimator that has predict_proba",
        help='performance = "balanced_accuracy" needs no scores.',
    )


def needs_scores(performance: Performance | None) -> bool:
    """Tell whether performance is told from scores and not from classes."""
    return performance is not None and PERFORMANCES[performance].needs_scores


def label_notes(dev: Predicted, dataset: EncodedDataset) -> tuple[str, ...]:
    """Say of dev rows which labels fairness leaves out, and which are predicted no better than by a constant."""
    rows = dataset.dev
    assert rows.target is not None
    assert rows.group is not None
    known_rows = known_targets(rows.target)
    counts = _label_counts(
        np.asarray(dev.values)[None, known_rows], rows.target[known_rows], rows.group[known_rows], len(dataset.groups)
    )
    by_group = counts.groups(slice(len(dataset.groups)))
    silent = (by_group.actual[0] == 0).any(axis=0)
    constant = labels_have_collapsed(counts.overall)[0]
    notes = []
    for flags, words in (
        (silent, "No dev row of some group has these labels, so fairness leaves them out"),
        (constant, "Predicted no better than by a constant on the dev rows"),
    ):
        names = [label for label, flag in zip(dataset.labels, flags.tolist(), strict=True) if flag]
        notes += [f"{words}: {listing(names, 10)}."] if names else []
    return tuple(notes)


def has_collapsed(dev: Predicted, dataset: EncodedDataset) -> bool:
    """Tell whether predictions of the dev rows are no better than a constant."""
    scores = scores_of(dev.values[None], dataset.dev, len(dataset.classes), len(dataset.groups), dataset.task)
    return bool(scores.has_collapsed[0])


def _counts(values: NDArray[Any], target: NDArray[Any], group: NDArray[Any], classes: int, groups: int) -> ClassCounts:
    """Count ``[trial, group, class]``; what has no group stands in one more group, the last."""
    first_cell = np.where(group >= 0, group, groups) * classes
    size = (groups + 1) * classes
    shape = (len(values), groups + 1, classes)
    actual = np.bincount(first_cell + target, minlength=size).reshape(1, groups + 1, classes).astype(np.float64)
    # One pass over rows: where a prediction is right, its class is the true one.
    cells = 2 * (np.arange(0, len(values) * size, size)[:, None] + first_cell + values) + (values == target)
    counts_of_cells = (
        np.bincount(cells.reshape(-1), minlength=2 * len(values) * size).reshape(*shape, 2).astype(np.float64)
    )
    return ClassCounts(np.broadcast_to(actual, shape), counts_of_cells.sum(axis=-1), counts_of_cells[..., 1])


def _label_counts(values: NDArray[Any], target: NDArray[Any], group: NDArray[Any], groups: int) -> ClassCounts:
    """Count ``[trial, group, label]``; what has no group stands in one more group, the last."""
    members = np.stack([group == code for code in range(groups)] + [group < 0]).astype(np.float64)
    predictions, present = values.astype(np.float64), target.astype(np.float64)
    predicted, right = (np.einsum("gr,trl->tgl", members, code) for code in (predictions, predictions * present))
    shape = predicted.shape
    return ClassCounts(
        np.broadcast_to(members @ present, shape), predicted, right, np.broadcast_to(members.sum(axis=1), shape[:2])
    )


def _of_numbers(
    values: NDArray[Any], target: NDArray[Any], group: NDArray[Any], groups: int, performance: str, fairness: str
) -> Scores:
    """Fairness is 1 - (max_g Pearson_g - min_g Pearson_g), or the performance in the worst group."""
    group_rows = [group == code for code in range(groups)]
    r2 = _r_squared(values, target)
    value = _pearson if performance == "pearson" else _r_squared
    if fairness == "worst_group":
        equity = np.stack([value(values[:, rows], target[rows]) for rows in group_rows]).min(axis=0)
    else:
        by_group = np.stack([_pearson(values[:, rows], target[rows]) for rows in group_rows])
        equity = 1.0 - (by_group.max(axis=0) - by_group.min(axis=0))
    return Scores(r2 if performance == "r2" else _pearson(values, target), equity, has_collapsed_regression(r2))


def _r_squared(values: NDArray[Any], target: NDArray[Any]) -> Floats:
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    y = target.astype(np.float64)
    return r_squared(((values.astype(np.float64) - y) ** 2).mean(axis=1), np.full(len(values), y.var()))


def _pearson(values: NDArray[Any], target: NDArray[Any]) -> Floats:
    """Return Pearson's r of each trial; NaN where target or prediction is constant."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    y = target.astype(np.float64) - target.mean(dtype=np.float64)
    p = values.astype(np.float64)
    p = p - p.mean(axis=1, keepdims=True)
    spread = np.sqrt((y**2).sum() * (p**2).sum(axis=1))
    # What rounding leaves of a constant prediction is no spread.
    constant = spread <= 1e-12 * len(y) * np.maximum(np.abs(values).max(axis=1), 1e-300) * max(np.abs(y).max(), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.clip((p @ y) / spread, -1.0, 1.0)
    return np.asarray(np.where(constant | ~np.isfinite(spread), np.nan, correlation), dtype=np.float64)
