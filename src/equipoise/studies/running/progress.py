"""How far a study is, and how long the rest takes: measured on its own trials, and unknown until one is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equipoise.studies.storage.stored import CellStatus, Status


@dataclass(frozen=True)
class Standing:
    """So many trials are done and failed of all; ``seconds_left`` is None until one was measured.

    ``unmeasured`` counts waiting trials of cells in which none is done yet: they are taken to be like the others.
    ``note`` says what is being waited for, ``within`` how far the trials are that train now.
    """

    total: int
    done: int
    failed: int
    running: int
    seconds_left: float | None
    unmeasured: int = 0
    note: str = ""
    within: str = ""

    @property
    def words(self) -> str:
        """The time left, in words."""
        if self.note:
            return self.note
        if self.seconds_left is None:
            return "time left: known once a trial is done"
        about = "about " if self.unmeasured else ""
        return f"{about}{duration(self.seconds_left)} left" + (f" ({self.within})" if self.within else "")


Watcher = Callable[[Standing], None]


@dataclass(frozen=True)
class Within:
    """How far the trials are that train now: so many of them, after an epoch of so many, after so many seconds.

    ``before`` epochs were done by a run that was killed, and are not in the seconds.
    """

    trials: int
    epoch: int
    epochs: int
    seconds: float
    before: int = 0

    @property
    def spent(self) -> float:
        """The seconds that all epochs so far take, those before too."""
        return self.seconds / (self.epoch - self.before) * self.epoch

    @property
    def words(self) -> str:
        """Say it."""
        return f"{self.trials:,} in training, epoch {self.epoch:,} of {self.epochs:,}"


def standing(
    status: Status, workers: int = 1, note: str = "", earlier: int = 0, within: Within | None = None
) -> Standing:
    """Tell how far a study is; ``earlier`` trials are done besides those that are counted."""
    seconds, unmeasured = seconds_left(status, workers)
    if within is not None:
        seconds = _less_what_is_under_way(seconds, within, status, workers)
    total, done = status.total + earlier, status.done + earlier
    words = "" if within is None else within.words
    return Standing(total, done, status.failed, status.running, seconds, unmeasured, note, words)


def _less_what_is_under_way(seconds: float | None, within: Within, status: Status, workers: int) -> float:
    """Before a trial is done, those in training say what one takes; afterwards what they have done is taken off."""
    if seconds is None:
        each = within.spent / within.epoch * within.epochs / within.trials
        seconds = each * sum(map(_unfinished, status.cells)) / max(workers, 1)
    return max(seconds - within.spent, 0.0)


def seconds_left(status: Status, workers: int = 1) -> tuple[float | None, int]:
    """Return the seconds that unfinished trials will take, and how many of them stand in cells without a measurement.

    A cell's trials take what its done trials took on average; those of a cell without any take the mean of the others.
    """
    measured = [cell for cell in status.cells if cell.done]
    if not measured:
        return None, sum(map(_unfinished, status.cells))
    mean = sum(map(_seconds_each, measured)) / len(measured)
    left = sum(_unfinished(cell) * (_seconds_each(cell) if cell.done else mean) for cell in status.cells)
    return left / max(workers, 1), sum(_unfinished(cell) for cell in status.cells if not cell.done)


def _unfinished(cell: CellStatus) -> int:
    return cell.waiting + cell.running


def _seconds_each(cell: CellStatus) -> float:
    return cell.seconds / (cell.done + cell.failed)


def duration(seconds: float) -> str:
    """Write a time as a person says it: 40 s, 3 min, 2 h 10 min."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours / 24:.1f} days"
