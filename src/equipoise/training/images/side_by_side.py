"""Several runs side by side, epoch by epoch: their steps are interleaved, and nothing of one enters another."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.training.finishing import failed
from equipoise.training.images import checkpoints
from equipoise.training.images.checkpoints import Kept, Stand
from equipoise.training.images.pictures import Pictures
from equipoise.training.images.reading import Logits, logits_of, read
from equipoise.training.images.recorded_steps import Steps
from equipoise.training.images.run import Run, Teach
from equipoise.training.learner import Progress, Report
from equipoise.training.material import Epoch, Material, Outcome, Predicted, Settings
from equipoise.training.preparing import Prepared
from equipoise.training.selecting import UNDEFINED, scores_of
from equipoise.training.treatment import Afterwards

# Seconds between checkpoints at least, and how many times as long as writing one took: a twentieth of the time at most
EVERY, TIMES = 60.0, 20.0


@dataclass(eq=False)
class Training:
    """One network and the trials that share it: they differ only in how it is read."""

    name: str
    trials: Sequence[Prepared]
    run: Run
    steps: Steps
    stand: Stand
    stopped: str | None = None


class SideBySide:
    """Trainings of one kind that share a device; all have equally many steps and epochs."""

    def __init__(
        self, shared: Sequence[tuple[str, Sequence[Prepared]]], material: Material, pictures: Pictures,
        settings: Settings, report: Report, *, pieces: int = 1, teach: Teach | None = None,
    ) -> None:  # fmt: skip
        self.material, self.settings, self.report, self.teach = material, settings, report, teach
        self.save_at, self.unsaved = time.monotonic() + EVERY, ""
        self.trainings = [self._training(name, trials, pictures, pieces) for name, trials in shared]

    def _training(self, name: str, trials: Sequence[Prepared], pictures: Pictures, pieces: int) -> Training:
        run = Run(trials[0], self.material, pictures, self.settings, pieces, self.teach)
        stand = None
        if self.settings.checkpoints is not None:
            stand = checkpoints.resume(self.settings.checkpoints, name, run)
        return Training(name, trials, run, Steps(run), stand or Stand([Kept() for _ in trials]))

    def train(self) -> list[list[Outcome]]:
        """Train to the end; return the outcomes of each training's trials."""
        last = self.trainings[0].run.recipe.epochs
        try:
            for epoch in range(1, last + 1):
                # A run that was resumed waits until the others are where it is.
                going = [one for one in self.trainings if one.stand.epoch < epoch and one.stopped is None]
                if going:
                    self._epoch(going, epoch, last)
        finally:
            # Where one run fails the memory of all is given up: no other may still be writing into it.
            for one in self.trainings:
                one.steps.wait()
        return [self._outcomes(one) for one in self.trainings]

    def _epoch(self, going: Sequence[Training], epoch: int, last: int) -> None:
        begun = time.perf_counter()
        phase = going[0].run.phase(epoch)
        for one in going:
            one.steps.begin(epoch)
        for _ in range(going[0].run.steps):
            for one in going:
                one.steps.take(phase)
        for one in going:
            one.steps.wait()
            self._judge(one, epoch, last)
        spent = (time.perf_counter() - begun) / len(going)
        for one in going:
            one.stand.epoch = epoch
            one.stand.seconds += spent
        self._save(going, epoch, last)
        running = sum(one.stopped is None for one in going)
        self.report(Progress(sum(len(one.trials) for one in self.trainings), running, epoch, last))

    def _judge(self, one: Training, epoch: int, last: int) -> None:
        """Read the dev rows; a trial that stands better than ever keeps what the network says of the test rows."""
        losses = one.run.losses.double().cpu().numpy()
        if not np.isfinite(losses).all():
            step = int(np.flatnonzero(~np.isfinite(losses))[0]) + 1
            one.stopped = (
                f"The loss was no longer a finite number in epoch {epoch}, step {step} of {one.run.steps}: training "
                "stopped. A lower learning_rate may help."
            )
            return
        if not one.run.teaching.looks(epoch, last):
            return
        dev, test = logits_of(one.run, self.material.dev, "the dev rows"), None
        if not np.isfinite(dev).all():
            one.stopped = (
                f"The outputs of the network were no longer finite after epoch {epoch}: training stopped. A lower "
                "learning_rate may help."
            )
            return
        nothing: Logits = dev[:0]
        own = one.run.teaching.classes(dev)
        for place, trial in enumerate(one.trials):
            kept = one.stand.kept[place]
            said = read(trial, self.material, dev, nothing).dev if own is None else Predicted(own)
            seen, criterion = self._seen(said, float(losses.mean()), epoch)
            kept = replace(kept, history=(*kept.history, seen))
            if self.settings.selection == "last":
                criterion = -epoch if epoch == last else math.inf
            if criterion < kept.best:
                test = logits_of(one.run, self.material.test, "the test rows") if test is None else test
                # Copies: a checkpoint takes no tensors that share their memory.
                kept = replace(kept, best=criterion, epoch=epoch, dev=dev.copy(), test=test.copy())
            one.stand.kept[place] = kept

    def _seen(self, said: Predicted, loss: float, epoch: int) -> tuple[Epoch, float]:
        """Return an epoch as the dev rows saw it, and what the best epoch has least of."""
        material = self.material
        found = scores_of(
            said.values[None], material.dev, len(material.classes), len(material.groups), material.task,
            performance=self.settings.performance, fairness=self.settings.fairness,
            scores=None if said.scores is None else said.scores[None],
        )  # fmt: skip
        selection = "performance" if self.settings.selection == "last" else self.settings.selection
        return Epoch(epoch, loss, float(found.performance[0]), float(found.fairness[0])), float(
            found.losses(selection)[0]
        )

    def _save(self, going: Sequence[Training], epoch: int, last: int) -> None:
        folder = self.settings.checkpoints
        begun = time.monotonic()
        if folder is None or self.unsaved or epoch == last or begun < self.save_at:
            return
        try:
            for one in going:
                if one.stopped is None:
                    checkpoints.save(folder, one.name, one.run, one.stand)
        except (BadInput, OSError) as error:
            # A disk that is full is no reason to give up what was trained.
            self.unsaved = str(error).splitlines()[0]
        now = time.monotonic()
        self.save_at = now + max(EVERY, TIMES * (now - begun))

    def _outcomes(self, one: Training) -> list[Outcome]:
        seconds = one.stand.seconds / len(one.trials)
        notes: tuple[str, ...] = ()
        if len(one.trials) > 1:
            notes = (f"One training of {one.stand.seconds:.1f} s was read in {len(one.trials)} ways; each is "
                     "credited with its share of the time.",)  # fmt: skip
        if self.unsaved:
            notes = (*notes, f"No checkpoint could be written, so a killed training starts again: {self.unsaved}")
        return [self._outcome(one, place, seconds, notes) for place in range(len(one.trials))]

    def _outcome(self, one: Training, place: int, seconds: float, notes: tuple[str, ...]) -> Outcome:
        kept = one.stand.kept[place]
        ended = Outcome(history=kept.history, best_epoch=kept.epoch, notes=notes, seconds=seconds)
        if one.stopped is not None and (not kept.epoch or self.settings.selection == "last"):
            return replace(ended, failure=one.stopped)
        if not kept.epoch:
            return replace(ended, failure="No epoch could be chosen: the performance on the dev rows was never defined")
        if (own := one.run.teaching.classes(kept.dev)) is not None:
            outputs = {"outputs.dev": kept.dev, "outputs.test": kept.test}
            more = notes if one.stopped is None else (*notes, one.stopped)
            return replace(ended, dev=Predicted(own), kept=outputs, notes=more)
        try:
            found: Afterwards = read(one.trials[place], self.material, kept.dev, kept.test)
        except Exception as error:  # noqa: BLE001 - one readout that fails stops no other
            return failed(error, ended)
        more = (*notes, *found.notes, *([one.stopped] if one.stopped is not None else []))
        if self.settings.selection == "dto" and math.isnan(kept.history[kept.epoch - 1].fairness):
            more = (*more, UNDEFINED[self.material.task])
        return replace(ended, dev=found.dev, test=found.test, notes=more, kept=found.kept)
