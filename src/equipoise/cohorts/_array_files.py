"""Arrays in files: ``.npy``, ``.npz``, ``.safetensors``, and columns of lists or of numbers in a table.

Arrays are memory-mapped where the format allows, and never unpickled. Every size that a file declares is checked
against the bytes that are there before anything is allocated. Lists are columns of Parquet and Arrow, or text in a CSV;
``z*`` names all columns that begin with z, in their order. Rows keep the order of the file.
"""

from __future__ import annotations

import fnmatch
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from equipoise.cohorts._readers import (
    ARRAY_ENDINGS,
    open_table,
    quoted,
)
from equipoise.foundation import (
    BadInput,
    Column,
    as_floats,
    listing,
    plural,
    unknown_name,
)
from equipoise.tallies import (
    run_query,
    unreadable_error,
)

if TYPE_CHECKING:
    import narwhals as nw


NPY, NPZ, SAFETENSORS = ARRAY_ENDINGS
# Formats that are read by running what is in them.
PICKLE_ENDINGS = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".bin")
PICKLE_REASON = "it holds pickled Python objects, and loading them could run code hidden in the file"

# A compressed array is unpacked into memory, and a hostile file of a megabyte may say that it unpacks to a terabyte.
MOST_UNPACKED = 4 * 1024**3
# The most that the compression of zip files can gain: a file that says more is lying.
MOST_GAINED = 1_040
CHUNK = 16 * 1024**2

# The names safetensors has for kinds of numbers, and numpy's. BF16 has no name in numpy: the upper half of a float32.
KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1",
}  # fmt: skip


def file_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name, in small letters."""
    return Path(path).suffix.lower()


def array_names(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in a file by name; the one array of a ``.npy`` is called by the empty text."""
    if file_ending(path) == NPZ:
        with _opened_zip(path) as archive:
            return {_bare(info): _member_header(archive, info, path).shape for info in _members(archive)}
    if file_ending(path) == SAFETENSORS:
        return {name: tuple(entry["shape"]) for name, entry in _tensors(path)[0].items()}
    with open(path, "rb") as file:
        return {"": _header(file, path.name).shape}


def read_array(path: Path, name: str) -> NDArray[Any]:
    """Return one array of a file by its name: memory-mapped, or read into memory where it is compressed."""
    if file_ending(path) == NPZ:
        return _read_member(path, name)
    if file_ending(path) == SAFETENSORS:
        return _read_tensor(path, name)
    with open(path, "rb") as file:
        header = _header(file, path.name)
    return _mapped(path, header, header.length, os.path.getsize(path))


def read_rows(path: Path, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return some rows of an array of a ``.npz`` file, by ascending position: no more than those are held in memory."""
    return _read_member(path, name, rows)


class _Header:
    """What an array in numpy's format says of itself."""

    def __init__(self, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any], length: int) -> None:
        self.shape, self.fortran, self.dtype, self.length = shape, fortran, dtype, length
        # Python's whole numbers do not overflow, as a hostile shape would make numpy's.
        self.bytes = math.prod(shape) * dtype.itemsize


def _header(file: IO[bytes], where: str) -> _Header:
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise BadInput(
                f"{where} is in version {version} of numpy's format", available="plain numbers or text (1, 2)"
            )
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        if isinstance(error, BadInput):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(
            f"{where} is not an array in numpy's format, or it is damaged ({reason})",
            available="what numpy.save or numpy.savez writes",
            help="save it again.",
        ) from error
    if dtype.hasobject:
        raise BadInput(
            f"{where} is refused: {PICKLE_REASON}",
            available="arrays of numbers, or of text as numpy's text",
            help="save it again: numbers as array.astype(float), ids as numpy.array(list(ids), dtype=str).",
        )
    # Even where a side is 0 numpy makes no array whose other sides do not fit into 64 bits.
    nothing = 0 in shape and math.prod(side or 1 for side in shape) * max(dtype.itemsize, 1) >= 2**63
    if any(side < 0 for side in shape) or nothing:
        raise BadInput(f"{where} says that its shape is {shape}", help="save it again.")
    return _Header(shape, fortran, dtype, file.tell())


def _mapped(path: Path, header: _Header, start: int, end: int) -> NDArray[Any]:
    """Map the numbers of an array that lie in a file as they are."""
    if header.bytes > end - start:
        raise _truncated(path.name, header.bytes, end - start)
    order: Any = "F" if header.fortran else "C"
    if not header.bytes:  # nothing cannot be mapped
        return np.empty(header.shape, dtype=header.dtype, order=order)
    return np.memmap(path, dtype=header.dtype, mode="r", offset=start, shape=header.shape, order=order)


def _truncated(where: str, expected_bytes: int, byte_count: int) -> BadInput:
    return BadInput(
        f"{where} is truncated or damaged: its numbers should take {expected_bytes:,} bytes, and "
        f"{max(byte_count, 0):,} are there",
        help="copy or save the file again.",
    )


@contextmanager
def _opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
        raise BadInput(
            f"{path.name} is not a whole .npz file ({error})",
            available="what numpy.savez or numpy.savez_compressed writes",
            help="copy or save the file again.",
        ) from error


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [info for info in archive.infolist() if info.filename.endswith(NPY)]


def _bare(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(NPY)


def _member_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> _Header:
    with archive.open(info) as member:
        return _header(member, f"{_bare(info)!r} of {path.name}")


def _read_member(path: Path, name: str, rows: NDArray[np.int64] | None = None) -> NDArray[Any]:
    with _opened_zip(path) as archive:
        members = {_bare(info): info for info in _members(archive)}
        if name not in members:
            raise unknown_name("array", name, members, path.name)
        info, where = members[name], f"{name!r} of {path.name}"
        header = _member_header(archive, info, path)
        if header.length + header.bytes > info.file_size:
            raise _truncated(where, header.bytes, info.file_size - header.length)
        if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
            start = _start_of(path, info)
            stored = _mapped(path, header, start + header.length, min(start + info.file_size, os.path.getsize(path)))
            return stored if rows is None else np.array(stored[rows])
        if header.bytes > MOST_UNPACKED:
            raise BadInput(
                f"{where} says that it unpacks to {header.bytes:,} bytes from {info.compress_size:,}",
                available=f"compressed arrays of up to {MOST_UNPACKED:,} bytes; others of any size",
                help="if the file is yours, save it with numpy.savez or numpy.save: those are read where they lie.",
            )
        if header.bytes > MOST_GAINED * min(info.compress_size, os.path.getsize(path)):
            raise _truncated(where, header.bytes, info.compress_size)
        with archive.open(info) as member:
            member.read(header.length)
            if rows is not None and not header.fortran:
                return _unpacked_rows(member, header, where, rows)
            array = _unpacked(member, header, where)
            return array if rows is None else array[rows]


def _start_of(path: Path, info: zipfile.ZipInfo) -> int:
    """Return where a stored member begins: behind its own header, whose length only that header tells."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        name, extra = struct.unpack("<26xHH", file.read(30))
    return info.header_offset + 30 + int(name) + int(extra)


def _unpacked(member: IO[bytes], header: _Header, where: str) -> NDArray[Any]:
    flat = np.empty(header.bytes, dtype=np.uint8)
    done = 0
    while done < header.bytes:
        part = member.read(min(CHUNK, header.bytes - done))
        if not part:
            raise _truncated(where, header.bytes, done)
        flat[done : done + len(part)] = np.frombuffer(part, dtype=np.uint8)
        done += len(part)
    return flat.view(header.dtype).reshape(header.shape, order="F" if header.fortran else "C")


def _unpacked_rows(member: IO[bytes], header: _Header, where: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    rows_read = np.empty((len(rows), *header.shape[1:]), dtype=header.dtype)
    width = header.bytes // max(header.shape[0], 1)
    at_once = max(CHUNK // max(width, 1), 1)
    for first in range(0, header.shape[0], at_once):
        number = min(at_once, header.shape[0] - first)
        part = member.read(number * width)
        if len(part) < number * width:
            raise _truncated(where, header.bytes, first * width + len(part))
        chosen = slice(*np.searchsorted(rows, [first, first + number]).tolist())
        rows_read[chosen] = np.frombuffer(part, dtype=header.dtype).reshape(number, *header.shape[1:])[
            rows[chosen] - first
        ]
    return rows_read


def _tensors(path: Path) -> tuple[dict[str, Any], int]:
    """Return the entries of a safetensors header, checked by the library, and where the numbers begin."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        raise BadInput(
            f"{path.name} is not a whole .safetensors file ({error})",
            available="what safetensors.numpy.save_file or safetensors.torch.save_file writes",
            help="copy or save the file again.",
        ) from error
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(length))
    entries.pop("__metadata__", None)
    return entries, 8 + length


def _read_tensor(path: Path, name: str) -> NDArray[Any]:
    entries, start = _tensors(path)
    if name not in entries:
        raise unknown_name("array", name, entries, path.name)
    entry = entries[name]
    if entry["dtype"] not in KINDS:
        raise BadInput(f"{name!r} of {path.name} holds {entry['dtype']} numbers", available=", ".join(KINDS))
    dtype = np.dtype(KINDS[entry["dtype"]])
    header = _Header(tuple(entry["shape"]), False, dtype, 0)
    first, last = entry["data_offsets"]
    stored = _mapped(path, header, start + first, start + last)
    return _widened(stored) if entry["dtype"] == "BF16" else stored


def _widened(halves: NDArray[Any]) -> NDArray[Any]:
    """Turn bfloat16, the upper half of a float32, into float32."""
    flat = halves.reshape(-1)
    wide = np.empty(flat.shape, dtype=np.uint32)
    for first in range(0, len(flat), CHUNK):
        wide[first : first + CHUNK] = flat[first : first + CHUNK].astype(np.uint32) << 16
    return wide.view(np.float32).reshape(halves.shape)


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
            arrays = run_query(native.project(", ".join(quoted(name) for name in names)).fetchnumpy)
        except duckdb.Error as error:
            raise unreadable_error(error) from error
        columns = [_filled(np.ma.asarray(column)) for column in arrays.values()]
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
    matches: dict[str, None] = {}
    for name in wanted:
        if name in columns or not is_pattern(name):
            if name not in columns:
                raise unknown_name("column", name, columns, where)
            matches[name] = None
            continue
        matched = [column for column in columns if column not in leave_out and fnmatch.fnmatchcase(column, name)]
        if not matched:
            raise BadInput(
                f"No column of {where} matches {name!r}",
                available=listing(column for column in columns if column not in leave_out),
                help="* matches any letters, ? matches one; capital letters matter.",
            )
        matches |= dict.fromkeys(matched)
    return list(matches)


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
    numbers = matrix.astype(np.float64) if matrix.dtype.kind == "O" else matrix
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiub":
        raise _no_lists(name, f"a list of {matrix.dtype}")
    return numbers


def relation_lists(relation: Any, name: str, column_text: str) -> NDArray[Any]:
    """Return a column of lists of a DuckDB relation as a matrix; no list becomes Python objects on the way."""
    flat, lengths = _of_duckdb(relation, name)
    _check_equal(lengths, column_text)
    return flat.reshape(len(lengths), -1)


def _check_equal(lengths: NDArray[np.int64], name: str) -> None:
    if not len(lengths):
        return
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd) or lengths[0] < 0:
        where = int(odd[0]) if len(odd) else 0
        raise BadInput(
            f"The lists of the column {name!r} are not equally long: row {where:,} has "
            f"{_numbers_text(int(lengths[where]))}, "
            f"row {0 if where else int(len(lengths) > 1):,} {_numbers_text(int(lengths[0 if where else -1]))}",
            available="one list of numbers per row, all equally long",
            help="drop rows without a list in every file, or fill them.",
        )


def _numbers_text(length: int) -> str:
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
        raise unreadable_error(error) from error
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
    candidates = list_columns(path)
    if len(candidates) == 1:
        return candidates[0]
    where = os.path.basename(os.fspath(path))
    raise BadInput(
        f"{where} has {'several columns' if candidates else 'no column'} of lists, and none was named",
        available=listing(candidates) if candidates else "a column with one list of numbers per row",
        help="name the column of points with --embedding (embedding=, or key=).",
    )
