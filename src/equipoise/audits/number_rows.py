"""The rows of a regression in memory, where they fit: what permutations and the jackknife are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._spec import AuditSpec
from equipoise.cohorts.tables import Axis, EagerTable
from equipoise.tallies.arrays import as_floats, as_weights
from equipoise.tallies.counts import group_places
from equipoise.tallies.factorise import Coded
from equipoise.tallies.labels import Label
from equipoise.tallies.residuals import Pivot, quantities

Floats = NDArray[np.float64]

# A table with more rows is summed where it lies, and its tests have their large-sample form. Reading a file row by row
# takes time and room, so fewer are read.
MOST_ROWS = 5_000_000
MOST_READ = 1_000_000


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Target, prediction, weight and axes of every row that has both numbers, in an order the file has no say in."""

    target: Floats
    prediction: Floats
    weight: Floats
    axes: Mapping[str, Coded]

    def where(self, axis: str, label: Label) -> NumberRows:
        """Keep only the rows with one label on an axis."""
        coded = self.axes[axis]
        return self._only(np.array([name == label for name in coded.labels], dtype=bool)[coded.codes])

    def _only(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> NumberRows:
        axes = {name: Coded(coded.codes[kept], coded.labels) for name, coded in self.axes.items()}
        return NumberRows(self.target[kept], self.prediction[kept], self.weight[kept], axes)

    def places(self, attributes: Sequence[str], groups: Sequence[str]) -> NDArray[np.int64]:
        """Return the place of each row's group; -1 where it is in none of these."""
        return group_places(self.axes, attributes, groups)

    def sums(self, pivot: Pivot) -> Floats:
        """Return what is summed of each row, ``[row, WIDTH]``."""
        made = quantities(self.target, self.prediction, pivot)
        weighted = [self.weight, self.weight**2, *(self.weight * quantity for quantity in made)]
        return np.stack([np.ones_like(self.weight), *weighted], axis=1)


def fits(spec: AuditSpec, rows: int) -> bool:
    """Tell whether the rows are to be kept: they are drawn one by one, and not too many."""
    most = MOST_ROWS if isinstance(spec.table, EagerTable) else MOST_READ
    return bool(spec.draws) and spec.cluster is None and rows <= most


def number_rows(spec: AuditSpec, axes: Mapping[str, Axis], words: Mapping[str, Mapping[Label, Label]]) -> NumberRows:
    """Read the columns of a regression into memory; labels are named as the sums name them."""
    target, prediction = spec.target[0], spec.prediction[0]
    weighed = [] if spec.weight is None else [spec.weight]
    columns = [target, prediction, *weighed, *(axis.column for axis in axes.values())]
    eager = spec.table.in_memory(list(dict.fromkeys(columns)))
    y, p = (as_floats(eager.column(name), f"the column {name!r}") for name in (target, prediction))
    weight = np.ones(eager.rows) if spec.weight is None else as_weights(eager.column(spec.weight))
    coded = {name: named_labels(eager.coded(axis), words.get(name, {}), spec.missing) for name, axis in axes.items()}
    order = np.lexsort((weight, p, y))
    return NumberRows(y, p, weight, coded)._only(order[~np.isnan(y + p)[order]])


def named_labels(coded: Coded, words: Mapping[Label, Label], missing: Sequence[str]) -> Coded:
    """Give the labels of a column their words, and make those missing that the user said are."""
    labels = (words.get(label, label) for label in coded.labels)
    return Coded(coded.codes, tuple(None if label in missing else label for label in labels))
