"""Tables of records: every column says what it is called and how a record fills it. And how charts are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.reports import formats
from equipoise.reports._cells import Write, everyone_or, known, number, p_value, span
from equipoise.reports._document import MOST_ROWS, Cell, Column, DataTable, Meaning, Row, Text

# No part has more charts than this.
MOST_CHARTS = 12


@dataclass(frozen=True)
class Field:
    """A column of a table of records: its heading, and the cell of a record from its place and the record."""

    title: Text
    cell: Callable[[int, Any], Cell | Text]
    number: bool = False
    hint: str = ""
    kept: bool = False

    @property
    def column(self) -> Column:
        """The column without its cells."""
        return Column(self.title, self.number, self.hint, self.kept)


def record_table(
    caption: Text, fields: Sequence[Field], placed: Iterable[tuple[int, Any]], *, total: int | None = None,
    what: str = "rows", most: int = MOST_ROWS, chosen: str = "", everyone: Callable[[Any], bool] | None = None,
) -> DataTable:  # fmt: skip
    """Return a table of one row per record, as many as there is room for; ``everyone`` marks the row of all people."""
    records = list(placed)
    rows = [
        Row(tuple(_cell(field.cell(place, record)) for field in fields), everyone is not None and everyone(record))
        for place, record in records[:most]
    ]
    every = sum(everyone is None or not everyone(record) for _, record in records) if total is None else total
    return DataTable(caption, tuple(field.column for field in fields), tuple(rows), every, what, chosen)


def matrix(
    caption: Text, groups: Sequence[str | None], columns: Mapping[Any, str], cells: Mapping[Any, Cell], *,
    total: int | None = None, chosen: str = "", number: bool = False, head: str = "Group",
) -> DataTable:  # fmt: skip
    """Return a table of one row per group and one column per measure; no group is everyone."""
    rows = [
        Row((Cell(everyone_or(group)), *(cells.get((group, column)) or Cell("–") for column in columns)), group is None)
        for group in groups[:MOST_ROWS]
    ]
    heads = (Column(head), *(Column(title, number) for title in columns.values()))
    every = sum(group is not None for group in groups) if total is None else total
    return DataTable(caption, heads, tuple(rows), every, "groups", chosen)


def _cell(shown: Cell | Text) -> Cell:
    return shown if isinstance(shown, Cell) else Cell(shown)


def quiet(text: Text = "–") -> Cell:
    """Return a cell for what is not there, not known or not tested."""
    return Cell(text, meaning=Meaning.QUIET)


def value(
    title: Text, field: str, write: Write = formats.fine, source: str = "records", unknown: str = formats.UNDEFINED,
    hint: str = "", kept: bool = False,
) -> Field:  # fmt: skip
    """Return a column of numbers that can be traced to their place in the JSON."""

    def cell(place: int, record: Any) -> Cell | Text:
        shown = number(place, getattr(record, field), write, field, source)
        return shown if known(getattr(record, field)) is not None else quiet(unknown) if unknown else ""

    return Field(title, cell, True, hint, kept)


def ends(
    title: Text, write: Write = formats.fine, source: str = "records", fields: tuple[str, str] = ("low", "high")
) -> Field:  # fmt: skip
    """Return a column of intervals; empty where an end is not known."""

    def cell(place: int, record: Any) -> Text:
        return span(place, getattr(record, fields[0]), getattr(record, fields[1]), write, source, fields)

    return Field(title, cell, True)


def corrected(source: str = "records", field: str = "p_adjusted") -> Field:
    """Return the column of corrected p-values; empty where nothing was tested."""
    return Field("p, corrected", lambda place, record: p_value(place, getattr(record, field), source, field), True)


def if_judged(field: Field) -> Field:
    """Leave the cells of a column empty for baselines, which are compared with nothing."""
    return replace(field, cell=lambda place, record: "" if record.verdict is None else field.cell(place, record))


def part_names(part: str) -> tuple[str, ...]:
    """Return the names that the charts of a part may have: the first is called as the part is."""
    return (part, *(f"{part}_{place}" for place in range(2, MOST_CHARTS + 1)))
