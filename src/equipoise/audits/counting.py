"""From a question to its tallies: one pass over the rows, then labels are put in order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from equipoise.audits.checks import check_before_counting, check_counts
from equipoise.audits.label_rows import LabelRows
from equipoise.audits.question import Question
from equipoise.cohorts.binning import Bins, names_of, quantile_edges
from equipoise.cohorts.tables import Axis, EagerTable, Table
from equipoise.foundation.errors import BadInput
from equipoise.foundation.provenance import fingerprint_of
from equipoise.measures.tallying import scale_of
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER, CONTROL, PREDICTION, SPLIT, TARGET, Counts, class_labels, group_axis
from equipoise.tallies.factorise import Coded
from equipoise.tallies.labels import Label, ordered
from equipoise.tallies.residuals import Pivot
from equipoise.tallies.scores import BIN, Scale
from equipoise.tallies.truths import TRUTHS, presence_of, same_truths, truth_names


@dataclass(frozen=True)
class Tallies:
    """Everything an audit is computed from. Rows without a class are already left out and counted in ``dropped``."""

    counts: Mapping[Label, Cells] = field(default_factory=dict)
    scores: Cells | None = None
    scale: Scale = field(default_factory=Scale)
    score_class: str | None = None
    residuals: Cells | None = None
    pivot: Pivot = field(default_factory=lambda: Pivot(0.0, 0.0))
    everyone: Cells | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clusters: Cells | None = None
    label_rows: LabelRows | None = None
    known_classes: Mapping[Label, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of_counts(cls, question: Question, counts: Counts) -> Tallies:
        """Take counts that a user tallied elsewhere."""
        if not counts.tables:
            raise BadInput("Nothing was counted yet", way_out="call update() with at least one batch first.")
        for cells in counts.tables.values():
            check_counts(question, cells)
        named = {label: same_truths(cells, truth_names(cells)) for label, cells in counts.tables.items()}
        kept = {label: _without_missing(cells) for label, cells in named.items()}
        dropped = next(iter(kept.values()))[1]
        return cls(
            counts={label: cells for label, (cells, _) in kept.items()},
            everyone=next(iter(named.values())),
            dropped=dropped,
        )

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
        """A hash of everything that was counted."""
        tables = [*self.counts.values(), self.scores, self.residuals]
        return fingerprint_of(cells.fingerprint.encode() for cells in tables if cells is not None)

    def where(self, axis: str, label: str) -> Tallies:
        """Return the tallies of the rows with one label on an axis; the classes stay those of all rows."""
        return replace(
            self,
            counts={name: cells.where(axis, [label]) for name, cells in self.counts.items()},
            scores=None if self.scores is None else self.scores.where(axis, [label]),
            residuals=None if self.residuals is None else self.residuals.where(axis, [label]),
            clusters=None if self.clusters is None else self.clusters.where(axis, [label]),
            everyone=self.card_cells.where(axis, [label]),
            known_classes={name: self.classes_of(name) for name in self.counts},
        )


def tally(question: Question) -> Tallies:
    """Count the rows of a question."""
    check_before_counting(question)
    if question.task == "regression":
        return _regression(question)
    if question.task == "multilabel":
        return _multilabel(question)
    return _classes(question)


def _axes(question: Question) -> tuple[dict[str, Axis], dict[str, dict[Label, Label]]]:
    """Return the axes of groups, split and control, and the words that stand for the numbers of cut columns."""
    axes: dict[str, Axis] = {}
    words: dict[str, dict[Label, Label]] = {}
    columns = {group_axis(attribute): column for attribute, column in question.groups.items()}
    columns |= {SPLIT: question.split} if question.split is not None else {}
    columns |= {CONTROL: question.control} if question.control is not None else {}
    for name, column in columns.items():
        request = question.bins.get(column)
        axes[name] = Axis(column, None if request is None else _edges(question.table, column, request))
        edges = axes[name].edges
        if edges is not None:
            words[name] = {str(place): text for place, text in enumerate(names_of(edges))}
    unused = set(question.bins) - set(columns.values())
    if unused:
        raise BadInput(
            f"Bins were given for {sorted(unused)[0].removeprefix('group:')!r}, which is not a group column",
            allowed="columns given as groups or as the control",
        )
    return axes, words


def _edges(table: Table, column: str, request: Bins) -> tuple[float, ...]:
    table.span(column)  # refuses text
    if not request.quantiles:
        return request.edges
    counted = table.count({"value": Axis(column)})
    known = [(float(label), rows) for label, rows in _labelled(counted) if label is not None]
    edges = quantile_edges([value for value, _ in known], [rows for _, rows in known], request.quantiles)
    if not edges:
        raise BadInput(f"The column {column!r} has one value only and cannot be cut", way_out="name another column.")
    return edges


def _labelled(cells: Cells) -> list[tuple[Label, float]]:
    return [(cells.labels[0][code], rows) for (code,), rows in zip(cells.codes, cells.sums[:, 0], strict=True)]


def _named(cells: Cells, question: Question, words: Mapping[str, dict[Label, Label]]) -> Cells:
    """Give cut columns their words, and make values missing that the user said are."""
    for axis, names in words.items():
        cells = cells.relabel(axis, names)
    # Bins of a score, and 0 and 1 for below and above its threshold, are not values of the file.
    made = {BIN} if question.prediction else {BIN, PREDICTION}
    for axis in (axis for axis in cells.axes if axis not in made):
        if set(question.missing) & set(cells.axis(axis)):
            cells = cells.relabel(axis, dict.fromkeys(question.missing))
    return cells


def _classes(question: Question) -> Tallies:
    axes, words = _axes(question)
    outcome = {TARGET: Axis(question.target[0])} if question.target else {}
    of_class, notes = None, []
    if question.prediction:
        outcome[PREDICTION] = Axis(question.prediction[0])
    else:
        assert question.score is not None
        outcome[PREDICTION] = Axis(question.score, (question.threshold,))
    extra = {} if question.cluster is None else {CLUSTER: Axis(question.cluster)}
    counted = _named(question.table.count({**outcome, **axes, **extra}, question.weight), question, words)
    cells = counted.marginal([*outcome, *axes])
    check_counts(question, cells)
    truths = truth_names(cells)
    cells = same_truths(cells, truths)
    if question.score is not None:
        of_class = _score_class(question, cells)
        if not question.prediction:
            cells = _thresholded(cells, of_class)
            notes.append(f"A row is predicted {of_class!r} where its score is {question.threshold:g} or more.")
    kept, dropped = _without_missing(cells)
    clusters = None
    if question.cluster is not None:
        clusters, without = _clustered(counted, truths, of_class if not question.prediction else None)
        notes += without
    notes += _strange_predictions(kept)
    scores, scale = None, Scale()
    if question.score is not None and question.target:
        scale = _scale(question)
        keys = {TARGET: Axis(question.target[0]), **axes}
        counted = question.table.count_scores(keys, question.score, scale, question.weight)
        scores = same_truths(_named(counted, question, words), truths)
    return Tallies(
        counts={None: kept}, scores=scores, scale=scale, score_class=of_class, everyone=cells, dropped=dropped,
        notes=tuple(notes), clusters=clusters,
    )  # fmt: skip


def _clustered(cells: Cells, truths: Mapping[Label, Label], thresholded: str | None) -> tuple[Cells, list[str]]:
    """Return the counts by cluster too; rows without a cluster are a cluster of their own, which is said."""
    cells = same_truths(cells, truths)
    if thresholded is not None:
        cells = _thresholded(cells, thresholded)
    kept, _ = _without_missing(cells)
    clusters = kept.axis(CLUSTER)
    if len(clusters) < 2:
        raise BadInput(
            "The cluster column has one value only", allowed="an identifier shared by rows that belong together"
        )
    notes = [f"Intervals and tests draw {len(clusters):,} clusters, not {kept.rows:,} rows."]
    if None in clusters:
        notes.append(f"{kept.where(CLUSTER, [None]).rows:,} rows have no cluster: they are taken as one cluster.")
    return kept, notes


def _score_class(question: Question, cells: Cells) -> str:
    """Return the class that the score speaks for."""
    named = question.score_class or question.favourable
    classes = [label for label in cells.axis(TARGET) if label is not None] if question.target else []
    if named is not None:
        if classes and named not in classes:
            named = TRUTHS.get(named, named)
        return named
    if not classes:
        return "selected"
    if set(classes) <= {"0", "1"}:
        return "1"
    if set(classes) <= set(TRUTHS):
        return next((label for label, truth in TRUTHS.items() if label in classes and truth == "1"), "True")
    raise BadInput(
        f"It is not clear which class the score {question.score!r} speaks for",
        allowed=", ".join(ordered(classes)),
        way_out="say it with --favourable (favourable=), or --score-class (score_class=) if it is another class.",
    )


def _thresholded(cells: Cells, of_class: str) -> Cells:
    """Turn 0 and 1 (below and above the threshold) into classes."""
    if TARGET not in cells.axes:
        return cells.relabel(PREDICTION, {"1": of_class, "0": f"not {of_class}"})
    others = [label for label in cells.axis(TARGET) if label is not None and label != of_class]
    other = others[0] if len(others) == 1 else f"not {of_class}"
    if len(others) > 1:
        cells = cells.relabel(TARGET, dict.fromkeys(others, other))
    # Two steps, since "1" may itself be the name of a class.
    cells = cells.relabel(PREDICTION, {"1": "above the threshold", "0": "below the threshold"})
    return cells.relabel(PREDICTION, {"above the threshold": of_class, "below the threshold": other})


def _without_missing(cells: Cells) -> tuple[Cells, dict[str, int]]:
    """Leave out rows without a target or prediction, and count them."""
    dropped = {}
    for axis in (TARGET, PREDICTION):
        if axis in cells.axes and None in cells.axis(axis):
            kept = cells.where(axis, [label for label in cells.axis(axis) if label is not None])
            dropped[axis] = cells.rows - kept.rows
            cells = kept
    if cells.rows == 0:
        raise BadInput("No row has both a target and a prediction", way_out="check that the columns belong together.")
    return cells, dropped


def _strange_predictions(cells: Cells) -> list[str]:
    if TARGET not in cells.axes:
        return []
    strange = set(cells.axis(PREDICTION)) - set(cells.axis(TARGET))
    if not strange:
        return []
    rows = cells.where(PREDICTION, strange).rows
    names = ", ".join(repr(label) for label in ordered(label for label in strange if label is not None)[:5])
    return [f"The predictions have values the target never has: {names} ({rows:,} rows). They count as classes."]


def _scale(question: Question) -> Scale:
    assert question.score is not None
    span = question.table.span(question.score)
    if np.isnan(span.low):
        raise BadInput(f"Every value of the score column {question.score!r} is missing", way_out="name another column.")
    if not np.isfinite([span.low, span.high]).all():
        raise BadInput(f"The score column {question.score!r} has infinite values", allowed="finite numbers")
    return scale_of(span.low, span.high)


def _regression(question: Question) -> Tallies:
    axes, words = _axes(question)
    everyone = _named(question.table.count(axes, question.weight), question, words)
    check_counts(question, everyone)
    target, prediction = question.target[0], question.prediction[0]
    for column in (target, prediction):
        span = question.table.span(column)
        if np.isnan(span.low):
            raise BadInput(f"Every value of the column {column!r} is missing", way_out="name another column.")
        if not np.isfinite([span.low, span.high]).all():
            raise BadInput(f"The column {column!r} has infinite values", allowed="finite numbers")
    pivot = Pivot(*question.table.means([target, prediction]))
    sums = _named(question.table.sum_residuals(axes, target, prediction, pivot, question.weight), question, words)
    lost = everyone.rows - sums.rows
    dropped = {"target or prediction": lost} if lost else {}
    if not sums.rows:
        raise BadInput("No row has both a target and a prediction", way_out="check that the columns belong together.")
    return Tallies(residuals=sums, pivot=pivot, everyone=everyone, dropped=dropped)


def _multilabel(question: Question) -> Tallies:
    axes, words = _axes(question)
    table, pairs = _label_columns(question)
    counts: dict[Label, Cells] = {}
    dropped = 0
    everyone = _named(table.count(axes, question.weight), question, words)
    check_counts(question, everyone)
    for label, (target, prediction) in pairs.items():
        counted = table.count({TARGET: Axis(target), PREDICTION: Axis(prediction), **axes}, question.weight)
        cells = _named(counted, question, words)
        kept, lost = _without_missing(same_truths(cells, truth_names(cells)))
        dropped = max(dropped, sum(lost.values()))
        classes = class_labels(kept)
        if len(classes) > 2:
            raise BadInput(
                f"The label {label!r} has the values {', '.join(classes[:5])}",
                allowed="two values a label: absent and present, such as 0 and 1",
            )
        counts[label] = kept
    lost_rows = {"target or prediction": dropped} if dropped else {}
    tallies = Tallies(counts=counts, everyone=everyone, dropped=lost_rows)
    drawn = question.draws and not (question.split or question.control or question.weight)
    return replace(tallies, label_rows=_label_rows(table, pairs, axes, words, tallies)) if drawn else tallies


def _label_rows(
    table: Table,
    pairs: Mapping[str, tuple[str, str]],
    axes: Mapping[str, Axis],
    words: Mapping[str, dict[Label, Label]],
    tallies: Tallies,
) -> LabelRows:
    """Keep the rows whose labels are all known, in memory, so that whole rows can be drawn."""
    columns = [column for pair in pairs.values() for column in pair]
    eager = table.in_memory(list(dict.fromkeys([*columns, *(axis.column for axis in axes.values())])))
    present = {label: {tallies.classes_of(label)[-1], "1", "True"} for label in pairs}
    sides = []
    known = np.ones(eager.rows, dtype=bool)
    for side in range(2):
        matrix = np.zeros((eager.rows, len(pairs)), dtype=bool)
        for place, (label, pair) in enumerate(pairs.items()):
            coded = eager.coded(Axis(pair[side]))
            matrix[:, place] = np.array([name in present[label] for name in coded.labels], dtype=bool)[coded.codes]
            known &= np.array([name is not None for name in coded.labels], dtype=bool)[coded.codes]
        sides.append(matrix)
    groups = {}
    for name, axis in axes.items():
        coded = eager.coded(axis)
        labels = tuple(words.get(name, {}).get(label, label) for label in coded.labels)
        groups[name.removeprefix("group:")] = Coded(coded.codes[known], labels)
    return LabelRows(sides[0][known], sides[1][known], groups)


def _label_columns(question: Question) -> tuple[Table, dict[str, tuple[str, str]]]:
    """Return the columns of each label; a single column of lists is first spread into one column a label."""
    table = question.table
    if len(question.target) == 1 and not _is_binary(table, question.target[0]):
        return _spread(question)
    pairs = zip(question.target, question.prediction, strict=True)
    return table, {target.removeprefix("target:"): (target, prediction) for target, prediction in pairs}


def _is_binary(table: Table, column: str) -> bool:
    return not table.is_list(column) and len([label for label in table.peek(column) if label is not None]) <= 2


def _spread(question: Question) -> tuple[Table, dict[str, tuple[str, str]]]:
    """Spread columns whose cells hold lists of labels (or a list written as text) into columns of 0 and 1."""
    target, prediction = question.target[0], question.prediction[0]
    optional = [name for name in (question.split, question.control, question.weight) if name is not None]
    others = list(dict.fromkeys([*question.groups.values(), *optional]))
    eager = question.table.in_memory([target, prediction, *others])
    truth, guess = (_label_sets(eager.column(name), name) for name in (target, prediction))
    labels = ordered(set().union(*[cell for cell in (*truth, *guess) if cell is not None]))
    columns = {name: eager.column(name) for name in others}
    pairs = {}
    for label in labels:
        pairs[label] = (f"target:{label}", f"prediction:{label}")
        for name, cells in zip(pairs[label], (truth, guess), strict=True):
            columns[name] = np.array([None if cell is None else int(label in cell) for cell in cells], dtype=object)
    return EagerTable(columns, question.table.name), pairs


def _label_sets(column: Sequence[object], name: str) -> list[set[str] | None]:
    return [_label_set(cell, name) for cell in column]


def _label_set(cell: object, name: str) -> set[str] | None:
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return None
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            cell = None
    for as_list in ("to_list", "tolist", "as_py"):  # one name each: Polars, numpy, Arrow
        if hasattr(cell, as_list):
            cell = getattr(cell, as_list)()
    if not isinstance(cell, (list, tuple, set, frozenset)):
        raise BadInput(
            f"The column {name!r} does not hold lists of labels",
            allowed='a list a row, such as ["cat", "dog"] or [0, 3] (as text too), or one 0/1 column a label',
        )
    return {str(item) for item in cell}
