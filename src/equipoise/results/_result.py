"""The base of every result: records and where they came from, as JSON, CSV, LaTeX, a data frame or a page.

Its records are seen through ``Records``, which print as a small table. What shows a result is found by name, since
reports lie below the rooms of results: its report, its charts and its tables for LaTeX.
"""

from __future__ import annotations

import dataclasses
import html
import importlib
import json
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from equipoise.foundation import (
    BadInput,
    csv_text,
    kind_of,
    make_frame,
    plural,
    printable,
    report_of,
    unknown_name,
    write_file,
)
from equipoise.results._gates import Breach, Gate, GateCheck
from equipoise.results._help import help_tree
from equipoise.results._record import (
    FINDING_NUMBERS,
    Finding,
    field_names,
    flat_records,
    matching,
    plain_value,
    record_as_json,
)

if TYPE_CHECKING:
    import altair
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
        return make_frame(columns, backend)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells of the first records; a column that is empty in all of them is left out."""
        shown = self._items[:MOST_ROWS]
        columns = {
            name.rstrip("_"): [_cell(getattr(record, name)) for record in shown] for name in field_names(self._type)
        }
        filled = {name: cells for name, cells in columns.items() if any(cells)}
        return list(filled), [list(row) for row in zip(*filled.values(), strict=True)]

    def __repr__(self) -> str:
        if not self._items:
            return f"no {self._name}"
        headings, rows = self._table()
        widths = [max(len(row[column]) for row in [headings, *rows]) for column in range(len(headings))]
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


# Which chart of altair a specification is of, by the key that it has.
_CLASSES = {
    "facet": "FacetChart", "layer": "LayerChart", "hconcat": "HConcatChart", "vconcat": "VConcatChart",
    "concat": "ConcatChart", "repeat": "RepeatChart",
}  # fmt: skip


def altair_chart(spec: dict[str, Any]) -> altair.TopLevelMixin:
    """Return a specification as a chart of altair; nothing is validated, which would look at every value."""
    import altair

    name = next((of for key, of in _CLASSES.items() if key in spec), "Chart")
    chart: altair.TopLevelMixin = getattr(altair, name).from_dict(spec, validate=False)
    return chart


class Plots:
    """The charts of one result. ``dir(result.plot)`` lists them; calling one returns an Altair chart."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __dir__(self) -> list[str]:
        return sorted(self._result.charts())

    def __getattr__(self, name: str) -> Plot:
        if name.startswith("_"):
            raise AttributeError(name)
        charts = self._result.charts()
        if name not in charts:
            raise unknown_name("chart", name, charts, "the charts of this result")
        return Plot(name, charts[name])

    def __repr__(self) -> str:
        names = dir(self)
        return f"charts: {', '.join(names)}" if names else "no charts"


class Plot:
    """One chart, made when it is called."""

    def __init__(self, name: str, chart: altair.TopLevelMixin) -> None:
        self.__name__, self._chart = name, chart

    def __call__(self, **properties: Any) -> altair.TopLevelMixin:
        """Return the Altair chart, with properties such as ``width`` and ``title`` set where they are given."""
        return self._chart.properties(**properties) if properties else self._chart

    def __repr__(self) -> str:
        return f"<chart {self.__name__}; call it for an Altair chart>"


def report_for(schema: str) -> Any:
    """Return the ``equipoise.reports.Report`` of results of a schema; None where their kind has none."""
    try:
        return report_of(kind_of(schema))
    except BadInput:
        return None


def latex_text(tables: Iterable[Table]) -> str:
    """Write tables for LaTeX."""
    return str(importlib.import_module("equipoise.reports.render.latex").latex(tables))


@dataclass(frozen=True, repr=False)
class Result:
    """The base of everything a command returns: records (frozen dataclasses of one kind), and where they came from.

    A kind of result names itself (``kind``, by which its report is found) and the type of its records, and says which
    of their fields are ``numbers`` and how fields with several names are ``joined`` in a frame.

    Parameters
    ----------
    schema : str
        The kind and major version of its JSON, such as ``equipoise.audit/1``.
    records : tuple of dataclasses
        Its numbers, each with everything needed to read it.
    provenance : mapping
        Where the numbers came from: data, options, versions and a fingerprint.

    Examples
    --------
    >>> from equipoise import audit
    >>> result = audit(target=[1, 0, 1, 0], prediction=[1, 0, 0, 0], sensitive_features=["a", "a", "b", "b"], draws=0)
    >>> result
    AuditResult(4 rows, group, 0 findings of 0 tests)
    >>> [record.value for record in result.rates.find(measure="accuracy", scope="overall", group="b")]
    [0.5]
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
        return {name.rstrip("_"): plain_value(part) for name, part in parts.items()}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the result as JSON text, and write it to a file when a path is given."""
        text = _lines(self.as_json())
        if path is not None:
            write_file(path, text)
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the records as CSV, and write it to a file when a path is given."""
        text = csv_text(*self.flat())
        if path is not None:
            write_file(path, text)
        return text

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return tables for LaTeX (booktabs, longtable), and write them to a file when a path is given."""
        text = latex_text(self.tables())
        if path is not None:
            write_file(path, text)
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
        return self.view("records", self.records).to_frame(backend)

    def view(self, name: str, records: Iterable[Any]) -> Records[Any]:
        """Return some of the records as a sequence to look at."""
        return Records(records, self.record_type, name=name, numbers=self.numbers, joined=self.joined)

    @cached_property
    def statements(self) -> Records[Finding]:
        """Every statement that the result makes, confirmed or not."""
        return _findings("statements", self._statements())

    @cached_property
    def findings(self) -> Records[Finding]:
        """The confirmed statements: differences that are significant after correction, and equivalences shown."""
        return _findings("findings", (statement for statement in self.statements if statement.confirmed))

    def _statements(self) -> Iterable[Finding]:
        return ()

    def charts(self) -> Mapping[str, altair.TopLevelMixin]:
        """Return the charts of the result by name, as Altair charts."""
        return dict(self._charts)

    @cached_property
    def _charts(self) -> dict[str, altair.TopLevelMixin]:
        report = report_for(self.schema)
        return {} if report is None else {name: altair_chart(chart.spec) for name, chart in report.charts(self).items()}

    @property
    def plot(self) -> Plots:
        """The charts by name: ``result.plot.contrasts()`` is an Altair chart, ``dir(result.plot)`` lists them."""
        return Plots(self)

    def help(self) -> None:
        """Print the tree of what is here: tables, records, plots and reports, each in one line."""
        report = report_for(self.schema)
        titles = {} if report is None else {name: chart.title for name, chart in report.charts(self).items()}
        sys.stdout.write(f"{help_tree(self, titles)}\n")

    @classmethod
    def read_gates(cls, texts: Iterable[str]) -> list[Gate]:
        """Read gates for this kind of result; a kind without gates refuses (see ``GatedResult``)."""
        raise BadInput(f"A result of the kind {cls.kind!r} has no gates", available="audit, evidence")

    def check(self, *gates: str | Gate, allow_undefined: bool = False) -> GateCheck:
        """Compare the result with gates; a kind without gates refuses (see ``GatedResult``)."""
        type(self).read_gates(str(gate) for gate in gates)
        return GateCheck((), ())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(one_line(part) for part in self._described())})"

    def _described(self) -> Sequence[str]:
        """Return the parts of the one-line description: how much was looked at, of what, and what came of it."""
        return [plural(len(self.records), "record"), self._findings_described()]

    def _findings_described(self) -> str:
        tests = sum(statement.tested for statement in self.statements)
        return f"{plural(len(self.findings), 'finding')} of {plural(tests, 'test')}"

    def flat(self) -> tuple[list[str], list[list[object]]]:
        """Return the records as one table: headings, and one row per record."""
        return flat_records(self.records)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a paper shows; by default the records as they are."""
        headings, rows = self.flat()
        return (Table("records", self.schema, tuple(headings), tuple(map(tuple, rows))),)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML page that needs nothing else.

        Where the path ends in ``.md`` it is Markdown, and where it ends in ``.pdf`` the page as Chromium prints it.
        """
        report = report_for(self.schema)
        if report is None:
            raise BadInput(f"There is no page for {self.schema}", help="use to_json() instead.")
        return Path(report.write(self, path))

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; None where there is nothing but the words."""
        report = report_for(self.schema)
        return None if report is None else str(report.fragment(self))


class GatedResult(Result, ABC):
    """The base of results that can stop a pipeline: their numbers are compared with gates such as ``DP > 0.1``."""

    @classmethod
    @abstractmethod
    def read_gates(cls, texts: Iterable[str]) -> list[Gate]:
        """Read gates for this kind of result; one that cannot be read or points the wrong way is refused."""

    @abstractmethod
    def _breaches(self, gates: Sequence[Gate], *, allow_undefined: bool) -> Iterable[Breach]:
        """Yield what breaks a gate."""

    def check(self, *gates: str | Gate, allow_undefined: bool = False) -> GateCheck:
        """Compare the result with gates, as ``--fail-if`` of the command line does.

        Parameters
        ----------
        *gates : str
            When to stop, such as ``"DP > 0.1"``, ``"EOTP.low > 0.05"`` or ``"DI[sex] > 0.2"``.
        allow_undefined : bool
            Whether a number that is undefined passes. It breaks a gate by default.

        Returns
        -------
        GateCheck
            True where every gate passed; ``.broken`` names what broke one, ``.raise_if_broken()`` stops there.
        """
        texts = [gate for gate in gates if isinstance(gate, str)]
        parsed = dict(zip(texts, self.read_gates(texts), strict=True))
        every = [parsed[gate] if isinstance(gate, str) else gate for gate in gates]
        broken = tuple(self._breaches(every, allow_undefined=allow_undefined))
        return GateCheck(tuple(gate.text for gate in every), broken)


class NarratedResult(Result):
    """The base of results with sentences, which the report of their kind makes from the findings.

    ``print(result)`` shows them with the ``notes`` below.
    """

    notes: tuple[str, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The result in sentences, the answer first."""
        return tuple(report_of(type(self).kind).words(self))

    def __str__(self) -> str:
        return "\n".join([*self.words, *(["Notes:", *self.notes] if self.notes else [])])

    def as_json(self) -> dict[str, object]:
        """Return the whole result as plain JSON values."""
        parts = super().as_json()
        head = {name: parts.pop(name) for name in ("schema", "records", "provenance")}
        return {**head, "words": list(self.words), **parts}


def _findings(name: str, findings: Iterable[Finding]) -> Records[Finding]:
    return Records(findings, Finding, name=name, numbers=FINDING_NUMBERS, joined={"attribute": " & "})


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
