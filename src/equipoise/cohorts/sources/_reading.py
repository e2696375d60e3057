"""Reading a source's own file: every field stays text until the source says what it is.

A general reader has to guess the types, and a guess goes wrong on codes: a charge degree that is always "F" reads as
false, and a code "1.0" as a measurement. A source knows its file, so it states the type of each column instead.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    listing,
    plural,
)

Value = TypeVar("Value")

ZERO_OR_ONE = {"0": 0, "1": 1, "False": 0, "True": 1}


@dataclass(frozen=True)
class Sheet:
    """A file's fields as text, by column, with the ways to give them a type."""

    file: str
    fields: Mapping[str, Sequence[str]]

    def words(self, column: str) -> NDArray[Any]:
        """Return text; an empty field is missing."""
        return _objects([text or None for text in self.fields[column]])

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return numbers; an empty field is NaN."""
        return np.array(self._each(column, _number, "a number"), dtype=np.float64)

    def whole_numbers(self, column: str) -> NDArray[np.int64]:
        """Return whole numbers, none of which may be missing."""
        return np.array(self._each(column, lambda text: int(_code(text)), "a whole number"), dtype=np.int64)

    def zeros_and_ones(self, column: str) -> NDArray[np.int64]:
        """Return a yes-or-no column as 1 and 0."""
        return np.array(self._each(column, lambda text: ZERO_OR_ONE[_code(text)], "0 or 1"), dtype=np.int64)

    def decoded(self, column: str, names: Mapping[str, object]) -> NDArray[Any]:
        """Return what each code stands for; a code without a name is refused, not passed on."""
        values = self._each(column, lambda text: names[_code(text)], f"one of {listing(names)}")
        return np.array(values, dtype=np.int64) if all(isinstance(value, int) for value in values) else _objects(values)

    def _each(self, column: str, read: Callable[[str], Value], what: str) -> list[Value]:
        values = []
        for index, text in enumerate(self.fields[column], start=1):
            try:
                values.append(read(text))
            except (KeyError, ValueError):
                raise BadInput(
                    f"Row {index:,} of {self.file!r} has {text!r} in the column {column!r}",
                    available=what,
                    help="pass the file as published by its source.",
                ) from None
        return values


def read_sheet(path: Path, cohort: str, columns: Sequence[str] | None = None, needed: Sequence[str] = ()) -> Sheet:
    """Read the named columns of a CSV file with a header, plain or gzipped; without names, every column.

    A name that the header holds twice (as COMPAS's does) means the first of the two.
    """
    lines = _rows(path, csv.reader(io.StringIO(_text(path), newline="")))
    header = next(lines, None)
    if header is None:
        raise BadInput(f"The file {path.name!r} is empty", available="a header and at least one row")
    wanted_columns = list(dict.fromkeys(header)) if columns is None else columns
    _check_header(path, cohort, header, [*wanted_columns, *needed])
    places = [header.index(name) for name in wanted_columns]
    rows = [[line[index] for index in places] for line in _whole(lines, len(header), path)]
    return _sheet(path, wanted_columns, rows)


def read_bare(path: Path, names: Sequence[str]) -> Sheet:
    """Read a file without a header whose fields are parted by blanks."""
    lines = (line.split() for line in _text(path).splitlines() if line.strip())
    return _sheet(path, names, list(_whole(lines, len(names), path, first=1)))


def _sheet(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Sheet:
    fields = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return Sheet(path.name, dict(zip(names, fields, strict=True)))


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"The file {path.name!r} is not UTF-8 text", help="save it as UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"The file {path.name!r} could not be read ({error})", help="get it again.") from error


def _rows(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the rows that hold anything; what the csv module cannot parse becomes an error of ours."""
    try:
        yield from (row for row in reader if row)
    except csv.Error as error:
        raise BadInput(f"The file {path.name!r} is not proper CSV ({error})", help="get it again.") from error


def _check_header(path: Path, cohort: str, header: Sequence[str], needed: Iterable[str]) -> None:
    missing = [name for name in needed if name not in header]
    if missing:
        raise BadInput(
            f"The file {path.name!r} lacks columns that {cohort} needs: {listing(missing)}",
            available=f"a header with these columns; this one has {listing(header)}",
            help="pass the file as published by its source.",
        )


def _whole(rows: Iterable[list[str]], width: int, path: Path, first: int = 2) -> Iterator[list[str]]:
    """Refuse a row that is too short or too long: its values would land in the wrong columns."""
    for line, row in enumerate(rows, start=first):
        if len(row) != width:
            raise BadInput(
                f"Line {line:,} of {path.name!r} has {plural(len(row), 'field')}",
                available=f"{width:,} fields",
                help="the file may be truncated or of another kind; download it again.",
            )
        yield row


def _number(text: str) -> float:
    return float(text) if text else float("nan")


def _code(text: str) -> str:
    """Write a code as a whole number would be: some files say 1.0 for 1."""
    return text.removesuffix(".0")


def _objects(values: Sequence[object]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
