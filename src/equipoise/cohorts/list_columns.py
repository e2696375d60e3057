"""Points in a column of lists, or in several columns of numbers. Rows keep the order of the file.

Lists are columns of Parquet and Arrow, or text in a CSV; ``z*`` names all columns that begin with z, in their order.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.csv_files import quoted
from equipoise.cohorts.readers import open_table
from equipoise.foundation.arrays import Column, as_floats
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.text import plural
from equipoise.tallies.lazy import run_query, unreadable

if TYPE_CHECKING:
    import narwhals as nw


def list_columns(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns that hold lists."""
    return [name for name, kind in open_table(path).collect_schema().items() if kind.is_nested()]


def read_points(path: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """Return a column of lists of numbers, or the columns that a pattern such as ``z*`` matches, as a matrix.

    A missing number is NaN.
    """
    frame = open_table(path)
    where = os.path.basename(os.fspath(path))
    schema = frame.collect_schema()
    if name not in schema:
        if not is_pattern(name):
            raise unknown_name("column", name, schema, where)
        return _read_numbers(frame, matching_columns([name], list(schema), where))
    native = frame.to_native()
    read = _of_duckdb if hasattr(native, "fetchnumpy") else _of_arrow
    flat, lengths = read(native, name)
    if not len(lengths):
        raise BadInput(f"{where} has no rows", available="at least one row")
    _check_equal(lengths, name)
    return flat.reshape(len(lengths), -1)


def _read_numbers(frame: nw.LazyFrame[Any], names: Sequence[str]) -> NDArray[Any]:
    schema = frame.collect_schema()
    for name in names:
        if not schema[name].is_numeric():
            raise BadInput(
                f"The column {name!r} holds {schema[name]}, and not numbers",
                available="columns of numbers, one for each dimension",
                help="use a pattern that matches only those.",
            )
    native: Any = frame.to_native()
    if hasattr(native, "fetchnumpy"):
        import duckdb

        try:
            found = run_query(native.project(", ".join(quoted(name) for name in names)).fetchnumpy)
        except duckdb.Error as error:
            raise unreadable(error) from error
        columns = [_filled(np.ma.asarray(column)) for column in found.values()]
    else:
        eager = frame.select(*names).collect()
        columns = [as_floats(eager.get_column(name), f"the column {name!r}") for name in names]
    return np.stack(columns, axis=1)


def is_pattern(name: str) -> bool:
    """Tell whether a name stands for several columns."""
    return any(sign in name for sign in "*?[")


def matching_columns(
    wanted: Sequence[str], columns: Sequence[str], where: str, *, leave_out: Container[str] = ()
) -> list[str]:
    """Return the columns that names and patterns such as ``e*`` stand for, each once, in the order of the table.

    Parameters
    ----------
    wanted : sequence of str
        Names of columns, or patterns (``*`` any letters, ``?`` one letter, ``[ab]`` one of these).
    columns : sequence of str
        The columns of the table.
    where : str
        What the table is called in an error.
    leave_out : container of str
        Columns that no pattern matches, such as the target; they can still be named.

    Returns
    -------
    list of str
        The columns, those of a pattern in the order of the table.
    """
    found: dict[str, None] = {}
    for name in wanted:
        if name in columns or not is_pattern(name):
            if name not in columns:
                raise unknown_name("column", name, columns, where)
            found[name] = None
            continue
        matched = [column for column in columns if column not in leave_out and fnmatch.fnmatchcase(column, name)]
        if not matched:
            raise BadInput(
                f"No column of {where} matches {name!r}",
                available=listing(column for column in columns if column not in leave_out),
                help="* matches any letters, ? matches one; capital letters matter.",
            )
        found |= dict.fromkeys(matched)
    return list(found)


def matrix_of_lists(column: Column, name: str) -> NDArray[Any]:
    """Return a column of lists in memory as a matrix with a row for each; a missing number is NaN."""
    values = column if isinstance(column, np.ndarray) else column.to_numpy()
    if values.ndim == 2:
        return _numeric(values, name)
    lengths = np.array([-1 if value is None else len(value) for value in values], dtype=np.int64)
    _check_equal(lengths, name)
    try:
        rows = [value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64) for value in values]
        return _numeric(np.stack(rows), name)
    except (TypeError, ValueError) as error:
        raise _no_lists(name, "a list of other values") from error


def _numeric(matrix: NDArray[Any], name: str) -> NDArray[Any]:
    made = matrix.astype(np.float64) if matrix.dtype.kind == "O" else matrix
    if made.ndim != 2 or made.dtype.kind not in "fiub":
        raise _no_lists(name, f"a list of {matrix.dtype}")
    return made


def relation_lists(relation: Any, name: str, shown: str) -> NDArray[Any]:
    """Return a column of lists of a DuckDB relation as a matrix; no list becomes Python objects on the way."""
    flat, lengths = _of_duckdb(relation, name)
    _check_equal(lengths, shown)
    return flat.reshape(len(lengths), -1)


def _check_equal(lengths: NDArray[np.int64], name: str) -> None:
    if not len(lengths):
        return
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd) or lengths[0] < 0:
        where = int(odd[0]) if len(odd) else 0
        raise BadInput(
            f"The lists of the column {name!r} are not equally long: row {where:,} has {_said(int(lengths[where]))}, "
            f"row {0 if where else int(len(lengths) > 1):,} {_said(int(lengths[0 if where else -1]))}",
            available="one list of numbers per row, all equally long",
            help="drop rows without a list in every file, or fill them.",
        )


def _said(length: int) -> str:
    return "none" if length < 0 else plural(length, "number")


def _of_duckdb(relation: Any, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    import duckdb

    column = quoted(name)
    kind = str(relation.types[relation.columns.index(name)])
    numbers = column if kind.endswith("]") else f"CAST({column} AS DOUBLE[])"
    try:
        # A projection keeps the order of rows, over files and row groups too, and so does laying lists end to end.
        lengths = run_query(relation.project(f"coalesce(len({numbers}), -1) AS length").fetchnumpy)["length"]
        flat = run_query(relation.project(f"unnest({numbers}) AS number").fetchnumpy)["number"]
    except duckdb.ConversionException as error:
        raise _no_lists(name, kind) from error
    except duckdb.Error as error:
        raise unreadable(error) from error
    if flat.dtype.kind not in "fiub":
        raise _no_lists(name, kind)
    return _filled(flat), np.asarray(lengths, dtype=np.int64)


def _of_arrow(frame: Any, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    column = frame.column(name) if hasattr(frame, "column") else frame.collect().column(name)
    if not str(column.type).startswith(("list", "large_list", "fixed_size_list")):
        raise _no_lists(name, str(column.type))
    import pyarrow.compute as compute

    lengths = compute.list_value_length(column).fill_null(-1).to_numpy().astype(np.int64)
    flat = compute.list_flatten(column).to_numpy()
    if flat.dtype.kind not in "fiub":
        raise _no_lists(name, str(column.type))
    return flat, lengths


def _filled(flat: NDArray[Any]) -> NDArray[Any]:
    """Put NaN where the engine says that a number is missing."""
    if not isinstance(flat, np.ma.MaskedArray):
        return flat
    if not np.ma.getmaskarray(flat).any():
        return np.asarray(np.ma.getdata(flat))
    wide = np.ma.getdata(flat).astype(np.result_type(flat.dtype, np.float32))
    wide[np.ma.getmaskarray(flat)] = np.nan
    return np.asarray(wide)


def _no_lists(name: str, kind: str) -> BadInput:
    return BadInput(
        f"The column {name!r} does not hold lists of numbers (it is of type {kind})",
        available="one list of numbers per row, such as [0.25, -1.5]",
    )


def the_list_column(path: str | os.PathLike[str]) -> str:
    """Return the only column of lists, or ask which."""
    found = list_columns(path)
    if len(found) == 1:
        return found[0]
    where = os.path.basename(os.fspath(path))
    raise BadInput(
        f"{where} has {'several columns' if found else 'no column'} of lists, and none was named",
        available=listing(found) if found else "a column with one list of numbers per row",
        help="name the column of points with --embedding (embedding=, or key=).",
    )
