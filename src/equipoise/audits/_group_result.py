"""Kinds of audits as they are registered, and the base of what they return."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import (
    BadInput,
    Entry,
    Option,
    listing,
    registry,
)
from equipoise.results import (
    Better,
    Breach,
    Finding,
    Gate,
    GatedResult,
    Measured,
    Record,
    Records,
    Status,
    check_direction,
    direction_of,
    matching,
    parse_gate,
)

if TYPE_CHECKING:
    from equipoise.results import Result


@dataclass(frozen=True, kw_only=True)
class AuditKind:
    """A kind of audit. ``function`` and ``result`` are named as ``module:name``, and imported when they are used.

    ``data`` is the help of its first argument, a file; ``needed`` are the options that have to be given; ``inputs``
    those that name further files to read; ``converted`` maps an argument to the function that reads what was typed.
    """

    name: str
    summary: str
    function: str
    result: str
    options: tuple[Option, ...]
    data: str = "CSV, Parquet (file, folder or glob) or Arrow."
    examples: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    converted: Mapping[str, str] = field(default_factory=dict)
    doing: str = "Counting"
    paper: str = "field"

    def load(self) -> Callable[..., Result]:
        """Return the function in Python."""
        function: Callable[..., Result] = named_object(self.function)
        return function

    @property
    def result_type(self) -> type[Result]:
        """The class of its results."""
        kind: type[Result] = named_object(self.result)
        return kind


def named_object(name: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def register(kind: AuditKind) -> AuditKind:
    """Add a kind of audit to the registry."""
    module = kind.function.partition(":")[0]
    registry.add(Entry("audit", kind.name, kind, kind.summary, kind.paper, module=module))
    return kind


NUMBERS = (
    "value", "low", "high", "p", "p_adjusted", "level", "numerator", "denominator", "effective_n", "margin",
    "equivalence_p", "equivalence_p_adjusted",
)  # fmt: skip
# Kinds of records that are one number for all groups together.
SINGLE_VALUED = ("gap", "ratio", "summary")
COMPARED = ("gap", "ratio")
Subject = tuple[object, ...]


@dataclass(frozen=True, repr=False)
class GroupResult(GatedResult):
    """The base of audits whose records are ``Record``: numbers of groups, and comparisons of them."""

    record_type: ClassVar[type] = Record
    numbers: ClassVar[tuple[str, ...]] = NUMBERS
    joined: ClassVar[Mapping[str, str]] = {"attribute": " & ", "pair": "; ", "left_out": "; "}

    records: tuple[Record, ...]

    @classmethod
    @abstractmethod
    def measure_of(cls, name: str) -> Measured:
        """Return a measure of this kind of audit by its name or alias; an unknown one is refused."""

    @property
    def rates(self) -> Records[Record]:
        """The rates and other values of groups."""
        return self.view("rates", (record for record in self.records if record.kind in ("rate", "value")))

    @property
    def gaps(self) -> Records[Record]:
        """The numbers that compare all groups: gaps, ratios and summaries."""
        return self.view("gaps", (record for record in self.records if record.kind in SINGLE_VALUED))

    @property
    def contrasts(self) -> Records[Record]:
        """The signed differences between a group and another, or the rest."""
        return self.view("contrasts", (record for record in self.records if record.kind == "contrast"))

    def find(self, measure: str | None = None, **fields: object) -> tuple[Record, ...]:
        """Return the records of a measure (name or alias; without one, of all) whose fields have these values."""
        of_measure = [record for record in self.records if measure is None or measure in (record.measure, record.alias)]
        return matching(of_measure, fields)

    def to_dict(self) -> dict[str, float]:
        """Return a flat name-to-number dictionary, as experiment trackers take it. Undefined numbers are left out."""
        return {flat_name(record): record.value for record in self.records if record.defined}

    def _statements(self) -> Iterable[Finding]:
        return statements(self.records, lambda measure: type(self).measure_of(measure).better)

    @classmethod
    def read_gates(cls, texts: Iterable[str]) -> list[Gate]:
        """Read gates such as ``DP > 0.1``; one that cannot be read or points the wrong way is refused."""
        gates = [parse_gate(text) for text in texts]
        for gate in gates:
            if gate.share is not None:
                raise BadInput(
                    f"The gate {gate.text!r} is about repeated runs", help="use it with: equipoise evidence --fail-if"
                )
            check_direction(gate, cls.measure_of(gate.name))
        return gates

    def gated(self, measure: Measured) -> Sequence[Record]:
        """Return the records that a gate on a measure looks at."""
        return self.find(measure.name, kind=measure.kind)

    def _breaches(self, gates: Sequence[Gate], *, allow_undefined: bool) -> Iterable[Breach]:
        for gate in gates:
            for record in self._gated_records(gate):
                value = record.value if gate.field == "value" else record.low
                if value is None or value != value:
                    if not allow_undefined:
                        yield Breach(
                            gate.text, f"{_gate_name(record)} is not known ({record.reason or 'it has no lower bound'})"
                        )
                elif gate.broken(value):
                    yield Breach(gate.text, f"{_gate_name(record)} is {value:.4g}")

    def _gated_records(self, gate: Gate) -> list[Record]:
        from equipoise.tallies import is_missing

        measure = type(self).measure_of(gate.name)
        records = [record for record in self.gated(measure) if record.attribute and not is_missing(record.group or "")]
        if not records:
            needs = getattr(measure, "needs", "other columns")
            raise BadInput(
                f"The gate {gate.text!r} is about {measure.name}, which this audit does not have",
                help=f"it needs {needs}: name the columns it is computed from.",
            )
        if gate.attribute is not None:
            attributes = list(dict.fromkeys(record.attribute for record in records))
            if gate.attribute not in attributes:
                raise BadInput(
                    f"The gate {gate.text!r} names {' & '.join(gate.attribute)!r}, which was not audited",
                    available=listing(" & ".join(attribute) for attribute in attributes),
                )
            records = [record for record in records if record.attribute == gate.attribute]
        return records


def _gate_name(record: Record) -> str:
    where = " & ".join(record.attribute)
    group = f", {record.group}" if record.kind in ("rate", "value") and record.group else ""
    split = f", {record.split}" if record.split is not None else ""
    label = f" ({record.label})" if record.label is not None else ""
    return f"{record.alias or record.measure}{label} of {where}{group}{split}"


def flat_name(record: Record) -> str:
    """Name a record the same in every run: a gap's furthest groups are not part of its name."""
    parts = [record.alias or record.measure]
    parts += [] if record.kind in ("rate", "value", "gap", "summary") else [record.kind]
    parts += [record.scope, *(part for part in (record.class_, record.label) if part is not None)]
    parts += ["&".join(record.attribute)] if record.attribute else []
    if record.kind not in SINGLE_VALUED:
        parts += [part for part in (record.group, record.against) if part is not None]
    parts += [part for part in (record.control, record.split) if part is not None]
    parts += [] if record.variant == "paper" else [record.variant]
    parts += [str(record.reason)] if record.status == Status.DROPPED else []
    return "/".join(part.replace("/", "_") for part in parts)


def statements(records: Sequence[Record], better_of: Callable[[str], Better]) -> Iterator[Finding]:
    """Yield a finding for each contrast and gap that was tested or could not be."""
    people = _people(records)
    for index, record in enumerate(records):
        if record.kind == "contrast" or (record.kind in COMPARED and record.finding is not None):
            yield _statement(record, index, people, better_of)


def _subject(record: Record) -> Subject:
    return (
        record.measure, record.variant, record.scope, record.class_, record.label, record.attribute, record.control,
        record.split,
    )  # fmt: skip


def _people(records: Iterable[Record]) -> dict[Subject, dict[str, float]]:
    """Return the denominators of groups, by what their rates are of."""
    numbers: dict[Subject, dict[str, float]] = {}
    for record in records:
        if record.kind in ("rate", "value") and record.group is not None and record.denominator is not None:
            numbers.setdefault(_subject(record), {})[record.group] = record.denominator
    return numbers


def _statement(
    record: Record, position: int, people: Mapping[Subject, Mapping[str, float]], better_of: Callable[[str], Better]
) -> Finding:
    from equipoise.tallies import is_missing

    groups = people.get(_subject(record), {})
    name, other = record.group, record.against
    n_against = groups.get(str(other))
    if n_against is None and other is not None and groups:
        n_against = sum(number for group, number in groups.items() if group != name and not is_missing(group))
    if record.kind in COMPARED and record.pair is not None:
        name, other = record.pair
        n_against = groups.get(other)
    better: Better = better_of(record.measure) if record.kind == "contrast" else "none"
    return Finding(
        kind="contrast" if record.kind == "contrast" else "gap",
        measure=record.measure, alias=record.alias, attribute=record.attribute, group=name, against=other,
        class_=record.class_, label=record.label, split=record.split, control=record.control, estimate=record.value,
        low=record.low, high=record.high, level=record.level, p=record.p, p_adjusted=record.p_adjusted,
        n=groups.get(str(name)), n_against=n_against, status=record.status, reason=record.reason,
        direction=direction_of(
            record.value, significant=record.finding, better=better, equivalent=record.equivalent
        ),
        source="records", index=position,
    )  # fmt: skip
