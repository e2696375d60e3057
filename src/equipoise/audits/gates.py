"""Gates for pipelines: ``DI > 0.2``, ``EOTP.low > 0.05``, ``DI[sex] > 0.2``, ``share(DI > 0.2) > 0.05``.

A gate says when to stop, so it must point in the measure's worse direction. An audit is compared with its gates for
every attribute: for the favourable class if one is declared, else overall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.audits.result import AuditResult
from equipoise.foundation.errors import BadInput, listing
from equipoise.measures.embeddings import GAP_VARIANTS
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Record
from equipoise.tallies.labels import MISSING

Sign = Literal[">", ">=", "<", "<="]
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
}
TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
FIELDS = ("value", "low")
EXAMPLES = "DI > 0.2, EOTP.low > 0.05, DI[sex] > 0.2, impact_ratio < 0.8"
# Pooled over labels, and the other rules of an embedding's gaps: a gate holds the one that is told first.
NOT_HELD = ("micro", *GAP_VARIANTS[1:])

_NAME = re.compile(r"\s*([A-Za-z]\w*)\s*")
_FIELD = re.compile(r"\.\s*(\w+)\s*")
_ATTRIBUTE = re.compile(r"\[([^\]]+)\]\s*")
_SIGN = re.compile(r"\s*(>=|<=|>|<)\s*")
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")
_SHARE = re.compile(r"\s*share\s*\(")


@dataclass(frozen=True)
class Gate:
    """A condition that stops a pipeline. ``share`` is the share of runs that may meet it, for gates over runs."""

    text: str
    name: str
    field: str
    attribute: tuple[str, ...] | None
    sign: str
    limit: float
    share_sign: str | None = None
    share: float | None = None

    def broken(self, value: float) -> bool:
        """Tell whether a value breaks the gate."""
        return COMPARE[self.sign](value, self.limit)


@dataclass(frozen=True)
class Breach:
    """A gate that was broken, and by what."""

    gate: str
    told: str


class _Reader:
    """Reads a gate from left to right, and says where it stopped."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise self.error(expected)
        self.place = found.end()
        return found

    def maybe(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.place)
        if found is not None:
            self.place = found.end()
        return found

    def error(self, expected: str) -> BadInput:
        arrow = " " * (self.place + 2) + "^ " + f"{expected} is expected here"
        return BadInput(f"The gate could not be read:\n  {self.text}\n{arrow}", available=f"gates such as {EXAMPLES}")


def parse_gate(text: str) -> Gate:
    """Read one gate; what cannot be read is shown with the place."""
    reader = _Reader(text)
    if reader.maybe(_SHARE):
        name, field, attribute, sign, limit = _condition(reader)
        reader.take(re.compile(r"\s*\)\s*"), "a closing bracket")
        share_sign = reader.take(_SIGN, "one of > >= < <=")[1]
        share = _number(reader)
        _end(reader)
        if share_sign not in (">", ">="):
            raise BadInput(f"The gate {text!r} stops when few runs are bad", help=f"write: {_turned(text)}")
        return Gate(text, name, field, attribute, sign, limit, share_sign, share)
    gate = Gate(text, *_condition(reader))
    _end(reader)
    return gate


def _turned(text: str) -> str:
    head, bracket, tail = text.rpartition(")")
    return head + bracket + tail.replace("<", ">")


def _condition(reader: _Reader) -> tuple[str, str, tuple[str, ...] | None, str, float]:
    name = reader.take(_NAME, "the name of a measure")[1]
    field = "value"
    found = reader.maybe(_FIELD)
    if found is not None:
        field = found[1]
        if field not in FIELDS:
            reader.place = found.start(1)
            raise reader.error(" or ".join(FIELDS))
    bracket = reader.maybe(_ATTRIBUTE)
    attribute = None if bracket is None else tuple(part.strip() for part in bracket[1].split("&"))
    sign = reader.take(_SIGN, "one of > >= < <=")[1]
    return name, field, attribute, sign, _number(reader)


def _number(reader: _Reader) -> float:
    found = reader.take(_NUMBER, "a number such as 0.2")
    return float(found[1]) / (100 if found[2] else 1)


def _end(reader: _Reader) -> None:
    if reader.place != len(reader.text):
        raise reader.error("the end of the gate")


def check_direction(gate: Gate, measure: Measure) -> None:
    """Refuse a gate that would stop a pipeline for being good, with the line that was meant."""
    if measure.better == "none":
        raise BadInput(
            f"The gate {gate.text!r} is about {measure.name}, which has no better direction",
            help="gate on a gap such as DP, DI or EOTP.",
        )
    worse = ">" if measure.better == "low" else "<"
    if not gate.sign.startswith(worse):
        raise BadInput(
            f"The gate {gate.text!r} stops when {measure.name} is good (better is {measure.better})",
            help=_meant(gate, measure),
        )


def _meant(gate: Gate, measure: Measure) -> str:
    """Return the line that was meant: the other direction, or, for ``DI < 0.8``, the ratio that DI is 1 minus."""
    if measure.name == "disparate_impact" and gate.limit >= 0.5:
        ratio = re.sub(rf"\b{gate.name}\b", "impact_ratio", gate.text, count=1)
        return (
            f'write: --fail-if "{ratio}" ({gate.name} is 1 - impact_ratio: that gate is '
            f'"{gate.name} {TURNED[gate.sign]} {1 - gate.limit:.4g}")'
        )
    return f'write: --fail-if "{gate.text.replace(gate.sign, TURNED[gate.sign], 1)}"'


def check_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates before any work is done; one that cannot be read or points the wrong way is refused."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.share is not None:
            raise BadInput(
                f"The gate {gate.text!r} is about repeated runs", help="use it with: equipoise evidence --fail-if"
            )
        check_direction(gate, get_measure(gate.name))
    return gates


def breaches(result: AuditResult, gates: Sequence[Gate], *, allow_undefined: bool = False) -> Iterator[Breach]:
    """Yield every broken gate. What is undefined breaks it, unless that is allowed."""
    for gate in gates:
        measure = get_measure(gate.name)
        for record in _held(result, gate, measure):
            value = record.value if gate.field == "value" else record.low
            if value is None or value != value:
                if not allow_undefined:
                    yield Breach(
                        gate.text, f"{_name(record)} is not known ({record.reason or 'it has no lower bound'})"
                    )
            elif gate.broken(value):
                yield Breach(gate.text, f"{_name(record)} is {value:.4g}")


def _held(result: AuditResult, gate: Gate, measure: Measure) -> list[Record]:
    scope = "favourable" if result.favourable is not None and measure.classwise else "overall"
    found = [
        record
        for record in result.find(measure.name, scope=scope, control=None, kind=measure.kind)
        if record.attribute and record.label is None and record.group != MISSING and record.variant not in NOT_HELD
    ]
    known = list(dict.fromkeys(record.attribute for record in found))
    if not found:
        raise BadInput(
            f"The gate {gate.text!r} is about {measure.name}, which this audit does not have",
            help=f"it needs {measure.needs}: name the columns it is computed from.",
        )
    if gate.attribute is not None:
        if gate.attribute not in known:
            raise BadInput(
                f"The gate {gate.text!r} names {' & '.join(gate.attribute)!r}, which was not audited",
                available=listing(" & ".join(attribute) for attribute in known),
            )
        found = [record for record in found if record.attribute == gate.attribute]
    return found


def _name(record: Record) -> str:
    where = " & ".join(record.attribute)
    group = f", {record.group}" if record.kind in ("rate", "value") and record.group else ""
    split = f", {record.split}" if record.split is not None else ""
    return f"{record.alias or record.measure} of {where}{group}{split}"
