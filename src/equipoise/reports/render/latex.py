"""Tables in LaTeX that compiles, with the rules of booktabs: those of a result, or those of its document.

Names come from a stranger's file: every character that means something to LaTeX is made harmless.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator

from equipoise.reports._document import Block, DataTable, Details, Document, plain
from equipoise.results import Interval, Table

UNDEFINED = "--"

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"\textasciigrave{}",
    # At the start of a line these would belong to the end of the line before; two hyphens would join to a dash.
    "[": "{[}", "]": "{]}", "*": "{*}", "-": "{-}",
}  # fmt: skip


def latex(content: Document | Iterable[Table]) -> str:
    """Write tables for LaTeX, those of a document or others; long ones go over several pages.

    Examples
    --------
    >>> print(latex([Table("rates", "Rates", ("group", "rate"), (("women", 0.25),))]))
    % Needs \\usepackage{booktabs} and \\usepackage{longtable}.
    <BLANKLINE>
    \\begin{longtable}{lr}
    \\caption{Rates}\\label{tab:equipoise-rates}\\\\
    \\toprule
    group & rate \\\\
    \\midrule
    \\endfirsthead
    \\toprule
    group & rate \\\\
    \\midrule
    \\endhead
    \\bottomrule
    \\endfoot
    women & 0.250 \\\\
    \\end{longtable}
    <BLANKLINE>
    """
    tables = _tables_of(content) if isinstance(content, Document) else content
    parts = ["% Needs \\usepackage{booktabs} and \\usepackage{longtable}.\n"]
    return "\n".join([*parts, *(_table(table) for table in tables if table.rows)])


def _tables_of(document: Document) -> Iterator[Table]:
    """Yield the tables of a document, named by their sections; the smaller lines of a cell follow in brackets."""
    for section in document.sections:
        for index, table in enumerate(_data_tables(section.blocks), start=1):
            rows = tuple(
                tuple(
                    "; ".join([plain(cell.text), *(plain(line) for line in cell.below if plain(line))])
                    for cell in row.cells
                )
                for row in table.rows
            )
            headings = tuple(plain(column.title) for column in table.columns)
            yield Table(f"{section.id}-{index}", plain(table.caption), headings, rows)


def _data_tables(blocks: Iterable[Block]) -> Iterator[DataTable]:
    for block in blocks:
        if isinstance(block, DataTable):
            yield block
        elif isinstance(block, Details):
            yield from _data_tables(block.blocks)


def _table(table: Table) -> str:
    numbers = [any(isinstance(row[index], (int, float, Interval)) for row in table.rows)
               for index in range(len(table.headings))]  # fmt: skip
    head = " & ".join(escaped(heading) for heading in table.headings) + r" \\"
    lines = [
        rf"\begin{{longtable}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        rf"\caption{{{escaped(table.caption)}}}\label{{tab:equipoise-{table.name}}}\\",
        r"\toprule", head, r"\midrule", r"\endfirsthead",
        r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot",
        *(" & ".join(_cell(cell) for cell in row) + r" \\" for row in table.rows),
        r"\end{longtable}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _cell(cell: object) -> str:
    if cell is None:
        return UNDEFINED
    if isinstance(cell, Interval):
        low, high = _cell(cell.low), _cell(cell.high)
        return UNDEFINED if low == high == UNDEFINED else f"{{[}}{low}, {high}{{]}}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}".replace(",", "{,}").replace("-", "$-$")
    if isinstance(cell, float):
        return _number(cell)
    return escaped(str(cell))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return UNDEFINED
    if value.is_integer() and abs(value) < 1e15 and abs(value) > 1:
        return _cell(int(value))
    if value == 0 or 0.0005 <= abs(value) < 1_000:
        return f"{value:.3f}".replace("-", "$-$")
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"${mantissa} \\times 10^{{{int(exponent)}}}$"


def escaped(text: str) -> str:
    """Return text as LaTeX prints it; what cannot be printed, or would turn the text around it, becomes a code."""
    replaced = (
        char if char.isprintable() and unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )
    return "".join(LATEX.get(char, char) for part in replaced for char in part)
