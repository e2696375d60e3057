"""Embedding: a point for each row, from a file or from memory, looked through once and kept where it lies.

``open_embedding("z.npz", "z")`` reads ``.npy``, ``.npz`` and ``.safetensors`` (memory-mapped), and any table that has a
column of lists. float16 and whole numbers are allowed; they become float block by block, where they are used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import (
    NPY,
    PICKLE_ENDINGS,
    PICKLE_REASON,
    array_names,
    file_ending,
    read_array,
    read_points,
    the_list_column,
)
from equipoise.cohorts._ids import (
    DROP,
    read_ids,
)
from equipoise.cohorts._readers import (
    ARRAY_ENDINGS,
    ARROW,
    CSV,
    PARQUET,
)
from equipoise.foundation import (
    BadInput,
    fingerprint_of,
    listing,
    nearest_file,
    plural,
    unknown_name,
)

BLOCK_BYTES = 32 * 1024**2


@dataclass(frozen=True, eq=False)
class Embedding:
    """A point for each row: ``points`` is N x d as it is stored.

    Every number is finite, unless rows that are not finite may be dropped: ``finite`` then says which rows are. Where
    rows were taken, ``source_rows`` says which of the ``source_length`` rows of the file or array each point is of.
    """

    points: NDArray[Any] = field(repr=False)
    name: str
    fingerprint: str
    ids: tuple[str, ...] | None = field(default=None, repr=False)
    key: str | None = None
    path: Path | None = None
    finite: NDArray[np.bool_] | None = field(default=None, repr=False)
    source_rows: NDArray[np.int64] | None = field(default=None, repr=False)
    source_length: int = 0

    def __post_init__(self) -> None:
        if not self.source_length:
            object.__setattr__(self, "source_length", len(self))

    def __len__(self) -> int:
        return int(self.points.shape[0])

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return int(self.points.shape[1])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of its shape."""
        if self.width <= len(self):
            return ()
        return (
            f"{self.name} has more dimensions ({self.width:,}) than rows ({len(self):,}): all points are then far "
            "apart, and similarities say less.",
        )

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the points as floats, some rows at a time: float32 where that loses nothing, otherwise float64."""
        kind = working_dtype(self.points.dtype)
        for part in _row_blocks(self.points):
            yield np.asarray(part, dtype=kind)

    def numbers(self) -> NDArray[Any]:
        """Return the points as floats: where they lie if they are floats already, otherwise converted by block."""
        kind = working_dtype(self.points.dtype)
        if self.points.dtype == kind:
            return self.points
        numbers_read = np.empty(self.points.shape, dtype=kind)
        done = 0
        for block in self.blocks():
            numbers_read[done : done + len(block)] = block
            done += len(block)
        return numbers_read

    def take(self, rows: NDArray[np.int64]) -> Embedding:
        """Return these rows in this order."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return replace(
            self,
            points=np.asarray(self.points[rows]),
            ids=None if self.ids is None else tuple(self.ids[row] for row in rows.tolist()),
            finite=None if self.finite is None else self.finite[rows],
            source_rows=rows if self.source_rows is None else self.source_rows[rows],
        )


def working_dtype(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the floats to work with: float32 for all that fits into it, float64 for the rest."""
    return np.dtype(np.float32 if np.can_cast(stored, np.float32) else np.float64)


def open_embedding(
    source: object,
    key: str | None = None,
    *,
    id: str | None = None,
    name: str | None = None,
    drop: bool | None = None,
) -> Embedding:
    """Open an embedding: a path, or an array in memory (numpy, torch or any other of the array API).

    ``key`` names the array of a ``.npz`` or ``.safetensors`` file, or the column of lists of a table; it can be left
    out where there is only one. ``z*`` takes all columns of a table that begin with z for the dimensions. ``id`` names
    the array or column that says which row is whose. Numbers that are not finite are refused, unless the caller is to
    ``drop`` those rows (False: it could; None: it has no such option).
    """
    if isinstance(source, Embedding):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        points, array_name = _open(path, key)
        embedding = _checked(points, name or path.name, drop, key=array_name, path=path)
        return replace(embedding, ids=read_ids(path, id, len(embedding)))
    if id is not None:
        raise BadInput("An array in memory has no ids", help="leave id= out: rows are then matched by order.")
    return _checked(_in_memory(source), name or "the array", drop)


def _in_memory(source: object) -> NDArray[Any]:
    """Bring an array of any library to the host as a numpy array."""
    import array_api_compat as api

    if isinstance(source, np.ma.MaskedArray):  # what is masked is missing
        return np.asarray(np.ma.filled(source.astype(np.float64), np.nan))
    if isinstance(source, np.ndarray):
        return source
    if api.is_torch_array(source):
        tensor: Any = source
        tensor = tensor.detach().cpu()
        return np.asarray(tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor)
    if api.is_array_api_obj(source):
        return np.asarray(api.to_device(source, "cpu") if api.is_cupy_array(source) else source)
    try:
        return np.asarray(source)
    except ValueError as error:
        raise BadInput(
            f"The points could not be read as an array ({error})", available="rows of equal length"
        ) from error


def _open(path: Path, key: str | None) -> tuple[NDArray[Any], str]:
    ending = file_ending(path)
    if ending in PICKLE_ENDINGS:
        raise BadInput(
            f"{path.name} is refused: {PICKLE_REASON}",
            available=", ".join((*ARRAY_ENDINGS, *PARQUET)),
            help="save the array with numpy.save, or the tensor with safetensors.torch.save_file.",
        )
    if ending in ARRAY_ENDINGS:
        _check_file(path)
        array_name = _the_array(path, key)
        _check_shape(array_names(path)[array_name], f"{array_name!r} of {path.name}" if array_name else path.name)
        return read_array(path, array_name), array_name
    tables = (*PARQUET, *ARROW, *CSV)
    if path.is_dir() or any(sign in path.name for sign in "*?[") or path.name.lower().endswith(tables):
        array_name = key if key is not None else the_list_column(path)
        return read_points(path, array_name), array_name
    raise BadInput(
        f"{path.name!r} has an unknown file ending",
        available=", ".join((*ARRAY_ENDINGS, *tables)),
        help="rename it to what it is, or save the array with numpy.save.",
    )


def _check_file(path: Path) -> None:
    if not path.is_file():
        folder = path.parent
        files = [name for name in os.listdir(folder) if file_ending(name) in ARRAY_ENDINGS] if folder.is_dir() else []
        guess = nearest_file(path.name, files)
        hint = f"did you mean {str(folder / guess)!r}?" if guess else "check the path."
        raise BadInput(f"There is no file {str(path)!r}", help=hint)
    if not os.access(path, os.R_OK):
        raise BadInput(f"The file {str(path)!r} may not be read by this user", help="ask for read permission.")
    if os.path.getsize(path) == 0:
        raise BadInput(f"The file {str(path)!r} is empty", available="an array with at least one row")


def _the_array(path: Path, key: str | None) -> str:
    """Return the name of the array asked for, or of the only one that can hold points."""
    shapes = array_names(path)
    if file_ending(path) == NPY:
        if key:
            raise BadInput(f"{path.name} holds one array without a name", help=f"leave out the name {key!r}.")
        return ""
    if key is not None:
        if key not in shapes:
            raise unknown_name("array", key, shapes, path.name)
        return key
    points = [name for name, shape in shapes.items() if len(shape) > 1]
    if len(points) == 1:
        return points[0]
    raise BadInput(
        f"{path.name} has {'several arrays' if points else 'no array'} with one point per row, and none was named",
        available=listing(points) if points else "an array of two or more axes: rows, then dimensions",
        help="name it with --embedding (embedding=, or key=)." if points else "save the points as well.",
    )


def _row_blocks(points: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = max(1, BLOCK_BYTES // max(1, points.shape[1] * points.dtype.itemsize))
    for first in range(0, len(points), rows):
        yield points[first : first + rows]


def _checked(
    points: NDArray[Any], name: str, drop: bool | None, key: str | None = None, path: Path | None = None
) -> Embedding:
    """Refuse what is no embedding, look through all numbers once, and hash them on the way."""
    where = f"{key!r} of {name}" if key else name
    if points.dtype.hasobject:
        raise BadInput(f"{where} holds Python objects, not numbers", available="an array of numbers")
    if points.dtype.kind not in "fiub":
        raise BadInput(f"{where} does not hold numbers (it holds {points.dtype})", available="real numbers")
    _check_shape(points.shape, where)
    if not points.dtype.isnative:
        points = points.astype(points.dtype.newbyteorder("="))
    flat = points.reshape(len(points), -1)
    fingerprint, finite = _look_through(flat, where, drop)
    return Embedding(flat, name, fingerprint, key=key, path=path, finite=finite)


def _check_shape(shape: tuple[int, ...], where: str) -> None:
    """Refuse a shape that is no embedding's; a file says its shape before anything is unpacked."""
    if len(shape) < 2:
        raise BadInput(
            f"{where} is not an embedding: it has {plural(len(shape), 'axis', 'axes')} "
            f"({f'shape {shape}' if shape else 'no shape'})",
            available="two or more axes: rows, then dimensions",
            help="an array of one number per row can be given as array.reshape(-1, 1).",
        )
    if 0 in shape:
        raise BadInput(f"{where} has no {'rows' if not shape[0] else 'dimensions'} (shape {shape})")


def _look_through(points: NDArray[Any], where: str, drop: bool | None) -> tuple[str, NDArray[np.bool_] | None]:
    """Return the fingerprint (a hash of the blocks' hashes) and, where not all are, which rows are finite."""
    parts = [str((points.shape, points.dtype.str)).encode()]
    finite = np.ones(len(points), dtype=bool)
    bad, first, done = 0, "", 0
    for part in _row_blocks(points):
        block = np.ascontiguousarray(part)
        parts.append(hashlib.sha256(block.reshape(-1).view(np.uint8).data).digest())
        if block.dtype.kind == "f" and not np.isfinite(block).all():
            rows, columns = np.nonzero(~np.isfinite(block))
            first = first or f"{block[rows[0], columns[0]]} in row {done + int(rows[0]):,}, column {int(columns[0]):,}"
            bad += len(rows)
            finite[done + rows] = False
        done += len(block)
    if bad and not drop:
        leave_out = "drop those rows from every file" if drop is None else f"leave those rows out {DROP}"
        raise BadInput(
            f"{bad:,} {'number of' if bad == 1 else 'numbers of'} {where} {'is' if bad == 1 else 'are'} not finite; "
            f"the first is {first} (counted from 0)",
            available="finite numbers",
            help=f"check why they are missing; {leave_out}, or fill them.",
        )
    return fingerprint_of(parts), finite if bad else None
