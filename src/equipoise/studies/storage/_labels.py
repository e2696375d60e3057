"""What dev and test rows truly are, kept from trainings, and the readouts that count predictions against it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Cohort, Task
from equipoise.foundation import (
    BadInput,
    fingerprint_of,
    unknown_name,
)
from equipoise.studies.plans import cluster_codes, rows_of
from equipoise.tallies import (
    RESIDUAL_SUMS,
    Coded,
    Confusion,
    Label,
    ResidualMoments,
    ResidualPivot,
    factorise,
    group_name,
    ordered,
    residual_moments,
    residual_sums,
)
from equipoise.training import BIN_NAMES, Predicted, bin_edges, known_targets, label_codes

Codes = NDArray[np.int64]
# The splits that a trial predicts.
PREDICTED = ("dev", "test")
# Counts of a trial on one split, at most, where group columns are crossed that the study does not ask for.
MOST_COUNTS = 1_000_000
# More than these no trial may have: a hundred trials of so many would take 20 GB to compare.
LARGEST = 50_000_000
# Of a row and a label: truly absent or present, and predicted so.
OUTCOMES = 4


@dataclass(frozen=True, eq=False)
class SplitLabels:
    """The rows of one split: target (class codes, below 0 if unknown, or numbers), crossed group, and quarter.

    Of several labels the target is ``[row, label]``, 1 where one is present, and below 0 if that is unknown.

    Rows with the same ``cluster`` belong together; no count depends on that, so a store does not either.
    """

    target: NDArray[Any]
    group: Codes
    cell: Codes | None = None
    cluster: Codes | None = None

    def __len__(self) -> int:
        return len(self.target)

    @cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """The rows that have a target."""
        return known_targets(self.target)

    @cached_property
    def all_known(self) -> bool:
        """Whether every row has a target."""
        return bool(self.is_known.all())

    @cached_property
    def _first(self) -> dict[int, Codes]:
        return {}

    def cell_starts(self, classes: int) -> Codes:
        """Return where each row's counts begin in a flat ``[group, true, predicted]``; made once for all trials."""
        if classes not in self._first:
            self._first[classes] = (self.group * classes + self.target) * classes
        return self._first[classes]


@dataclass(frozen=True)
class Names:
    """What the places of a readout mean: classes (quarters, labels), and the groups of all group columns crossed."""

    task: Task
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]
    rows: Mapping[str, int]
    pivot: float = 0.0

    def labels(self, attributes: Sequence[str] | None) -> list[tuple[Label, ...]]:
        """Return each crossed group's labels in some of the columns."""
        for name in attributes or ():
            if name not in self.attributes:
                raise unknown_name("group column", name, self.attributes, "this study")
        places = [self.attributes.index(name) for name in (self.attributes if attributes is None else attributes)]
        return [tuple(labels[place] for place in places) for labels in self.groups]

    def to_json(self) -> str:
        """Write the names as JSON."""
        return json.dumps(asdict(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Names:
        """Read back what ``to_json`` wrote."""
        content = json.loads(text)
        content["groups"] = tuple(tuple(labels) for labels in content["groups"])
        return cls(**{**content, "classes": tuple(content["classes"]), "attributes": tuple(content["attributes"])})


@dataclass(frozen=True, eq=False)
class EvaluationLabels:
    """The truth of a cohort by split. ``cohort`` is the fingerprint that trials name; a group has a label a column."""

    cohort: str
    task: Task
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]
    splits: Mapping[str, SplitLabels]
    # What sums of a regression are taken about, so that large targets lose no digits.
    pivot: float = 0.0

    @property
    def names(self) -> Names:
        """What the places of a readout mean."""
        rows = {split: len(truth) for split, truth in self.splits.items()}
        return Names(self.task, self.classes, self.attributes, self.groups, rows, self.pivot)

    @cached_property
    def digest(self) -> str:
        """A hash of the names and of every row: another truth under the same fingerprint is noticed."""
        parts = [self.names.to_json().encode()]
        for split in sorted(self.splits):
            truth = self.splits[split]
            kind = "<f8" if self.task == "regression" else "<i8"
            parts += [split.encode(), truth.target.astype(kind).tobytes(), truth.group.astype("<i8").tobytes()]
            parts += [] if truth.cell is None else [truth.cell.astype("<i8").tobytes()]
        return fingerprint_of(parts)

    def of(self, split: str) -> SplitLabels:
        """Return the truth of one split."""
        if split not in self.splits:
            raise BadInput(f"There is no truth of the split {split!r}", available=", ".join(self.splits))
        return self.splits[split]


def evaluation_labels(
    cohort: Cohort, *, fingerprint: str, classes: Sequence[str], needed: Sequence[str] | None = None
) -> EvaluationLabels:
    """Take the truth of the dev and test rows from a cohort with the splits train, dev and test.

    ``classes`` are those of the training dataset, whose codes predictions have. A class that no training row has
    follows them, so that its rows count as mistakes. Of several labels they are the labels. Numbers of a regression are
    cut where the parts of the training targets end (quarters, or tenths). All group columns are crossed, but where that
    makes too many counts: then the ``needed`` ones.
    """
    rows = {split: rows_of(cohort, split) for split in PREDICTED}
    judged = np.concatenate(list(rows.values()))
    attributes = cohort.groups
    codes, groups = _crossed(cohort, attributes, judged)
    if needed is not None and len(groups) * len(classes) ** 2 > MOST_COUNTS:
        attributes = tuple(needed)
        codes, groups = _crossed(cohort, attributes, judged)
    _check_counts(cohort, len(groups), len(classes))
    target: NDArray[Any]
    names: tuple[str, ...]
    cell = pivot = None
    if cohort.task == "regression":
        target, names = _numbers(cohort), BIN_NAMES[cohort.quantiles]
        edges = bin_edges(target[rows_of(cohort, "train")], cohort.quantiles)
        cell = np.searchsorted(edges, target[judged], side="right")
        pivot = float(np.nanmean(target[judged])) if np.isfinite(target[judged]).any() else 0.0
    elif cohort.task == "multilabel":
        target, names = label_codes(cohort).astype(np.int64), tuple(classes)
    else:
        target, names = _coded(cohort, classes, judged)
    clusters = None if cohort.cluster is None else cluster_codes(cohort[cohort.cluster])
    splits, start = {}, 0
    for split, chosen in rows.items():
        positions = slice(start, start + len(chosen))
        splits[split] = SplitLabels(
            target[chosen], codes[positions], None if cell is None else cell[positions],
            None if clusters is None else clusters[chosen],
        )  # fmt: skip
        start += len(chosen)
    return EvaluationLabels(fingerprint, cohort.task, names, attributes, groups, splits, pivot or 0.0)


def _check_counts(cohort: Cohort, groups: int, classes: int) -> None:
    """Refuse counts that no report could hold: every trial has them for every group, class and predicted class."""
    if cohort.task == "class" and groups * classes**2 > LARGEST:
        raise BadInput(
            f"The {classes:,} classes of {cohort.target!r} and {groups:,} groups make {groups * classes**2:,} counts a "
            "trial",
            available=f"{LARGEST:,} at most",
            help="leave out classes with few rows (the cohort lfw has least = 8 for it) or cross fewer groups.",
        )


def _numbers(cohort: Cohort) -> NDArray[np.float64]:
    column = cohort[cohort.target]
    return np.where(column == None, np.nan, column).astype(np.float64)  # noqa: E711 - elementwise


def _coded(cohort: Cohort, classes: Sequence[str], judged: Codes) -> tuple[Codes, tuple[str, ...]]:
    coded = factorise(cohort[cohort.target])
    seen = {coded.labels[code] for code in np.unique(coded.codes[judged]).tolist()}
    names = (*classes, *ordered(label for label in seen if label is not None and label not in classes))
    places = {name: index for index, name in enumerate(names)}
    recode = np.array([-1 if label is None else places.get(label, -1) for label in coded.labels], dtype=np.int64)
    return recode[coded.codes], names


def _crossed(cohort: Cohort, attributes: Sequence[str], rows: Codes) -> tuple[Codes, tuple[tuple[Label, ...], ...]]:
    """Cross group columns; groups that dev or test rows have, in a person's order, missing last."""
    columns = [_in_order(factorise(cohort[name][rows])) for name in attributes]
    shape = [max(len(column.labels), 1) for column in columns]
    present, codes = np.unique(np.ravel_multi_index([c.codes for c in columns], shape), return_inverse=True)
    places = np.stack(np.unravel_index(present, shape), axis=1).tolist()
    labels = [column.labels for column in columns]
    groups = tuple(tuple(label[at] for label, at in zip(labels, place, strict=True)) for place in places)
    return codes.reshape(-1), groups


def _in_order(column: Coded) -> Coded:
    """Number labels in a person's order, the missing one last."""
    labels = [*ordered(label for label in column.labels if label is not None), None]
    recode = np.array([labels.index(label) for label in column.labels], dtype=np.int64)
    return Coded(recode[column.codes], tuple(labels))


# How numbers lie in the store, whatever the machine: whole numbers of 4 bytes, packed where there are many (with many
# classes nearly all are 0), or float64.
COUNTS, PACKED, SUMS = "<u4", "<u4 packed", "<f8"
MANY = 2**16


@dataclass(frozen=True)
class Encoded:
    """A readout as bytes, with what is needed to read them back."""

    kind: str
    shape: tuple[int, ...]
    content: bytes


def readout(predicted: Predicted, truth: EvaluationLabels, split: str) -> NDArray[Any]:
    """Count the rows of one split: ``[group, true, predicted]``, or ``[group, quarter, sum]`` of a regression.

    Of several labels it is ``[group, label, outcome]``: true negatives, false positives, false negatives, true ones.
    Rows without a target are not counted. The sums are those of ``tallies.scores``, about the pivot of the truth.
    """
    rows, values = truth.of(split), np.asarray(predicted.values)
    if values.shape != rows.target.shape:
        raise BadInput(
            f"There are predictions of shape {values.shape} for the {split} rows, which are {len(rows):,}",
            available="one prediction per row, in the order of the cohort",
        )
    if truth.task == "regression":
        return _sums(values.astype(np.float64), rows, truth)
    if truth.task == "multilabel":
        return _outcomes(values, rows, truth, split)
    return _counts(values, rows, truth, split)


def _counts(values: NDArray[Any], rows: SplitLabels, truth: EvaluationLabels, split: str) -> NDArray[Any]:
    number = len(truth.classes)
    if values.dtype.kind not in "iu" or (len(values) and not 0 <= int(values.min()) <= int(values.max()) < number):
        raise BadInput(
            f"The predictions of the {split} rows are {_values_text(values)}",
            available=f"codes of the {number:,} classes, 0 to {number - 1:,}",
        )
    shape = (len(truth.groups), number, number)
    first = rows.cell_starts(number)
    places = first + values if rows.all_known else (first + values)[rows.is_known]
    return np.bincount(places, minlength=shape[0] * number * number).reshape(shape)


def _outcomes(values: NDArray[Any], rows: SplitLabels, truth: EvaluationLabels, split: str) -> NDArray[Any]:
    if values.dtype.kind not in "iu" or (values.size and not 0 <= int(values.min()) <= int(values.max()) <= 1):
        raise BadInput(
            f"The predictions of the {split} rows are {_values_text(values)}",
            available="0 or 1 for each label of a row",
        )
    shape = (len(truth.groups), len(truth.classes), OUTCOMES)
    first = (rows.group[:, None] * shape[1] + np.arange(shape[1])) * OUTCOMES
    places = (first + 2 * rows.target + values)[rows.is_known]
    return np.bincount(places.reshape(-1), minlength=int(np.prod(shape))).reshape(shape)


def _sums(values: NDArray[np.float64], rows: SplitLabels, truth: EvaluationLabels) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise BadInput("Some predicted numbers are not finite", help="lower the learning rate.")
    assert rows.cell is not None
    is_known = rows.is_known
    target, predicted = np.asarray(rows.target, dtype=np.float64)[is_known], values[is_known]
    places = (rows.group * len(truth.classes) + rows.cell)[is_known]
    size = len(truth.groups) * len(truth.classes)
    people = np.bincount(places, minlength=size).astype(np.float64)
    added = residual_sums(target, predicted, ResidualPivot(truth.pivot, truth.pivot))
    columns = [
        people,
        people,
        people,
        *(np.bincount(places, weights=sums_of_rows, minlength=size) for sums_of_rows in added),
    ]
    return np.stack(columns, axis=-1).reshape(len(truth.groups), len(truth.classes), RESIDUAL_SUMS)


def encoded(counted: NDArray[Any]) -> Encoded:
    """Turn a readout into bytes."""
    kind = SUMS if counted.dtype.kind == "f" else COUNTS
    content = counted.astype(kind).tobytes()
    if kind == COUNTS and counted.size >= MANY:
        return Encoded(PACKED, counted.shape, zlib.compress(content, 1))
    return Encoded(kind, counted.shape, content)


def decoded(kind: str, shape: Sequence[int], contents: Sequence[bytes]) -> NDArray[Any]:
    """Read back many readouts of one shape at once: ``[trial, ...]``."""
    if kind not in (COUNTS, PACKED, SUMS):
        raise BadInput(
            f"A readout in the store holds numbers of the kind {kind!r}", available=f"{COUNTS}, {PACKED}, {SUMS}"
        )
    if kind == PACKED:
        return _unpacked(shape, contents)
    whole = np.frombuffer(b"".join(contents), dtype=kind).astype(np.float64 if kind == SUMS else np.int64)
    return whole.reshape(len(contents), *shape)


def _unpacked(shape: Sequence[int], contents: Sequence[bytes]) -> NDArray[Any]:
    """Unpack counts one by one into an array of half the width: of many classes they take much room."""
    counts = np.empty((len(contents), *shape), dtype=np.int32)
    for index, content in enumerate(contents):
        try:
            counts[index] = np.frombuffer(zlib.decompress(content), dtype=COUNTS).reshape(shape)
        except (zlib.error, ValueError) as error:
            raise BadInput(f"A readout in the store is damaged ({error})", help="restore it from a copy.") from error
    return counts


@dataclass(frozen=True, eq=False)
class Readouts:
    """The readouts of many trials on one split, ``[trial, group, true, predicted]``, and what the places mean."""

    split: str
    keys: tuple[str, ...]
    counts: NDArray[Any]
    names: Names
    # The trials whose counts are damaged; they are not among the keys.
    damaged: tuple[str, ...] = ()

    def confusion(self, attributes: Sequence[str] | None = None, *, include_missing: bool = False) -> Confusion:
        """Return the counts of all trials by the groups of some columns (all crossed by default)."""
        if self.names.task == "regression":
            raise BadInput("These are sums of a regression, not counts of classes", help="use residuals().")
        if self.names.task == "multilabel":
            raise BadInput("These are counts of several labels, not of classes", help="read counts by label.")
        cells, groups = self._by(attributes, include_missing)
        return Confusion(cells.astype(np.float64), groups, self.names.classes)

    def residuals(self, attributes: Sequence[str] | None = None, *, include_missing: bool = False) -> ResidualMoments:
        """Return the moments of all trials of a regression by the groups of some columns, quarters added up."""
        if self.names.task != "regression":
            raise BadInput("These are counts of classes, not sums of a regression", help="use confusion().")
        cells, groups = self._by(attributes, include_missing)
        return residual_moments(cells.sum(axis=-2), groups, ResidualPivot(self.names.pivot, self.names.pivot))

    def _by(self, attributes: Sequence[str] | None, include_missing: bool) -> tuple[NDArray[Any], tuple[str, ...]]:
        labels_by_group = self.names.labels(attributes)
        groups = [labels for labels in dict.fromkeys(labels_by_group) if include_missing or None not in labels]
        joined = np.array(
            [[labels == group for labels in labels_by_group] for group in groups], dtype=self.counts.dtype
        )
        joined = joined.reshape(len(groups), len(labels_by_group))  # also where no group is left
        cells = np.einsum("hg,tgab->thab", joined, self.counts)
        return cells, tuple(group_name(labels) for labels in groups)


def _values_text(values: NDArray[Any]) -> str:
    if values.dtype.kind not in "iu":
        return f"{values.dtype} numbers"
    return f"codes from {values.min()} to {values.max()}"
