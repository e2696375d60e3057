"""Tables to be read, and LaTeX that compiles.

Names come from a stranger's file: every character that means something to the reading program is made harmless.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

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
