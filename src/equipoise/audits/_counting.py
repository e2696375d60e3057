"""Rows to tallies: classes, labels, scores and numbers by group, in one pass wherever that is possible.

Scores of up to a million rows are ranked in memory, which gives the exact AUC; those of larger files are counted in
bins that are fitted to a sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from equipoise.audits._columns import (
    axes_of,
    check_before_counting,
    check_counts,
    finite_span,
    named_cells,
    named_labels,
    notes_on_clusters,
    without_missing,
)
from equipoise.audits._reasons import AuditReason
from equipoise.audits._spec import AuditSpec
from equipoise.audits._tallies import LabelRows, NumberRows, Tallies
from equipoise.cohorts import (
    Axis,
    ColumnRange,
    EagerTable,
    LazyTable,
    Table,
)
from equipoise.foundation import (
    BadInput,
    as_floats,
    as_weights,
    fitting,
    plural,
    unknown_name,
)
from equipoise.results import Record, Status, because
from equipoise.tallies import (
    BOOLEAN_LABELS,
    CLUSTER_AXIS,
    PREDICTION_AXIS,
    SCORE_AXIS,
    SCORE_BINS,
    TARGET_AXIS,
    Cells,
    Coded,
    Counts,
    Label,
    RankedScores,
    ResidualPivot,
    ScoreScale,
    boolean_spellings,
    check_same_classes,
    class_labels,
    cut_scale,
    fit_scale,
    group_axis,
    match_class,
    ordered,
    scale_of_rows,
    score_range,
    unify_booleans,
)

# Rows of a regression are kept up to this number; a larger table is summed where it lies, and its tests have their
# large-sample form.
MOST_ROWS = 5_000_000
# Files of up to so many rows are read into memory where rows are ranked or drawn one by one.
MOST_READ = 1_000_000


@dataclass(frozen=True)
class _Counter:
    """By what the rows of an audit are counted: groups, split and control, and clusters where there are any.

    ``words`` stand for the numbers of columns that are cut into bins.
    """

    spec: AuditSpec
    axes: Mapping[str, Axis]
    words: Mapping[str, dict[Label, Label]]

    @property
    def by(self) -> dict[str, Axis]:
        """The axes, and the clusters."""
        clusters = {} if self.spec.cluster is None else {CLUSTER_AXIS: Axis(self.spec.cluster)}
        return {**self.axes, **clusters}

    def count(self, outcome: Mapping[str, Axis], table: Table | None = None) -> Cells:
        """Count rows by their outcome and all of that."""
        table = self.spec.table if table is None else table
        return self.named(table.count({**outcome, **self.by}, self.spec.weight))

    def named(self, cells: Cells) -> Cells:
        """Give cut columns their words, and make values missing that the user said are."""
        return named_cells(cells, self.spec, self.words)


def tally(spec: AuditSpec) -> Tallies:
    """Count the rows that an audit is about."""
    check_before_counting(spec)
    counter = _Counter(spec, *axes_of(spec))
    if spec.task == "regression":
        return _sum_numbers(counter)
    if spec.task == "multilabel":
        return _count_labels(counter)
    return _count_classes(counter)


def tallies_of_counts(spec: AuditSpec, counts: Counts) -> Tallies:
    """Take counts that a user tallied elsewhere."""
    if not counts.tables:
        raise BadInput("Nothing was counted yet", help="call update() with at least one batch first.")
    for cells in counts.tables.values():
        check_counts(spec, cells)
    named = {label: unify_booleans(cells, boolean_spellings(cells)) for label, cells in counts.tables.items()}
    complete = {label: without_missing(cells) for label, cells in named.items()}
    for cells, _ in complete.values():
        check_same_classes(cells, "the target", "the prediction")
    dropped = next(iter(complete.values()))[1]
    return Tallies(
        counts={label: cells for label, (cells, _) in complete.items()},
        overall=next(iter(named.values())),
        dropped=dropped,
    )


def outcome_axes(spec: AuditSpec) -> dict[str, Axis]:
    """Return the axes of the target, where there is one, and of the prediction: a column, or the score that is cut."""
    outcome = {TARGET_AXIS: Axis(spec.target[0])} if spec.target else {}
    if spec.prediction:
        return {**outcome, PREDICTION_AXIS: Axis(spec.prediction[0])}
    assert spec.score is not None
    assert spec.threshold is not None
    return {**outcome, PREDICTION_AXIS: Axis(spec.score, (spec.threshold,))}


def dropped_rows(number: int, total: int, what: str) -> Record:
    """Return the record of rows that lack something."""
    return Record(
        measure="rows",
        kind="count",
        value=float(number),
        numerator=float(number),
        denominator=float(total),
        status=Status.DROPPED,
        reason=because(
            AuditReason.ROWS_WITHOUT, rows=number, total=total, have=fitting(number, "has", "have"), what=what
        ),
    )


def _count_classes(counter: _Counter) -> Tallies:
    """Count classes and scores by group (and by cluster, where rows belong together)."""
    spec = counter.spec
    outcome = outcome_axes(spec)
    unclustered = [*outcome, *counter.axes]
    all_cells = counter.count(outcome)
    check_counts(spec, all_cells.marginal(unclustered))
    truths = boolean_spellings(all_cells)
    all_cells = unify_booleans(all_cells, truths)
    of_class, notes = None, []
    if spec.score is not None:
        of_class = _score_class(spec, all_cells)
        if not spec.prediction:
            _check_threshold(spec, all_cells)
            all_cells = _thresholded(all_cells, of_class)
            notes.append(f"A row is predicted {of_class!r} where its score is {spec.threshold:g} or more.")
    complete, dropped = without_missing(all_cells)
    if spec.prediction and spec.target:
        check_same_classes(complete, f"column {spec.target[0]!r}", f"column {spec.prediction[0]!r}")
    notes += [*_notes_on_clusters(counter, complete), *_strange_predictions(complete)]
    binned = BinnedScores()
    if spec.score is not None and spec.target:
        assert of_class is not None
        keys = {TARGET_AXIS: outcome[TARGET_AXIS], **counter.by}
        binned = bin_scores(spec, keys, counter.words, truths, of_class, all_cells)
        notes += _without_score(spec, all_cells, binned)
    return Tallies(
        counts={None: complete.marginal(unclustered)}, scores=binned.cells, scale=binned.scale, ranked=binned.ranked,
        score_class=of_class, overall=all_cells.marginal(unclustered), dropped=dropped, notes=tuple(notes),
        clusters={None: complete} if spec.cluster is not None else {},
    )  # fmt: skip


def _notes_on_clusters(counter: _Counter, cells: Cells) -> list[str]:
    return [] if counter.spec.cluster is None else notes_on_clusters(cells)


def _without_score(spec: AuditSpec, cells: Cells, binned: BinnedScores) -> list[str]:
    """Say how many rows have a prediction but no score; without a prediction they are dropped, and told of there."""
    missing = 0 if binned.cells is None else cells.rows - binned.cells.rows
    if not spec.prediction or not missing:
        return []
    return [
        f"{missing:,} of {plural(cells.rows, 'row')} {fitting(missing, 'has', 'have')} no score: AUC, Brier score, "
        "mean score, calibration and threshold curves are of the other rows; rates of predictions are of all rows."
    ]


def _check_threshold(spec: AuditSpec, cells: Cells) -> None:
    """Refuse a threshold that no score of this range crosses: everybody would be predicted the same."""
    assert spec.score is not None
    span = spec.table.span(spec.score)
    if len({label for label in cells.axis(PREDICTION_AXIS) if label is not None}) == 1 and not (
        span.low >= 0 and span.high <= 1
    ):
        raise BadInput(
            f"The scores run from {span.low:g} to {span.high:g}, and the threshold is {spec.threshold:g}",
            available="a threshold that some scores reach and others do not",
            help="name it with --threshold (threshold=).",
        )


def _score_class(spec: AuditSpec, cells: Cells) -> str:
    """Return the class that the score is for."""
    named = spec.score_class or spec.favourable
    classes = [label for label in cells.axis(TARGET_AXIS) if label is not None] if spec.target else []
    if named is not None:
        known_classes = (
            classes if len(classes) > 1 else list(dict.fromkeys([*classes, *_predicted_classes(spec, cells)]))
        )
        if len(known_classes) < 2:  # a file with rows of one class alone does not show the other
            return match_class(named, known_classes) or named
        matched = match_class(named, known_classes)
        if matched is None:
            raise unknown_name("class", named, ordered(known_classes), f"the target {spec.target[0]!r}")
        return matched
    if not classes:
        return "selected"
    if set(classes) <= {"0", "1"}:
        return "1"
    if set(classes) <= set(BOOLEAN_LABELS):
        return next((label for label, truth in BOOLEAN_LABELS.items() if label in classes and truth == "1"), "True")
    raise BadInput(
        f"It is not clear which class the score {spec.score!r} is for",
        available=", ".join(ordered(classes)),
        help="say it with --favourable (favourable=), or --score-class (score_class=) if it is another class.",
    )


def _predicted_classes(spec: AuditSpec, cells: Cells) -> list[str]:
    """Return the predicted classes; a score that is cut by its threshold names none."""
    return [label for label in cells.axis(PREDICTION_AXIS) if label is not None] if spec.prediction else []


def _thresholded(cells: Cells, of_class: str) -> Cells:
    """Turn 0 and 1 (below and above the threshold) into classes."""
    if TARGET_AXIS not in cells.axes:
        return cells.relabel(PREDICTION_AXIS, {"1": of_class, "0": f"not {of_class}"})
    others = [label for label in cells.axis(TARGET_AXIS) if label is not None and label != of_class]
    other = others[0] if len(others) == 1 else f"not {of_class}"
    if len(others) > 1:
        cells = cells.relabel(TARGET_AXIS, dict.fromkeys(others, other))
    # Two steps, since "1" may itself be the name of a class.
    cells = cells.relabel(PREDICTION_AXIS, {"1": "above the threshold", "0": "below the threshold"})
    return cells.relabel(PREDICTION_AXIS, {"above the threshold": of_class, "below the threshold": other})


def _strange_predictions(cells: Cells) -> list[str]:
    if TARGET_AXIS not in cells.axes:
        return []
    strange = set(cells.axis(PREDICTION_AXIS)) - set(cells.axis(TARGET_AXIS))
    if not strange:
        return []
    rows = cells.where(PREDICTION_AXIS, strange).rows
    names = ", ".join(repr(label) for label in ordered(label for label in strange if label is not None)[:5])
    return [
        f"The predictions have values the target never has: {names} ({plural(rows, 'row')}). They count as classes."
    ]


def _sum_numbers(counter: _Counter) -> Tallies:
    """Sum a regression's numbers by group (and by cluster, where rows belong together)."""
    spec = counter.spec
    all_cells = counter.named(spec.table.count(counter.axes, spec.weight))
    check_counts(spec, all_cells)
    target, prediction = spec.target[0], spec.prediction[0]
    for column in (target, prediction):
        finite_span(spec.table, column)
    pivot = ResidualPivot(*spec.table.means([target, prediction]))
    sums = counter.named(spec.table.sum_residuals(counter.by, target, prediction, pivot, spec.weight))
    lost = all_cells.rows - sums.rows
    if not sums.rows:
        raise BadInput("No row has both a target and a prediction", help="check that the columns belong together.")
    has_draws = spec.draws and spec.cluster is None and all_cells.rows <= MOST_ROWS
    return Tallies(
        notes=tuple(_notes_on_clusters(counter, sums)), residuals=sums, pivot=pivot, overall=all_cells,
        dropped={"target or prediction": lost} if lost else {},
        number_rows=_number_rows(counter) if has_draws and can_be_read(spec.table, all_cells.rows) else None,
    )  # fmt: skip


def _number_rows(counter: _Counter) -> NumberRows:
    """Read the columns of a regression into memory; labels are named as the sums name them."""
    spec = counter.spec
    target, prediction = spec.target[0], spec.prediction[0]
    weighed = [] if spec.weight is None else [spec.weight]
    columns = [target, prediction, *weighed, *(axis.column for axis in counter.axes.values())]
    eager = spec.table.in_memory(list(dict.fromkeys(columns)))
    y, p = (as_floats(eager.column(name), f"the column {name!r}") for name in (target, prediction))
    weight = np.ones(eager.rows) if spec.weight is None else as_weights(eager.column(spec.weight))
    order = np.lexsort((weight, p, y))
    return NumberRows(y, p, weight, _coded_axes(eager, counter.axes, counter)).only(order[~np.isnan(y + p)[order]])


def _coded_axes(table: EagerTable, axes: Mapping[str, Axis], counter: _Counter) -> dict[str, Coded]:
    """Return each row's place on the axes, whose labels are named as the counts name them."""
    missing, words = counter.spec.missing, counter.words
    return {name: named_labels(table.coded(axis), words.get(name, {}), missing) for name, axis in axes.items()}


def _count_labels(counter: _Counter) -> Tallies:
    """Count each label by group (and by cluster, where rows belong together)."""
    spec = counter.spec
    table, pairs = _label_columns(spec)
    counts: dict[Label, Cells] = {}
    clusters: dict[Label, Cells] = {}
    dropped = 0
    all_cells = counter.named(table.count(counter.axes, spec.weight))
    check_counts(spec, all_cells)
    for label, (target, prediction) in pairs.items():
        cells = counter.count({TARGET_AXIS: Axis(target), PREDICTION_AXIS: Axis(prediction)}, table)
        complete, lost = without_missing(unify_booleans(cells, boolean_spellings(cells)))
        dropped = max(dropped, sum(lost.values()))
        check_same_classes(complete, f"label {label!r}", "its prediction")
        classes = class_labels(complete)
        if len(classes) > 2:
            raise BadInput(
                f"The label {label!r} has the values {', '.join(classes[:5])}",
                available="two values a label: absent and present, such as 0 and 1",
            )
        counts[label] = complete.marginal([TARGET_AXIS, PREDICTION_AXIS, *counter.axes])
        if spec.cluster is not None:
            clusters[label] = complete
    notes = tuple(_notes_on_clusters(counter, next(iter(clusters.values())))) if clusters else ()
    lost_rows = {"target or prediction": dropped} if dropped else {}
    tallies = Tallies(counts=counts, overall=all_cells, dropped=lost_rows, clusters=clusters, notes=notes)
    has_draws = spec.draws and not (spec.split or spec.control or spec.weight)
    return replace(tallies, label_rows=_label_rows(table, pairs, counter, tallies)) if has_draws else tallies


def _label_rows(table: Table, pairs: Mapping[str, tuple[str, str]], counter: _Counter, tallies: Tallies) -> LabelRows:
    """Keep the rows whose labels are all known, in memory, so that whole rows can be drawn."""
    columns = [column for pair in pairs.values() for column in pair]
    eager = table.in_memory(list(dict.fromkeys([*columns, *(axis.column for axis in counter.by.values())])))
    present = {label: {tallies.classes_of(label)[-1], "1", "True"} for label in pairs}
    sides = []
    is_known = np.ones(eager.rows, dtype=bool)
    for side in range(2):
        matrix = np.zeros((eager.rows, len(pairs)), dtype=bool)
        for index, (label, pair) in enumerate(pairs.items()):
            coded = eager.coded(Axis(pair[side]))
            matrix[:, index] = np.array([name in present[label] for name in coded.labels], dtype=bool)[coded.codes]
            is_known &= np.array([name is not None for name in coded.labels], dtype=bool)[coded.codes]
        sides.append(matrix)
    axes = {
        name: Coded(coded.codes[is_known], coded.labels)
        for name, coded in _coded_axes(eager, counter.by, counter).items()
    }
    cluster = axes.pop(CLUSTER_AXIS, None)
    return LabelRows(sides[0][is_known], sides[1][is_known], axes, None if cluster is None else cluster.codes)


def _label_columns(spec: AuditSpec) -> tuple[Table, dict[str, tuple[str, str]]]:
    """Return the columns of each label; a single column of lists is first spread into one column a label."""
    table = spec.table
    if len(spec.target) == 1 and not _is_binary(table, spec.target[0]):
        return _spread(spec)
    pairs = zip(spec.target, spec.prediction, strict=True)
    return table, {target.removeprefix("target:"): (target, prediction) for target, prediction in pairs}


def _is_binary(table: Table, column: str) -> bool:
    return not table.is_list(column) and len([label for label in table.peek(column) if label is not None]) <= 2


def _spread(spec: AuditSpec) -> tuple[Table, dict[str, tuple[str, str]]]:
    """Spread columns whose cells hold lists of labels (or a list written as text) into columns of 0 and 1."""
    target, prediction = spec.target[0], spec.prediction[0]
    optional = [name for name in (spec.split, spec.control, spec.weight, spec.cluster) if name is not None]
    others = list(dict.fromkeys([*spec.groups.values(), *optional]))
    eager = spec.table.in_memory([target, prediction, *others])
    truth, guess = (_label_sets(eager.column(name), name) for name in (target, prediction))
    labels = ordered(set().union(*[cell for cell in (*truth, *guess) if cell is not None]))
    columns = {name: eager.column(name) for name in others}
    pairs = {}
    for label in labels:
        pairs[label] = (f"target:{label}", f"prediction:{label}")
        for name, cells in zip(pairs[label], (truth, guess), strict=True):
            columns[name] = np.array([None if cell is None else int(label in cell) for cell in cells], dtype=object)
    return EagerTable(columns, spec.table.name), pairs


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
            available='a list a row, such as ["cat", "dog"] or [0, 3] (as text too), or one 0/1 column a label',
        )
    return {str(item) for item in cell}


def can_be_read(table: Table, rows: int) -> bool:
    """Tell whether rows are in memory already, or few enough to be read into it."""
    return isinstance(table, EagerTable) or rows <= MOST_READ


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
    scale: ScoreScale = field(default_factory=ScoreScale)
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


def _affordable_bins(spec: AuditSpec, counted: Cells) -> int:
    """Return how many bins every group may have: fewer with very many groups."""
    groups = max(
        len(counted.marginal([group_axis(attribute) for attribute in attributes]).sums)
        for attributes in spec.attributes
    )
    return int(np.clip(MOST_CELLS // groups, FEWEST_BINS, SCORE_BINS))


def _tidy(
    cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]], truths: Mapping[Label, Label]
) -> Cells:
    return unify_booleans(named_cells(cells, spec, words), truths)


def _in_memory(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, bins: int,
) -> BinnedScores:  # fmt: skip
    assert spec.score is not None
    rows = spec.table.score_rows(keys, spec.score, spec.weight)
    ranked = RankedScores.from_rows(rows.axes, rows.scores, rows.weights)
    target = ranked.axes[TARGET_AXIS]
    member = np.array([truths.get(label, label) == of_class for label in target.labels], dtype=bool)[target.codes]
    scale = scale_of_rows(ranked, member, bins)
    cells = _tidy(ranked.cells(scale), spec, words, truths)
    if scale.exact:
        return BinnedScores(cells, scale)
    for axis in rows.axes:
        names = {**words.get(axis, {}), **(truths if axis == TARGET_AXIS else {})}
        ranked = ranked.renamed(axis, names).renamed(axis, dict.fromkeys(spec.missing))
    return BinnedScores(cells, scale, ranked)


def _fitted(
    spec: AuditSpec, span: ColumnRange, truths: Mapping[Label, Label], of_class: str, bins: int, counted: Cells
) -> ScoreScale:
    """Return bins fitted to a sample of the scores; equally wide ones where the engine cannot sample."""
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = {label for label in counted.axis(TARGET_AXIS) if label is not None}
    sides = [[label for label in labels if (label == of_class) == member] for member in (False, True)]
    rare = min(sides, key=lambda side: counted.where(TARGET_AXIS, side).rows)
    few = counted.where(TARGET_AXIS, rare).rows <= bins // 2
    spelled = [label for label in (*truths, *rare) if truths.get(label, label) in rare] if few else []
    sample = spec.table.score_sample(spec.score, spec.target[0], SAMPLED, spelled)
    if not sample:
        return score_range(span.low, span.high)
    values, positions = np.unique([score for _, score, _ in sample], return_inverse=True)
    member = np.array([truths.get(label, label) == of_class for label, _, _ in sample])
    rows = np.array([number for _, _, number in sample], dtype=np.float64)
    others, members = (
        np.bincount(positions, weights=np.where(chosen, rows, 0.0), minlength=len(values)).astype(np.float64)
        for chosen in (~member, member)
    )
    return replace(fit_scale(span.low, span.high, values, others, members, bins), exact=False)


def _with_frequent_scores(spec: AuditSpec, scale: ScoreScale, cells: Cells, of_class: str) -> ScoreScale:
    """Give scores that many rows share bins to themselves, where they blur the AUC; a sample can miss them."""
    if scale.cuts is None or scale.single is None:
        return scale
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = [label for label in cells.axis(TARGET_AXIS) if label is not None]
    bins = [str(bin_index) for bin_index in range(len(scale.cuts))]
    rows = cells.crossed([], [()], [TARGET_AXIS, SCORE_AXIS], [labels, bins])[0, ..., 0]
    member = np.array([label == of_class for label in labels], dtype=bool)
    others, members = rows[~member].sum(axis=0), rows[member].sum(axis=0)
    tied = np.where(scale.single, 0.0, others * members) / max(2 * others.sum() * members.sum(), 1.0)
    blurred = [bin_index for bin_index in np.argsort(-tied)[:MOST_RANGES].tolist() if tied[bin_index] > LOOKED_INTO]
    if not blurred:
        return scale
    ends = np.append(scale.cuts[1:], np.nextafter(scale.high, np.inf))
    least = max(2, int((others + members)[blurred].min() / 10))
    ranges = [(float(scale.cuts[bin_index]), float(ends[bin_index])) for bin_index in blurred]
    frequent = spec.table.frequent_scores(spec.score, ranges, least)
    if not frequent:
        return scale
    alone = np.union1d(scale.cuts[scale.single], frequent)
    cuts = np.concatenate([scale.cuts, np.nextafter(frequent, np.inf)])
    return cut_scale(score_range(scale.low, scale.high), cuts, alone)
