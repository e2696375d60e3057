"""Counts of a multi-label task: a table for each label, and the rows themselves where whole rows are drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from equipoise.audits._spec import AuditSpec
from equipoise.audits.axes import axes_of, named, notes_on_clusters, without_missing
from equipoise.audits.checks import check_counts
from equipoise.audits.label_rows import LabelRows
from equipoise.audits.tallies import Tallies
from equipoise.cohorts.tables import Axis, EagerTable, Table
from equipoise.foundation.errors import BadInput
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER, PREDICTION, TARGET, class_labels
from equipoise.tallies.factorise import Coded
from equipoise.tallies.labels import Label, ordered
from equipoise.tallies.truths import check_same_classes, same_truths, truth_names


def count_labels(spec: AuditSpec) -> Tallies:
    """Count each label by group (and by cluster, where rows belong together)."""
    axes, words = axes_of(spec)
    table, pairs = _label_columns(spec)
    counts: dict[Label, Cells] = {}
    clusters: dict[Label, Cells] = {}
    counted_by = axes if spec.cluster is None else {**axes, CLUSTER: Axis(spec.cluster)}
    dropped = 0
    everyone = named(table.count(axes, spec.weight), spec, words)
    check_counts(spec, everyone)
    for label, (target, prediction) in pairs.items():
        counted = table.count({TARGET: Axis(target), PREDICTION: Axis(prediction), **counted_by}, spec.weight)
        cells = named(counted, spec, words)
        kept, lost = without_missing(same_truths(cells, truth_names(cells)))
        dropped = max(dropped, sum(lost.values()))
        check_same_classes(kept, f"label {label!r}", "its prediction")
        classes = class_labels(kept)
        if len(classes) > 2:
            raise BadInput(
                f"The label {label!r} has the values {', '.join(classes[:5])}",
                available="two values a label: absent and present, such as 0 and 1",
            )
        counts[label] = kept.marginal([TARGET, PREDICTION, *axes])
        if spec.cluster is not None:
            clusters[label] = kept
    notes = tuple(notes_on_clusters(next(iter(clusters.values())))) if clusters else ()
    lost_rows = {"target or prediction": dropped} if dropped else {}
    tallies = Tallies(counts=counts, everyone=everyone, dropped=lost_rows, clusters=clusters, notes=notes)
    drawn = spec.draws and not (spec.split or spec.control or spec.weight)
    return replace(tallies, label_rows=_label_rows(table, pairs, counted_by, words, tallies)) if drawn else tallies


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
    cluster = groups.pop(CLUSTER, None)
    return LabelRows(sides[0][known], sides[1][known], groups, None if cluster is None else cluster.codes)


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
