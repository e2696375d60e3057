"""A table for each of train, dev and test: pickled frames, read without running them, or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._loading import read_columns
from equipoise.cohorts._pickles import read_pickled_columns
from equipoise.cohorts._readers import open_table
from equipoise.cohorts._tables import LazyTable
from equipoise.foundation import BadInput

SPLITS = ("train", "dev", "test")
PARQUET = ".parquet"


def read_split_files(
    first: Path, pattern: str, points: str, names: Sequence[str], instructions: str
) -> dict[str, NDArray[Any]]:
    """Return the named columns, the matrix ``points`` and a column ``split``, of the three files beside one another.

    ``first`` is the file of train; ``pattern`` says how the files are called, with ``{split}`` in it.
    """
    files = {split: first.with_name(pattern.format(split=split)) for split in SPLITS}
    absent = [file.name for file in files.values() if not file.is_file()]
    if absent:
        raise BadInput(
            f"The folder {str(first.parent)!r} lacks {absent[0]!r}",
            available=f"one file for each of {', '.join(SPLITS)}",
            help=instructions,
        )
    parts = {split: _read(file, points, names) for split, file in files.items()}
    widths = {split: part[points].shape[1] for split, part in parts.items()}
    if len(set(widths.values())) > 1:
        raise BadInput(f"{points!r} has different numbers of dimensions: {widths}", available="the same in each split")
    columns = {name: np.concatenate([part[name] for part in parts.values()]) for name in (points, *names)}
    lengths = [len(part[points]) for part in parts.values()]
    return {**columns, "split": np.repeat(np.array(SPLITS, dtype=object), lengths)}


def _read(file: Path, points: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    if file.suffix == PARQUET:
        table = LazyTable(open_table(file), file.name)
        table.check_columns([points, *names])
        read = {points: table.matrix(points).astype(np.float32), **read_columns(file, names)}
    else:
        read = read_pickled_columns(file, [points, *names])
    if read[points].ndim != 2 or read[points].dtype.kind != "f":
        raise BadInput(
            f"The column {points!r} of {file.name} holds {read[points].dtype}",
            available="a list of numbers in each row",
        )
    return read


def named(values: NDArray[Any], names: Sequence[str], what: str, others: Sequence[str] = ()) -> NDArray[Any]:
    """Return what numbers from 0 on stand for; ``others`` are words that stand for the same, such as m and f."""
    words = dict(zip(others, names, strict=True)) if others else {}
    called = {float(number): name for number, name in enumerate(names)}
    row_names = [words.get(value) or called.get(value) for value in values.tolist()]
    if None in row_names:
        bad = values.tolist()[row_names.index(None)]
        raise BadInput(
            f"Row {row_names.index(None):,} (counted from 0) has the {what} {str(bad)[:50]!r}",
            available=f"0 to {len(names) - 1}" + (f", or {', '.join(others)}" if others else ""),
        )
    return np.array(row_names, dtype=object)
