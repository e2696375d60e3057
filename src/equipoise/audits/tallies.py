"""Everything an audit is computed from, counted in one pass over the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from equipoise.audits.label_rows import LabelRows
from equipoise.audits.number_rows import NumberRows
from equipoise.foundation.provenance import fingerprint_of
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import class_labels, group_labels
from equipoise.tallies.labels import Label
from equipoise.tallies.residuals import Pivot
from equipoise.tallies.scores import BIN, RankedScores, Scale, Scores, scores_of
from equipoise.tallies.truths import presence_of


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
