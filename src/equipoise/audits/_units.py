"""The groups of rows, which rows are sampled and permuted together, and the group that each such unit carries.

Pictures of one person, or rows of one class whose members all have one group, are not independent witnesses about that
group. So whole units (clusters or classes) are resampled and permuted where they carry the group. A few rows that
disagree with their unit, such as a wrong label, do not make the others independent: the unit stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats
from equipoise.tallies import (
    Label,
    label_text,
    ordered,
)

Codes = NDArray[np.int64]
UnitName = Literal["rows", "classes", "clusters"]

# Units carry a value where so many of the rows have the value that most rows of their unit have.
MIN_PURITY = 0.9
# A value has units of its own where so many of its rows are in them: of two values at least, or nothing is carried. A
# rare value that is spread over all units is in few rows too, and yet no unit carries it.
MIN_COVERAGE = 0.5


@dataclass(frozen=True, eq=False)
class Attribute:
    """A column of groups: the code of each row's group, and the names of the groups, the missing one last."""

    name: str
    codes: Codes
    groups: tuple[str, ...]
    has_missing: bool = False

    @classmethod
    def of(cls, name: str, codes: Codes, labels: Sequence[Label]) -> Attribute:
        """Put labels in natural order, the missing one last; a label that no row has is left out."""
        present = np.bincount(codes, minlength=len(labels)) > 0
        some = {label for label, is_present in zip(labels, present, strict=True) if is_present}
        order: list[Label] = [*ordered(label for label in some if label is not None), *([None] if None in some else [])]
        rank_of = {label: number for number, label in enumerate(order)}
        recode = np.array([rank_of.get(label, 0) for label in labels], dtype=np.int64)
        return cls(name, recode[codes], tuple(map(label_text, order)), None in some)

    def only(self, rows: NDArray[np.bool_]) -> Attribute:
        """Return the same for some rows; every name stays."""
        return replace(self, codes=self.codes[rows])

    def tested(self, *, include_missing: bool = False) -> list[int]:
        """Return the codes of the groups that are compared."""
        return list(range(len(self.groups) - (self.has_missing and not include_missing)))


@dataclass(frozen=True, eq=False)
class GroupedUnits:
    """The unit of every row, and the group most rows of a unit have: -1 for none, None where groups share units.

    ``mixed`` tells whether some rows disagree with their unit.
    """

    of_row: Codes
    number: int
    group: Codes | None
    name: UnitName
    mixed: bool = False

    @classmethod
    def of(cls, codes: Codes, groups: Codes, name: UnitName = "clusters") -> GroupedUnits:
        """Number the units of rows; a row of no group (-1) says nothing about its unit's."""
        values, of_row = np.unique(codes, return_inverse=True)
        of_row, is_known = of_row.reshape(-1), groups >= 0
        group = most_common(of_row[is_known], groups[is_known], len(values))
        agree = group[of_row[is_known]] == groups[is_known]
        return cls(of_row, len(values), group if _carried(groups[is_known], agree) else None, name, not agree.all())

    def by_group(self, groups: int) -> Floats:
        """Return how many units each group has; shared units count for all."""
        if self.group is None:
            return np.full(groups, float(self.number))
        return np.bincount(self.group[self.group >= 0], minlength=groups).astype(np.float64)


def most_common(units: Codes, values: Codes, number: int) -> Codes:
    """Return for each unit the value that most of its rows have, of equals the lowest; -1 for a unit without rows."""
    several = int(values.max(initial=0)) + 1
    pairs, times = np.unique(units * several + values, return_counts=True)
    order = np.lexsort((-pairs, times))  # the last one written stays
    common = np.full(number, -1, dtype=np.int64)
    common[pairs[order] // several] = pairs[order] % several
    return common


def constant_in(units: Codes, values: Codes) -> bool:
    """Tell whether all rows of a unit have the same value."""
    return len(np.unique(np.stack([units, values], axis=1), axis=0)) == len(np.unique(units))


def carried_by(units: Codes, values: Codes) -> bool:
    """Tell whether units carry a value: it is constant in them, but for a few rows that say otherwise."""
    return GroupedUnits.of(units, values).group is not None


def _carried(values: Codes, agree: NDArray[np.bool_]) -> bool:
    if agree.all():
        return True
    sizes, agreeing = np.bincount(values), np.bincount(values, weights=agree)
    at_home = (sizes > 0) & (agreeing >= MIN_COVERAGE * sizes)
    return bool(agree.mean() >= MIN_PURITY and at_home.sum() > 1)
