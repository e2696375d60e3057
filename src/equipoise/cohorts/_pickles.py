"""Tables that were pickled, read without running what is in them.

A pickle is a small program: it names functions and calls them. Here no name of a file is ever imported. Each name of
the exact list below becomes a record of what it was called with, and arrays are built from those records afterwards;
any other name, a name of the copyreg extension registry and a persistent id end the reading. Neither numpy nor pandas
sees the file: their own restoring functions trust what they are given, such as the flags of a dtype.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing, unknown_name

# What a pickle of a table or of arrays may name, and what it stands for. Modules changed their names over the years.
NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): "array",
    ("numpy._core.multiarray", "_reconstruct"): "array",
    ("numpy.core.numeric", "_frombuffer"): "buffer",
    ("numpy._core.numeric", "_frombuffer"): "buffer",
    ("numpy.core.multiarray", "scalar"): "scalar",
    ("numpy._core.multiarray", "scalar"): "scalar",
    ("numpy", "ndarray"): "array class",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "bytes",
    ("builtins", "bytearray"): "bytes",
    ("__builtin__", "bytearray"): "bytes",
    ("builtins", "slice"): "slice",
    ("__builtin__", "slice"): "slice",
    ("pandas", "DataFrame"): "frame",
    ("pandas.core.frame", "DataFrame"): "frame",
    ("pandas.core.internals.managers", "BlockManager"): "manager",
    ("pandas._libs.internals", "_unpickle_block"): "block",
    ("pandas.core.indexes.base", "_new_Index"): "index",
    ("pandas", "Index"): "index class",
    ("pandas.core.indexes.base", "Index"): "index class",
    ("pandas", "RangeIndex"): "index class",
    ("pandas.core.indexes.range", "RangeIndex"): "index class",
    ("pandas.core.indexes.numeric", "Int64Index"): "index class",
}
# The layout of a frame's blocks that pandas before 1.3 wrote.
EARLIER_BLOCKS = "0.14.1"
PLAIN_TYPE = re.compile(r"[|<>=]?(b1|[iu][1248]|f[248]|U\d{1,6}|S\d{1,6}|O8?)")
HELP = (
    "if you trust the file, read it in a script of your own and save it as Parquet beside it: "
    "pandas.read_pickle(FILE).to_parquet(NEW)."
)


class _Record:
    """What a name of the list was called with; nothing is done with it here."""

    kind: ClassVar[str] = ""

    def __new__(cls, *args: Any) -> _Record:
        record = super().__new__(cls)
        record.args, record.state = args, None
        return record

    def __init__(self, *args: Any) -> None:
        self.args: tuple[Any, ...]
        self.state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state


_RECORDS: dict[str, type[_Record]] = {kind: type("Record", (_Record,), {"kind": kind}) for kind in NAMES.values()}


# The slower unpickler in Python: the one in C makes room for as many objects as a hostile file says that it has.
class _Unpickler(pickle._Unpickler):
    """An unpickler for which every name is a record."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, encoding="latin1")
        self._name = name

    def find_class(self, module: str, name: str) -> Any:
        """Return the record that a name of the list stands for."""
        kind = NAMES.get((module, name))
        if kind is None:
            raise BadInput(
                f"The pickle {self._name} names {f'{module}.{name}'[:200]!r}, which is none of the names that are read",
                available="columns of numbers, text and arrays of numpy, in a dict or a pandas frame",
                help=HELP,
            )
        return _RECORDS[kind]

    def get_extension(self, code: int) -> None:
        """Refuse a name by its number: what it means is up to the program that reads it."""
        raise BadInput(f"The pickle {self._name} names something by the number {code}", help=HELP)


def read_pickled_columns(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a pickled pandas frame, or of a pickled dict of arrays and lists, by their names.

    A column with an array or a list of numbers in each row becomes a matrix of float32. Nothing in the file is run.
    """
    try:
        content = _content(path)
        columns = _columns(content)
    except BadInput:
        raise
    except Exception as error:  # a damaged or hostile file may fail in any way
        raise _damaged(path, error) from error
    read = {}
    for name in names:
        if name not in columns:
            raise unknown_name("column", name, [name for name in columns if isinstance(name, str)], path.name)
        try:
            read[name] = _column(columns[name])
        except Exception as error:
            raise _damaged(path, error, f"The column {name!r} of ") from error
    lengths = {name: len(column) for name, column in read.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"The columns of {path.name} have different lengths: {lengths}", available="a value per row")
    return read


def _content(path: Path) -> Any:
    if not os.path.getsize(path):
        raise EOFError("it is empty")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return _Unpickler(view, path.name).load()


def _damaged(path: Path, error: Exception, part: str = "") -> BadInput:
    reason = str(error)[:200] or type(error).__name__
    return BadInput(
        f"{part}{path.name} cannot be read ({type(error).__name__}: {reason})",
        available="a whole pickle of a pandas frame, or of a dict of columns",
        help=f"copy it again; {HELP}",
    )


def _columns(content: Any) -> Mapping[Any, Any]:
    """Return what the columns were pickled as."""
    if isinstance(content, dict):
        return content
    if _kind(content) != "frame":
        raise TypeError(f"it holds a {_kind(content) or type(content).__name__}")
    manager = content.state.get("_mgr", content.state.get("_data"))
    if _kind(manager) != "manager":
        raise TypeError("its frame has no blocks")
    if manager.args:
        parts, axes = manager.args
        blocks = [(block.args[0], block.args[1]) for block in parts if _kind(block) == "block"]
        if len(blocks) < len(parts):
            raise TypeError("a part of its frame is no block")
    else:
        earlier = manager.state[3][EARLIER_BLOCKS]
        axes, blocks = earlier["axes"], [(block["values"], block["mgr_locs"]) for block in earlier["blocks"]]
    names = _index(axes[0])
    columns: dict[Any, Any] = {}
    for values, placement in blocks:
        block = _array(values)
        places = _places(placement, len(names))
        if block.ndim != 2 or len(places) != len(block):
            raise ValueError("a block of its frame does not fit its columns")
        columns |= {names[place]: values for place, values in zip(places, block, strict=True)}
    return columns


def _index(value: Any) -> list[Any]:
    if _kind(value) != "index" or "data" not in value.args[1]:
        raise TypeError("its columns have no names")
    names: list[Any] = _array(value.args[1]["data"]).tolist()
    return names


def _places(placement: Any, number: int) -> list[int]:
    if _kind(placement) == "slice":
        return list(range(*slice(*placement.args).indices(number)))
    return [int(place) for place in _array(placement)]


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, _Record) else ""


def _column(value: Any) -> NDArray[Any]:
    """Return a column as numbers, text, or a matrix of float32."""
    values = value if isinstance(value, np.ndarray) else _array(value)
    if values.dtype != object:
        return _matrix(values) if values.ndim > 1 else values
    if len(values) and (isinstance(values[0], list) or _kind(values[0]) in ("array", "buffer")):
        return _matrix([_array(row) for row in values])
    odd = [entry for entry in values if not isinstance(entry, str | int | float | None)]
    if odd:
        values = np.array([_scalar(entry) if isinstance(entry, _Record) else entry for entry in values], dtype=object)
        if any(not isinstance(entry, str | int | float | None) for entry in values):
            raise TypeError(f"it holds a {type(odd[0]).__name__}")
    return values


def _matrix(rows: Any) -> NDArray[np.float32]:
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ValueError(f"its rows have {listing(map(str, lengths))} numbers")
    matrix = np.empty((len(rows), lengths[0]), dtype=np.float32)
    for index, row in enumerate(rows):
        matrix[index] = np.asarray(row, dtype=np.float32)
    if not np.isfinite(matrix).all():
        raise ValueError("some of its numbers are not finite")
    return matrix


def _array(value: Any) -> NDArray[Any]:
    """Build an array from what it was pickled as, or from a list."""
    if isinstance(value, list):
        array = _objects(value)
        return array.astype(np.float64) if value and {type(entry) for entry in value} <= {int, float} else array
    if _kind(value) == "array":
        _, shape, dtype, fortran, content = value.state
    elif _kind(value) == "buffer":
        content, dtype, shape, order = value.args
        fortran = order == "F"
    else:
        raise TypeError(f"{_kind(value) or type(value).__name__} is no array")
    kind, sides = _dtype(dtype), tuple(int(side) for side in shape)
    if any(side < 0 for side in sides):
        raise ValueError(f"the shape of an array is {sides}")
    if kind.hasobject:
        if not isinstance(content, list) or len(content) != math.prod(sides):
            raise ValueError("an array has other objects than its shape says")
        flat = _objects(content)
    else:
        raw = _bytes(content)
        if len(raw) != math.prod(sides) * kind.itemsize:
            raise ValueError(f"an array of the shape {sides} has {len(raw):,} bytes")
        flat = np.frombuffer(raw, dtype=kind)
    return flat.reshape(sides, order="F" if fortran else "C")


def _objects(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _dtype(value: Any) -> np.dtype[Any]:
    """Return the type of plain numbers, text or objects that was pickled; its flags and fields are not looked at."""
    name = value.args[0] if _kind(value) == "dtype" else None
    if not isinstance(name, str) or not PLAIN_TYPE.fullmatch(name):
        raise TypeError(f"an array is of the type {str(name)[:50]!r}")
    kind = np.dtype(name)
    # Text and numbers of more than one byte say their order apart from their name.
    return kind.newbyteorder(">") if value.state and value.state[1] == ">" else kind


def _bytes(value: Any) -> bytes:
    if _kind(value) == "bytes":
        text = value.args[0] if value.args else b""
        value = text.encode("latin1") if isinstance(text, str) else text
    if not isinstance(value, bytes | bytearray):
        raise TypeError(f"{type(value).__name__} are no numbers")
    return bytes(value)


def _scalar(value: _Record) -> Any:
    if value.kind != "scalar":
        raise TypeError(f"it holds a {value.kind}")
    dtype, content = value.args
    kind = _dtype(dtype)
    if kind.hasobject:
        raise TypeError("it holds an object")
    (entry,) = np.frombuffer(_bytes(content), dtype=kind)
    return entry.item()
