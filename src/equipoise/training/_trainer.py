"""The one training loop: epochs, what the dev rows say after them, the best epoch of each trial, progress.

A backend decides how steps run and never what they mean: many small networks as one (``stacking``), networks on
pictures side by side, their steps recorded on a graphics card and plain on a CPU (``images``), or whatever has steps
(``plain``).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training._dataset import EncodedDataset, Epoch, Outcome, Settings
from equipoise.training._learner import Progress, Report
from equipoise.training._numerics import (
    ask_for_workspace,
    deterministic_algorithms,
    deterministic_note,
    is_deterministic,
)
from equipoise.training._selection import UNDEFINED, scores_of

Floats = NDArray[np.float64]

BROKEN_LOSS = "The loss was no longer a finite number in {step}"
BROKEN_OUTPUTS = "The outputs of the network were no longer finite after epoch {epoch}"
STOPPED = "{broken}: training stopped. A lower learning_rate may help."
NO_EPOCH = "No epoch could be chosen: the performance on the dev rows was never defined (see the losses in the history)"


@dataclass(eq=False)
class Standing:
    """Where a trial stands: what the dev rows said of its epochs, the best of them, and whether it still trains.

    ``broken`` says what broke its training off; ``has_learned`` whether some epoch was better than a constant
    prediction: until then nothing is waited for in vain.
    """

    best: float = math.inf
    best_epoch: int = 0
    history: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0
    broken: str | None = None
    stopped: bool = False
    has_learned: bool = False

    def stop(self, why: str | None = None) -> None:
        """Train no further."""
        self.stopped, self.broken = True, why


@dataclass(frozen=True, eq=False)
class DevReading:
    """What some trials say of the dev rows: classes or numbers, and scores where they are asked for.

    ``losses`` are the means over the dev rows; where they are None, those of the training steps are told. ``finite``
    says whose outputs were numbers.
    """

    values: Sequence[NDArray[Any]]
    finite: Sequence[bool]
    scores: Sequence[NDArray[np.float32] | None] | None = None
    losses: Sequence[float] | None = None


class Backend(ABC):
    """How the steps of some trials run. Trials are named by their places in ``trials``."""

    trials: Sequence[Any]
    epochs: int
    # Whether dev rows choose the epoch that is kept; otherwise it is the last one.
    chooses: bool = True
    # Epochs without a better one after which a trial stops; None trains to the end.
    patience: int | None = None
    # Classifiers that are trained afterwards on what was learnt.
    classifiers: int = 0

    def standings(self) -> list[Standing]:
        """Return where the trials stand before the first epoch, or at the checkpoint that they go on from."""
        return [Standing() for _ in self.trials]

    def done(self, trial: int) -> int:
        """Return the epochs that a trial has behind it."""
        return 0

    @abstractmethod
    def epoch(self, number: int, trials: Sequence[int]) -> list[Floats]:
        """Train these trials for an epoch; return the loss of every step, one array a trial."""

    def step_name(self, trial: int, epoch: int, step: int, steps: int) -> str:
        """Name a step of an epoch that had so many (all count from 1), for a message."""
        return f"epoch {epoch}, step {step} of {steps}"

    def looks(self, number: int) -> bool:
        """Tell whether the dev rows are read after an epoch."""
        return True

    def eligible(self, number: int) -> bool:
        """Tell whether dev rows may choose an epoch, and patience is counted: not before a treatment acts."""
        return True

    def read(self, trials: Sequence[int]) -> DevReading:
        """Return what these trials say of the dev rows."""
        raise NotImplementedError

    @abstractmethod
    def remember(self, trials: Sequence[int]) -> None:
        """Keep these trials as they are now: it is their best epoch so far."""

    def release(self, trials: Sequence[int]) -> None:  # noqa: B027 - few backends do it
        """Go on without these trials."""

    def save(self, number: int, standings: Sequence[Standing]) -> None:  # noqa: B027 - few backends do it
        """Write a checkpoint where one is due."""

    def close(self) -> None:  # noqa: B027 - few backends do it
        """Return when nothing runs on the device any more."""

    def finish(self, ended: Sequence[Outcome]) -> list[Outcome]:
        """Read trials as they were remembered: predictions, and what treatments after training make of them."""
        return list(ended)


class Trainer:
    """Trains what a backend holds to its end. ``dataset`` has the dev rows, where they choose an epoch."""

    def __init__(
        self, backend: Backend, dataset: EncodedDataset | None = None, settings: Settings | None = None,
        report: Report | None = None,
    ) -> None:  # fmt: skip
        self.backend, self.dataset, self.settings, self.report = backend, dataset, settings or Settings(), report
        self.standings = backend.standings()
        # The last epoch that dev rows could not choose.
        self.ineligible = 0

    def run(self) -> list[Outcome]:
        """Train until every trial has stopped, then read each as it was in its best epoch."""
        try:
            for number in range(1, self.backend.epochs + 1):
                self._epoch(number)
                if all(standing.stopped for standing in self.standings):
                    break
        finally:
            # Where one trial fails the memory of all is given up: no other may still be writing into it.
            self.backend.close()
        return self.backend.finish([self._ended(standing) for standing in self.standings])

    def _epoch(self, number: int) -> None:
        """Train those for an epoch that are not beyond it: what was resumed waits until the others are where it is."""
        backend, start = self.backend, time.perf_counter()
        going = [
            trial for trial, standing in enumerate(self.standings)
            if not standing.stopped and backend.done(trial) < number
        ]  # fmt: skip
        if not going:
            return
        losses = backend.epoch(number, going)
        for trial, loss in zip(going, losses, strict=True):
            broken = np.flatnonzero(~np.isfinite(loss))
            if len(broken):
                step = backend.step_name(trial, number, int(broken[0]) + 1, len(loss))
                self.standings[trial].stop(BROKEN_LOSS.format(step=step))
        if not backend.chooses or backend.looks(number):
            means = {trial: float(loss.mean()) for trial, loss in zip(going, losses, strict=True)}
            judge = self._judge if backend.chooses else self._follow
            judge(number, [trial for trial in going if not self.standings[trial].stopped], means)
        spent = (time.perf_counter() - start) / len(going)
        for trial in going:
            self.standings[trial].seconds += spent
        backend.save(number, self.standings)
        left = sum(not standing.stopped for standing in self.standings)
        if self.report is not None:
            self.report(Progress(len(self.standings), left, number, backend.epochs, backend.classifiers))
        stopped = [trial for trial in going if self.standings[trial].stopped]
        if stopped and left:
            backend.release(stopped)

    def _follow(self, number: int, trials: Sequence[int], losses: dict[int, float]) -> None:
        """Remember trials as they are now, where the last epoch is the one that is kept."""
        for trial in trials:
            standing = self.standings[trial]
            standing.history.append(Epoch(number, losses[trial], math.nan, math.nan))
            standing.best_epoch = number
        self.backend.remember(trials)

    def _judge(self, number: int, trials: Sequence[int], losses: dict[int, float]) -> None:
        """Let the dev rows say how trials stand; what is better than ever is remembered, and patience may end."""
        if not trials:
            return
        assert self.dataset is not None, "an epoch is chosen by dev rows"
        reading, settings = self.backend.read(trials), self.settings
        finite_trials = [at for at, finite in enumerate(reading.finite) if finite]
        for at in set(range(len(trials))) - set(finite_trials):
            self.standings[trials[at]].stop(BROKEN_OUTPUTS.format(epoch=number))
        if not finite_trials:
            return
        scores = None if reading.scores is None else np.stack([np.asarray(reading.scores[at]) for at in finite_trials])
        scores_found = scores_of(
            np.stack([reading.values[at] for at in finite_trials]), self.dataset.dev, len(self.dataset.classes),
            len(self.dataset.groups), self.dataset.task,
            performance=settings.performance, fairness=settings.fairness, scores=scores,
        )  # fmt: skip
        last = settings.selection == "last"
        criterion = scores_found.losses("performance" if settings.selection == "last" else settings.selection)
        if last:
            criterion = np.full(len(finite_trials), -1.0 if number == self.backend.epochs else np.inf)
        if not self.backend.eligible(number):
            criterion, self.ineligible = np.full(len(finite_trials), np.inf), number
        better = []
        for index, at in enumerate(finite_trials):
            trial = trials[at]
            standing = self.standings[trial]
            loss = losses[trial] if reading.losses is None else float(reading.losses[at])
            record = Epoch(number, loss, float(scores_found.performance[index]), float(scores_found.fairness[index]))
            standing.history.append(record)
            standing.has_learned |= not bool(scores_found.has_collapsed[index])
            if criterion[index] < standing.best:
                standing.best, standing.best_epoch = float(criterion[index]), number
                better.append(trial)
            patience, since = self.backend.patience, max(standing.best_epoch, self.ineligible)
            if patience is not None and not last and standing.has_learned and number - since >= patience:
                standing.stop()
        self.backend.remember(better)

    def _ended(self, standing: Standing) -> Outcome:
        """Return how a trial ended before anything is read with it, with its failure where it has one."""
        stopped = None if standing.broken is None else STOPPED.format(broken=standing.broken)
        ended = Outcome(
            history=tuple(standing.history), best_epoch=standing.best_epoch, seconds=standing.seconds,
            notes=() if stopped is None else (stopped,),
        )  # fmt: skip
        if stopped is not None and (not ended.best_epoch or self.settings.selection == "last"):
            return replace(ended, best_epoch=0, notes=(), failure=stopped)
        if not ended.best_epoch:
            return replace(ended, failure=NO_EPOCH)
        chosen = next(epoch for epoch in ended.history if epoch.number == ended.best_epoch)
        if self.backend.chooses and self.settings.selection == "dto" and math.isnan(chosen.fairness):
            assert self.dataset is not None
            return replace(ended, notes=(*ended.notes, UNDEFINED[self.dataset.task]))
        return ended


def by_rounding(
    settings: Settings, rehearse: Callable[[], float], run: Callable[[], list[Outcome]], *steps: int
) -> list[Outcome]:
    """Run a training as its rounding asks: where that is deterministic, with a note of what it costs.

    ``rehearse`` returns how many times longer deterministic steps take, from a few of each (``steps`` of them).
    """
    if not is_deterministic(settings.rounding):
        return run()
    # Before anything is built, which starts CUDA.
    in_time = ask_for_workspace() or settings.device == "cpu"
    times = rehearse()
    with deterministic_algorithms() as without:
        outcomes = run()
    note = deterministic_note(times, without, in_time, *steps)
    return [replace(outcome, notes=(*outcome.notes, note)) for outcome in outcomes]
