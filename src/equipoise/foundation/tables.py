"""Tables for other programs: CSV that a spreadsheet cannot mistake for formulas, and LaTeX that compiles.

Names come from a stranger's file: every character that means something to the reading program is made harmless.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A cell that begins with one of these is a formula to a spreadsheet, the wide ones of East Asian fonts too.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
UNDEFINED = "--"

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"\textasciigrave{}",
    # At the start of a line these would belong to the end of the line before; two hyphens would join to a dash.
    "[": "{[}", "]": "{]}", "*": "{*}", "-": "{-}",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table to be read: its name, what it shows, headings, and cells (text, numbers, or None for undefined)."""

    name: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Interval:
    """The two ends of an interval, as one cell."""

    low: float | None
    high: float | None


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
    return f"'{name}" if name.startswith(FORMULA) and not _is_number(name) else name


def full_precision(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _is_number(text: str) -> bool:
    """Tell whether a name is a plain number such as -1, which no spreadsheet computes anything of."""
    sign_less = text[1:] if text[:1] in "+-" else text
    return sign_less.replace(".", "", 1).isdecimal() and sign_less.isascii()


def latex_text(tables: Iterable[Table]) -> str:
    """Write tables for LaTeX, with the rules of booktabs; long ones go over several pages."""
    parts = ["% Needs \\usepackage{booktabs} and \\usepackage{longtable}.\n"]
    return "\n".join([*parts, *(_latex_table(table) for table in tables if table.rows)])


def _latex_table(table: Table) -> str:
    numbers = [any(isinstance(row[place], (int, float, Interval)) for row in table.rows)
               for place in range(len(table.headings))]  # fmt: skip
    head = " & ".join(escaped(heading) for heading in table.headings) + r" \\"
    lines = [
        rf"\begin{{longtable}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        rf"\caption{{{escaped(table.caption)}}}\label{{tab:equipoise-{table.name}}}\\",
        r"\toprule", head, r"\midrule", r"\endfirsthead",
        r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot",
        *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows),
        r"\end{longtable}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _latex_cell(cell: object) -> str:
    if cell is None:
        return UNDEFINED
    if isinstance(cell, Interval):
        low, high = _latex_cell(cell.low), _latex_cell(cell.high)
        return UNDEFINED if low == high == UNDEFINED else f"{{[}}{low}, {high}{{]}}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}".replace(",", "{,}").replace("-", "$-$")
    if isinstance(cell, float):
        return _latex_number(cell)
    return escaped(str(cell))


def _latex_number(value: float) -> str:
    if not math.isfinite(value):
        return UNDEFINED
    if value.is_integer() and abs(value) < 1e15 and abs(value) > 1:
        return _latex_cell(int(value))
    if value == 0 or 0.0005 <= abs(value) < 1_000:
        return f"{value:.3f}".replace("-", "$-$")
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"${mantissa} \\times 10^{{{int(exponent)}}}$"


def escaped(text: str) -> str:
    """Return text as LaTeX prints it; what cannot be printed, or would turn the text around it, becomes a code."""
    shown = (
        char if char.isprintable() and unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )
    return "".join(LATEX.get(char, char) for part in shown for char in part)
