"""Matrices in SmallNORB's binary format: a kind, the number of sides, the sides (three at least), then the numbers."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput

KINDS = {0x1E3D4C55: "<u1", 0x1E3D4C54: "<i4", 0x1E3D4C56: "<i2", 0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8"}
LEAST_SIDES, MOST_SIDES = 3, 8
# Rows that are read at once: the wider parts of one piece only are in memory.
AT_ONCE = 500
AGAIN = "download the file again."


def read_matrix(path: Path, rows: NDArray[np.int64] | None = None, first_of: int | None = None) -> NDArray[Any]:
    """Read a matrix, plain or ``.gz``; ``rows`` (ascending) keeps some, ``first_of`` the first of a pair in each.

    Every size that the file states is checked against the bytes that are there.
    """
    try:
        with _opened(path) as file:
            dtype, sides = _header(file, path.name)
            row_numbers = np.arange(sides[0], dtype=np.int64) if rows is None else rows
            shape = sides[2:] if first_of is not None else sides[1:]
            matrix = np.empty((len(row_numbers), *shape), dtype=dtype)
            width = math.prod(sides[1:]) * dtype.itemsize
            for first in range(0, sides[0], AT_ONCE):
                number = min(AT_ONCE, sides[0] - first)
                part = file.read(number * width)
                if len(part) < number * width:
                    raise BadInput(f"{path.name} is truncated at row {first:,} of {sides[0]:,}", help=AGAIN)
                block = np.frombuffer(part, dtype=dtype).reshape(number, *sides[1:])
                chosen = slice(*np.searchsorted(row_numbers, [first, first + number]).tolist())
                rows_read = block[row_numbers[chosen] - first]
                matrix[chosen] = rows_read[:, first_of] if first_of is not None else rows_read
            return matrix
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise BadInput(f"{path.name} cannot be read ({error})", help=AGAIN) from error


def number_of_rows(path: Path) -> int:
    """Return how many rows a file says that it has."""
    try:
        with _opened(path) as file:
            return _header(file, path.name)[1][0]
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise BadInput(f"{path.name} cannot be read ({error})", help=AGAIN) from error


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return open(path, "rb")


def _header(file: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    kind, number = struct.unpack("<ii", file.read(8))
    if kind not in KINDS or not 0 < number <= MOST_SIDES:
        raise BadInput(
            f"{name} is not a matrix in SmallNORB's format", available="the .mat files as published, or .mat.gz"
        )
    sides = struct.unpack(f"<{max(number, LEAST_SIDES)}i", file.read(4 * max(number, LEAST_SIDES)))[:number]
    if any(side <= 0 for side in sides):
        raise BadInput(f"{name} says that its sides are {sides}", help=AGAIN)
    return np.dtype(KINDS[kind]), sides
