"""A study as arrays: what its trials are, and the counts of all of them stacked, so that a measure is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.studies.trial import Named, Trial
from equipoise.tallies.counts import group_name
from equipoise.tallies.labels import Label
from equipoise.tallies.residuals import Pivot

if TYPE_CHECKING:
    from equipoise.studies.findings.spaces.kept import KeptArrays
    from equipoise.studies.findings.unfinished import TrainingEnd

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Attribute = tuple[str, ...]

# What a report reads: the splits that a trial predicts.
DEV, TEST = "dev", "test"


@dataclass(frozen=True, eq=False)
class Layout:
    """What the axes of a count tensor ``[..., group, true, predicted]`` mean.

    ``groups`` are the values of all group columns (``attributes``) crossed; None is a missing value. A regression has
    sums ``[..., group, sum]`` instead, about a pivot.
    """

    attributes: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]
    classes: tuple[str, ...]
    favourable: str | None = None
    task: Literal["class", "regression"] = "class"
    pivot: Pivot = field(default_factory=lambda: Pivot(0.0, 0.0))

    def folding(self, attribute: Attribute) -> tuple[Floats, tuple[str, ...]]:
        """Return a matrix ``[own group, crossed group]`` of ones that adds up an attribute's groups, and their names.

        Rows without a value of the attribute belong to none of them.
        """
        places = [self.attributes.index(name) for name in attribute]
        own = [tuple(labels[place] for place in places) for labels in self.groups]
        names = list(dict.fromkeys(labels for labels in own if None not in labels))
        matrix = np.array([[labels == name for labels in own] for name in names], dtype=np.float64)
        return matrix.reshape(len(names), len(own)), tuple(group_name(name) for name in names)

    def folded(self, tables: Floats, attribute: Attribute) -> tuple[Floats, tuple[str, ...]]:
        """Return the tables with the groups of an attribute (or of several, crossed) in place of all groups crossed."""
        matrix, names = self.folding(attribute)
        axis = tables.ndim - (3 if self.task == "class" else 2)
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
    """A trial that ended without predictions, why, and where the error came from if there was one.

    One that is ``damaged`` did not fail: the store no longer has what was written of it.
    """

    trial: Trial
    reason: str
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
    where they were not kept. ``compositions`` are by the text of a condition, ``keys`` the trials' keys, ``kept`` what
    trials kept besides (embeddings), read when it is asked for. ``pictures(places)`` shows dev rows by their places in
    the split, where the cohort has pictures of things: uint8 ``[row, height, width, 3]``. ``training_rows`` counts the
    original training rows of each class, ``training_mean`` is the mean of their numbers; None where neither is known.
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
    kept: KeptArrays | None = None
    pictures: Callable[[Codes], NDArray[np.uint8]] | None = None
    training_rows: tuple[int, ...] | None = None
    training_mean: float | None = None
    # How each trial's training ended; empty where that is not known.
    training_ends: tuple[TrainingEnd, ...] = ()
    # The AUC of every trial on a split, of everyone and of each group of an attribute ``[trial, 1 + group]``.
    aucs: Callable[[str, Attribute], Floats] | None = None

    def __len__(self) -> int:
        return len(self.trials)
