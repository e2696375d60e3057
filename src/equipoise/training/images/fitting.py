"""A stack of picture trials to its end: trainings that are shared, memory that runs out, deterministic rounding."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from equipoise.foundation import BadInput, require
from equipoise.networks.building import EFFICIENTNET
from equipoise.training.grouping import trainings_of
from equipoise.training.images.backbones import called_in_words, draws_nothing, is_own
from equipoise.training.images.checkpoints import data_name, forget, training_name
from equipoise.training.images.pictures import Pictures
from equipoise.training.images.run import Run, Steps
from equipoise.training.images.side_by_side import SideBySide
from equipoise.training.images.tasks import MakeTask
from equipoise.training.learner import Report
from equipoise.training.material import Material, Outcome, Settings
from equipoise.training.precision import product_precision
from equipoise.training.preparing import Prepared
from equipoise.training.rounding import deterministic_algorithms
from equipoise.training.trainer import Trainer, by_rounding

# Steps that are timed with and without deterministic algorithms, and a batch's smallest piece.
TIMED_STEPS, LEAST_PIECE = 20, 2
# Networks of the user's own that train side by side on a graphics card, where nothing is known of their size.
OWN_AT_ONCE = 4

Shared = tuple[str, list[Prepared]]


def fit_pictures(
    material: Material, stack: Sequence[Prepared], settings: Settings, report: Report, *, version: int,
    task: MakeTask | None = None, names: Callable[[Prepared], Mapping[str, Any]] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Train the networks of a stack, trials that differ only in their readout by one network; in their order.

    ``version`` is the learner's; ``task`` makes what a network is trained for, by default to tell classes; ``names``
    returns the hyper-parameters by which checkpoints know a training.
    """
    data = data_name(material) if settings.checkpoints is not None else ""
    grouped = [[stack[place] for place in places] for places in trainings_of(stack)]
    # What has no name of its own, such as a lambda, can be trained, and no checkpoint be kept of it.
    nameless = names is None or settings.checkpoints is None
    named = [None if nameless or names is None else names(trials[0]) for trials in grouped]
    shared = [
        (training_name(trials, settings, data, version, own), trials)
        for trials, own in zip(grouped, named, strict=True)
    ]

    def fitter() -> Fitter:
        return Fitter(material, Pictures(material.train.inputs, settings.device), settings, report, task)

    with product_precision(settings):
        if len(shared) > 1 and not draws_nothing(stack[0].values["network"]):
            _check_draws_nothing(fitter().run(stack[0]))
        outcomes = by_rounding(settings, lambda: fitter().overhead(stack[0]), lambda: fitter().fit(shared), TIMED_STEPS)
    # Trials come back training by training.
    arranged = [trial for _, trials in shared for trial in trials]
    found = {id(trial): outcome for trial, outcome in zip(arranged, outcomes, strict=True)}
    if settings.checkpoints is not None:
        # Not before all of the stack has ended: it is recorded as a whole.
        forget(settings.checkpoints, [name for name, _ in shared])
    return [found[id(trial)] for trial in stack]


class Fitter:
    """Trains shared networks side by side; where the card's memory runs out, fewer at once, then smaller pieces."""

    def __init__(
        self, material: Material, pictures: Pictures, settings: Settings, report: Report, task: MakeTask | None = None
    ) -> None:
        self.torch = require("torch", extra="train", purpose="Training on pictures")
        self.material, self.pictures, self.settings, self.report = material, pictures, settings, report
        self.task = task

    def fit(self, shared: Sequence[Shared], pieces: int = 1) -> list[Outcome]:
        """Return the outcomes of the trials, training by training."""
        beside: SideBySide | None = None
        try:
            beside = SideBySide(shared, self.material, self.pictures, self.settings, pieces=pieces, task=self.task)
            ended = Trainer(beside, self.material, self.settings, self.report).run()
        except self.torch.OutOfMemoryError as error:
            said = str(error).splitlines()[0]
        else:
            return ended if pieces == 1 else self._noted(ended, shared[0][1][0], pieces)
        # Out of the handler: the error holds on to the frames, and they to the memory.
        del beside
        self._free()
        if len(shared) > 1:
            half = len(shared) // 2
            return self.fit(shared[:half]) + self.fit(shared[half:])
        rows = _batch_size(shared[0][1][0])
        if rows // (2 * pieces) < LEAST_PIECE:
            raise BadInput(
                f"One network does not fit into the memory of the device, even {rows // pieces} rows at once ({said})",
                help='a smaller network, smaller pictures, or device = "cpu".',
            )
        return self.fit(shared, 2 * pieces)

    def _noted(self, ended: Sequence[Outcome], trial: Prepared, pieces: int) -> list[Outcome]:
        rows = _batch_size(trial)
        note = (
            f"A batch of {rows} rows did not fit into the memory of the device{self._memory()}: the gradients of "
            f"{pieces} pieces of {-(-rows // pieces)} rows were added up; batch statistics, and what a treatment makes "
            "of losses or of a gradient, are those of the pieces."
        )
        return [replace(one, notes=(*one.notes, note)) for one in ended]

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

    def overhead(self, trial: Prepared) -> float:
        """Return how many times longer steps take when they are deterministic, from a few of each.

        NaN where a whole batch does not fit into memory: it is then taken in pieces, which are not timed.
        """
        try:
            native = self._seconds(trial)
            with deterministic_algorithms():
                return self._seconds(trial) / native
        except self.torch.OutOfMemoryError:
            pass
        self._free()
        return math.nan

    def run(self, trial: Prepared) -> Run:
        """Build the network of a trial."""
        return Run(trial, self.material, self.pictures, self.settings, task=self.task)

    def _seconds(self, trial: Prepared) -> float:
        run = self.run(trial)
        steps, phase = Steps(run), run.phase(1)
        steps.begin(1)
        steps.take(phase)
        steps.wait()
        begun = time.perf_counter()
        for _ in range(TIMED_STEPS):
            steps.again(phase)  # a short epoch has not so many
        steps.wait()
        return max(time.perf_counter() - begun, 1e-9)


def _check_draws_nothing(run: Run) -> None:
    """Refuse networks side by side that draw while they train: all draw from the same generators."""
    if run.draws:
        raise BadInput(
            f"The network {called_in_words(run.recipe.network)} draws random numbers while it trains",
            available="one trial at a time",
        )


def _batch_size(trial: Prepared) -> int:
    return min(int(trial.values["batch_size"]), len(trial.rows))


def side_by_side_of(values: dict[str, Any], settings: Settings) -> int:
    """Return how many networks train side by side: enough to fill a graphics card, one on a CPU.

    A network that draws while it trains is alone; of one of the user's own that is seen when it is built.
    """
    if settings.device == "cpu" or values["network"] == EFFICIENTNET:
        return 1
    if is_own(values["network"]):
        return OWN_AT_ONCE
    return {"resnet50": 4, "resnet18": 8}.get(values["network"], 16)
