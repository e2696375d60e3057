"""Heads on frozen features as a backend of the trainer: read by the nearest training row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.training.learner import Report
from equipoise.training.material import Material, Outcome
from equipoise.training.metric.embedding_model import EmbeddingModel, head_model
from equipoise.training.metric.heads.downstream import classifiers_of
from equipoise.training.metric.heads.ending import SPLITS, endings, with_kept
from equipoise.training.metric.heads.head import embedded
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.metric.objective import MetricObjective
from equipoise.training.rounding import is_jittered
from equipoise.training.stacked import StackBackend
from equipoise.training.stacking import Stack
from equipoise.training.trainer import DevReading

if TYPE_CHECKING:
    import torch

# How often the dev rows are asked in a training, at least: reading them costs about as much as an epoch.
LOOKS = 20
JITTER = (
    "The miner draws by place in the batch, so that jitter changes which triplets are drawn and not the rounding alone."
)


def looked_at(epochs: int) -> list[int]:
    """Return the epochs after which the dev rows are asked: evenly spread, the last one among them."""
    every = max(epochs // LOOKS, 1)
    return list(range(epochs, 0, -every))[::-1]


class StackedEmbeddings(StackBackend):
    """Heads trained by a metric loss: the class of a dev row is that of the nearest training row."""

    def __init__(self, stack: Stack, material: Material, report: Report) -> None:
        super().__init__(stack, material, report)
        self.inputs = {"train": stack.inputs, "dev": self.dev}
        self._looks = set(looked_at(self.epochs))
        self.classifiers = len(classifiers_of(stack.trials))
        self.objective: MetricObjective = stack.callbacks[0]

    def looks(self, number: int) -> bool:
        """Read the dev rows about twenty times."""
        return number in self._looks

    def read(self, trials: Sequence[int]) -> DevReading:
        """Return the class of every dev row by these trials: that of the trial's nearest training row."""
        stack = self.stack
        train, dev = (self._embedded(rows, stack.network.values) for rows in self.inputs.values())
        classes = [stack.target[at][nearest(dev[at], train[at][stack.rows[at]])] for at in self.places(trials)]
        return DevReading([own.cpu().numpy() for own in classes], [True] * len(classes))

    def _embedded(self, rows: torch.Tensor, values: list[torch.Tensor]) -> torch.Tensor:
        with self.stack.torch.no_grad():
            return embedded(rows, *values, unit_length=self.objective.loss.unit_length)

    def _model(self, trial: int) -> EmbeddingModel:
        """Return the head of a trial in its best epoch as a model, which lacks its training rows yet."""
        values, unit_length = [own[trial] for own in self.kept], self.objective.loss.unit_length
        return head_model(values, unit_length=unit_length, settings=self.stack.settings)

    def finish(self, ended: Sequence[Outcome]) -> list[Outcome]:
        """Return how every trial ended, read with the values of its best epoch."""
        found = list(ended)
        whole = [place for place, outcome in enumerate(found) if outcome.failure is None]
        inputs = {**self.inputs, "test": self.stack.tensor(self.material.test.inputs)}
        features = {split: getattr(self.material, split).inputs for split in SPLITS}
        embeddings = [
            {
                split: self._embedded(rows, [own[place : place + 1] for own in self.kept])[0].float().cpu().numpy()
                for split, rows in inputs.items()
            }
            for place in whole
        ]
        mined = is_jittered(self.stack.settings.rounding) and self.objective.miner is not None
        before = [replace(found[place], notes=(*found[place].notes, *([JITTER] if mined else []))) for place in whole]
        if self.stack.settings.keep_models:
            before = [replace(one, model=self._model(place)) for place, one in zip(whole, before, strict=True)]
        read = endings(
            [self.trials[place] for place in whole], self.material, before, embeddings, [features] * len(whole),
            self.epochs, self.stack.settings, self.report,
        )  # fmt: skip
        callbacks, epochs = self.stack.callbacks, self.epochs
        for place, outcome in zip(whole, read, strict=True):
            found[place] = with_kept(outcome, callbacks, place, features["dev"], epochs=epochs, frozen=True)
        return found
