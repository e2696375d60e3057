"""Random tables (draw, group, pair): rows or whole units drawn again, and groups dealt out at random.

Rows are never touched where they are independent: counts are drawn (see ``drawn_cells`` in ``stats``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits.downstream.macro import Pairs
from equipoise.audits.downstream.splits import Codes, carried_by, most_common
from equipoise.stats import drawn_cells, permuted

Floats = NDArray[np.float64]

# So many numbers at the most are held at once.
BATCH = 4_000_000


@dataclass(frozen=True, eq=False)
class Units:
    """Units that are drawn whole (people with several rows, or classes): each row's unit and group."""

    of_row: Codes
    groups: Codes
    number: int

    @property
    def carry_the_group(self) -> bool:
        """Tell whether the rows of a unit are of one group, but for a few."""
        return carried_by(self.of_row, self.groups)

    @property
    def group_of_unit(self) -> Codes:
        """The group that most rows of each unit have."""
        return most_common(self.of_row, self.groups, self.number)


def _batches(draws: int, size: int) -> Iterator[int]:
    step = max(1, BATCH // max(size, 1))
    for start in range(0, draws, step):
        yield min(step, draws - start)


def drawn_rows(table: Floats, draws: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield bootstrap tables, the size of each group kept."""
    for number in _batches(draws, table.size):
        yield drawn_cells(table, number, generator)


def permuted_rows(table: Floats, strata: Codes | None, draws: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield tables with the groups permuted over all rows, or within each stratum of pairs."""
    parts = [np.arange(table.shape[1])] if strata is None else [
        np.flatnonzero(strata == stratum) for stratum in np.unique(strata)
    ]  # fmt: skip
    for number in _batches(draws, table.size):
        made = np.empty((number, *table.shape))
        for places in parts:
            made[:, :, places] = permuted(table[:, None, places], False, number, generator)[:, :, 0, :]
        yield made


def drawn_units(
    units: Units, pairs: Pairs, groups: int, draws: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Yield tables of units drawn with replacement; where units carry the group, within each group."""
    cells = sparse.csr_array(
        (np.ones(len(units.of_row)), (units.of_row, units.groups * len(pairs) + pairs.of_row)),
        shape=(units.number, groups * len(pairs)),
    )
    group_of_unit = units.group_of_unit if units.carry_the_group else np.zeros(units.number, dtype=np.int64)
    present = np.bincount(units.of_row, minlength=units.number) > 0
    parts = [np.flatnonzero(present & (group_of_unit == group)) for group in np.unique(group_of_unit[present])]
    for number in _batches(draws, max(groups * len(pairs), units.number)):
        times = np.zeros((number, units.number))
        for part in parts:
            times[:, part] = generator.multinomial(len(part), np.full(len(part), 1 / len(part)), size=number)
        yield np.asarray(times @ cells).reshape(number, groups, len(pairs))


def permuted_units(
    units: Units, pairs: Pairs, groups: int, strata: Codes | None, draws: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Yield tables with the groups of units permuted over all units, or within each stratum of units."""
    cells = sparse.csr_array(
        (np.ones(len(units.of_row)), (units.of_row, pairs.of_row)), shape=(units.number, len(pairs))
    )
    group_of_unit = units.group_of_unit
    layers = np.zeros(units.number, dtype=np.int64) if strata is None else strata
    resting = np.argsort(layers, kind="stable")
    for number in _batches(draws, max(groups * len(pairs), units.number)):
        made = np.empty((number, groups, len(pairs)))
        dealt = np.empty((number, units.number), dtype=np.int64)
        for draw in range(number):
            order = np.lexsort((generator.random(units.number), layers))
            dealt[draw, order] = group_of_unit[resting]
        for group in range(groups):
            made[:, group] = (dealt == group).astype(np.float64) @ cells
        yield made
