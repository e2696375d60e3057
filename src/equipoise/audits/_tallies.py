"""What an audit is computed from: tables of counts, scores and rows, and views of them that records are made of.

A ``View`` is one way to look at the tallies: an attribute in a split and a stratum. Groups are hidden below a number of
people (``suppressed``) and untested below a number of clusters (``ClusterCounts``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._reasons import AuditReason
from equipoise.audits._spec import AuditSpec
from equipoise.cohorts import CohortCard
from equipoise.foundation import Floats, fingerprint_of
from equipoise.results import Reason, Record, Status, because, without_tests
from equipoise.stats import (
    ENOUGH_CLUSTERS,
    MIN_UNITS,
)
from equipoise.tallies import (
    SCORE_AXIS,
    Cells,
    Coded,
    Confusion,
    Label,
    RankedScores,
    ResidualPivot,
    ScoreHistogram,
    ScoreScale,
    class_labels,
    group_labels,
    presence_classes,
    residual_sums,
    row_group_codes,
    scores_of,
)


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

    def only(self, selection: NDArray[np.bool_] | NDArray[np.int64]) -> NumberRows:
        """Keep these rows, in this order."""
        axes = {name: Coded(coded.codes[selection], coded.labels) for name, coded in self.axes.items()}
        return NumberRows(self.target[selection], self.prediction[selection], self.weight[selection], axes)

    def group_codes(self, attributes: Sequence[str], groups: Sequence[str]) -> NDArray[np.int64]:
        """Return the place of each row's group; -1 where it is in none of these."""
        return row_group_codes(self.axes, attributes, groups)

    def sums(self, pivot: ResidualPivot) -> Floats:
        """Return what is summed of each row, ``[row, WIDTH]``."""
        quantities = residual_sums(self.target, self.prediction, pivot)
        weighted = [self.weight, self.weight**2, *(self.weight * quantity for quantity in quantities)]
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
    scale: ScoreScale = field(default_factory=ScoreScale)
    ranked: RankedScores | None = None
    score_class: str | None = None
    residuals: Cells | None = None
    pivot: ResidualPivot = field(default_factory=lambda: ResidualPivot(0.0, 0.0))
    overall: Cells | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clusters: Mapping[Label, Cells] = field(default_factory=dict)
    label_rows: LabelRows | None = None
    number_rows: NumberRows | None = None
    known_classes: Mapping[Label, Sequence[str]] = field(default_factory=dict)
    _histograms: dict[tuple[tuple[str, ...], tuple[tuple[Label, ...], ...]], ScoreHistogram] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def histogram(
        self, attributes: Sequence[str], *, include_missing: bool = False, only: Collection[str] | None = None
    ) -> ScoreHistogram:
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
        assert self.overall is not None
        return self.overall

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
        return presence_classes(classes) if label is not None else classes

    @property
    def fingerprint(self) -> str:
        """A hash of everything that was counted; of scores their sums, which do not depend on the bins."""
        scores = self.scores
        if scores is not None:
            scores = scores.marginal([axis for axis in scores.axes if axis != SCORE_AXIS])
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
            overall=self.card_cells.where(axis, [label]),
            known_classes={name: self.classes_of(name) for name in self.counts},
        )


def auc_error(spec: AuditSpec, tallies: Tallies) -> tuple[int, float]:
    """Return how many bins the scores are counted in, and how far any AUC can be off for it: 0 where all are exact."""
    if tallies.scores is None or tallies.score_class is None:
        return 0, 0.0
    if tallies.scale.exact or tallies.ranked is not None:
        return len(tallies.scale.edges), 0.0
    worst = 0.0
    for attributes in spec.attributes:
        scores = scores_of(tallies.scores, attributes, tallies.score_class, tallies.scale, include_missing=True)
        worst = max(worst, float(scores.auc_bound().max()), float(scores.overall.auc_bound().max()))
    return len(tallies.scale.edges), worst


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at the rows: which attribute, label, split and stratum, and whose class is favourable.

    ``reported`` has every group; ``compared`` only those that enter gaps (not the missing, not the suppressed).
    ``rows`` and ``squares`` are the reported table in rows and in squared weights; ``resampled`` is it with clusters
    drawn again, and ``behind`` how many clusters are behind each group. ``tests`` is how many tests the report has in
    all.
    """

    attribute: tuple[str, ...]
    reported: Any
    compared: Any
    rows: Confusion | None = None
    squares: Confusion | None = None
    resampled: Confusion | None = None
    behind: ClusterCounts | None = None
    favourable: str | None = None
    classes: tuple[str, ...] = ()
    label: str | None = None
    split: str | None = None
    control: str | None = None
    reference: str | None = None
    strict: bool = False
    variant: str = "paper"
    least_people: int = 0
    risk: float = 0.05
    tests: int = 1
    # Tables of some groups, made once: by the identity of the whole table, which is kept, too.
    _tables: dict[tuple[int, tuple[str, ...]], tuple[Confusion, Confusion]] = field(
        default_factory=dict, init=False, repr=False
    )

    def record_fields(self) -> dict[str, Any]:
        """The fields that every record of this view shares."""
        return {"attribute": self.attribute, "label": self.label, "split": self.split, "control": self.control}

    @property
    def overall(self) -> View:
        """The same view with all shown groups taken together."""
        rows, squares, samples = (None if table is None else table.overall
                                for table in (self.rows, self.squares, self.resampled))  # fmt: skip
        behind = None if self.behind is None else self.behind.overall
        return replace(
            self,
            attribute=(),
            reported=self.reported.overall,
            rows=rows,
            squares=squares,
            resampled=samples,
            behind=behind,
        )

    def only_compared(self, table: Confusion | None) -> Confusion:
        """Return a table of counts with the compared groups only."""
        assert table is not None
        return self.of_groups(table, self.compared.groups)

    def of_groups(self, table: Confusion, groups: Sequence[str]) -> Confusion:
        """Return a table of counts with some groups only; the same one when it is asked for again."""
        key = (id(table), tuple(groups))
        if key not in self._tables:
            self._tables[key] = (table, table if table.groups == key[1] else table.only(groups))
        return self._tables[key][1]

    def why_untested(self, groups: Sequence[str]) -> Reason | None:
        """Say why these groups have no interval or test: too few clusters; None where they can have one."""
        return None if self.behind is None else self.behind.why_untested(groups)


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Which clusters have any row in which group, a sparse table ``[cluster, group]``.

    ``units`` has the sums of each cluster, flat over ``[group, ...]``, where they are counts of outcomes.
    """

    groups: tuple[str, ...]
    present: sparse.csc_array
    units: sparse.csc_array | None = None

    def of(self, groups: Sequence[str]) -> int:
        """How many clusters have a row in any of these groups."""
        indices = [self.groups.index(group) for group in groups]
        return int((np.asarray(self.present[:, indices].sum(axis=1)) > 0).sum()) if indices else 0

    def fewest(self, groups: Sequence[str]) -> int:
        """The number of clusters of the group that has fewest."""
        return min((self.of([group]) for group in groups), default=0)

    def why_untested(self, groups: Sequence[str]) -> Reason | None:
        """Return which of these groups has too few clusters for an interval or a test; None where all have enough."""
        few = [group for group in groups if self.of([group]) < MIN_UNITS]
        if not few:
            return None
        clusters = self.of(few[:1])
        return because(AuditReason.FEW_CLUSTERS, group=few[0], clusters=clusters, least=MIN_UNITS)

    @property
    def overall(self) -> ClusterCounts:
        """The same clusters with all groups taken together."""
        together = sparse.csc_array(np.asarray(self.present.sum(axis=1), dtype=np.float64).reshape(-1, 1))
        units = None if self.units is None else sparse.csc_array(sum(self.of_group(group) for group in self.groups))
        return ClusterCounts(("everyone",), together, units)

    def of_group(self, group: str) -> sparse.csc_array:
        """Return the sums of each cluster in one group, a sparse row a cluster."""
        assert self.units is not None
        width = self.units.shape[1] // len(self.groups)
        index = self.groups.index(group)
        return self.units[:, index * width : (index + 1) * width]


def marked_approximate(records: Iterable[Record], behind: ClusterCounts | None) -> Iterator[Record]:
    """Yield records, marked where an interval or a test rests on too few clusters to hold its level closely."""
    overall = None if behind is None else behind.overall
    for record in records:
        has_evidence = record.low is not None or record.p is not None
        if behind is None or overall is None or not has_evidence:
            yield record
            continue
        if record.group is not None:
            number = behind.of([record.group])
        else:
            number = overall.of(["everyone"]) if not record.attribute else behind.fewest(behind.groups)
        yield replace(record, approximate=True) if number < ENOUGH_CLUSTERS else record


def approximate_notes(records: Iterable[Record]) -> Iterator[str]:
    """Yield a note on intervals and tests that rest on few clusters."""
    number = sum(record.approximate for record in records)
    if number:
        yield (
            f"{number:,} intervals or tests rest on fewer than {ENOUGH_CLUSTERS} clusters of a group and are "
            "approximate (`approximate` in the JSON): of a rare outcome they cover 90 to 99% instead of 95%."
        )


def cluster_counts(units: sparse.csc_array, groups: Sequence[str]) -> ClusterCounts:
    """Count clusters by group from a sparse row a cluster, flat over ``[group, ...]``, of sums not negative."""
    width = units.shape[1] // max(len(groups), 1)
    entries = units.tocoo()
    some = entries.data > 0
    group_index = entries.col[some] // max(width, 1)
    table = sparse.csc_array(
        (np.ones(int(some.sum())), (entries.row[some], group_index)), shape=(units.shape[0], len(groups))
    )
    return ClusterCounts(tuple(groups), table, units)


def big_enough(rows: Confusion, least: int, *, by_class: bool) -> list[str]:
    """Return the groups with at least so many rows; with ``by_class`` in each true class.

    A group with a small class is left out of everything that needs the target: from its other rates and counts the
    small one could be worked out.
    """
    smallest = rows.positives.min(axis=1) if by_class and rows.has_target else rows.people[:, 0]
    return [group for group, people in zip(rows.groups, smallest, strict=True) if people >= least]


def suppressed(records: Iterable[Record], visible: Collection[str], least: int) -> Iterator[Record]:
    """Yield the records, those about groups that are not kept emptied."""
    for record in records:
        is_of_group = record.kind in ("rate", "value") and record.group is not None
        yield _hidden(record, least) if least and is_of_group and record.group not in visible else record


def _hidden(record: Record, least: int) -> Record:
    return replace(
        without_tests(record),
        value=float("nan"),
        numerator=None,
        denominator=None,
        group=record.group if record.kind in ("rate", "value") else None,
        against=None,
        status=Status.TOO_SMALL,
        reason=because(AuditReason.SUPPRESSED, least=least),
    )


def suppressed_card(card: CohortCard, least: int) -> CohortCard:
    """Return the card with small groups and small classes emptied."""
    if not least:
        return card
    rows = []
    for row in card.groups:
        if row.rows is not None and row.rows < least:
            rows.append(replace(row, rows=None, share=None, classes=None))
        elif row.classes is not None and min(row.classes.values(), default=least) < least:
            rows.append(replace(row, classes=None))
        else:
            rows.append(row)
    return replace(card, groups=tuple(rows))
