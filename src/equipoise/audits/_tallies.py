"""What an audit is computed from: tables of counts, and the rows themselves where rows are drawn again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.tables import EagerTable, Table
from equipoise.foundation.reproducibility import fingerprint_of
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import class_labels, group_labels, group_places
from equipoise.tallies.labels import Coded, Label, presence_of
from equipoise.tallies.scores import BIN, Pivot, RankedScores, Scale, Scores, quantities, scores_of

Floats = NDArray[np.float64]

# Files of up to so many rows are read into memory where rows are ranked or drawn one by one.
MOST_READ = 1_000_000


def can_be_read(table: Table, rows: int) -> bool:
    """Tell whether rows are in memory already, or few enough to be read into it."""
    return isinstance(table, EagerTable) or rows <= MOST_READ


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
        return self.only(np.array([name == label for name in coded.labels], dtype=bool)[coded.codes])

    def only(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> NumberRows:
        """Keep these rows, in this order."""
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


@dataclass(frozen=True, eq=False)
class LabelRows:
    """Rows whose labels are all known: what is true and what was predicted ``[row, label]``, groups and clusters."""

    target: NDArray[np.bool_]
    prediction: NDArray[np.bool_]
    axes: Mapping[str, Coded]
    cluster: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Tallies:
    """Everything an audit is computed from. Rows without a class are already left out and counted in ``dropped``."""

    counts: Mapping[Label, Cells] = field(default_factory=dict)
    scores: Cells | None = None
    scale: Scale = field(default_factory=Scale)
    ranked: RankedScores | None = None
    score_class: str | None = None
    residuals: Cells | None = None
    pivot: Pivot = field(default_factory=lambda: Pivot(0.0, 0.0))
    everyone: Cells | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clusters: Mapping[Label, Cells] = field(default_factory=dict)
    label_rows: LabelRows | None = None
    number_rows: NumberRows | None = None
    known_classes: Mapping[Label, Sequence[str]] = field(default_factory=dict)
    _histograms: dict[tuple[tuple[str, ...], tuple[tuple[Label, ...], ...]], Scores] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def histogram(
        self, attributes: Sequence[str], *, include_missing: bool = False, only: Collection[str] | None = None
    ) -> Scores:
        """Return the histogram of scores of an attribute, or of several crossed; the same groups are counted once."""
        assert self.scores is not None
        assert self.score_class is not None
        groups = group_labels(self.scores, attributes, include_missing=include_missing, only=only)
        key = (tuple(attributes), tuple(groups))
        if key not in self._histograms:
            self._histograms[key] = scores_of(
                self.scores, attributes, self.score_class, self.scale,
                include_missing=include_missing, only=only, ranked=self.ranked,
            )  # fmt: skip
        return self._histograms[key]

    @property
    def card_cells(self) -> Cells:
        """The table the cohort card is read from."""
        assert self.everyone is not None
        return self.everyone

    @property
    def multilabel(self) -> bool:
        """Tell whether there is a table for each label."""
        return bool(self.counts) and None not in self.counts

    @cached_property
    def classes(self) -> list[str]:
        """Every class of a single-label task, in a person's order."""
        return self.classes_of(None) if None in self.counts else []

    def classes_of(self, label: Label) -> list[str]:
        """The classes of a table; of one label's table absent before present, whether both occur or not."""
        if self.known_classes.get(label):
            return list(self.known_classes[label])
        classes = class_labels(self.counts[label])
        return presence_of(classes) if label is not None else classes

    @property
    def fingerprint(self) -> str:
        """A hash of everything that was counted; of scores their sums, which do not depend on the bins."""
        scores = self.scores
        if scores is not None:
            scores = scores.marginal([axis for axis in scores.axes if axis != BIN])
        tables = [*self.counts.values(), scores, self.residuals]
        return fingerprint_of(cells.fingerprint.encode() for cells in tables if cells is not None)

    def where(self, axis: str, label: str) -> Tallies:
        """Return the tallies of the rows with one label on an axis; the classes stay those of all rows."""
        return replace(
            self,
            counts={name: cells.where(axis, [label]) for name, cells in self.counts.items()},
            scores=None if self.scores is None else self.scores.where(axis, [label]),
            ranked=None if self.ranked is None else self.ranked.where(axis, [label]),
            residuals=None if self.residuals is None else self.residuals.where(axis, [label]),
            number_rows=None if self.number_rows is None else self.number_rows.where(axis, label),
            clusters={name: cells.where(axis, [label]) for name, cells in self.clusters.items()},
            everyone=self.card_cells.where(axis, [label]),
            known_classes={name: self.classes_of(name) for name in self.counts},
        )
