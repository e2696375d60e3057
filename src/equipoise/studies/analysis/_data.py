"""A study as arrays: its trials, the stacked counts of all of them, and which trainings were too short."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.foundation import Floats, registry
from equipoise.studies.plans import Named, Trial
from equipoise.studies.storage import StoredTrial
from equipoise.tallies import Label, ResidualPivot, group_name

if TYPE_CHECKING:
    from equipoise.studies.findings.spaces import StoredArrays


STILL_FALLING = 0.05
# Windows in a training.
WINDOWS = 5
# A first epoch, and two windows after it.
FEWEST_EPOCHS = 3
# The share of a cell's runs that must be unfinished for the cell to be.
SHARE = 0.5
NUMBER, LOSS = 0, 1


class Unfinished(StrEnum):
    """Why a training is too short to judge its treatment by."""

    LOSS_STILL_FALLING = "loss_still_falling"
    CONSTRAINT_UNMET = "constraint_unmet"


WORDS = {
    Unfinished.LOSS_STILL_FALLING: "loss still falling",
    Unfinished.CONSTRAINT_UNMET: "constraint unmet",
}


@dataclass(frozen=True)
class TrainingEnd:
    """How one training ended: the share of its decline in loss that came last, and the largest residual.

    None where it is unknown: too few epochs, a loss that never fell, or a treatment without constraints.
    """

    reasons: tuple[Unfinished, ...] = ()
    late_decline: float | None = None
    residual: float | None = None


@dataclass(frozen=True)
class CellEnd:
    """How the trainings of a cell ended: reasons that hold for half of its runs, how many runs have any, and means."""

    reasons: tuple[Unfinished, ...] = ()
    runs: int = 0
    late_decline: float | None = None
    residual: float | None = None


def late_decline(losses: Floats) -> float | None:
    """Return the share of the whole decline in loss that the last fifth of the epochs brought.

    Parameters
    ----------
    losses : array of shape (n_epochs,)
        The loss after each epoch in which the network learns.

    Returns
    -------
    float or None
        None with fewer than three epochs, a loss that is not finite, or one that is no lower in the end.

    Examples
    --------
    >>> round(late_decline(np.linspace(2.0, 1.0, 100)), 3)  # a straight line
    0.223
    >>> round(late_decline(np.exp(-np.arange(1, 101) / 10.0)), 3)  # ten time constants
    0.001
    """
    if len(losses) < FEWEST_EPOCHS or not np.isfinite(losses).all():
        return None
    window = _window(len(losses))
    last, before = float(losses[-window:].mean()), float(losses[-2 * window : -window].mean())
    total_decline = float(losses[0]) - last
    return (before - last) / total_decline if total_decline > 0 else None


def _window(epochs: int) -> int:
    """Return how many epochs a window has."""
    return max(round(epochs / WINDOWS), 1)


def training_end(
    epochs: Floats, best_epoch: int, selection: str, *, every: int = 1, residuals: NDArray[Any] | None = None
) -> TrainingEnd:
    """Judge one training.

    Parameters
    ----------
    epochs : array of shape (n_epochs, columns)
        The number and the loss of each epoch, in the first two columns.
    best_epoch : int
        The number of the epoch whose network was kept.
    selection : str
        What chose it: "last", or something that dev rows say.
    every : int
        The network learns in the first of so many epochs.
    residuals : array, optional
        By how much each constraint of the treatment is missed in the end; positive is unmet.
    """
    learning_epochs = epochs[(epochs[:, NUMBER].astype(np.int64) - 1) % every == 0] if len(epochs) else epochs
    decline = late_decline(learning_epochs[:, LOSS]) if len(learning_epochs) else None
    reasons = []
    at_the_end = selection == "last" or (
        len(learning_epochs) > 0 and best_epoch >= learning_epochs[-_window(len(learning_epochs)), NUMBER]
    )
    if decline is not None and decline > STILL_FALLING and at_the_end:
        reasons.append(Unfinished.LOSS_STILL_FALLING)
    worst = None if residuals is None or not residuals.size else float(residuals.max())
    if worst is not None and worst > 0:
        reasons.append(Unfinished.CONSTRAINT_UNMET)
    return TrainingEnd(tuple(reasons), decline, worst)


def training_ends(stored: Sequence[StoredTrial], residuals: Mapping[str, NDArray[Any]]) -> tuple[TrainingEnd, ...]:
    """Judge the trainings of stored trials, each by its epochs and by the residuals it kept, by key."""
    # A treatment that is not registered here (a function of one's own) lets the network learn in every epoch.
    every = {
        entry.name: int(getattr(entry.implementation, "network_every", 1)) for entry in registry.entries("treatment")
    }
    return tuple(
        training_end(
            trial.epochs, trial.best_epoch, trial.trial.selection, residuals=residuals.get(trial.key),
            every=max((every.get(named.name, 1) for named in trial.trial.treatments), default=1),
        )
        for trial in stored
    )  # fmt: skip


def cell_end(ends: Sequence[TrainingEnd]) -> CellEnd:
    """Judge a cell by its runs."""
    reasons = tuple(
        reason for reason in Unfinished if ends and sum(reason in end.reasons for end in ends) >= SHARE * len(ends)
    )
    return CellEnd(
        reasons, sum(bool(end.reasons) for end in ends),
        _mean([end.late_decline for end in ends]), _mean([end.residual for end in ends]),
    )  # fmt: skip


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None


Codes = NDArray[np.int64]
Attribute = tuple[str, ...]

# What a report reads: the splits that a trial predicts.
DEV, TEST = "dev", "test"


@dataclass(frozen=True, eq=False)
class Layout:
    """What the axes of a count tensor ``[..., group, true, predicted]`` mean.

    ``groups`` are the values of all group columns (``attributes``) crossed; None is a missing value. A regression has
    sums ``[..., group, sum]`` instead, about a pivot; several labels have ``[..., group, label, outcome]``, and
    ``classes`` are the labels.
    """

    attributes: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]
    classes: tuple[str, ...]
    favourable: str | None = None
    task: Task = "class"
    pivot: ResidualPivot = field(default_factory=lambda: ResidualPivot(0.0, 0.0))

    @property
    def depth(self) -> int:
        """How many axes the table of one trial has, the first of which is the group."""
        return 2 if self.task == "regression" else 3

    def folding(self, attribute: Attribute) -> tuple[Floats, tuple[str, ...]]:
        """Return a matrix ``[own group, crossed group]`` of ones that adds up an attribute's groups, and their names.

        Rows without a value of the attribute belong to none of them.
        """
        places = [self.attributes.index(name) for name in attribute]
        labels_by_group = [tuple(labels[position] for position in places) for labels in self.groups]
        names = list(dict.fromkeys(labels for labels in labels_by_group if None not in labels))
        matrix = np.array([[labels == name for labels in labels_by_group] for name in names], dtype=np.float64)
        return matrix.reshape(len(names), len(labels_by_group)), tuple(group_name(name) for name in names)

    def folded(self, tables: Floats, attribute: Attribute) -> tuple[Floats, tuple[str, ...]]:
        """Return the tables with the groups of an attribute (or of several, crossed) in place of all groups crossed."""
        matrix, names = self.folding(attribute)
        axis = tables.ndim - self.depth
        return np.moveaxis(np.tensordot(matrix, tables, axes=(1, axis)), 0, axis), names


def attributes_of(layout: Layout, main: Attribute) -> tuple[Attribute, ...]:
    """Return what gaps are told of: the groups that a study is about, then each group column by itself."""
    return tuple(dict.fromkeys([tuple(main), *((name,) for name in layout.attributes)]))


@dataclass(frozen=True, eq=False)
class TestRows:
    """The people a study is judged on: their ids, the place of their crossed group, and their true class or number.

    Rows with the same ``cluster`` belong together and are drawn together; None where every row is by itself.
    """

    __test__ = False  # no test of pytest's, whatever its name

    ids: Codes
    group: Codes
    target: NDArray[Any]
    cluster: Codes | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Failure:
    """A trial that ended without predictions, what its error said, and where that came from.

    One that is ``damaged`` did not fail: the store no longer has what was written of it.
    """

    trial: Trial
    error: str
    traceback: str | None = None
    damaged: bool = False


@dataclass(frozen=True)
class Composition:
    """What a condition made the training data: how many rows of each class and group, ``[class, group]``.

    ``seed`` is the one that these rows are of, where every seed makes others of the classes.
    """

    classes: tuple[str, ...]
    groups: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class StudyData:
    """Everything a report is made of; the first axis of every array is the trial.

    ``tables`` are count tensors by split. ``environments`` are packages and hardware, ``environment`` the place of each
    trial's among them. ``predictions(places)`` returns what trials say of the test rows, ``[trial, row]``, or None
    where they were not kept. ``compositions`` are by the text of a condition, ``keys`` the trials' keys,
    ``stored_arrays`` what trials kept besides (embeddings), read when it is asked for. ``pictures(places)`` shows dev
    rows by their places in the split, where the cohort has pictures of things: uint8 ``[row, height, width, 3]``.
    ``training_rows`` counts the original training rows of each class, ``training_mean`` is the mean of their numbers;
    None where neither is known.
    """

    name: str
    layout: Layout
    trials: tuple[Trial, ...]
    tables: Mapping[str, Floats]
    seconds: Floats
    environments: tuple[Mapping[str, Any], ...]
    environment: Codes
    rows: TestRows | None = None
    predictions: Callable[[Sequence[int]], NDArray[Any] | None] | None = None
    failures: tuple[Failure, ...] = ()
    unfinished: int = 0
    keys: tuple[str, ...] = ()
    compositions: Mapping[str, Composition] = field(default_factory=dict)
    # The conditions that draw the same rows as another, by the text of the one that was trained.
    equal_conditions: Mapping[str, tuple[Named, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stored_arrays: StoredArrays | None = None
    pictures: Callable[[Codes], NDArray[np.uint8]] | None = None
    training_rows: tuple[int, ...] | None = None
    training_mean: float | None = None
    # Of several labels ``training_rows`` are the rows with each, of so many.
    training_total: int | None = None
    # How each trial's training ended; empty where that is not known.
    training_ends: tuple[TrainingEnd, ...] = ()
    # A performance of scores, by name, of every trial on a split: of everyone and of each group of an attribute,
    # ``[trial, 1 + group]``.
    aucs: Callable[[str, Attribute, str], Floats] | None = None

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def has_spaces(self) -> bool:
        """Whether trials of classes kept the spaces that they embed rows in."""
        return self.stored_arrays is not None and self.stored_arrays.has_spaces and self.layout.task == "class"
