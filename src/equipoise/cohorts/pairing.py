"""Embeddings and the table that says whose points they are, brought into one order: of the files, or by id."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.array_files import NPY, array_names, ending_of, read_array
from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.embeddings import Embedding
from equipoise.cohorts.ids import checked_ids, order_by_id
from equipoise.cohorts.own_ids import check_same_rows, columns_beside, read_beside, shared
from equipoise.cohorts.readers import ARRAYS, open_table
from equipoise.cohorts.tables import EagerTable, LazyTable, Table, as_table
from equipoise.foundation.errors import BadInput, unknown_name


def read_rows(
    rows: object, columns: Sequence[str], *, optional: Sequence[str] = (), missing: Sequence[str] = ()
) -> EagerTable:
    """Read columns into memory from a file, a frame, a cohort, or a ``.npz`` of arrays with one value a row.

    Columns that are ``optional`` are read where they are there.
    """
    if isinstance(rows, (str, os.PathLike)) and ending_of(rows) in ARRAYS:
        return _arrays(Path(rows), columns, optional)
    table = _table(rows, missing)
    table.check_columns(columns)
    extra = [name for name in optional if name in table.columns]
    return table.in_memory(list(dict.fromkeys([*columns, *extra])))


def _table(rows: object, missing: Sequence[str]) -> Table:
    if isinstance(rows, Cohort):
        return EagerTable(rows.columns, f"the cohort {rows.name!r}")
    if isinstance(rows, (str, os.PathLike)):
        return LazyTable(open_table(rows, missing=missing), Path(rows).name)
    return as_table(rows)


def _arrays(path: Path, columns: Sequence[str], optional: Sequence[str]) -> EagerTable:
    """Read arrays with one value a row; arrays of another shape may lie in the same file."""
    if ending_of(path) == NPY:
        raise BadInput(
            f"{path.name} holds one array, not columns with names",
            allowed="a table, or a .npz file with an array a column",
            way_out="say whose rows they are with --rows FILE (rows=).",
        )
    if not path.is_file():
        raise BadInput(f"There is no file {str(path)!r}", way_out="check the path.")
    shapes = array_names(path)
    known = [name for name, shape in shapes.items() if len(shape) == 1]
    for name in columns:
        if name in shapes and name not in known:
            raise BadInput(f"{name!r} of {path.name} has shape {shapes[name]}", allowed="one value a row")
        if name not in known:
            raise unknown_name("column", name, known, path.name)
    extra = [name for name in optional if name in known and all(shapes[name] == shapes[one] for one in columns)]
    wanted = dict.fromkeys([*columns, *extra])
    return EagerTable({name: np.asarray(read_array(path, name)) for name in wanted}, path.name)


def pair_rows(
    embedding: Embedding,
    rows: object = None,
    *,
    columns: Sequence[str],
    id: str | None = None,
    missing: Sequence[str] = (),
) -> EagerTable:
    """Return these columns with a row for each point, in the order of the points.

    Without ``rows`` the columns are those of the file that the points came from. With ``id`` rows are matched by that
    column, one to one; without it they are taken in their order, and there must be as many.
    """
    source = rows if rows is not None else embedding.path
    if source is None:
        raise BadInput("No table of rows was given", way_out="name it with --rows (rows=).")
    own = _beside(embedding) if rows is not None and id is None else []
    required = [*columns, *([id] if id is not None else [])]
    table = read_rows(source, required, optional=own, missing=missing)
    if id is not None:
        if embedding.ids is None:
            raise BadInput(f"{embedding.name} has no ids", way_out="open it with id=, or leave --id (id=) out.")
        ids = checked_ids(_listed(table.column(id)), table.name)
        return _reordered(table, columns, order_by_id(embedding.ids, ids, embedding.name, table.name))
    check_same_number({embedding.name: len(embedding), table.name: table.rows})
    for name, there in shared(own, table.columns):
        assert embedding.path is not None
        here = read_beside(embedding.path, name)
        check_same_rows(here, table.column(there), (name, there), (embedding.name, table.name))
    return table


def _beside(embedding: Embedding) -> list[str]:
    """Return what the file of the points has beside them, where it tells of their rows as they lie here."""
    return columns_beside(embedding.path, len(embedding)) if embedding.in_file_order else []


def _reordered(table: EagerTable, columns: Sequence[str], order: NDArray[np.int64]) -> EagerTable:
    return EagerTable({name: _taken(table.column(name), order) for name in dict.fromkeys(columns)}, table.name)


def align(first: Embedding, second: Embedding, *, by_id: bool) -> Embedding:
    """Return the second embedding in the order of the first: by id, or as it is where both agree."""
    if by_id:
        for embedding in (first, second):
            if embedding.ids is None:
                raise BadInput(f"{embedding.name} has no ids", way_out="leave --id (id=) out: rows then go by order.")
        assert first.ids is not None
        assert second.ids is not None
        return second.take(order_by_id(first.ids, second.ids, first.name, second.name))
    check_same_number({first.name: len(first), second.name: len(second)})
    for names in shared(_beside(first), _beside(second)):
        assert first.path is not None
        assert second.path is not None
        here, there = read_beside(first.path, names[0]), read_beside(second.path, names[1])
        check_same_rows(here, there, names, (first.name, second.name))
    return second


def check_same_number(rows: dict[str, int]) -> None:
    """Refuse files that do not have the same number of rows."""
    if len(set(rows.values())) > 1:
        raise BadInput(
            "The numbers of rows differ: " + ", ".join(f"{name} has {number:,}" for name, number in rows.items()),
            allowed="a row for the same people in each, in the same order",
            way_out="if they can be matched by an identifier, name it with --id (id=).",
        )


def _listed(column: Any) -> list[object]:
    found: list[object] = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    return found


def _taken(column: Any, order: NDArray[np.int64]) -> Any:
    return column[order] if isinstance(column, np.ndarray) else column[order.tolist()]
