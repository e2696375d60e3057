"""Which trials train together: fixed by the plan, so that a study that was interrupted goes on as it would have gone.

A cell of a plan is one condition, learner, treatment kind and selection. Its trials differ in seeds, repeats, numbers
that only scale, and readouts, and are cut into stacks of nearly equal size. Trials that differ in their readouts alone
are one training, which no cut parts. Stacks of different cells take turns, so that every cell is reached early: what is
there after an hour compares all treatments, and the time left rests on all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.studies.plans.naming import kind_of, unread
from equipoise.studies.trial import Trial, canonical


@dataclass(frozen=True)
class Stack:
    """Trials that train together, by their place in the plan's order of stacks and the cell they belong to."""

    number: int
    cell: int
    trials: tuple[Trial, ...]

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its trials, in order."""
        return tuple(trial.key for trial in self.trials)


def cells_of(trials: Sequence[Trial]) -> list[tuple[Trial, ...]]:
    """Group trials by cell, in the order in which the plan names them."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(cell_kind(trial), []).append(trial)
    return [tuple(cell) for cell in found.values()]


def cell_kind(trial: Trial) -> str:
    """Say what the trials of a cell have in common."""
    return canonical(
        {
            "condition": [trial.condition.name, trial.condition.version, trial.condition.settings],
            "size": trial.size,
            "learner": [trial.learner.name, trial.learner.version, trial.learner.settings],
            "treatments": [kind_of(named) for named in trial.treatments],
            "how": [trial.rounding, trial.precision, trial.device, trial.selection],
            "choice": [trial.performance, trial.fairness, trial.choice],
        }
    )


def stacked(cells: Sequence[Sequence[Trial]], largest: Callable[[Sequence[Trial]], int]) -> tuple[Stack, ...]:
    """Cut cells into stacks of at most ``largest(cell)`` trainings, and let the cells take turns."""
    parts = [
        (turn, place, part)
        for place, cell in enumerate(cells)
        for turn, part in enumerate(_parts(cell, max(largest(cell), 1)))
    ]
    parts.sort(key=lambda part: part[:2])
    return tuple(Stack(number, cell, tuple(part)) for number, (_, cell, part) in enumerate(parts))


def trainings_of(cell: Sequence[Trial]) -> list[tuple[Trial, ...]]:
    """Group the trials of a cell by training, in order: those of one training differ in their readouts alone."""
    found: dict[tuple[int, int, str], list[Trial]] = {}
    for trial in cell:
        numbers = canonical([unread(named).settings for named in trial.treatments])
        found.setdefault((trial.seed, trial.repeat, numbers), []).append(trial)
    return [tuple(training) for training in found.values()]


def _parts(cell: Sequence[Trial], largest: int) -> list[list[Trial]]:
    """Cut into as few parts as there can be, whose sizes in trainings differ by one at most."""
    trainings = trainings_of(cell)
    number = -(-len(trainings) // largest)
    edges = [len(trainings) * part // number for part in range(number + 1)]
    return [
        [trial for training in trainings[start:stop] for trial in training] for start, stop in itertools.pairwise(edges)
    ]
