"""What is returned: plain frozen data that turns into JSON, a frame or a flat dictionary."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from equipoise.foundation.errors import BadInput, MissingExtra, unknown_name
from equipoise.foundation.files import write_whole
from equipoise.foundation.imports import installed
from equipoise.foundation.registry import NOTEBOOK_RENDERERS, RENDERERS, renderer
from equipoise.foundation.tables import Table, csv_text, latex_text

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

FrameLibrary = Literal["pandas", "polars", "pyarrow"]
FRAME_LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars", "pyarrow")
Status = Literal["ok", "undefined", "too small", "dropped"]
Scope = Literal["overall", "class", "favourable"]
AnyRecord = TypeVar("AnyRecord")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One number with everything needed to read it: of whom, against whom, out of how many, and whether it holds.

    ``value`` is NaN when it is undefined, and then ``reason`` says why. ``low`` and ``high`` hold at ``level``; of
    tests that is the level that decides. ``effective_n`` is how many independent people without weights would know a
    rate as well. Of a gap ``pair`` are the two groups (lower, higher) that differ most for their error, ``left_out``
    the groups too small for its test, ``draws`` how many permutations its p rests on. ``equivalent`` says whether a
    difference is shown to be within the ``margin``.
    """

    measure: str
    kind: str
    value: float
    alias: str | None = None
    variant: str = "paper"
    scope: Scope = "overall"
    class_: str | None = None
    label: str | None = None
    attribute: tuple[str, ...] = ()
    group: str | None = None
    against: str | None = None
    control: str | None = None
    split: str | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    level: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    effective_n: float | None = None
    pair: tuple[str, str] | None = None
    left_out: tuple[str, ...] = ()
    draws: int | None = None
    margin: float | None = None
    equivalence_p: float | None = None
    equivalence_p_adjusted: float | None = None
    equivalent: bool | None = None
    status: Status = "ok"
    reason: str | None = None
    # The interval or test holds its level only roughly: few clusters, or a jackknife of a bent number.
    approximate: bool = False
    # More random draws could have made p smaller; None where p rests on no draws.
    limited_by_draws: bool | None = None

    @property
    def defined(self) -> bool:
        """Tell whether there is a number to read."""
        return not math.isnan(self.value)


def without_tests(record: Record) -> Record:
    """Return a record without its interval, its tests and what belongs to them."""
    return dataclasses.replace(
        record, low=None, high=None, interval=None, p=None, p_adjusted=None, finding=None, level=None, effective_n=None,
        pair=None, left_out=(), draws=None, limited_by_draws=None, approximate=False, margin=None, equivalence_p=None,
        equivalence_p_adjusted=None, equivalent=None,
    )  # fmt: skip


RECORD_FIELDS = tuple(field.name for field in dataclasses.fields(Record))


_NUMBERS = (
    "value", "low", "high", "p", "p_adjusted", "level", "numerator", "denominator", "effective_n", "margin",
    "equivalence_p", "equivalence_p_adjusted",
)  # fmt: skip


def record_as_json(record: object) -> dict[str, object]:
    """Turn a record into JSON values: undefined is null, and a class is called "class"."""
    names = RECORD_FIELDS if isinstance(record, Record) else field_names(type(record))
    return {name.rstrip("_"): _plain(getattr(record, name)) for name in names}


def flat_records(records: Sequence[object]) -> tuple[list[str], list[list[object]]]:
    """Return records of one kind as headings and rows; what holds several names is joined."""
    names = field_names(type(records[0])) if records else ()
    rows = [[_joined(name, getattr(record, name)) for name in names] for record in records]
    return [name.rstrip("_") for name in names], rows


def _joined(name: str, value: object) -> object:
    if isinstance(value, tuple):
        return (" & " if name == "attribute" else "; ").join(map(str, value))
    return value


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(field.name for field in dataclasses.fields(kind))


def matching(records: Sequence[AnyRecord], fields: Mapping[str, object]) -> tuple[AnyRecord, ...]:
    """Return the records whose fields have these values; where a field holds several names, one may stand alone."""
    for name in fields if records else ():
        if not hasattr(records[0], name):
            raise unknown_name("field", name, field_names(type(records[0])), "the records")
    return tuple(record for record in records if all(_is(getattr(record, name), fields[name]) for name in fields))


def _is(held: object, wanted: object) -> bool:
    if isinstance(held, tuple):
        return held == ((wanted,) if isinstance(wanted, str) else tuple(wanted) if isinstance(wanted, list) else wanted)
    return held == wanted


def _plain(value: object) -> object:
    """Turn a value into what JSON can say; a number JSON cannot say (NaN, infinity) is null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True)
class Output:
    """The base of everything a command returns: records (frozen dataclasses of one kind), and where they came from."""

    schema: str
    records: tuple[object, ...]
    provenance: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        """Return the whole result as plain JSON values."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        parts["records"] = [record_as_json(record) for record in self.records]
        return {name: _plain(_undataclass(part)) for name, part in parts.items()}

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


@dataclass(frozen=True)
class Result(Output):
    """The result of a command whose records are measures."""

    records: tuple[Record, ...]

    def to_dict(self) -> dict[str, float]:
        """Return a flat name-to-number dictionary, as experiment trackers take it. Undefined numbers are left out."""
        return {_flat_name(record): record.value for record in self.records if record.defined}

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the records as a data frame of pandas, polars or pyarrow: the first that is installed by default."""
        rows = [record_as_json(record) for record in self.records]
        columns = {name.rstrip("_"): [row[name.rstrip("_")] for row in rows] for name in RECORD_FIELDS}
        for name, joint in (("attribute", " & "), ("pair", "; "), ("left_out", "; ")):
            columns[name] = [joint.join(getattr(record, name) or ()) for record in self.records]
        for name in _NUMBERS:
            columns[name] = [None if item is None else float(item) for item in columns[name]]  # type: ignore[arg-type]
        return frame_of(columns, backend)


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


def _flat_name(record: Record) -> str:
    """Name a record the same in every run: a gap's furthest groups are not part of its name."""
    parts = [record.alias or record.measure]
    parts += [] if record.kind in ("rate", "value", "gap", "summary") else [record.kind]
    parts += [record.scope, *(part for part in (record.class_, record.label) if part is not None)]
    parts += ["&".join(record.attribute)] if record.attribute else []
    if record.kind not in ("gap", "ratio", "summary"):
        parts += [part for part in (record.group, record.against) if part is not None]
    parts += [part for part in (record.control, record.split) if part is not None]
    parts += [] if record.variant == "paper" else [record.variant]
    parts += [str(record.reason)] if record.status == "dropped" else []
    return "/".join(part.replace("/", "_") for part in parts)


def _backend(wanted: str | None) -> FrameLibrary:
    """Return the frame library asked for, or the first that is installed."""
    for name in FRAME_LIBRARIES:
        if wanted == name or (wanted is None and installed(name)):
            return name
    if wanted is not None:
        raise BadInput(f"{wanted!r} is not a frame library known here", available=", ".join(FRAME_LIBRARIES))
    raise MissingExtra("A data frame needs pandas, polars or pyarrow, and none is installed", help="pip install pandas")


def frame_of(columns: Mapping[str, list[object]], backend: str | None = None) -> IntoDataFrame:
    """Make a data frame of pandas, polars or pyarrow: the one asked for, or the first that is installed."""
    import narwhals as nw

    frame: IntoDataFrame = nw.from_dict(columns, backend=_backend(backend)).to_native()
    return frame
