"""Embeddings and the table that says whose points they are, brought into one order: of the files, or by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import (
    NPY,
    array_names,
    file_ending,
    read_array,
)
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._embeddings import Embedding
from equipoise.cohorts._ids import (
    Ids,
    check_same_rows,
    checked_ids,
    id_columns,
    order_by_id,
    read_id_column,
    shared_names,
)
from equipoise.cohorts._readers import (
    ARRAY_ENDINGS,
    open_table,
)
from equipoise.cohorts._tables import (
    EagerTable,
    LazyTable,
    Table,
    as_table,
    check_names,
)
from equipoise.foundation import (
    BadInput,
    fitting,
    plural,
)

Columns = Sequence[str] | Mapping[str, str]


def read_rows(
    rows: object, columns: Columns, *, optional: Sequence[str] = (), missing: Sequence[str] = ()
) -> EagerTable:
    """Read columns into memory from a file, a frame, a cohort, or a ``.npz`` of arrays with one value per row.

    Columns that are ``optional`` are read where they are there.
    """
    if isinstance(rows, (str, os.PathLike)) and file_ending(rows) in ARRAY_ENDINGS:
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


def _arrays(path: Path, columns: Columns, optional: Sequence[str]) -> EagerTable:
    """Read arrays with one value per row; arrays of another shape may lie in the same file."""
    if file_ending(path) == NPY:
        raise BadInput(
            f"{path.name} holds one array, not columns with names",
            available="a table, or a .npz file with one array per column",
            help="name the table of rows with --rows FILE (rows=).",
        )
    if not path.is_file():
        raise BadInput(f"There is no file {str(path)!r}", help="check the path.")
    shapes = array_names(path)
    vectors = [name for name, shape in shapes.items() if len(shape) == 1]
    for name in columns:
        if name in shapes and name not in vectors:
            raise BadInput(f"{name!r} of {path.name} has shape {shapes[name]}", available="one value per row")
    check_names(columns, vectors, path.name)
    extra = [name for name in optional if name in vectors and all(shapes[name] == shapes[column] for column in columns)]
    chosen = dict.fromkeys([*columns, *extra])
    return EagerTable({name: np.asarray(read_array(path, name)) for name in chosen}, path.name)


def pair_rows(
    embedding: Embedding,
    rows: object = None,
    *,
    columns: Columns,
    id: str | None = None,
    missing: Sequence[str] = (),
    drop: bool = False,
) -> EagerTable:
    """Return these columns with a row for each point, in the order of the points.

    A mapping of columns says how each would be typed, which a message about a missing one suggests.
    Without ``rows`` the columns are those of the file that the points came from. With ``id`` rows are matched by that
    column, one to one (with ``drop`` the table may have more); without it they are taken in their order, and there must
    be as many as there were points before any were dropped.
    """
    source = rows if rows is not None else embedding.path
    if source is None:
        raise BadInput("No table of rows was given", help="name it with --rows (rows=).")
    id_columns = _possible_id_columns(embedding) if rows is not None and id is None else []
    required = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns, "{!r}")
    if id is not None:
        required[id] = "--id {0} (id={0!r})"
    table = read_rows(source, required, optional=id_columns, missing=missing)
    if id is not None:
        if embedding.ids is None:
            raise BadInput(f"{embedding.name} has no ids", help="open it with id=, or leave --id (id=) out.")
        ids = checked_ids(column_values(table.column(id)), table.name)
        return _reordered(table, columns, order_by_id(embedding.ids, ids, embedding.name, table.name, more=drop))
    check_same_length({embedding.name: embedding.source_length, table.name: table.rows})
    for name, table_name in shared_names(id_columns, table.columns):
        assert embedding.path is not None
        embedding_ids = read_id_column(embedding.path, name)
        check_same_rows(embedding_ids, table.column(table_name), (name, table_name), (embedding.name, table.name))
    return in_source_order(table, embedding)


def in_source_order(table: EagerTable, embedding: Embedding) -> EagerTable:
    """Return the rows of a table that lies in the order of the embedding's source, as its points were taken there."""
    if embedding.source_rows is None:
        return table
    return _reordered(table, table.columns, embedding.source_rows)


def _possible_id_columns(embedding: Embedding) -> list[str]:
    """Return what the file of the points has beside them, a value for each row of the file."""
    return id_columns(embedding.path, embedding.source_length)


def _reordered(table: EagerTable, columns: Iterable[str], order: NDArray[np.int64]) -> EagerTable:
    return EagerTable({name: _take_rows(table.column(name), order) for name in dict.fromkeys(columns)}, table.name)


def align_embeddings(first: Embedding, second: Embedding, *, by_id: bool) -> Embedding:
    """Return the second embedding in the order of the first: by id, or as it is where both agree."""
    if by_id:
        return second.take(order_by_id(_ids_of(first), _ids_of(second), first.name, second.name))
    check_same_length({first.name: len(first), second.name: len(second)})
    if first.source_rows is not None or second.source_rows is not None:  # not in the order of their files
        return second
    for names in shared_names(_possible_id_columns(first), _possible_id_columns(second)):
        assert first.path is not None
        assert second.path is not None
        first_ids, second_ids = read_id_column(first.path, names[0]), read_id_column(second.path, names[1])
        check_same_rows(first_ids, second_ids, names, (first.name, second.name))
    return second


def _ids_of(embedding: Embedding) -> Ids:
    if embedding.ids is None:
        raise BadInput(f"{embedding.name} has no ids", help="leave --id (id=) out: rows are then matched by order.")
    return embedding.ids


def read_row_ids(rows: object, id: str, missing: Sequence[str] = ()) -> Ids:
    """Return the ids of a table of rows."""
    table = read_rows(rows, [id], missing=missing)
    return checked_ids(column_values(table.column(id)), table.name)


@dataclass(frozen=True, kw_only=True)
class DroppedRows:
    """How many rows remain after others were dropped, and how many were for which reason, by the part a file plays.

    ``unmatched`` counts the ids of a file that are not in every other one, ``not_finite`` the rows that have a partner
    everywhere and a point that is not finite.
    """

    remaining: int
    not_finite: Mapping[str, int]
    unmatched: Mapping[str, int]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped and why, where anything was."""
        reasons = (
            ("points that are not finite", self.not_finite),
            ("ids that are not in every other file", self.unmatched),
        )
        causes = [
            f"{why} ({', '.join(f'{role}: {number:,}' for role, number in numbers.items() if number)})"
            for why, numbers in reasons
            if any(numbers.values())
        ]
        if not causes:
            return ()
        remain = f"{plural(self.remaining, 'row')} {fitting(self.remaining, 'remains', 'remain')}"
        return (f"--drop (drop=True) left rows out of every file, and {remain}: {'; '.join(causes)}.",)

    def as_json(self) -> dict[str, int]:
        """Return the numbers by name, for a result's provenance: remaining, not_finite_before, unmatched_rows, ..."""
        reasons = {"not_finite": self.not_finite, "unmatched": self.unmatched}
        by_part = {f"{why}_{part}": number for why, parts in reasons.items() for part, number in parts.items()}
        return {"remaining": self.remaining, **by_part}


def drop_unusable(
    embeddings: Mapping[str, Embedding], *, by_id: bool, row_ids: Ids | None = None
) -> tuple[dict[str, Embedding], DroppedRows]:
    """Return the rows that can be used in every embedding, in the order of the first, and what was dropped.

    Parameters
    ----------
    embeddings
        The embeddings by the part they play, opened so that they may hold numbers that are not finite.
    by_id
        Whether rows are matched by their ids; otherwise they are taken in their order.
    row_ids
        The ids of the table of rows, where rows are matched by id and there is such a table.

    Returns
    -------
    The embeddings by the same names, all finite and of one length, and the numbers of rows that were dropped.
    """
    first = next(iter(embeddings.values()))
    unmatched: dict[str, int] = {}
    if by_id:
        ids = {role: _ids_of(embedding) for role, embedding in embeddings.items()}
        every = {**ids, **({} if row_ids is None else {"rows": row_ids})}
        common = set.intersection(*(set(names) for names in every.values()))
        unmatched = {role: len(names) - len(common) for role, names in every.items()}
        common_ids = [name for name in ids[next(iter(ids))] if name in common]
        matched = {
            role: embedding.take(order_by_id(common_ids, ids[role], first.name, embedding.name, more=True))
            for role, embedding in embeddings.items()
        }
    else:
        matched = {role: align_embeddings(first, embedding, by_id=False) for role, embedding in embeddings.items()}
    flawed = {role: _not_finite(embedding) for role, embedding in matched.items()}
    left = np.flatnonzero(~np.any(list(flawed.values()), axis=0))
    dropped = DroppedRows(
        remaining=len(left),
        not_finite={role: int(rows.sum()) for role, rows in flawed.items()},
        unmatched=unmatched,
    )
    if len(left) < 2:
        raise BadInput(
            " ".join(dropped.notes).removesuffix(".") or f"{first.name} has {plural(len(first), 'row')}",
            available="at least two usable rows",
            help="check that the files describe the same rows, and why points are not finite.",
        )
    return {role: embedding.take(left) for role, embedding in matched.items()}, dropped


def _not_finite(embedding: Embedding) -> NDArray[np.bool_]:
    return np.zeros(len(embedding), dtype=bool) if embedding.finite is None else ~embedding.finite


def check_same_length(rows: dict[str, int]) -> None:
    """Refuse files that do not have the same number of rows."""
    if len(set(rows.values())) > 1:
        raise BadInput(
            "The numbers of rows differ: " + ", ".join(f"{name} has {number:,}" for name, number in rows.items()),
            available="a row for the same people in each, in the same order",
            help="if they can be matched by an identifier that every file has, name it with --id (id=).",
        )


def column_values(column: Any) -> list[object]:
    """Return the values of a column, of numpy or of a frame."""
    values_list: list[object] = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    return values_list


def _take_rows(column: Any, order: NDArray[np.int64]) -> Any:
    return column[order] if isinstance(column, np.ndarray) else column[order.tolist()]
