"""Hyper-parameters as data: one table checks them, documents them and tells a search its range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from equipoise.foundation import (
    BadInput,
    listing,
    registry,
    unknown_name,
)


@dataclass(frozen=True)
class Parameter:
    """A number: its default, the least it may be, and where a search looks for a good one.

    ``shapes`` says of a number that need not be whole that it shapes the loop all the same, as how long to train does.
    """

    meaning: str
    default: float
    least: float
    low: float
    high: float
    scale: Literal["linear", "log"] = "log"
    integer: bool = False
    most: float = math.inf
    shapes: bool = False

    def check(self, name: str, value: object) -> None:
        """Refuse what is not a finite number, not whole where it must be, too small or too large."""
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or (self.integer and value != int(value)) or not self.least <= value <= self.most:  # type: ignore[operator,call-overload]
            raise BadInput(f"{name} is {value!r}", available=f"{self.allowed} ({self.meaning})")

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        kind = "a whole number" if self.integer else "a number"
        return f"{kind} of at least {self.least:g}" + (f" and at most {self.most:g}" if self.most < math.inf else "")


@dataclass(frozen=True)
class OptionalNumber(Parameter):
    """A number that need not be given; None stands for what its meaning says."""

    default: float | None  # type: ignore[assignment]

    def check(self, name: str, value: object) -> None:
        """Take None as it is, and a number as any other."""
        if value is not None:
            super().check(name, value)


@dataclass(frozen=True)
class Choice:
    """One of a few values, such as a variant by name, or true and false; a search does not change it."""

    meaning: str
    default: str | bool
    options: tuple[str | bool, ...] = (False, True)

    def check(self, name: str, value: object) -> None:
        """Refuse everything that is no option; 1 is not True."""
        if not any(value is option or (isinstance(value, str) and value == option) for option in self.options):
            raise BadInput(f"{name} is {value!r}", available=f"{self.allowed} ({self.meaning})")

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        return listing(repr(option) for option in self.options)


@dataclass(frozen=True)
class Readout(Choice):
    """How a trained network is read: trials that differ in nothing else are one training, read in several ways."""


@dataclass(frozen=True)
class OneOf(Choice):
    """The name of one registered thing of a kind, a plug-in's included, or one of a few other words."""

    kind: str = ""

    def check(self, name: str, value: object) -> None:
        """Refuse what is neither an option nor registered."""
        if value not in self.options:
            registry.get(self.kind, str(value))

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        return listing(repr(name) for name in (*self.options, *(entry.name for entry in registry.entries(self.kind))))


@dataclass(frozen=True)
class FreeParameter:
    """What is neither a number nor a choice, such as a class by its name or an object: its owner checks it.

    ``grid`` says that no value is a list, so that a list in a plan is several values, as elsewhere.
    """

    meaning: str
    allowed: str
    default: Any = None
    grid: bool = False

    def check(self, name: str, value: object) -> None:
        """Leave it to the owner, who knows what it is for."""


Table = Mapping[str, Parameter | Choice | FreeParameter]


def may_differ(parameter: object) -> bool:
    """Tell whether trials that train together may differ in a hyper-parameter: a number that scales, or a readout."""
    if isinstance(parameter, Parameter):
        return not parameter.integer and not parameter.shapes
    return isinstance(parameter, Readout)


def check_parameters(table: Table, values: Mapping[str, object]) -> None:
    """Check every parameter of a table."""
    for name, parameter in table.items():
        parameter.check(name, values[name])


def without_defaults(values: Mapping[str, Any], later: Table) -> dict[str, Any]:
    """Return values without those of ``later`` that are at their defaults.

    Hyper-parameters that a learner did not always have name a trial only where they say something: so the trials from
    before keep their keys.
    """

    def usual(name: str, value: Any) -> bool:
        default = later[name].default
        return bool(value == default) and isinstance(value, bool) == isinstance(default, bool)

    return {name: value for name, value in values.items() if name not in later or not usual(name, value)}


def with_defaults(table: Table, values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the values of a table, defaults where none is given; an unknown name or a bad value is refused."""
    for name in values:
        if name not in table:
            raise unknown_name("hyper-parameter", name, list(table), owner)
    completed_values = {name: values.get(name, parameter.default) for name, parameter in table.items()}
    check_parameters(table, completed_values)
    return completed_values
