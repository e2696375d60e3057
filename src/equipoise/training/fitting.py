"""A stack trained to its end: after each epoch the dev rows say how every trial stands, and each stops on its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.finishing import finished
from equipoise.training.learner import Progress, Report
from equipoise.training.material import Epoch, Material, Outcome, Settings
from equipoise.training.precision import product_precision
from equipoise.training.rounding import (
    ask_for_workspace,
    deterministic_algorithms,
    deterministic_note,
    is_deterministic,
    overhead,
)
from equipoise.training.selecting import Scores, needs_scores, scores_of
from equipoise.training.stacking import Stack

if TYPE_CHECKING:
    import torch


def fit(build: Callable[[], Stack], material: Material, settings: Settings, report: Report) -> list[Outcome]:
    """Build a stack, train it and return how its trials ended."""
    with product_precision(settings):
        return _fit(build, material, settings, report)


def _fit(build: Callable[[], Stack], material: Material, settings: Settings, report: Report) -> list[Outcome]:
    if not is_deterministic(settings.rounding):
        return Fit(build(), material, report).run()
    # Before anything is built, which starts CUDA.
    in_time = ask_for_workspace() or settings.device == "cpu"
    rehearsed = build()
    batches = rehearsed.arranged(1)
    times = overhead(lambda steps: rehearsed.follow(batches, steps))
    with deterministic_algorithms() as without:
        outcomes = Fit(build(), material, report).run()
    note = deterministic_note(times, without, in_time)
    return [replace(one, notes=(*one.notes, note)) for one in outcomes]


class Fit:
    """What is remembered of each trial of a stack while it trains: its history, its best epoch and its values there."""

    def __init__(self, stack: Stack, material: Material, report: Report) -> None:
        self.stack, self.material, self.report = stack, material, report
        trials = len(stack.trials)
        self.best = np.full(trials, np.inf)
        self.best_epoch = np.zeros(trials, dtype=np.int64)
        # Whether some epoch was better than a constant prediction: until then nothing is waited for in vain.
        self.learnt = np.zeros(trials, dtype=np.bool_)
        self.seconds = np.zeros(trials)
        self.history: list[list[Epoch]] = [[] for _ in range(trials)]
        self.notes: list[list[str]] = [[] for _ in range(trials)]
        self.kept = [one.clone() for one in stack.network.values]
        self.dev = stack.tensor(material.dev.inputs)

    def run(self) -> list[Outcome]:
        """Train until every trial has stopped, then predict with the values of each one's best epoch."""
        for number in range(1, self.stack.recipe.epochs + 1):
            begun = time.perf_counter()
            self.stack.epoch(number)
            running = self._judge(number)
            self.seconds[self.stack.running] += (time.perf_counter() - begun) / len(self.stack.running)
            self.report(Progress(len(self.stack.trials), len(running), number, self.stack.recipe.epochs))
            if not running:
                break
            if len(running) < len(self.stack.running):
                self.stack.keep(running)
        return finished(self)

    def _judge(self, number: int) -> list[int]:
        """Read the dev rows; return the positions, among the running trials, of those that go on."""
        places = np.array(self.stack.running)
        values, losses, scores = self._said()
        finite = np.isfinite(losses)
        settings = self.stack.settings
        found = scores_of(
            values, self.material.dev, len(self.material.classes), len(self.material.groups), self.material.task,
            performance=settings.performance, fairness=settings.fairness, scores=scores,
        )  # fmt: skip
        criterion = np.where(finite, self._criterion(found, number), np.inf)
        for at, place in enumerate(places.tolist()):
            epoch = Epoch(number, float(losses[at]), float(found.performance[at]), float(found.fairness[at]))
            self.history[place].append(epoch)
        better = criterion < self.best[places]
        self.best[places[better]] = criterion[better]
        self.best_epoch[places[better]] = number
        self._remember(np.flatnonzero(better), places[better])
        for place in places[~finite].tolist():
            self.notes[place].append(f"The loss was no longer a finite number after epoch {number}: training stopped.")
        self.learnt[places] |= ~found.has_collapsed
        patient = (number - self.best_epoch[places] < self.stack.recipe.patience) | ~self.learnt[places]
        return [int(at) for at in np.flatnonzero(patient & finite)]

    def _criterion(self, found: Scores, number: int) -> NDArray[np.float64]:
        """Return what the epoch that is kept has least of."""
        selection = self.stack.settings.selection
        # Where the last is kept, each is better than those before it: no trial stops early.
        return np.full(len(found.performance), -float(number)) if selection == "last" else found.losses(selection)

    def _said(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float32] | None]:
        """Return what every running trial says of the dev rows, its mean loss, and scores where they are asked for."""
        target = self.material.dev.target
        assert target is not None
        known = np.isfinite(target) if self.material.task == "regression" else target >= 0
        expected = self.stack.goals(np.where(known, target, 0), self.material.task)
        values, losses, scores = [], [], []
        scored = needs_scores(self.stack.settings.performance)
        for cut, output, _ in self.stack.read(None, self.dev):
            goal = expected[cut].expand(len(output), -1)
            losses.append(self.stack.row_losses(output, goal).cpu().numpy()[:, known[cut]])
            values.append(said(output, self.material.task))
            if scored:
                scores.append(output.softmax(-1).float().cpu().numpy())
        whole = np.concatenate(values, axis=1)
        if self.material.task == "regression":
            whole = whole.astype(np.float64) * self.stack.scale.spread + self.stack.scale.mean
        mean = np.concatenate(losses, axis=1).mean(axis=1, dtype=np.float64)
        return whole, mean, np.concatenate(scores, axis=1) if scored else None

    def _remember(self, at: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        for kept, now in zip(self.kept, self.stack.network.values, strict=True):
            kept[places] = now[at]


def said(output: torch.Tensor, task: str) -> NDArray[Any]:
    """Return class codes, or the (standardised) numbers of a regression, ``[trial, row]``."""
    found: NDArray[Any] = (output[..., 0] if task == "regression" else output.argmax(-1)).cpu().numpy()
    return found
