"""One way to look at the rows: what every record of an attribute is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.tallies.confusion import Confusion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at the rows: which attribute, label, split and stratum, and whose class is favourable.

    ``shown`` has every group; ``compared`` only those that enter gaps (not the missing, not the suppressed). ``rows``
    and ``squares`` are the shown table in rows and in squared weights; ``drawn`` is it with clusters drawn again, and
    ``clusters`` how many there are.
    """

    attribute: tuple[str, ...]
    shown: Any
    compared: Any
    rows: Confusion | None = None
    squares: Confusion | None = None
    drawn: Confusion | None = None
    clusters: int = 0
    favourable: str | None = None
    classes: tuple[str, ...] = ()
    label: str | None = None
    split: str | None = None
    control: str | None = None
    reference: str | None = None
    strict: bool = False
    variant: str = "paper"
    least_people: int = 0

    def place(self) -> dict[str, Any]:
        """The fields that every record of this view shares."""
        return {"attribute": self.attribute, "label": self.label, "split": self.split, "control": self.control}

    @property
    def everyone(self) -> View:
        """The same view with all shown groups taken together."""
        rows, squares, drawn = (None if table is None else table.everyone
                                for table in (self.rows, self.squares, self.drawn))  # fmt: skip
        return replace(self, attribute=(), shown=self.shown.everyone, rows=rows, squares=squares, drawn=drawn)

    def only_compared(self, table: Confusion | None) -> Confusion:
        """Return a table of counts with the compared groups only."""
        assert table is not None
        return table.only(self.compared.groups)
