"""What a condition asks of the data, cell by cell, in plain words: which rows repeat, and which cells are empty."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.foundation.errors import listing

WHAT_TO_DO = (
    "merge the group or the class with another, leave it out of the cohort, or choose a condition that gives the cell "
    "no share (as_given does)"
)


@dataclass(frozen=True)
class Cell:
    """One class in one group: how many rows there are, the share it shall have, and how many rows that is."""

    class_name: str
    group: str
    available: int
    probability: float
    wanted: int

    @property
    def times(self) -> float:
        """How often each row is taken on average; NaN where there is none."""
        return self.wanted / self.available if self.available else math.nan

    @property
    def repeated(self) -> bool:
        """Tell whether rows must be taken more than once."""
        return self.wanted > self.available > 0

    @property
    def empty(self) -> bool:
        """Tell whether the cell shall have a share and there are no rows to give it."""
        return self.probability > 0 and not self.available

    @property
    def unused(self) -> bool:
        """Tell whether there are rows and none is taken."""
        return self.available > 0 and not self.wanted

    @property
    def name(self) -> str:
        """The class and the group."""
        return f"{self.class_name} / {self.group}"


@dataclass(frozen=True)
class Feasibility:
    """What a condition does to the training rows at one size.

    ``largest`` is the largest size at which no row is repeated under any condition of the plan; ``unlabelled`` counts
    the training rows without a class or a group, which no condition can use. ``remarks`` are a condition's own
    sentences.
    """

    size: int
    available: int
    largest: int
    unlabelled: int
    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Tell whether every cell that shall have a share has rows."""
        return not self.empty

    @property
    def repeated(self) -> tuple[Cell, ...]:
        """The cells whose rows are taken more than once, the most often first."""
        return tuple(sorted((cell for cell in self.cells if cell.repeated), key=lambda cell: -cell.times))

    @property
    def empty(self) -> tuple[Cell, ...]:
        """The cells that shall have a share and have no rows."""
        return tuple(cell for cell in self.cells if cell.empty)

    @property
    def unused(self) -> tuple[Cell, ...]:
        """The cells that have rows of which none is taken."""
        return tuple(cell for cell in self.cells if cell.unused)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What cannot be done, repeats rows or leaves rows out, a sentence each."""
        return (*self._empty_words(), *self._repeated_words(), *self._unlabelled_words())

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to know, a sentence each."""
        found = [f"{self.size:,} training rows are drawn from {self.available:,}.", *self._empty_words()]
        found += self._repeated_words()
        if not self.repeated and not self.empty:
            found.append("No row is repeated.")
        if self.unused:
            found.append(f"No row is drawn from {listing(cell.name for cell in self.unused)}.")
        return (*found, *self._unlabelled_words(), *self.remarks)

    def _empty_words(self) -> list[str]:
        if not self.empty:
            return []
        cells = listing(f"{cell.name} (share {cell.probability:.3g})" for cell in self.empty)
        return [f"It is not possible: there are no rows of {cells}. Fix: {WHAT_TO_DO}."]

    def _repeated_words(self) -> list[str]:
        if not self.repeated:
            return []
        cells = listing(
            f"{cell.name} {cell.times:,.1f} times ({cell.wanted:,} from {cell.available:,})" for cell in self.repeated
        )
        return [f"Rows are repeated: {cells}. No row is repeated up to a size of {self.largest:,}."]

    def _unlabelled_words(self) -> list[str]:
        if not self.unlabelled:
            return []
        return [f"{self.unlabelled:,} training rows have no class or no group and are left out."]
