"""Which rows of an embedding are drawn and permuted together.

Pictures of one person, or rows of one class whose members all have one group, are not independent witnesses about that
group. So whole units are drawn: those the caller named, else classes where the group is constant in them, else rows;
where the caller's are parts of such classes (days on which a person was photographed), classes. A few rows that
disagree with their unit, such as a wrong label, do not make the others independent: the unit stays.
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

# Units carry the group where so many of the rows have the group that most rows of their unit have.
AGREEING = 0.9
# A group has units of its own where so many of its rows are in them. Two groups must, or there is nothing to deal out:
# a rare group spread over all classes is in few of the rows, and yet no class carries it.
AT_HOME = 0.5


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of every row, and the group most rows of a unit have: -1 for none, None where groups share units.

    A row of no group says nothing about its unit's. ``mixed`` tells whether some rows disagree with their unit.
    """

    of_row: Codes
    number: int
    group: Codes | None
    name: UnitName
    mixed: bool = False

    def by_group(self, groups: int) -> Floats:
        """Return how many units each group has; shared units count for all."""
        if self.group is None:
            return np.full(groups, float(self.number))
        return np.bincount(self.group[self.group >= 0], minlength=groups).astype(np.float64)


def drawn_units(embedded: Embedded) -> Units:
    """Return the units that intervals draw: the caller's, else classes where they carry the group, else rows."""
    if embedded.unit is not None and not _parts_of_classes(embedded, embedded.unit.codes):
        return _units(embedded, embedded.unit.codes, "clusters")
    return _carrying(embedded, ())


def permuted_units(embedded: Embedded) -> Units:
    """Return the first of the caller's units, classes and rows that carry the group."""
    given = () if embedded.unit is None else (embedded.unit.codes,)
    return _carrying(embedded, tuple(codes for codes in given if not _parts_of_classes(embedded, codes)))


def _parts_of_classes(embedded: Embedded, codes: Codes) -> bool:
    """Tell whether several units make up a class that carries the group: then they are one witness, not several."""
    classes = embedded.space.classes.codes
    units, own = np.unique(codes), np.unique(classes)
    nested = len(np.unique(np.stack([codes, classes], axis=1), axis=0)) == len(units)
    return nested and len(units) > len(own) and _units(embedded, classes, "classes").group is not None


def _carrying(embedded: Embedded, first: tuple[Codes, ...]) -> Units:
    tried: list[tuple[Codes, UnitName]] = [(codes, "clusters") for codes in first]
    for codes, name in [*tried, (embedded.space.classes.codes, "classes")]:
        found = _units(embedded, codes, name)
        if found.group is not None and found.number < len(codes):
            return found
    return _units(embedded, np.arange(len(embedded.codes)), "rows")


def _units(embedded: Embedded, codes: Codes, name: UnitName) -> Units:
    kept, of_row = np.unique(codes, return_inverse=True)
    of_row, known = of_row.reshape(-1), embedded.codes >= 0
    group = _majority(of_row[known], embedded.codes[known], len(kept), len(embedded.groups))
    agree = group[of_row[known]] == embedded.codes[known]
    carried = bool(agree.all()) or _carried(embedded.codes[known], agree)
    return Units(of_row, len(kept), group if carried else None, name, not agree.all())


def _majority(units: Codes, codes: Codes, number: int, groups: int) -> Codes:
    """Return the group that most rows of each unit have, of equals the first; -1 for a unit of no group."""
    pairs, times = np.unique(units * groups + codes, return_counts=True)
    order = np.lexsort((-pairs, times))  # the last one written stays
    found = np.full(number, -1, dtype=np.int64)
    found[pairs[order] // groups] = pairs[order] % groups
    return found


def _carried(codes: Codes, agree: NDArray[np.bool_]) -> bool:
    sizes, own = np.bincount(codes), np.bincount(codes, weights=agree)
    at_home = (sizes > 0) & (own >= AT_HOME * sizes)
    return bool(agree.mean() >= AGREEING and at_home.sum() > 1)


def carried_codes(embedded: Embedded, units: Units) -> Codes:
    """Return the rows' groups as far as their unit has them: a row that disagrees with its unit is in no group.

    This is what ``permuted_codes`` deals out anew, so what permuted groups give is held against what these give.
    """
    assert units.group is not None
    return np.where(embedded.codes == units.group[units.of_row], embedded.codes, -1)


def permuted_codes(embedded: Embedded, units: Units, generator: np.random.Generator) -> Codes:
    """Return the rows' groups after the groups of whole units were dealt out anew.

    Rows of no group keep none, and rows that disagree with their unit are in none.
    """
    assert units.group is not None
    dealt = units.group.copy()
    having = np.flatnonzero(dealt >= 0)
    dealt[having] = generator.permutation(dealt[having])
    return np.where(carried_codes(embedded, units) >= 0, dealt[units.of_row], -1)
