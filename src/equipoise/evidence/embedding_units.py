"""Which rows of an embedding are drawn and permuted together.

Pictures of one person, or rows of one class whose members all have one group, are not independent witnesses about that
group. So whole units are drawn: those the caller named, else classes where the group is constant in them, else rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.tallies.embedded import Embedded
from equipoise.tallies.factorise import Codes

Floats = NDArray[np.float64]
UnitName = Literal["rows", "classes", "clusters"]


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of every row, and the group of every unit: -1 for one of no group, None where groups share units.

    A row of no group says nothing about its unit's.
    """

    of_row: Codes
    number: int
    group: Codes | None
    name: UnitName

    def by_group(self, groups: int) -> Floats:
        """Return how many units each group has; shared units count for all."""
        if self.group is None:
            return np.full(groups, float(self.number))
        return np.bincount(self.group[self.group >= 0], minlength=groups).astype(np.float64)


def drawn_units(embedded: Embedded) -> Units:
    """Return the units that intervals draw: the caller's, else classes where the group is constant, else rows."""
    if embedded.unit is not None:
        return _units(embedded, embedded.unit.codes, "clusters")
    return _carrying(embedded, ())


def permuted_units(embedded: Embedded) -> Units:
    """Return the units that carry the group: the first of the caller's, classes and rows in which it is constant."""
    return _carrying(embedded, () if embedded.unit is None else (embedded.unit.codes,))


def _carrying(embedded: Embedded, first: tuple[Codes, ...]) -> Units:
    tried: list[tuple[Codes, UnitName]] = [(codes, "clusters") for codes in first]
    for codes, name in [*tried, (embedded.space.classes.codes, "classes")]:
        found = _units(embedded, codes, name)
        if found.group is not None and found.number < len(codes):
            return found
    return _units(embedded, np.arange(len(embedded.codes)), "rows")


def _units(embedded: Embedded, codes: Codes, name: UnitName) -> Units:
    kept, of_row = np.unique(codes, return_inverse=True)
    of_row = of_row.reshape(-1)
    group, known = np.full(len(kept), -1, dtype=np.int64), embedded.codes >= 0
    group[of_row[known]] = embedded.codes[known]
    constant = bool((group[of_row[known]] == embedded.codes[known]).all())
    return Units(of_row, len(kept), group if constant else None, name)


def permuted_codes(embedded: Embedded, units: Units, generator: np.random.Generator) -> Codes:
    """Return the rows' groups after the groups of whole units were dealt out anew; rows of no group keep none."""
    assert units.group is not None
    dealt = units.group.copy()
    having = np.flatnonzero(dealt >= 0)
    dealt[having] = generator.permutation(dealt[having])
    return np.where(embedded.codes >= 0, dealt[units.of_row], -1)
