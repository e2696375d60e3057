"""Networks side by side as a backend of the trainer: their steps are interleaved, and nothing of one enters another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training.finishing import after_training, failed, representations_of, with_part
from equipoise.training.images import checkpoints
from equipoise.training.images.checkpoints import Remembered, Stand
from equipoise.training.images.picture_model import PictureNetwork
from equipoise.training.images.pictures import Pictures
from equipoise.training.images.run import Run, Steps, Weights, logits_of
from equipoise.training.images.tasks import MakeTask
from equipoise.training.material import Material, Outcome, Predicted, Settings
from equipoise.training.preparing import Prepared, overrides
from equipoise.training.reading import Logits, read
from equipoise.training.rounding import DRAWS, is_jittered
from equipoise.training.trainer import Backend, DevReading, Floats, Standing
from equipoise.training.treatment import Afterwards, Representations

# Seconds between checkpoints at least, and how many times as long as writing one took: a twentieth of the time at most
EVERY, TIMES = 60.0, 20.0


@dataclass(eq=False)
class Training:
    """One network and the trials that share it (their places among all): they differ only in how it is read."""

    name: str
    trials: Sequence[int]
    run: Run
    steps: Steps
    epoch: int = 0


class SideBySide(Backend):
    """Trainings of one kind that share a device; all have equally many steps and epochs."""

    def __init__(
        self, shared: Sequence[tuple[str, Sequence[Prepared]]], material: Material, pictures: Pictures,
        settings: Settings, *, pieces: int = 1, task: MakeTask | None = None,
    ) -> None:  # fmt: skip
        self.material, self.settings = material, settings
        self.save_at, self.unsaved = time.monotonic() + EVERY, ""
        self.trials: list[Prepared] = []
        self.trainings: list[Training] = []
        self.training_of: list[Training] = []
        self._standings: list[Standing] = []
        self.remembered: list[Remembered] = []
        for name, trials in shared:
            run = Run(trials[0], material, pictures, settings, pieces, task)
            places = range(len(self.trials), len(self.trials) + len(trials))
            training = Training(name, places, run, Steps(run))
            self.trainings.append(training)
            self.trials += trials
            self.training_of += [training] * len(trials)
            self._resume(training)
        self.epochs = self.trainings[0].run.recipe.epochs

    def _resume(self, training: Training) -> None:
        """Put a training where its checkpoint says it was, if it has one."""
        folder, stand = self.settings.checkpoints, None
        if folder is not None:
            stand = checkpoints.resume(folder, training.name, training.run)
        number = len(training.trials)
        stand = stand or Stand([Standing() for _ in range(number)], [Remembered()] * number)
        training.epoch = stand.epoch
        self._standings += stand.standings
        self.remembered += stand.remembered

    def standings(self) -> list[Standing]:
        """Return where the trials stand, at their checkpoints where they have some."""
        return self._standings

    def done(self, trial: int) -> int:
        """Return the epochs that the training of a trial has behind it."""
        return self.training_of[trial].epoch

    def epoch(self, number: int, trials: Sequence[int]) -> list[Floats]:
        """Take the steps of an epoch, those of the trainings in turn."""
        going = self._trainings(trials)
        phase = going[0].run.phase(number)
        for training in going:
            training.steps.begin(number)
        for _ in range(going[0].run.steps):
            for training in going:
                training.steps.take(phase)
        for training in going:
            training.steps.wait()
            training.epoch = number
        losses = {id(training): training.run.losses.double().cpu().numpy() for training in going}
        return [losses[id(self.training_of[trial])] for trial in trials]

    def _trainings(self, trials: Sequence[int]) -> list[Training]:
        return list({id(self.training_of[trial]): self.training_of[trial] for trial in trials}.values())

    def looks(self, number: int) -> bool:
        """Tell whether the task reads the dev rows after an epoch."""
        return self.trainings[0].run.task.looks(number, self.epochs)

    def eligible(self, number: int) -> bool:
        """Tell whether the treatments act in an epoch."""
        return self.trainings[0].run.callbacks.eligible(number)

    def read(self, trials: Sequence[int]) -> DevReading:
        """Return what the trials say of the dev rows, each by its own readout."""
        # What is remembered of this epoch if it is the best one.
        self._dev = {
            id(training): logits_of(training.run, self.material.dev, "the dev rows")
            for training in self._trainings(trials)
        }
        finite, values, scores = [], [], []
        for trial in trials:
            outputs = self._dev[id(self.training_of[trial])]
            finite.append(bool(np.isfinite(outputs).all()))
            said = self._said(trial, outputs if finite[-1] else np.zeros_like(outputs))
            values.append(said.values)
            scores.append(said.scores)
        return DevReading(values, finite, None if any(own is None for own in scores) else scores)

    def _said(self, trial: int, outputs: Logits) -> Predicted:
        task = self.training_of[trial].run.task
        own = task.classes(outputs)
        if own is not None:
            return Predicted(own)
        logits = outputs[:, : task.outputs]
        return read(self.trials[trial], self.material, logits, logits[:0]).dev

    def remember(self, trials: Sequence[int]) -> None:
        """Keep what the networks of these trials say of dev and test rows."""
        tests: dict[int, Logits] = {}
        weights: dict[int, Weights] = {}
        for trial in trials:
            training = self.training_of[trial]
            run, name = training.run, id(training)
            if name not in tests:
                tests[name] = logits_of(run, self.material.test, "the test rows")
            train = None
            if run.task.keeps_training_rows:
                train = run.read(self.material.train.inputs[self.trials[trial].rows]).cpu().numpy()
            if self.settings.keep_models and name not in weights:
                weights[name] = run.weights()
            self.remembered[trial] = Remembered(self._dev[name], tests[name], train, weights.get(name))

    def save(self, number: int, standings: Sequence[Standing]) -> None:
        """Write checkpoints, where enough time has gone by."""
        folder, begun = self.settings.checkpoints, time.monotonic()
        if folder is None or self.unsaved or number == self.epochs or begun < self.save_at:
            return
        try:
            for training in self.trainings:
                own = [standings[trial] for trial in training.trials]
                if training.epoch == number and not all(standing.stopped for standing in own):
                    remembered = [self.remembered[trial] for trial in training.trials]
                    checkpoints.save(folder, training.name, training.run, Stand(own, remembered, number))
        except (BadInput, OSError) as error:
            # A disk that is full is no reason to give up what was trained.
            self.unsaved = str(error).splitlines()[0]
        now = time.monotonic()
        self.save_at = now + max(EVERY, TIMES * (now - begun))

    def close(self) -> None:
        """Wait for every step of every training."""
        for training in self.trainings:
            training.steps.wait()

    def finish(self, ended: Sequence[Outcome]) -> list[Outcome]:
        """Return predictions of the best epochs, and what treatments make of them."""
        return [self._finished(trial, outcome) for trial, outcome in enumerate(ended)]

    def _finished(self, trial: int, outcome: Outcome) -> Outcome:
        if outcome.failure is not None:
            return outcome
        outcome = replace(outcome, notes=(*self._notes(trial, outcome.seconds), *outcome.notes))
        run, kept = self.training_of[trial].run, self.remembered[trial]
        task = run.task
        model = None if kept.weights is None else task.model_of(PictureNetwork.of_run(run, kept.weights))
        if (own := task.classes(kept.dev)) is not None:
            outputs = {"outputs.dev": kept.dev, "outputs.test": kept.test}
            return replace(outcome, dev=Predicted(own), kept=outputs, model=model)
        try:
            dev, test = (outputs[:, : task.outputs] for outputs in (kept.dev, kept.test))
            said: Afterwards = read(self.trials[trial], self.material, dev, test)
        except Exception as error:  # noqa: BLE001 - one readout that fails stops no other
            return failed(error, outcome)
        outcome = replace(
            outcome, dev=said.dev, test=said.test, notes=(*outcome.notes, *said.notes), kept=said.kept, model=model
        )
        if overrides(self.trials[trial].treatments, "read"):
            outcome = with_part(outcome, said)
        return after_training(self.trials[trial], outcome, lambda: self._representations(trial))

    def _notes(self, trial: int, seconds: float) -> tuple[str, ...]:
        ways, notes = len(self.training_of[trial].trials), []
        if ways > 1:
            notes.append(
                f"One training of {seconds * ways:.1f} s was read in {ways} ways; each is credited with its share of "
                "the time."
            )
        run = self.training_of[trial].run
        if run.draws and is_jittered(self.settings.rounding):
            notes.append(DRAWS)
        if (plain := self.training_of[trial].steps.note) is not None:
            notes.append(plain)
        if self.unsaved:
            notes.append(f"No checkpoint could be written, so a killed training starts again: {self.unsaved}")
        return tuple(notes)

    def _representations(self, trial: int) -> Representations:
        """Return the features of the best epoch, for a treatment after training."""
        kept, width = self.remembered[trial], self.training_of[trial].run.task.outputs

        def features(split: str) -> NDArray[np.float32]:
            rows: NDArray[np.float32] = getattr(kept, split)[:, width:]
            return rows

        return representations_of(self.material, self.trials[trial], self.settings, features)
