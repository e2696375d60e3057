"""How far a study is, and how long the rest takes: measured on its own trials, and unknown until one is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from equipoise.foundation import duration
from equipoise.studies.storage import CellStatus, Status

# So many epochs say what the others take.
LEAST_EPOCHS = 3
# What a new estimate counts beside those before it.
NEW = 0.3


@dataclass(frozen=True)
class Standing:
    """So many trials are done and failed of all; ``seconds_left`` is None until one was measured.

    ``unmeasured`` counts waiting trials of cells in which none is done yet: they are taken to be like the others.
    ``note`` says what is being waited for, ``within`` how far the trials are that train now. ``at_least`` says that
    something is to come of which nobody knows yet how long it takes, ``at_most`` that trainings may stop before their
    last epoch, which no trial has shown yet.
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
    at_most: bool = False

    @property
    def words(self) -> str:
        """The time left, in words."""
        if self.note:
            return self.note
        if self.seconds_left is None:
            return (
                f"time left: not known yet ({self.within})" if self.within else "time left: known once a trial is done"
            )
        about = (
            "at least " if self.at_least else "up to about " if self.at_most else "about " if self.unmeasured else ""
        )
        return f"{about}{duration(self.seconds_left)} left" + (f" ({self.within})" if self.within else "")


Watcher = Callable[[Standing], None]


class Steadied:
    """Tells a watcher estimates that do not jump: each counts a part beside what the last one has become since.

    An estimate of another kind (the first by trials, after those by epochs) begins anew.
    """

    def __init__(self, watcher: Watcher, clock: Callable[[], float] = time.monotonic) -> None:
        self._watcher, self._clock = watcher, clock
        self._last: tuple[float, float, bool] | None = None

    def __call__(self, standing: Standing) -> None:
        """Pass on how far a study is."""
        seconds, now = standing.seconds_left, self._clock()
        kind = standing.at_least or standing.at_most
        if seconds is None:
            self._last = None
        else:
            if self._last is not None and self._last[2] == kind:
                expected = max(self._last[0] - (now - self._last[1]), 0.0)
                seconds = NEW * seconds + (1 - NEW) * expected
            self._last = (seconds, now, kind)
        self._watcher(replace(standing, seconds_left=seconds))


@dataclass(frozen=True)
class Within:
    """How far the trials are that train now: so many of them, after an epoch of so many, after so many seconds.

    ``before`` epochs were done by a run that was killed, and are not in the seconds. ``classifiers`` are trained after
    the last epoch: so many are ``classified`` after further seconds, None while epochs go on. ``first`` seconds went by
    until the first epoch had ended: libraries are imported and networks built in them, so they say nothing of others.
    """

    trials: int
    epoch: int
    epochs: int
    seconds: float
    before: int = 0
    classifiers: int = 0
    classified: int | None = None
    classifying: float = 0.0
    first: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough is done to say how long an epoch takes."""
        return self.classified is not None or self.epoch - self.before >= min(LEAST_EPOCHS, self.epochs)

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
        done = self.epoch - self.before
        if done > 1 and self.first:
            return (self.seconds - self.first) / (done - 1)
        return self.seconds / done if done > 0 else 0.0

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
    by_epochs = within is not None and seconds is None
    at_least = within is not None and within.is_open and by_epochs
    if within is not None and (within.is_known or not by_epochs):
        seconds = _less_what_is_under_way(seconds, within, status, workers)
    total, done = status.total + earlier, status.done + earlier
    words = "" if within is None else within.words
    at_most = by_epochs and not at_least
    return Standing(total, done, status.failed, status.running, seconds, unmeasured, note, words, at_least, at_most)


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
