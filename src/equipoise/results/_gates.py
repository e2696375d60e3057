"""Gates for pipelines: ``DI > 0.2``, ``EOTP.low > 0.05``, ``DI[sex] > 0.2``, ``share(DI > 0.2) > 0.05``.

A gate says when to stop, so it must point in the measure's worse direction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
)
from equipoise.results._record import Better

Sign = Literal[">", ">=", "<", "<="]
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
}
FLIPPED_SIGNS = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
FIELDS = ("value", "low")
EXAMPLES = "DI > 0.2, EOTP.low > 0.05, DI[sex] > 0.2, impact_ratio < 0.8"

_NAME = re.compile(r"\s*([A-Za-z]\w*)\s*")
_FIELD = re.compile(r"\.\s*(\w+)\s*")
_ATTRIBUTE = re.compile(r"\[([^\]]+)\]\s*")
_SIGN = re.compile(r"\s*(>=|<=|>|<)\s*")
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")
_SHARE = re.compile(r"\s*share\s*\(")


@dataclass(frozen=True)
class Gate:
    """A condition that stops a pipeline.

    Parameters
    ----------
    text : str
        The gate as it was written.
    name, field : str
        The measure, and its ``value`` or its lower bound ``low``.
    attribute : tuple of str, optional
        The group columns it is about; without it all of them.
    sign, limit : str, float
        What breaks it.
    share_sign, share : str, float, optional
        Of gates over runs: the share of runs that may break it.

    Examples
    --------
    >>> gate = parse_gate("DP[sex] > 10%")
    >>> gate.name, gate.attribute, gate.sign, gate.limit
    ('DP', ('sex',), '>', 0.1)
    """

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
        return COMPARISONS[self.sign](value, self.limit)


@dataclass(frozen=True)
class Breach:
    """A gate that was broken, and by what."""

    gate: str
    detail: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.detail}"


class Measured(Protocol):
    """What a gate and a statement need to know of a measure."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kind(self) -> str:
        """What its records are: rate, value, gap, ratio or summary."""

    @property
    def better(self) -> Better:
        """Which of its values are better."""


class GateBroken(EquipoiseError):
    """A result breaks a gate."""


@dataclass(frozen=True, repr=False)
class GateCheck:
    """What comes of comparing a result with gates. It is true where all of them passed.

    Parameters
    ----------
    gates : tuple of str
        The gates that were checked.
    broken : tuple of Breach
        One entry for each number that breaks a gate; ``raise_if_broken`` ends a pipeline there.
    """

    gates: tuple[str, ...]
    broken: tuple[Breach, ...]

    @property
    def passed(self) -> bool:
        """Whether no gate is broken."""
        return not self.broken

    def __bool__(self) -> bool:
        return self.passed

    def raise_if_broken(self) -> None:
        """Raise ``GateBroken`` with every broken gate, if there is one."""
        if self.broken:
            raise GateBroken("; ".join(map(str, self.broken)))

    def __repr__(self) -> str:
        if self.passed:
            return f"GateCheck(passed: {', '.join(self.gates)})"
        return f"GateCheck(broken: {'; '.join(map(str, self.broken))})"


class _Reader:
    """Reads a gate from left to right, and says where it stopped."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        matched = pattern.match(self.text, self.position)
        if matched is None:
            raise self.error(expected)
        self.position = matched.end()
        return matched

    def maybe(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        matched = pattern.match(self.text, self.position)
        if matched is not None:
            self.position = matched.end()
        return matched

    def error(self, expected: str) -> BadInput:
        arrow = " " * (self.position + 2) + "^ " + f"{expected} is expected here"
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
    matched = reader.maybe(_FIELD)
    if matched is not None:
        field = matched[1]
        if field not in FIELDS:
            reader.position = matched.start(1)
            raise reader.error(" or ".join(FIELDS))
    bracket = reader.maybe(_ATTRIBUTE)
    attribute = None if bracket is None else tuple(part.strip() for part in bracket[1].split("&"))
    sign = reader.take(_SIGN, "one of > >= < <=")[1]
    return name, field, attribute, sign, _number(reader)


def _number(reader: _Reader) -> float:
    matched = reader.take(_NUMBER, "a number such as 0.2")
    return float(matched[1]) / (100 if matched[2] else 1)


def _end(reader: _Reader) -> None:
    if reader.position != len(reader.text):
        raise reader.error("the end of the gate")


def check_direction(gate: Gate, measure: Measured) -> None:
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


def _meant(gate: Gate, measure: Measured) -> str:
    """Return the line that was meant: the other direction, or, for ``DI < 0.8``, the ratio that DI is 1 minus."""
    if measure.name == "disparate_impact" and gate.limit >= 0.5:
        ratio = re.sub(rf"\b{gate.name}\b", "impact_ratio", gate.text, count=1)
        return (
            f'write: --fail-if "{ratio}" ({gate.name} is 1 - impact_ratio: that gate is '
            f'"{gate.name} {FLIPPED_SIGNS[gate.sign]} {1 - gate.limit:.4g}")'
        )
    return f'write: --fail-if "{gate.text.replace(gate.sign, FLIPPED_SIGNS[gate.sign], 1)}"'
