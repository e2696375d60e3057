"""The base of every result: records and where they came from, as JSON, CSV, LaTeX, a data frame or a page."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.foundation.registry import NOTEBOOK_RENDERERS, RENDERERS, renderer
from equipoise.foundation.tabular import csv_text, frame_of
from equipoise.results._record import field_names, flat_records, plain_value, record_as_json
from equipoise.results._tables import Table, latex_text

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@dataclass(frozen=True)
class Result:
    """The base of everything a command returns: records (frozen dataclasses of one kind), and where they came from.

    A kind of result names itself (``kind``, by which its report is found) and the type of its records, and says which
    of their fields are ``numbers`` and how fields with several names are ``joined`` in a frame.
    """

    kind: ClassVar[str]
    record_type: ClassVar[type]
    numbers: ClassVar[tuple[str, ...]] = ()
    joined: ClassVar[Mapping[str, str]] = {}

    schema: str
    records: tuple[Any, ...]
    provenance: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        """Return the whole result as plain JSON values."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        parts["records"] = [record_as_json(record) for record in self.records]
        return {name.rstrip("_"): plain_value(_undataclass(part)) for name, part in parts.items()}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the result as JSON text, and write it to a file when a path is given."""
        text = _lines(self.as_json())
        if path is not None:
            write_whole(path, text)
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the records as CSV, and write it to a file when a path is given."""
        text = csv_text(*self.flat())
        if path is not None:
            write_whole(path, text)
        return text

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return tables for LaTeX (booktabs, longtable), and write them to a file when a path is given."""
        text = latex_text(self.tables())
        if path is not None:
            write_whole(path, text)
        return text

    def to_dict(self) -> dict[str, float]:
        """Return a flat name-to-number dictionary, as experiment trackers take it. Undefined numbers are left out."""
        flat: dict[str, float] = {}
        for record in self.records:
            parts = [part.replace("/", "_") for part in self._name_parts(record) if part]
            for name in self.numbers:
                value = getattr(record, name)
                if value is not None and not math.isnan(value):
                    flat["/".join([*parts, name])] = float(value)
        return flat

    def _name_parts(self, record: Any) -> Sequence[str | None]:
        """Return the parts of a record's name in ``to_dict``; by default all its fields that are text."""
        names = (getattr(record, name) for name in field_names(type(record)))
        return [part for part in names if isinstance(part, str)]

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the records as a data frame of pandas, polars or pyarrow: the first that is installed by default."""
        rows = [record_as_json(record) for record in self.records]
        names = [name.rstrip("_") for name in field_names(self.record_type)]
        columns: dict[str, list[object]] = {name: [row[name] for row in rows] for name in names}
        for name, joint in self.joined.items():
            columns[name] = [joint.join(getattr(record, name) or ()) for record in self.records]
        for name in self.numbers:
            values = (getattr(record, name) for record in self.records)
            columns[name] = [None if value is None or math.isnan(value) else float(value) for value in values]
        return frame_of(columns, backend)

    def flat(self) -> tuple[list[str], list[list[object]]]:
        """Return the records as one table: headings, and a row a record."""
        return flat_records(self.records)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a paper shows; by default the records as they are."""
        headings, rows = self.flat()
        return (Table("records", self.schema, tuple(headings), tuple(map(tuple, rows))),)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML page that needs nothing else: no network, no other file."""
        write = renderer(RENDERERS, self.schema)
        if write is None:
            raise BadInput(
                f"There is no page for {self.schema}", available=", ".join(RENDERERS), help="use to_json() instead."
            )
        write(self, path)
        return Path(path)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; None where there is nothing but the words."""
        show = renderer(NOTEBOOK_RENDERERS, self.schema)
        return None if show is None else str(show(self))


def _lines(content: Mapping[str, object]) -> str:
    """Write JSON with one line a record: small, and still readable and easy to compare."""
    parts = []
    for name, part in content.items():
        if isinstance(part, list) and part and isinstance(part[0], dict):
            items = ",\n".join(json.dumps(item, ensure_ascii=False, allow_nan=False) for item in part)
            parts.append(f"{json.dumps(name)}: [\n{items}\n]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False, allow_nan=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _undataclass(part: object) -> object:
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return {field.name.rstrip("_"): _undataclass(getattr(part, field.name)) for field in dataclasses.fields(part)}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [_undataclass(item) for item in part]
    return part
