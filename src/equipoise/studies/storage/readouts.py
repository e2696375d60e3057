"""The readout of a trial: how many rows of a split have (group, true class, predicted class).

Groups are all group columns of the cohort crossed, so a later report may ask for any of them, or for any count measure,
without training again. A regression keeps sums per group and quarter of the target instead. Many trials are read at
once: their readouts stack to ``[trial, group, true, predicted]``, which measures take as it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.truth import Names, SplitTruth, Truth
from equipoise.tallies.confusion import Confusion
from equipoise.tallies.counts import group_name
from equipoise.tallies.residuals import WIDTH, Pivot, Residuals, moments, quantities
from equipoise.training.material import Predicted

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


def readout(predicted: Predicted, truth: Truth, split: str) -> NDArray[Any]:
    """Count the rows of one split: ``[group, true, predicted]``, or ``[group, quarter, sum]`` of a regression.

    Rows without a target are not counted. The sums are those of ``tallies.residuals``, about the pivot of the truth.
    """
    rows, values = truth.of(split), np.asarray(predicted.values)
    if values.shape != (len(rows),):
        raise BadInput(
            f"There are predictions of shape {values.shape} for the {split} rows, which are {len(rows):,}",
            available="one prediction a row, in the order of the cohort",
        )
    if truth.task == "regression":
        return _sums(values.astype(np.float64), rows, truth)
    return _counts(values, rows, truth, split)


def _counts(values: NDArray[Any], rows: SplitTruth, truth: Truth, split: str) -> NDArray[Any]:
    number = len(truth.classes)
    if values.dtype.kind not in "iu" or (len(values) and not 0 <= int(values.min()) <= int(values.max()) < number):
        raise BadInput(
            f"The predictions of the {split} rows are {_shown(values)}",
            available=f"codes of the {number:,} classes, 0 to {number - 1:,}",
        )
    shape = (len(truth.groups), number, number)
    first = rows.places(number)
    places = first + values if rows.all_known else (first + values)[rows.known]
    return np.bincount(places, minlength=shape[0] * number * number).reshape(shape)


def _sums(values: NDArray[np.float64], rows: SplitTruth, truth: Truth) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise BadInput("Some predicted numbers are not finite", help="lower the learning rate.")
    assert rows.cell is not None
    known = rows.known
    target, predicted = np.asarray(rows.target, dtype=np.float64)[known], values[known]
    places = (rows.group * len(truth.classes) + rows.cell)[known]
    size = len(truth.groups) * len(truth.classes)
    people = np.bincount(places, minlength=size).astype(np.float64)
    added = quantities(target, predicted, Pivot(truth.pivot, truth.pivot))
    columns = [people, people, people, *(np.bincount(places, weights=one, minlength=size) for one in added)]
    return np.stack(columns, axis=-1).reshape(len(truth.groups), len(truth.classes), WIDTH)


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
    whole = np.empty((len(contents), *shape), dtype=np.int32)
    for place, content in enumerate(contents):
        try:
            whole[place] = np.frombuffer(zlib.decompress(content), dtype=COUNTS).reshape(shape)
        except (zlib.error, ValueError) as error:
            raise BadInput(f"A readout in the store is damaged ({error})", help="restore it from a copy.") from error
    return whole


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
        cells, groups = self._by(attributes, include_missing)
        return Confusion(cells.astype(np.float64), groups, self.names.classes)

    def residuals(self, attributes: Sequence[str] | None = None, *, include_missing: bool = False) -> Residuals:
        """Return the moments of all trials of a regression by the groups of some columns, quarters added up."""
        if self.names.task != "regression":
            raise BadInput("These are counts of classes, not sums of a regression", help="use confusion().")
        cells, groups = self._by(attributes, include_missing)
        return moments(cells.sum(axis=-2), groups, Pivot(self.names.pivot, self.names.pivot))

    def _by(self, attributes: Sequence[str] | None, include_missing: bool) -> tuple[NDArray[Any], tuple[str, ...]]:
        wanted = self.names.labels(attributes)
        groups = [labels for labels in dict.fromkeys(wanted) if include_missing or None not in labels]
        joined = np.array([[labels == one for labels in wanted] for one in groups], dtype=self.counts.dtype)
        joined = joined.reshape(len(groups), len(wanted))  # also where no group is left
        cells = np.einsum("hg,tgab->thab", joined, self.counts)
        return cells, tuple(group_name(labels) for labels in groups)


def _shown(values: NDArray[Any]) -> str:
    if values.dtype.kind not in "iu":
        return f"{values.dtype} numbers"
    return f"codes from {values.min()} to {values.max()}"
