"""Rows for other programs: CSV that a spreadsheet cannot mistake for formulas, and data frames of any library.

Names come from a stranger's file: every character that means something to the reading program is made harmless.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from equipoise.foundation._errors import (
    BadInput,
    MissingExtra,
)
from equipoise.foundation._imports import installed

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

FrameLibrary = Literal["pandas", "polars", "pyarrow"]
FRAME_LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars", "pyarrow")

# A cell that begins with one of these is a formula to a spreadsheet, the wide ones of East Asian fonts too.
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table as CSV: numbers at full precision, undefined ones empty, no cell a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # both characters, or a name with one of them would not be quoted
    writer.writerow(headings)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def csv_cells(cells: Iterable[object]) -> str:
    """Write cells as a part of a line of CSV, as ``csv_text`` does; parts are joined by a comma."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([_csv_cell(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n")


def _csv_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (int, float)):
        return full_precision(float(cell))
    name = str(cell).encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    return f"'{name}" if name.startswith(FORMULA_STARTS) and not _is_number(name) else name


def full_precision(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _is_number(text: str) -> bool:
    """Tell whether a name is a plain number such as -1, which no spreadsheet computes anything of."""
    sign_less = text[1:] if text[:1] in "+-" else text
    return sign_less.replace(".", "", 1).isdecimal() and sign_less.isascii()


def _backend(requested: str | None) -> FrameLibrary:
    """Return the frame library asked for, or the first that is installed."""
    for name in FRAME_LIBRARIES:
        if requested == name or (requested is None and installed(name)):
            return name
    if requested is not None:
        raise BadInput(f"{requested!r} is not a supported frame library", available=", ".join(FRAME_LIBRARIES))
    raise MissingExtra("A data frame needs pandas, polars or pyarrow, and none is installed", help="pip install pandas")


def make_frame(columns: Mapping[str, list[object]], backend: str | None = None) -> IntoDataFrame:
    """Make a data frame of pandas, polars or pyarrow: the one asked for, or the first that is installed."""
    import narwhals as nw

    frame: IntoDataFrame = nw.from_dict(columns, backend=_backend(backend)).to_native()
    return frame
