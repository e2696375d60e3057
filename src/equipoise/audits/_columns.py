"""The columns of an audit: what each is counted by, and refusing those that are not what they were said to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from equipoise.audits._spec import AuditSpec
from equipoise.cohorts import (
    Axis,
    Bins,
    ColumnRange,
    Table,
    bin_names,
    quantile_edges,
)
from equipoise.foundation import (
    BadInput,
    listing,
    plural,
    shortened,
    unknown_name,
)
from equipoise.tallies import (
    CLUSTER_AXIS,
    CONTROL_AXIS,
    GROUP_AXIS_PREFIX,
    PREDICTION_AXIS,
    SCORE_AXIS,
    SPLIT_AXIS,
    TARGET_AXIS,
    Cells,
    Coded,
    Label,
    continuous_classes_error,
    group_axis,
    group_labels,
    is_fraction,
    label_text,
)

MOST_GROUPS = 1_000
MOST_CLASSES = 1_000
# Groups by true by predicted classes: a table larger than this would not fit into a gigabyte with its companions.
MOST_CELLS = 20_000_000
# A column of numbers with more values than this is taken for a quantity, not for names of groups.
MOST_NUMBERS = 20
# A name of a class or group is repeated in every record about it: what is longer than this is no name.
MOST_LETTERS = 1_000


def check_before_counting(spec: AuditSpec) -> None:
    """Look at the first rows, so that a column with a million values is refused before it is grouped by."""
    table = spec.table
    _refuse_lists(spec)
    if spec.task == "class":
        earlier = () if spec.against_prediction is None else (spec.against_prediction,)
        for role, columns in (
            (TARGET_AXIS, spec.target), (PREDICTION_AXIS, spec.prediction), ("earlier prediction", earlier)
        ):  # fmt: skip
            for column in columns:
                _check_classes(table, column, role)
    for column in spec.groups.values():
        if column not in spec.bins:
            check_group(table, column, table.peek(column), declared=column in spec.categorical)
    if spec.control is not None and spec.control not in spec.bins:
        check_group(table, spec.control, table.peek(spec.control), declared=False)
    if spec.weight is not None:
        table.check_weights(spec.weight)


def with_threshold(spec: AuditSpec) -> AuditSpec:
    """Settle the threshold of the scores that are cut: by default 0.5 for scores from 0 to 1, and none for others."""
    cut = [column for column in (None if spec.prediction else spec.score, spec.against_score) if column]
    if not cut:
        if spec.threshold is not None:
            raise BadInput(
                f"A threshold ({spec.threshold:g}) was given, and no score that it would cut",
                available="a threshold for a score without a prediction",
                help="leave out --prediction (prediction=) to predict from the score, or leave out the threshold.",
            )
        return spec
    if spec.threshold is not None:
        return spec
    for column in cut:
        span = spec.table.span(column)
        if span.low < 0 or span.high > 1:
            raise BadInput(
                f"The scores {column!r} run from {span.low:g} to {span.high:g}, and no threshold was given",
                available="a threshold, or scores from 0 to 1 (which are cut at 0.5)",
                help="name it with --threshold (threshold=): 0 for logits, 50 for scores from 0 to 100.",
            )
    return replace(spec, threshold=0.5)


def _refuse_lists(spec: AuditSpec) -> None:
    """Refuse columns of lists, but for the labels of a multi-label task."""
    role_columns = [("group", column) for column in spec.groups.values()]
    role_columns += [(role, getattr(spec, role)) for role in ("control", "split", "weight", "score", "cluster")]
    if spec.task != "multilabel":
        role_columns += [(role, column) for role in ("target", "prediction") for column in getattr(spec, role)]
    for role, column in role_columns:
        if column is not None and spec.table.is_list(column):
            raise BadInput(
                f"The {role} column {column.removeprefix('group:')!r} holds lists",
                available="one value a row",
                help="make a column of each entry first; several labels a row need --task multilabel.",
            )


def _check_classes(table: Table, column: str, role: str) -> None:
    labels = [label for label in table.peek(column) if label is not None]
    _refuse_fractions(table, column, role, labels)
    if len(labels) > MOST_CLASSES:
        raise BadInput(
            f"The {role} column {column!r} has more than {MOST_CLASSES:,} different values",
            available=f"up to {MOST_CLASSES:,} classes",
            help="a score goes to --score; a number to be predicted needs --task regression.",
        )


def _refuse_fractions(table: Table, column: str, role: str, labels: Sequence[Label]) -> None:
    fraction = next((label for label in labels if label is not None and is_fraction(label)), None)
    if fraction is not None and table.is_number(column):
        raise continuous_classes_error(f"{role} column {column!r}", fraction)


def check_group(table: Table, column: str, labels: Sequence[Label], *, declared: bool) -> None:
    """Refuse a column that holds quantities or identifiers where names of groups are expected."""
    name = column.removeprefix("group:")
    values = [label for label in labels if label is not None]
    if column in table.columns and table.is_number(column) and not declared and len(values) > MOST_NUMBERS:
        raise BadInput(
            f"The group column {name!r} holds {len(values):,} different numbers, such as {listing(values, 3)}",
            available=f"up to {MOST_NUMBERS} numbers as names of groups",
            help=f"cut it into groups with --bin {name}=25,45 or --bin {name}=quantile:4 (bins=); "
            f"if the numbers are codes, say so with --categorical {name} (categorical=).",
        )
    if len(values) > MOST_GROUPS:
        raise BadInput(
            f"The group column {name!r} has more than {MOST_GROUPS:,} different values, such as {listing(values, 3)}",
            available=f"up to {MOST_GROUPS:,} groups",
            help="is it an identifier? Name a column of groups, or join its values into fewer groups first.",
        )


def check_counts(spec: AuditSpec, cells: Cells) -> None:
    """Check what only the whole count can tell: rows, groups, classes, references."""
    if cells.rows == 0:
        raise BadInput(f"{spec.table.name} has no rows", available="at least one row")
    for axis in cells.axes:
        _check_lengths(axis, cells.axis(axis))
    for attribute, column in spec.groups.items():
        labels = cells.axis(group_axis(attribute))
        if column not in spec.bins:
            check_group(spec.table, column, labels, declared=column in spec.categorical)
        groups = group_labels(cells, [attribute], include_missing=spec.include_missing)
        if not groups:
            raise BadInput(f"Every value of the group column {attribute!r} is missing", help="name another column.")
        if len(groups) < 2:
            raise BadInput(
                f"The group column {attribute!r} has one group only: {label_text(groups[0][0])!r}",
                available="at least two groups to compare",
                help="leave this column out, or audit a file that has more than one group.",
            )
        _check_reference(spec, attribute, [label_text(labels[0]) for labels in groups])
    _check_crossed(spec, cells)
    for axis, columns in ((TARGET_AXIS, spec.target), (PREDICTION_AXIS, spec.prediction)):
        if axis in cells.axes and spec.task == "class" and columns:  # what the first rows did not show
            _refuse_fractions(spec.table, columns[0], axis, cells.axis(axis))
        if axis in cells.axes and set(cells.axis(axis)) == {None}:
            names = spec.target if axis == TARGET_AXIS else spec.prediction
            raise BadInput(
                f"Every value of the {axis} column {names[0] if names else spec.score!r} is missing",
                help="name another column.",
            )


def _check_lengths(axis: str, labels: Sequence[Label]) -> None:
    """Refuse values that are no names: texts, or what somebody made to fill a disk."""
    longest = max((label for label in labels if label is not None), key=len, default="")
    if len(longest) > MOST_LETTERS:
        of = (
            f"group column {axis.removeprefix(GROUP_AXIS_PREFIX)!r}"
            if axis.startswith(GROUP_AXIS_PREFIX)
            else f"{axis} column"
        )
        raise BadInput(
            f"A value of the {of} has {len(longest):,} characters: {shortened(longest, 40)!r}",
            available=f"names of classes and groups of up to {MOST_LETTERS:,} characters",
            help="is it a text? Name a column of groups or classes, or shorten its values first.",
        )


def _check_crossed(spec: AuditSpec, cells: Cells) -> None:
    """Refuse more groups than a report can compare, crossed or by class."""
    classes = {label for axis in (TARGET_AXIS, PREDICTION_AXIS) if axis in cells.axes for label in cells.axis(axis)}
    for attributes in spec.attributes:
        groups = len(cells.marginal([group_axis(attribute) for attribute in attributes]).sums)
        crossed = " & ".join(attributes)
        if len(attributes) > 1 and groups > MOST_GROUPS:
            fewer = "cross the columns two at a time with --pairs (intersections='pairs'), or "
            raise BadInput(
                f"The columns {crossed} crossed make {groups:,} groups",
                available=f"up to {MOST_GROUPS:,} groups",
                help=f"{fewer if len(attributes) > 2 else ''}name fewer columns, or join values into fewer groups "
                "first (--bin cuts numbers).",
            )
        if spec.task == "class" and groups * len(classes) ** 2 > MOST_CELLS:
            raise BadInput(
                f"{groups:,} groups of {crossed} and {len(classes):,} classes make a table of "
                f"{groups * len(classes) ** 2:,} cells",
                available=f"up to {MOST_CELLS:,}",
                help="join classes or groups into fewer, or audit one label at a time (--task multilabel).",
            )


def _check_reference(spec: AuditSpec, attribute: str, groups: Sequence[str]) -> None:
    reference = spec.reference.get(attribute)
    if reference is not None and reference not in groups:
        raise unknown_name("group", reference, groups, f"the groups of {attribute!r}")


def check_favourable(favourable: str | None, classes: Sequence[str]) -> None:
    """Refuse a favourable class that nobody has."""
    if favourable is not None and favourable not in classes:
        raise unknown_name("class", favourable, classes, "the target or the predictions")


def axes_of(spec: AuditSpec) -> tuple[dict[str, Axis], dict[str, dict[Label, Label]]]:
    """Return the axes of groups, split and control, and the words that stand for the numbers of cut columns."""
    axes: dict[str, Axis] = {}
    words: dict[str, dict[Label, Label]] = {}
    columns = {group_axis(attribute): column for attribute, column in spec.groups.items()}
    columns |= {SPLIT_AXIS: spec.split} if spec.split is not None else {}
    columns |= {CONTROL_AXIS: spec.control} if spec.control is not None else {}
    for name, column in columns.items():
        request = spec.bins.get(column)
        axes[name] = Axis(column, None if request is None else edges_of(spec.table, column, request))
        edges = axes[name].edges
        if edges is not None:
            words[name] = {str(index): text for index, text in enumerate(bin_names(edges))}
    unused = set(spec.bins) - set(columns.values())
    if unused:
        raise BadInput(
            f"Bins were given for {sorted(unused)[0].removeprefix('group:')!r}, which is not a group column",
            available="columns given as groups or as the control",
        )
    return axes, words


def edges_of(table: Table, column: str, request: Bins) -> tuple[float, ...]:
    """Return where a column is cut."""
    table.span(column)  # refuses text
    if not request.quantiles:
        return request.edges
    counted = table.count({"value": Axis(column)})
    numbers = [(float(label), rows) for label, rows in _labelled(counted) if label is not None]
    edges = quantile_edges([value for value, _ in numbers], [rows for _, rows in numbers], request.quantiles)
    if not edges:
        raise BadInput(f"The column {column!r} has one value only and cannot be cut", help="name another column.")
    return edges


def _labelled(cells: Cells) -> list[tuple[Label, float]]:
    return [(cells.labels[0][code], rows) for (code,), rows in zip(cells.codes, cells.sums[:, 0], strict=True)]


def named_cells(cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]]) -> Cells:
    """Give cut columns their words, and make values missing that the user said are."""
    for axis, names in words.items():
        cells = cells.relabel(axis, names)
    # Bins of a score, and 0 and 1 for below and above its threshold, are not values of the file.
    score_axes = {SCORE_AXIS} if spec.prediction else {SCORE_AXIS, PREDICTION_AXIS}
    for axis in (axis for axis in cells.axes if axis not in score_axes):
        if set(spec.missing) & set(cells.axis(axis)):
            cells = cells.relabel(axis, dict.fromkeys(spec.missing))
    return cells


def without_missing(cells: Cells) -> tuple[Cells, dict[str, int]]:
    """Leave out rows without a target or prediction, and count them."""
    dropped = {}
    for axis in (TARGET_AXIS, PREDICTION_AXIS):
        if axis in cells.axes and None in cells.axis(axis):
            complete = cells.where(axis, [label for label in cells.axis(axis) if label is not None])
            dropped[axis] = cells.rows - complete.rows
            cells = complete
    if cells.rows == 0:
        raise BadInput("No row has both a target and a prediction", help="check that the columns belong together.")
    return cells, dropped


def notes_on_clusters(cells: Cells) -> list[str]:
    """Return what is to be said of clusters; rows without one are a cluster of their own."""
    clusters = cells.axis(CLUSTER_AXIS)
    if len(clusters) < 2:
        raise BadInput(
            "The cluster column has one value only", available="an identifier shared by rows that belong together"
        )
    notes = [f"Intervals and tests draw {plural(len(clusters), 'cluster')}, not {plural(cells.rows, 'row')}."]
    if None in clusters:
        notes.append(f"{cells.where(CLUSTER_AXIS, [None]).rows:,} rows have no cluster: they are taken as one cluster.")
    return notes


def named_labels(coded: Coded, words: Mapping[Label, Label], missing: Sequence[str]) -> Coded:
    """Give the labels of a column their words, and make those missing that the user said are."""
    labels = (words.get(label, label) for label in coded.labels)
    return Coded(coded.codes, tuple(None if label in missing else label for label in labels))


def finite_span(table: Table, column: str, role: str = "column", *, help: str = "") -> ColumnRange:
    """Return the range of a column of numbers; refuse one without any, or with infinite ones."""
    span = table.span(column)
    if np.isnan(span.low):
        raise BadInput(f"Every value of the {role} {column!r} is missing", help="name another column.")
    if not np.isfinite([span.low, span.high]).all():
        raise BadInput(f"The {role} {column!r} has infinite values", available="finite numbers", help=help)
    return span
