"""Heads trained to their end: every few epochs the dev rows say how each stands, and one whose loss breaks stops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.training.learner import Progress, Report
from equipoise.training.material import Epoch, Material, Outcome, Settings
from equipoise.training.metric.heads.downstream import classifiers_of
from equipoise.training.metric.heads.ending import SPLITS, endings
from equipoise.training.metric.heads.head import embedded
from equipoise.training.metric.heads.keeping import with_kept
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.metric.heads.stack import HeadStack
from equipoise.training.precision import product_precision
from equipoise.training.rounding import (
    ask_for_workspace,
    deterministic_algorithms,
    deterministic_note,
    is_deterministic,
    is_jittered,
    overhead,
)
from equipoise.training.selecting import UNDEFINED, scores_of

if TYPE_CHECKING:
    import torch

# How often the dev rows are asked in a training, at least: reading them costs about as much as an epoch.
LOOKS = 20
JITTER = (
    "The miner draws by place in the batch, so that jitter changes which triplets are drawn and not the rounding alone."
)
STOPPED = (
    "The loss was no longer a finite number in epoch {epoch}, step {step} of {steps}: training stopped. A lower "
    "learning_rate may help."
)
NO_EPOCH = "No epoch could be chosen: the performance on the dev rows was never defined"


def looked_at(epochs: int) -> list[int]:
    """Return the epochs after which the dev rows are asked: evenly spread, the last one among them."""
    every = max(epochs // LOOKS, 1)
    return list(range(epochs, 0, -every))[::-1]


def fit_heads(build: Callable[[], HeadStack], material: Material, settings: Settings, report: Report) -> list[Outcome]:
    """Build heads, train them and return how their trials ended."""
    with product_precision(settings):
        if not is_deterministic(settings.rounding):
            return HeadFit(build(), material, report).run()
        in_time = ask_for_workspace() or settings.device == "cpu"
        rehearsed = build()
        times = overhead(lambda steps: _rehearse(rehearsed, steps))
        with deterministic_algorithms() as without:
            outcomes = HeadFit(build(), material, report).run()
        note = deterministic_note(times, without, in_time)
        return [replace(one, notes=(*one.notes, note)) for one in outcomes]


def _rehearse(stack: HeadStack, steps: int) -> None:
    stack.epoch(1, steps).cpu()


class HeadFit:
    """What is remembered of each trial while heads train: its history, its best epoch and its values there."""

    def __init__(self, stack: HeadStack, material: Material, report: Report) -> None:
        self.stack, self.material, self.report = stack, material, report
        trials = len(stack.trials)
        self.best = np.full(trials, np.inf)
        self.best_epoch = np.zeros(trials, dtype=np.int64)
        self.stopped: list[str | None] = [None] * trials
        self.history: list[list[Epoch]] = [[] for _ in range(trials)]
        self.kept = [one.detach().clone() for one in stack.heads.parameters]
        self.inputs = {"train": stack.inputs, "dev": stack.tensor(material.dev.inputs)}
        self.seconds = np.zeros(trials)

    def run(self) -> list[Outcome]:
        """Train to the end, then read each trial with the values of its best epoch."""
        epochs = self.stack.recipe.epochs
        looks, classifiers = set(looked_at(epochs)), len(classifiers_of(self.stack.trials))
        for number in range(1, epochs + 1):
            begun = time.perf_counter()
            going = np.array([words is None for words in self.stopped])
            losses = self.stack.epoch(number).double().cpu().numpy()
            self._stop(losses, number)
            if number in looks:
                self._judge(losses.mean(axis=0), number, last=number == epochs)
            self.seconds[going] += (time.perf_counter() - begun) / going.sum()
            running = sum(words is None for words in self.stopped)
            self.report(Progress(len(self.stopped), running, number, epochs, classifiers))
            if not running:
                break
        return self._outcomes()

    def _stop(self, losses: NDArray[np.float64], number: int) -> None:
        """Name the first step in which a loss was not finite; the trial keeps what it had before."""
        broken = ~np.isfinite(losses)
        for place in np.flatnonzero(broken.any(axis=0)).tolist():
            if self.stopped[place] is None:
                step = int(broken[:, place].argmax()) + 1
                self.stopped[place] = STOPPED.format(epoch=number, step=step, steps=len(losses))

    def _judge(self, losses: NDArray[np.float64], number: int, *, last: bool) -> None:
        """Let the dev rows say how every trial that still trains stands."""
        material, settings = self.material, self.stack.settings
        selection = settings.selection
        found = scores_of(
            self._said(), material.dev, len(material.classes), len(material.groups), material.task,
            performance=settings.performance, fairness=settings.fairness,
        )  # fmt: skip
        criterion = found.losses("performance" if selection == "last" else selection)
        if selection == "last":
            criterion = np.full(len(losses), -1.0 if last else np.inf)
        for place, words in enumerate(self.stopped):
            if words is not None:
                continue
            seen = Epoch(number, float(losses[place]), float(found.performance[place]), float(found.fairness[place]))
            self.history[place].append(seen)
            if criterion[place] < self.best[place]:
                self.best[place], self.best_epoch[place] = criterion[place], number
                for kept, now in zip(self.kept, self.stack.heads.parameters, strict=True):
                    kept[place] = now.detach()[place]

    def _said(self) -> NDArray[np.int64]:
        """Return the class of every dev row by every trial: that of the trial's nearest training row."""
        stack = self.stack
        train, dev = (self._embedded(rows, stack.heads.parameters) for rows in self.inputs.values())
        said = [stack.labels[place][nearest(dev[place], train[place][stack.rows[place]])] for place in range(len(dev))]
        found: NDArray[np.int64] = stack.torch.stack(said).cpu().numpy()
        return found

    def _embedded(self, rows: torch.Tensor, values: list[torch.Tensor]) -> torch.Tensor:
        with self.stack.torch.no_grad():
            return embedded(rows, *values, unit_length=self.stack.heads.unit_length)

    def _outcomes(self) -> list[Outcome]:
        """Return how every trial ended, read with the values of its best epoch."""
        epochs = self.stack.recipe.epochs
        found = [self._ended(place) for place in range(len(self.stopped))]
        whole = [place for place, one in enumerate(found) if one.failure is None]
        inputs = {**self.inputs, "test": self.stack.tensor(self.material.test.inputs)}
        features = {split: getattr(self.material, split).inputs for split in SPLITS}
        embeddings = [
            {
                split: self._embedded(rows, [one[place : place + 1] for one in self.kept])[0].float().cpu().numpy()
                for split, rows in inputs.items()
            }
            for place in whole
        ]
        read = endings(
            [self.stack.trials[place] for place in whole], self.material, [found[place] for place in whole],
            embeddings, [features] * len(whole), epochs, self.report,
        )  # fmt: skip
        for place, one in zip(whole, read, strict=True):
            found[place] = with_kept(one, self.stack.objective, place, features["dev"], epochs=epochs, frozen=True)
        return found

    def _ended(self, place: int) -> Outcome:
        """Return how a trial ended before anything is read with it, with its failure where it has one."""
        stopped, settings = self.stopped[place], self.stack.settings
        ended = Outcome(
            history=tuple(self.history[place]), best_epoch=int(self.best_epoch[place]), seconds=self.seconds[place]
        )
        if stopped is not None and (not ended.best_epoch or settings.selection == "last"):
            return replace(ended, failure=stopped)
        if not ended.best_epoch:
            return replace(ended, failure=NO_EPOCH)
        notes = () if stopped is None else (stopped,)
        if is_jittered(settings.rounding) and self.stack.objective.miner is not None:
            notes = (*notes, JITTER)
        chosen = next(one for one in ended.history if one.number == ended.best_epoch)
        if settings.selection == "dto" and math.isnan(chosen.fairness):
            notes = (*notes, UNDEFINED[self.material.task])
        return replace(ended, notes=notes)
