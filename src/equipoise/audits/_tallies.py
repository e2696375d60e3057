"""What an audit is computed from: tables of counts, scores in bins, and rows where rows are drawn again.

Scores of up to a million rows are ranked in memory, which gives the exact AUC; those of larger files are counted in
bins that are fitted to a sample.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._columns import finite_span, named_cells
from equipoise.audits._spec import AuditSpec
from equipoise.cohorts.tables import Axis, EagerTable, LazyTable, Span, Table
from equipoise.foundation.reproducibility import fingerprint_of
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import TARGET, class_labels, group_axis, group_labels, group_places
from equipoise.tallies.labels import Coded, Label, presence_of, same_truths
from equipoise.tallies.scores import (
    BIN,
    BINS,
    Pivot,
    RankedScores,
    Scale,
    Scores,
    fitted_scale,
    quantities,
    range_of,
    scale_of_rows,
    scores_of,
    with_cuts,
)

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


# So many different scores of a larger file are sampled to fit its bins.
SAMPLED = 50_000
# A histogram of all groups has at most so many bins in all, but each group has at least the fewest.
MOST_CELLS = 2_000_000
FEWEST_BINS = 500
# A bin that can move the AUC by more than this is looked into for a score that many rows share.
LOOKED_INTO = 1e-5
MOST_RANGES = 100


@dataclass(frozen=True)
class BinnedScores:
    """Counts by group, target and bin; the bins; and rows by rank where bins alone would not give the exact AUC."""

    cells: Cells | None = None
    scale: Scale = field(default_factory=Scale)
    ranked: RankedScores | None = None


def bin_scores(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, counted: Cells,
) -> BinnedScores:  # fmt: skip
    """Count the scores of an audit by these axes; ``counted`` are its rows by group."""
    assert spec.score is not None
    span = finite_span(
        spec.table, spec.score, "score column",
        help="replace them by the largest and the smallest finite score: ranks, and so the AUC, stay the same.",
    )  # fmt: skip
    bins = _affordable_bins(spec, counted)
    if can_be_read(spec.table, counted.rows):
        return _in_memory(spec, keys, words, truths, of_class, bins)
    scale = _fitted(spec, span, truths, of_class, bins, counted)
    cells = _tidy(spec.table.count_scores(keys, spec.score, scale, spec.weight), spec, words, truths)
    finer = _with_frequent_scores(spec, scale, cells, of_class)
    if finer is not scale:
        counts = spec.table.count_scores(keys, spec.score, finer, spec.weight)
        cells = _tidy(counts, spec, words, truths)
    return BinnedScores(cells, finer)


def auc_error(spec: AuditSpec, tallies: Tallies) -> tuple[int, float]:
    """Return how many bins the scores are counted in, and how far any AUC can be off for it: 0 where all are exact."""
    if tallies.scores is None or tallies.score_class is None:
        return 0, 0.0
    if tallies.scale.exact or tallies.ranked is not None:
        return len(tallies.scale.edges), 0.0
    worst = 0.0
    for attributes in spec.attributes:
        scores = scores_of(tallies.scores, attributes, tallies.score_class, tallies.scale, include_missing=True)
        worst = max(worst, float(scores.auc_bound().max()), float(scores.everyone.auc_bound().max()))
    return len(tallies.scale.edges), worst


def _affordable_bins(spec: AuditSpec, counted: Cells) -> int:
    """Return how many bins every group may have: fewer with very many groups."""
    groups = max(
        len(counted.marginal([group_axis(attribute) for attribute in attributes]).sums)
        for attributes in spec.attributes
    )
    return int(np.clip(MOST_CELLS // groups, FEWEST_BINS, BINS))


def _tidy(
    cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]], truths: Mapping[Label, Label]
) -> Cells:
    return same_truths(named_cells(cells, spec, words), truths)


def _in_memory(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, bins: int,
) -> BinnedScores:  # fmt: skip
    assert spec.score is not None
    rows = spec.table.score_rows(keys, spec.score, spec.weight)
    ranked = RankedScores.from_rows(rows.axes, rows.scores, rows.weights)
    target = ranked.axes[TARGET]
    member = np.array([truths.get(label, label) == of_class for label in target.labels], dtype=bool)[target.codes]
    scale = scale_of_rows(ranked, member, bins)
    cells = _tidy(ranked.cells(scale), spec, words, truths)
    if scale.exact:
        return BinnedScores(cells, scale)
    for axis in rows.axes:
        names = {**words.get(axis, {}), **(truths if axis == TARGET else {})}
        ranked = ranked.renamed(axis, names).renamed(axis, dict.fromkeys(spec.missing))
    return BinnedScores(cells, scale, ranked)


def _fitted(
    spec: AuditSpec, span: Span, truths: Mapping[Label, Label], of_class: str, bins: int, counted: Cells
) -> Scale:
    """Return bins fitted to a sample of the scores; equally wide ones where the engine cannot sample."""
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = {label for label in counted.axis(TARGET) if label is not None}
    sides = [[label for label in labels if (label == of_class) == member] for member in (False, True)]
    rare = min(sides, key=lambda side: counted.where(TARGET, side).rows)
    few = counted.where(TARGET, rare).rows <= bins // 2
    spelled = [label for label in (*truths, *rare) if truths.get(label, label) in rare] if few else []
    sample = spec.table.score_sample(spec.score, spec.target[0], SAMPLED, spelled)
    if not sample:
        return range_of(span.low, span.high)
    values, places = np.unique([score for _, score, _ in sample], return_inverse=True)
    member = np.array([truths.get(label, label) == of_class for label, _, _ in sample])
    rows = np.array([number for _, _, number in sample], dtype=np.float64)
    others, members = (
        np.bincount(places, weights=np.where(chosen, rows, 0.0), minlength=len(values)).astype(np.float64)
        for chosen in (~member, member)
    )
    return replace(fitted_scale(span.low, span.high, values, others, members, bins), exact=False)


def _with_frequent_scores(spec: AuditSpec, scale: Scale, cells: Cells, of_class: str) -> Scale:
    """Give scores that many rows share bins to themselves, where they blur the AUC; a sample can miss them."""
    if scale.cuts is None or scale.single is None:
        return scale
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = [label for label in cells.axis(TARGET) if label is not None]
    bins = [str(place) for place in range(len(scale.cuts))]
    rows = cells.crossed([], [()], [TARGET, BIN], [labels, bins])[0, ..., 0]
    member = np.array([label == of_class for label in labels], dtype=bool)
    others, members = rows[~member].sum(axis=0), rows[member].sum(axis=0)
    tied = np.where(scale.single, 0.0, others * members) / max(2 * others.sum() * members.sum(), 1.0)
    blurred = [place for place in np.argsort(-tied)[:MOST_RANGES].tolist() if tied[place] > LOOKED_INTO]
    if not blurred:
        return scale
    ends = np.append(scale.cuts[1:], np.nextafter(scale.high, np.inf))
    least = max(2, int((others + members)[blurred].min() / 10))
    ranges = [(float(scale.cuts[place]), float(ends[place])) for place in blurred]
    frequent = spec.table.frequent_scores(spec.score, ranges, least)
    if not frequent:
        return scale
    alone = np.union1d(scale.cuts[scale.single], frequent)
    cuts = np.concatenate([scale.cuts, np.nextafter(frequent, np.inf)])
    return with_cuts(range_of(scale.low, scale.high), cuts, alone)
