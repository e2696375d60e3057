"""Features as they are, read as an embedding: the control of a metric learner, in which nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from equipoise.foundation import BadInput, learner
from equipoise.training._compatibility import Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._learner import Progress, Report, flat_width
from equipoise.training._models import FittedModel
from equipoise.training._parameters import Choice, Table
from equipoise.training._preparation import PreparedJob
from equipoise.training._selection import only_epoch
from equipoise.training.metric._downstream import DOWNSTREAM, TRAINED, DownstreamLearner
from equipoise.training.metric._models import LengthEmbedder, RawFeaturesModel
from equipoise.training.metric._training import SPLITS, endings

# Trials that are read one after another: their classifiers, where they have some, are trained beside each other.
TOGETHER = 32


@learner("raw_features", paper="000")
class RawFeatures(DownstreamLearner):
    """The inputs themselves as an embedding, nothing trained: a row's class is that of the nearest training row."""

    parameters: ClassVar[Table] = {
        "unit_length": Choice("whether rows are scaled to length 1, as a metric learner's are", True),
        "downstream": DOWNSTREAM,
        "trainings": TRAINED,
    }
    chooses_epochs: ClassVar[bool] = False
    offers: ClassVar[frozenset[Need]] = frozenset({Need.ROWS, Need.FLAT_INPUTS, Need.EMBEDDING})
    precisions: ClassVar[tuple[str, ...]] = ("float32",)
    model: ClassVar[type[FittedModel]] = RawFeaturesModel

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; what is not allowed is refused."""
        if task != "class":
            raise BadInput("The learner raw_features predicts classes", available="a cohort with classes")
        return super().with_defaults(values, task)

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """As many as are read in turn."""
        flat_width(dataset, "raw_features")
        return TOGETHER

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Read the rows of every trial."""
        width = flat_width(dataset, "raw_features")
        embedder = LengthEmbedder(width, unit_length=bool(stack[0].values["unit_length"]))
        points = {split: embedder(getattr(dataset, split).inputs) for split in SPLITS}
        per_trial = [points] * len(stack)
        ended = [
            Outcome(best_epoch=1, model=RawFeaturesModel(embedder) if settings.keep_models else None) for _ in stack
        ]
        read = endings(stack, dataset, ended, per_trial, per_trial, 1, settings, report)
        report(Progress(len(stack), 0, 1, 1))
        return [_judged(outcome, dataset, settings) for outcome in read]


def _judged(outcome: Outcome, dataset: EncodedDataset, settings: Settings) -> Outcome:
    """Say of an outcome how its dev rows stand, as its only epoch."""
    if outcome.dev is None:
        return outcome
    return replace(outcome, history=(only_epoch(outcome.dev, dataset, settings),))
