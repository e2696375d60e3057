"""Whatever has steps as a backend of the trainer: any networks on any device, their steps run as they are written.

It trains what is no trial on stacked networks or on pictures: an embedding with a user's own backbone, generators,
surrogates. ``Plain`` knows neither rows nor callbacks: a ``PlainTraining`` takes its own steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training._learner import Progress
from equipoise.training._recording import Recorder
from equipoise.training._trainer import Backend, Floats, Trainer

if TYPE_CHECKING:
    import torch

# How often a training reports, unless told otherwise.
REPORTS = 100
Losses = Mapping[str, "torch.Tensor"]


class PlainTraining(ABC):
    """A network in training, or several that learn from each other.

    Where there is a ``recorder``, steps run on its stream, and a step may write its losses where the last one did.
    """

    epochs: int
    recorder: Recorder | None = None

    @abstractmethod
    def steps(self, epoch: int) -> Iterator[Losses]:
        """Take the steps of an epoch (they count from 1), one at a time; yield the losses of each by name."""

    @abstractmethod
    def on_epoch_end(self, epoch: int, losses: Mapping[str, float]) -> None:
        """Take note of an epoch whose losses were all finite, and of the mean of each."""

    def step_name(self, epoch: int, step: int, steps: int) -> str | None:
        """Name a step for a message; None leaves it to the trainer, who names epoch and step."""
        return None

    def streamed(self) -> AbstractContextManager[Any]:
        """Return the context in which steps are taken."""
        return nullcontext() if self.recorder is None else self.recorder.streamed()


class Plain(Backend):
    """Trainings side by side, their steps taken in turn. The last epoch of each is the one that is kept."""

    chooses = False

    def __init__(self, trainings: Sequence[PlainTraining]) -> None:
        self.trials = self.trainings = trainings
        self.epochs = max((training.epochs for training in trainings), default=0)
        self._done = [0] * len(trainings)
        self._means: dict[int, dict[str, float]] = {}

    def done(self, trial: int) -> int:
        """Return the epochs behind a training; one that has ended has none before it."""
        done = self._done[trial]
        return self.epochs if done == self.trainings[trial].epochs else done

    def epoch(self, number: int, trials: Sequence[int]) -> list[Floats]:
        """Take the steps of an epoch; a step of which any loss is not finite has the loss NaN."""
        epochs = [_Epoch(self.trainings[trial], number) for trial in trials]
        going = epochs
        while going:
            going = [epoch for epoch in going if epoch.step()]
        mean_losses = []
        for trial, epoch in zip(trials, epochs, strict=True):
            losses = epoch.losses()
            self._done[trial] = number
            self._means[trial] = {name: float(column.mean()) for name, column in losses.items()}
            finite = np.logical_and.reduce([np.isfinite(column) for column in losses.values()])
            mean_losses.append(np.where(finite, next(iter(losses.values())), np.nan))
        return mean_losses

    def step_name(self, trial: int, epoch: int, step: int, steps: int) -> str:
        """Name a step as its training does."""
        name = self.trainings[trial].step_name(epoch, step, steps)
        return super().step_name(trial, epoch, step, steps) if name is None else name

    def remember(self, trials: Sequence[int]) -> None:
        """Let trainings take note of the epoch that they have behind them."""
        for trial in trials:
            self.trainings[trial].on_epoch_end(self._done[trial], self._means[trial])

    def close(self) -> None:
        """Wait for the steps that are recorded."""
        for training in self.trainings:
            if training.recorder is not None:
                training.recorder.wait()


class _Epoch:
    """An epoch of one training. Losses stay on the device until it ends: to read one there would stop the device."""

    def __init__(self, training: PlainTraining, number: int) -> None:
        self.training, self._steps = training, training.steps(number)
        self._names: tuple[str, ...] = ()
        self._losses: list[torch.Tensor] = []

    def step(self) -> bool:
        """Take a step; return False where there was none left."""
        with self.training.streamed():
            losses = next(self._steps, None)
            if losses is None:
                return False
            self._names = tuple(losses)
            for loss in losses.values():
                row_losses = loss.detach()
                self._losses.append(row_losses if self.training.recorder is None else row_losses.clone())
        return True

    def losses(self) -> dict[str, Floats]:
        """Return the losses of every step by name."""
        import torch

        if self.training.recorder is not None:
            self.training.recorder.wait()
        joined: NDArray[np.float64] = torch.stack(self._losses).double().cpu().numpy()
        return {name: joined[index :: len(self._names)] for index, name in enumerate(self._names)}


@dataclass(frozen=True)
class StepProgress:
    """How far a training is: steps done, and the losses by name, each its mean since the report before."""

    step: int
    steps: int
    losses: dict[str, float] = field(default_factory=dict)


class StepTraining(PlainTraining):
    """A training that is so many steps long; those between two reports are what the trainer takes for an epoch.

    ``step`` is called with the number of a step (they count from 1), takes it and returns its losses by name. About a
    hundred reports are made where ``report_every`` is None.
    """

    def __init__(
        self, steps: int, step: Callable[[int], Losses], *, report_every: int | None = None,
        report: Callable[[StepProgress], None] | None = None, recorder: Recorder | None = None,
    ) -> None:  # fmt: skip
        self.number, self.every = steps, report_every or max(steps // REPORTS, 1)
        self.epochs = -(-steps // self.every)
        self.take, self.report, self.recorder = step, report, recorder
        self.reports: list[StepProgress] = []

    def steps(self, epoch: int) -> Iterator[Losses]:
        """Take the steps that belong to a report."""
        for number in range((epoch - 1) * self.every + 1, min(epoch * self.every, self.number) + 1):
            yield self.take(number)

    def on_epoch_end(self, epoch: int, losses: Mapping[str, float]) -> None:
        """Report."""
        self.reports.append(StepProgress(min(epoch * self.every, self.number), self.number, dict(losses)))
        if self.report is not None:
            self.report(self.reports[-1])

    def step_name(self, epoch: int, step: int, steps: int) -> str:
        """Name a step by its number among all of them."""
        return f"step {(epoch - 1) * self.every + step:,} of {self.number:,}"


def train_steps(trainings: Sequence[StepTraining], *, remedy: str) -> None:
    """Train to the end, side by side; a loss that is no longer finite is refused with its step and a ``remedy``."""

    def check(progress: Progress) -> None:
        for standing in trainer.standings:
            if standing.broken is not None:
                raise BadInput(standing.broken, help=remedy)

    trainer = Trainer(Plain(trainings), report=check)
    trainer.run()


def descend(optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """Move what an optimiser holds by the gradient of a loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
    optimiser.step()
