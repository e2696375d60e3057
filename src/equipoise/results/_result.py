"""The base of every result: records and where they came from, as JSON, CSV, LaTeX, a data frame or a page."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.foundation.registry import report_of
from equipoise.foundation.tabular import csv_text
from equipoise.foundation.text import plural
from equipoise.results._finding import FINDING_NUMBERS, Finding
from equipoise.results._gates import Breach, Gate, GateCheck
from equipoise.results._reasons import Reason
from equipoise.results._record import field_names, flat_records, plain_value, record_as_json
from equipoise.results._reporting import Plots, Table, altair_chart, latex_text, report_for
from equipoise.results._views import Records, one_line

if TYPE_CHECKING:
    import altair
    from narwhals.typing import IntoDataFrame


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
        return _findings("findings", (one for one in self.statements if one.confirmed))

    def _statements(self) -> Iterable[Finding]:
        return ()

    def charts(self) -> Mapping[str, altair.TopLevelMixin]:
        """Return the charts of the result by name, as Altair charts."""
        return dict(self._charts)

    @cached_property
    def _charts(self) -> dict[str, altair.TopLevelMixin]:
        report = report_for(self.schema)
        return {} if report is None else {name: altair_chart(one.spec) for name, one in report.charts(self).items()}

    @property
    def plot(self) -> Plots:
        """The charts by name: ``result.plot.contrasts()`` is an Altair chart, ``dir(result.plot)`` lists them."""
        return Plots(self)

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
        tests = sum(one.tested for one in self.statements)
        return f"{plural(len(self.findings), 'finding')} of {plural(tests, 'test')}"

    def flat(self) -> tuple[list[str], list[list[object]]]:
        """Return the records as one table: headings, and one row per record."""
        return flat_records(self.records)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a paper shows; by default the records as they are."""
        headings, rows = self.flat()
        return (Table("records", self.schema, tuple(headings), tuple(map(tuple, rows))),)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML page that needs nothing else, or as Markdown where the path ends in ``.md``."""
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


def _undataclass(part: object) -> object:
    """Turn records inside a result into mappings; what has a reason has its code beside it."""
    if dataclasses.is_dataclass(part) and not isinstance(part, (type, Reason)):
        made: dict[str, object] = {}
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            made[field.name.rstrip("_")] = _undataclass(value)
            if field.name == "reason":
                made["reason_code"] = value.code if isinstance(value, Reason) else None
        return made
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [_undataclass(item) for item in part]
    return part
