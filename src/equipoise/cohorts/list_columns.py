"""Points in a column of lists: Parquet, Arrow, or lists written as text in a CSV. Rows keep the order of the file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.readers import open_table
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.text import plural
from equipoise.tallies.lazy import unreadable


def list_columns(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns that hold lists."""
    return [name for name, kind in open_table(path).collect_schema().items() if kind.is_nested()]


def read_list_column(path: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """Return a column of lists of numbers as an array with a row for each; a missing number is NaN."""
    frame = open_table(path)
    columns = list(frame.collect_schema())
    if name not in columns:
        raise unknown_name("column", name, columns, os.path.basename(os.fspath(path)))
    native = frame.to_native()
    read = _of_duckdb if hasattr(native, "fetchnumpy") else _of_arrow
    flat, lengths = read(native, name)
    if not len(lengths):
        raise BadInput(f"{os.path.basename(os.fspath(path))} has no rows", allowed="at least one row")
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd) or lengths[0] < 0:
        where = int(odd[0]) if len(odd) else 0
        raise BadInput(
            f"The lists of the column {name!r} are not equally long: row {where:,} has {_said(int(lengths[where]))}, "
            f"row {0 if where else int(len(lengths) > 1):,} {_said(int(lengths[0 if where else -1]))}",
            allowed="one list of numbers a row, all equally long",
            way_out="drop rows without a list in every file, or fill them.",
        )
    return flat.reshape(len(lengths), -1)


def _said(length: int) -> str:
    return "none" if length < 0 else plural(length, "number")


def _of_duckdb(relation: Any, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    import duckdb

    quoted = '"{}"'.format(name.replace('"', '""'))
    kind = str(relation.types[relation.columns.index(name)])
    numbers = quoted if kind.endswith("]") else f"CAST({quoted} AS DOUBLE[])"
    try:
        # A projection keeps the order of rows, over files and row groups too, and so does laying lists end to end.
        lengths = relation.project(f"coalesce(len({numbers}), -1) AS length").fetchnumpy()["length"]
        flat = relation.project(f"unnest({numbers}) AS number").fetchnumpy()["number"]
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
        allowed="one list of numbers a row, such as [0.25, -1.5]",
    )


def the_list_column(path: str | os.PathLike[str]) -> str:
    """Return the only column of lists, or ask which."""
    found = list_columns(path)
    if len(found) == 1:
        return found[0]
    where = os.path.basename(os.fspath(path))
    raise BadInput(
        f"{where} has {'several columns' if found else 'no column'} of lists, and none was named",
        allowed=listing(found) if found else "a column with one list of numbers a row",
        way_out="name the column of points with --embedding (embedding=, or key=).",
    )
