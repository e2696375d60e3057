"""One way to look at the rows: what every record of an attribute is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._small_groups import ClusterCounts
from equipoise.results import Reason
from equipoise.tallies.counts import Confusion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at the rows: which attribute, label, split and stratum, and whose class is favourable.

    ``shown`` has every group; ``compared`` only those that enter gaps (not the missing, not the suppressed). ``rows``
    and ``squares`` are the shown table in rows and in squared weights; ``drawn`` is it with clusters drawn again,
    and ``behind`` how many clusters are behind each group. ``tests`` is how many tests
    the report has in all.
    """

    attribute: tuple[str, ...]
    shown: Any
    compared: Any
    rows: Confusion | None = None
    squares: Confusion | None = None
    drawn: Confusion | None = None
    behind: ClusterCounts | None = None
    favourable: str | None = None
    classes: tuple[str, ...] = ()
    label: str | None = None
    split: str | None = None
    control: str | None = None
    reference: str | None = None
    strict: bool = False
    variant: str = "paper"
    least_people: int = 0
    risk: float = 0.05
    tests: int = 1
    # Tables of some groups, made once: by the identity of the whole table, which is kept, too.
    _made: dict[tuple[int, tuple[str, ...]], tuple[Confusion, Confusion]] = field(
        default_factory=dict, init=False, repr=False
    )

    def place(self) -> dict[str, Any]:
        """The fields that every record of this view shares."""
        return {"attribute": self.attribute, "label": self.label, "split": self.split, "control": self.control}

    @property
    def everyone(self) -> View:
        """The same view with all shown groups taken together."""
        rows, squares, drawn = (None if table is None else table.everyone
                                for table in (self.rows, self.squares, self.drawn))  # fmt: skip
        behind = None if self.behind is None else self.behind.everyone
        return replace(
            self, attribute=(), shown=self.shown.everyone, rows=rows, squares=squares, drawn=drawn, behind=behind
        )

    def only_compared(self, table: Confusion | None) -> Confusion:
        """Return a table of counts with the compared groups only."""
        assert table is not None
        return self.of_groups(table, self.compared.groups)

    def of_groups(self, table: Confusion, groups: Sequence[str]) -> Confusion:
        """Return a table of counts with some groups only; the same one when it is asked for again."""
        key = (id(table), tuple(groups))
        if key not in self._made:
            self._made[key] = (table, table if table.groups == key[1] else table.only(groups))
        return self._made[key][1]

    def why_untold(self, groups: Sequence[str]) -> Reason | None:
        """Say why these groups have no interval or test: too few clusters; None where they can have one."""
        return None if self.behind is None else self.behind.why_untold(groups)
