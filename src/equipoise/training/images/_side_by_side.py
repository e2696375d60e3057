"""Networks on pictures to their end: side by side, with what they share, what they lack in memory, and their rounding.

As a backend of the trainer their steps are interleaved, and nothing of one enters another.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require
from equipoise.networks import EFFICIENTNET
from equipoise.training._dataset import EncodedDataset, Outcome, Predicted, Settings
from equipoise.training._learner import Report
from equipoise.training._numerics import DRAWS, is_jittered, overhead, product_precision
from equipoise.training._prediction import Logits, finished, read, representations_of
from equipoise.training._preparation import PreparedJob, trainings_of
from equipoise.training._trainer import Backend, DevReading, Floats, Standing, Trainer, by_rounding
from equipoise.training._treatment import Representations
from equipoise.training.images import _checkpoints as checkpoints
from equipoise.training.images._backbones import is_deterministic, is_user_network, network_name
from equipoise.training.images._checkpoints import Remembered, Stand, data_name, forget, training_name
from equipoise.training.images._models import PictureNetwork
from equipoise.training.images._pictures import Pictures
from equipoise.training.images._run import Run, Steps, Weights, logits_of
from equipoise.training.images._tasks import MakeTask

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
        self, shared: Sequence[tuple[str, Sequence[PreparedJob]]], dataset: EncodedDataset, pictures: Pictures,
        settings: Settings, *, pieces: int = 1, task: MakeTask | None = None,
    ) -> None:  # fmt: skip
        self.dataset, self.settings = dataset, settings
        self.save_at, self.unsaved = time.monotonic() + EVERY, ""
        self.trials: list[PreparedJob] = []
        self.trainings: list[Training] = []
        self.training_of: list[Training] = []
        self._standings: list[Standing] = []
        self.remembered: list[Remembered] = []
        for name, trials in shared:
            run = Run(trials[0], dataset, pictures, settings, pieces, task)
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
            id(training): logits_of(training.run, self.dataset.dev, "the dev rows")
            for training in self._trainings(trials)
        }
        finite, values, scores = [], [], []
        for trial in trials:
            outputs = self._dev[id(self.training_of[trial])]
            finite.append(bool(np.isfinite(outputs).all()))
            prediction = self._features_and_outputs(trial, outputs if finite[-1] else np.zeros_like(outputs))
            values.append(prediction.values)
            scores.append(prediction.scores)
        return DevReading(values, finite, None if any(score is None for score in scores) else scores)

    def _features_and_outputs(self, trial: int, outputs: Logits) -> Predicted:
        task = self.training_of[trial].run.task
        classes = task.classes(outputs)
        if classes is not None:
            return Predicted(classes)
        logits = outputs[:, : task.outputs]
        return read(self.trials[trial], self.dataset, logits, logits[:0]).dev

    def remember(self, trials: Sequence[int]) -> None:
        """Keep what the networks of these trials say of dev and test rows."""
        tests: dict[int, Logits] = {}
        weights: dict[int, Weights] = {}
        for trial in trials:
            training = self.training_of[trial]
            run, name = training.run, id(training)
            if name not in tests:
                tests[name] = logits_of(run, self.dataset.test, "the test rows")
            train = None
            if run.task.keeps_training_rows:
                train = run.read(self.dataset.train.inputs[self.trials[trial].rows]).cpu().numpy()
            if self.settings.keep_models and name not in weights:
                weights[name] = run.weights()
            self.remembered[trial] = Remembered(self._dev[name], tests[name], train, weights.get(name))

    def save(self, number: int, standings: Sequence[Standing]) -> None:
        """Write checkpoints, where enough time has gone by."""
        folder, start = self.settings.checkpoints, time.monotonic()
        if folder is None or self.unsaved or number == self.epochs or start < self.save_at:
            return
        try:
            for training in self.trainings:
                standings_here = [standings[trial] for trial in training.trials]
                if training.epoch == number and not all(standing.stopped for standing in standings_here):
                    remembered = [self.remembered[trial] for trial in training.trials]
                    checkpoints.save(folder, training.name, training.run, Stand(standings_here, remembered, number))
        except (BadInput, OSError) as error:
            # A disk that is full is no reason to give up what was trained.
            self.unsaved = str(error).splitlines()[0]
        now = time.monotonic()
        self.save_at = now + max(EVERY, TIMES * (now - start))

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
        run, best = self.training_of[trial].run, self.remembered[trial]
        task = run.task
        model = None if best.weights is None else task.model_of(PictureNetwork.of_run(run, best.weights))
        if (classes := task.classes(best.dev)) is not None:
            outputs = {"outputs.dev": best.dev, "outputs.test": best.test}
            return replace(outcome, dev=Predicted(classes), arrays=outputs, model=model)
        dev, test = (outputs[:, : task.outputs] for outputs in (best.dev, best.test))
        own_trial = self.trials[trial]
        return finished(
            own_trial,
            outcome,
            lambda: read(own_trial, self.dataset, dev, test),
            lambda: model,
            lambda: self._representations(trial),
        )

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
        best, width = self.remembered[trial], self.training_of[trial].run.task.outputs

        def features(split: str) -> NDArray[np.float32]:
            rows: NDArray[np.float32] = getattr(best, split)[:, width:]
            return rows

        return representations_of(self.dataset, self.trials[trial], self.settings, features)


# Steps that are timed with and without deterministic algorithms, and a batch's smallest piece.
TIMED_STEPS, LEAST_PIECE = 20, 2
# Networks of the user's own that train side by side on a graphics card, where nothing is known of their size.
OWN_AT_ONCE = 4

SharedPictures = tuple[str, list[PreparedJob]]


def fit_pictures(
    dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report, *, version: int,
    task: MakeTask | None = None, names: Callable[[PreparedJob], Mapping[str, Any]] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Train the networks of a stack, trials that differ only in their readout by one network; in their order.

    ``version`` is the learner's; ``task`` makes what a network is trained for, by default to tell classes; ``names``
    returns the hyper-parameters by which checkpoints know a training.
    """
    data = data_name(dataset) if settings.checkpoints is not None else ""
    grouped = [[stack[index] for index in places] for places in trainings_of(stack)]
    # What has no name of its own, such as a lambda, can be trained, and no checkpoint be kept of it.
    nameless = names is None or settings.checkpoints is None
    named = [None if nameless or names is None else names(trials[0]) for trials in grouped]
    shared = [
        (training_name(trials, settings, data, version, training), trials)
        for trials, training in zip(grouped, named, strict=True)
    ]

    def fitter() -> Fitter:
        return Fitter(dataset, Pictures(dataset.train.inputs, settings.device), settings, report, task)

    with product_precision(settings):
        if len(shared) > 1 and not is_deterministic(stack[0].values["network"]):
            _check_draws_nothing(fitter().run(stack[0]))
        outcomes = by_rounding(settings, lambda: fitter().overhead(stack[0]), lambda: fitter().fit(shared), TIMED_STEPS)
    # Trials come back training by training.
    arranged = [trial for _, trials in shared for trial in trials]
    outcome_of = {id(trial): outcome for trial, outcome in zip(arranged, outcomes, strict=True)}
    if settings.checkpoints is not None:
        # Not before all of the stack has ended: it is recorded as a whole.
        forget(settings.checkpoints, [name for name, _ in shared])
    return [outcome_of[id(trial)] for trial in stack]


class Fitter:
    """Trains shared networks side by side; where the card's memory runs out, fewer at once, then smaller pieces."""

    def __init__(
        self,
        dataset: EncodedDataset,
        pictures: Pictures,
        settings: Settings,
        report: Report,
        task: MakeTask | None = None,
    ) -> None:
        self.torch = require("torch", extra="train", purpose="Training on pictures")
        self.dataset, self.pictures, self.settings, self.report = dataset, pictures, settings, report
        self.task = task

    def fit(self, shared: Sequence[SharedPictures], pieces: int = 1) -> list[Outcome]:
        """Return the outcomes of the trials, training by training."""
        networks: SideBySide | None = None
        try:
            networks = SideBySide(shared, self.dataset, self.pictures, self.settings, pieces=pieces, task=self.task)
            ended = Trainer(networks, self.dataset, self.settings, self.report).run()
        except self.torch.OutOfMemoryError as error:
            message = str(error).splitlines()[0]
        else:
            return ended if pieces == 1 else self._noted(ended, shared[0][1][0], pieces)
        # Out of the handler: the error holds on to the frames, and they to the memory.
        del networks
        self._free()
        if len(shared) > 1:
            half = len(shared) // 2
            return self.fit(shared[:half]) + self.fit(shared[half:])
        rows = _batch_size(shared[0][1][0])
        if rows // (2 * pieces) < LEAST_PIECE:
            raise BadInput(
                f"One network does not fit into the memory of the device, even {rows // pieces} rows "
                f"at once ({message})",
                help='a smaller network, smaller pictures, or device = "cpu".',
            )
        return self.fit(shared, 2 * pieces)

    def _noted(self, ended: Sequence[Outcome], trial: PreparedJob, pieces: int) -> list[Outcome]:
        rows = _batch_size(trial)
        note = (
            f"A batch of {rows} rows did not fit into the memory of the device{self._memory()}: the gradients of "
            f"{pieces} pieces of {-(-rows // pieces)} rows were added up; batch statistics, and what a treatment makes "
            "of losses or of a gradient, are those of the pieces."
        )
        return [replace(outcome, notes=(*outcome.notes, note)) for outcome in ended]

    def _memory(self) -> str:
        if self.settings.device == "cpu":
            return ""
        free, total = self.torch.cuda.mem_get_info()
        return f" ({free / 2**30:.1f} of {total / 2**30:.1f} GiB are free now)"

    def _free(self) -> None:
        gc.collect()
        if self.settings.device != "cpu":
            self.torch.cuda.synchronize()
            self.torch.cuda.empty_cache()

    def overhead(self, trial: PreparedJob) -> float:
        """Return how many times longer steps take when they are deterministic, from a few of each.

        NaN where a whole batch does not fit into memory: it is then taken in pieces, which are not timed.
        """
        try:
            return overhead(lambda: self._seconds(trial))
        except self.torch.OutOfMemoryError:
            pass
        self._free()
        return math.nan

    def run(self, trial: PreparedJob) -> Run:
        """Build the network of a trial."""
        return Run(trial, self.dataset, self.pictures, self.settings, task=self.task)

    def _seconds(self, trial: PreparedJob) -> float:
        run = self.run(trial)
        steps, phase = Steps(run), run.phase(1)
        steps.begin(1)
        steps.take(phase)
        steps.wait()
        start = time.perf_counter()
        for _ in range(TIMED_STEPS):
            steps.again(phase)  # a short epoch has not so many
        steps.wait()
        return max(time.perf_counter() - start, 1e-9)


def _check_draws_nothing(run: Run) -> None:
    """Refuse networks side by side that draw while they train: all draw from the same generators."""
    if run.draws:
        raise BadInput(
            f"The network {network_name(run.recipe.network)} draws random numbers while it trains",
            available="one trial at a time",
        )


def _batch_size(trial: PreparedJob) -> int:
    return min(int(trial.values["batch_size"]), len(trial.rows))


def side_by_side_of(values: dict[str, Any], settings: Settings) -> int:
    """Return how many networks train side by side: enough to fill a graphics card, one on a CPU.

    A network that draws while it trains is alone; of one of the user's own that is seen when it is built.
    """
    if settings.device == "cpu" or values["network"] == EFFICIENTNET:
        return 1
    if is_user_network(values["network"]):
        return OWN_AT_ONCE
    return {"resnet50": 4, "resnet18": 8}.get(values["network"], 16)
