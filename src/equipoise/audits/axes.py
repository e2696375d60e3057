"""The axes that every count of an audit shares: groups, split and control, cut and named as the user asked."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.audits._spec import AuditSpec
from equipoise.cohorts.binning import Bins, names_of, quantile_edges
from equipoise.cohorts.tables import Axis, Table
from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER, CONTROL, PREDICTION, SPLIT, TARGET, group_axis
from equipoise.tallies.labels import Label
from equipoise.tallies.scores import BIN


def axes_of(spec: AuditSpec) -> tuple[dict[str, Axis], dict[str, dict[Label, Label]]]:
    """Return the axes of groups, split and control, and the words that stand for the numbers of cut columns."""
    axes: dict[str, Axis] = {}
    words: dict[str, dict[Label, Label]] = {}
    columns = {group_axis(attribute): column for attribute, column in spec.groups.items()}
    columns |= {SPLIT: spec.split} if spec.split is not None else {}
    columns |= {CONTROL: spec.control} if spec.control is not None else {}
    for name, column in columns.items():
        request = spec.bins.get(column)
        axes[name] = Axis(column, None if request is None else edges_of(spec.table, column, request))
        edges = axes[name].edges
        if edges is not None:
            words[name] = {str(place): text for place, text in enumerate(names_of(edges))}
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
    known = [(float(label), rows) for label, rows in _labelled(counted) if label is not None]
    edges = quantile_edges([value for value, _ in known], [rows for _, rows in known], request.quantiles)
    if not edges:
        raise BadInput(f"The column {column!r} has one value only and cannot be cut", help="name another column.")
    return edges


def _labelled(cells: Cells) -> list[tuple[Label, float]]:
    return [(cells.labels[0][code], rows) for (code,), rows in zip(cells.codes, cells.sums[:, 0], strict=True)]


def named(cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]]) -> Cells:
    """Give cut columns their words, and make values missing that the user said are."""
    for axis, names in words.items():
        cells = cells.relabel(axis, names)
    # Bins of a score, and 0 and 1 for below and above its threshold, are not values of the file.
    made = {BIN} if spec.prediction else {BIN, PREDICTION}
    for axis in (axis for axis in cells.axes if axis not in made):
        if set(spec.missing) & set(cells.axis(axis)):
            cells = cells.relabel(axis, dict.fromkeys(spec.missing))
    return cells


def without_missing(cells: Cells) -> tuple[Cells, dict[str, int]]:
    """Leave out rows without a target or prediction, and count them."""
    dropped = {}
    for axis in (TARGET, PREDICTION):
        if axis in cells.axes and None in cells.axis(axis):
            kept = cells.where(axis, [label for label in cells.axis(axis) if label is not None])
            dropped[axis] = cells.rows - kept.rows
            cells = kept
    if cells.rows == 0:
        raise BadInput("No row has both a target and a prediction", help="check that the columns belong together.")
    return cells, dropped


def notes_on_clusters(cells: Cells) -> list[str]:
    """Return what is to be said of clusters; rows without one are a cluster of their own."""
    clusters = cells.axis(CLUSTER)
    if len(clusters) < 2:
        raise BadInput(
            "The cluster column has one value only", available="an identifier shared by rows that belong together"
        )
    notes = [f"Intervals and tests draw {plural(len(clusters), 'cluster')}, not {plural(cells.rows, 'row')}."]
    if None in clusters:
        notes.append(f"{cells.where(CLUSTER, [None]).rows:,} rows have no cluster: they are taken as one cluster.")
    return notes
