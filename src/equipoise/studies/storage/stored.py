"""What a store answers: trials with their state, counts by cell, and what became of trials that were handed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from equipoise.studies.recorded import State
from equipoise.studies.storage.histories import COLUMNS
from equipoise.studies.trial import Trial
from equipoise.training.material import Epoch


@dataclass(frozen=True)
class StoredTrial:
    """A trial in its place in the plan, and how it went. ``environment`` names an entry of ``Store.environments()``.

    Of one that is ``damaged``, history, notes or times are not what was written.
    """

    trial: Trial
    key: str
    cell: str
    stack: int
    state: State
    tries: int
    seconds: float
    environment: str | None
    best_epoch: int
    history: tuple[Epoch, ...]
    notes: tuple[str, ...]
    failure: str | None
    damaged: bool = False
    # The epochs as a table (number, loss, performance, fairness): what a report reads of many trials.
    epochs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, COLUMNS)), compare=False, repr=False)


@dataclass(frozen=True)
class CellStatus:
    """How many trials of one cell are in each state; ``lapsed`` are the running ones whose lease ran out."""

    cell: str
    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    lapsed: int = 0
    # What done and failed trials took, added up.
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """All trials of the cell."""
        return self.waiting + self.running + self.done + self.failed


@dataclass(frozen=True)
class Status:
    """The cells of a plan, in its order."""

    cells: tuple[CellStatus, ...]

    @property
    def waiting(self) -> int:
        """Trials that nobody has begun."""
        return sum(cell.waiting for cell in self.cells)

    @property
    def running(self) -> int:
        """Trials under a lease, the lapsed ones among them."""
        return sum(cell.running for cell in self.cells)

    @property
    def lapsed(self) -> int:
        """Running trials whose lease ran out: the next worker takes them over."""
        return sum(cell.lapsed for cell in self.cells)

    @property
    def done(self) -> int:
        """Trials with predictions and counts."""
        return sum(cell.done for cell in self.cells)

    @property
    def failed(self) -> int:
        """Trials that ended with a reason instead."""
        return sum(cell.failed for cell in self.cells)

    @property
    def total(self) -> int:
        """All trials of the plan."""
        return sum(cell.total for cell in self.cells)

    @property
    def seconds(self) -> float:
        """What finished trials took, added up."""
        return sum(cell.seconds for cell in self.cells)


@dataclass(frozen=True)
class Written:
    """What became of trials that were handed in: keys new, keys finished before, and why others are refused."""

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
