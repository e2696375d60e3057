"""Views of a result: light sequences of records that print as a small table and turn into a data frame."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from equipoise.foundation.tabular import frame_of
from equipoise.foundation.text import printable
from equipoise.results._record import field_names, matching, record_as_json

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Item = TypeVar("Item")
MOST_ROWS = 12
LONGEST = 40


class Records(Sequence[Item], Generic[Item]):
    """Records of one kind, in order: a sequence with ``find``, ``to_frame`` and a table to look at.

    Parameters
    ----------
    items : iterable of dataclasses
        The records, all of one type.
    record_type : type
        That type; a view without records has its columns, too.
    name : str
        What they are called above the table.
    numbers : sequence of str
        The fields that hold numbers.
    joined : mapping of str to str
        How fields with several names become one text in a frame.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rate:
    ...     group: str
    ...     value: float
    >>> Records([Rate("women", 0.25), Rate("men", 0.75)], Rate, name="rates", numbers=["value"])
    2 rates
    group  value
    women  0.25
    men    0.75
    """

    def __init__(
        self,
        items: Iterable[Item],
        record_type: type[Item],
        *,
        name: str = "records",
        numbers: Sequence[str] = (),
        joined: Mapping[str, str] | None = None,
    ) -> None:
        self._items = tuple(items)
        self._type, self._name, self._numbers, self._joined = record_type, name, tuple(numbers), dict(joined or {})

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Records[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Records[Item]:
        if isinstance(index, slice):
            return self._like(self._items[index])
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (Records, tuple, list)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def _like(self, items: Iterable[Item]) -> Records[Item]:
        return Records(items, self._type, name=self._name, numbers=self._numbers, joined=self._joined)

    def find(self, **fields: object) -> Records[Item]:
        """Return the records whose fields have these values, as in ``find(attribute="sex", group="Female")``."""
        return self._like(matching(self._items, fields))

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the records as a data frame of pandas, polars or pyarrow: the first that is installed by default."""
        rows = [record_as_json(record) for record in self._items]
        names = [name.rstrip("_") for name in field_names(self._type)]
        columns: dict[str, list[object]] = {name: [row[name] for row in rows] for name in names}
        for name, joint in self._joined.items():
            columns[name] = [joint.join(getattr(record, name) or ()) for record in self._items]
        for name in self._numbers:
            values = (getattr(record, name) for record in self._items)
            columns[name] = [None if value is None or math.isnan(value) else float(value) for value in values]
        return frame_of(columns, backend)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells of the first records; a column that is empty in all of them is left out."""
        shown = self._items[:MOST_ROWS]
        columns = {
            name.rstrip("_"): [_cell(getattr(record, name)) for record in shown] for name in field_names(self._type)
        }
        kept = {name: cells for name, cells in columns.items() if any(cells)}
        return list(kept), [list(row) for row in zip(*kept.values(), strict=True)]

    def __repr__(self) -> str:
        if not self._items:
            return f"no {self._name}"
        headings, rows = self._table()
        widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [headings, *rows]
        ]
        return "\n".join([f"{len(self._items):,} {self._name}", *lines, *self._rest()])

    def _rest(self) -> list[str]:
        left = len(self._items) - MOST_ROWS
        return [f"... and {left:,} more; .to_frame() has all of them"] if left > 0 else []

    def _repr_html_(self) -> str:
        if not self._items:
            return f"<p>no {html.escape(self._name)}</p>"
        headings, rows = self._table()
        head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in self._rest())
        caption = f"<caption>{len(self._items):,} {html.escape(self._name)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def one_line(text: str) -> str:
    """Return text that a terminal can print on one line."""
    return " ".join(printable(text).split())


def _cell(value: object) -> str:
    """Return a value as a short text; what is undefined or does not apply is empty."""
    if value is None or value == () or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return _cell(" & ".join(map(str, value)))
    text = one_line(str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
