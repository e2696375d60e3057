"""How far a study is, and how long the rest takes: measured on its own trials, and unknown until one is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equipoise.studies.storage.stored import CellStatus, Status


@dataclass(frozen=True)
class Standing:
    """So many trials are done and failed of all; ``seconds_left`` is None until one was measured.

    ``unmeasured`` counts waiting trials of cells in which none is done yet: they are taken to be like the others.
    ``note`` says what is being waited for, ``within`` how far the trials are that train now. ``at_least`` says that
    something is to come of which nobody knows yet how long it takes.
    """

    total: int
    done: int
    failed: int
    running: int
    seconds_left: float | None
    unmeasured: int = 0
    note: str = ""
    within: str = ""
    at_least: bool = False

    @property
    def words(self) -> str:
        """The time left, in words."""
        if self.note:
            return self.note
        if self.seconds_left is None:
            return "time left: known once a trial is done"
        about = "at least " if self.at_least else "about " if self.unmeasured else ""
        return f"{about}{duration(self.seconds_left)} left" + (f" ({self.within})" if self.within else "")


Watcher = Callable[[Standing], None]


@dataclass(frozen=True)
class Within:
    """How far the trials are that train now: so many of them, after an epoch of so many, after so many seconds.

    ``before`` epochs were done by a run that was killed, and are not in the seconds. ``classifiers`` are trained after
    the last epoch: so many are ``classified`` after further seconds, None while epochs go on.
    """

    trials: int
    epoch: int
    epochs: int
    seconds: float
    before: int = 0
    classifiers: int = 0
    classified: int | None = None
    classifying: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether classifiers are to come, and none has said how long one takes."""
        return self.classifiers > 0 and not self.classified

    @property
    def spent(self) -> float:
        """The seconds that everything so far takes, epochs before too."""
        return self._each_epoch * self.epoch + self.classifying

    @property
    def rest(self) -> float:
        """The seconds that are left of these trials at their own pace; without classifiers while that is open."""
        each = self.classifying / self.classified if self.classified else 0.0
        return self._each_epoch * (self.epochs - self.epoch) + each * (self.classifiers - (self.classified or 0))

    @property
    def _each_epoch(self) -> float:
        # Where all epochs were done before, nothing is known of them, and nothing is left of them.
        return self.seconds / (self.epoch - self.before) if self.epoch > self.before else 0.0

    @property
    def words(self) -> str:
        """Say it."""
        if self.classified is not None:
            return f"{self.trials:,} in training, {self.classified:,} of {self.classifiers:,} classifiers trained"
        then = f", then {self.classifiers:,} classifiers" if self.classifiers else ""
        return f"{self.trials:,} in training, epoch {self.epoch:,} of {self.epochs:,}{then}"


def standing(
    status: Status, workers: int = 1, note: str = "", earlier: int = 0, within: Within | None = None
) -> Standing:
    """Tell how far a study is; ``earlier`` trials are done besides those that are counted."""
    seconds, unmeasured = seconds_left(status, workers)
    at_least = within is not None and within.is_open and seconds is None
    if within is not None:
        seconds = _less_what_is_under_way(seconds, within, status, workers)
    total, done = status.total + earlier, status.done + earlier
    words = "" if within is None else within.words
    return Standing(total, done, status.failed, status.running, seconds, unmeasured, note, words, at_least)


def _less_what_is_under_way(seconds: float | None, within: Within, status: Status, workers: int) -> float:
    """Before a trial is done, those in training say what one takes; afterwards what they have done is taken off.

    They take at least what their own pace leaves, however long earlier ones took.
    """
    if seconds is None:
        each = (within.spent + within.rest) / within.trials
        seconds = each * sum(map(_unfinished, status.cells)) / max(workers, 1)
    return max(seconds - within.spent, within.rest)


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
