"""A treatment's hyper-parameters as data: one table checks them, documents them and tells a search its range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.foundation.errors import BadInput


@dataclass(frozen=True)
class Parameter:
    """A number: its default, the least it may be, and where a search looks for a good one."""

    meaning: str
    default: float
    least: float
    low: float
    high: float
    scale: Literal["linear", "log"] = "log"
    whole: bool = False

    def check(self, name: str, value: object) -> None:
        """Refuse what is not a finite number, not whole where it must be, or too small."""
        kind = "a whole number" if self.whole else "a number"
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or (self.whole and value != int(value)) or value < self.least:  # type: ignore[operator,call-overload]
            raise BadInput(f"{name} is {value!r}", allowed=f"{kind} of at least {self.least:g} ({self.meaning})")


def check_parameters(table: Mapping[str, Parameter], values: Mapping[str, object]) -> None:
    """Check every parameter of a table."""
    for name, parameter in table.items():
        parameter.check(name, values[name])
