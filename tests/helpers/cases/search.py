"""A learner and a treatment whose best settings are known: errors grow with the square of the distance to them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from equipoise.foundation import learner, registry, treatment
from equipoise.training import EncodedDataset, Learner, Outcome, Parameter, Predicted, Settings, Treatment
from equipoise.training._dataset import Epoch

# Where errors are fewest: learning_rate 0.01 and strength 10. Beyond this strength every prediction is one class.
BEST_RATE, BEST_STRENGTH, CONSTANT_FROM = 0.01, 10.0, 300.0
RANGES = {"learning_rate": (1e-4, 1e-1), "strength": (1e-3, 1e3)}


class Tilted(Treatment):
    """It has a strength, and does nothing: the learner reads it."""

    parameters: ClassVar[Any] = {"strength": Parameter("how strong", 0.1, least=0, low=1e-3, high=1e3)}


class Bowl(Learner):
    """Predicts dev rows wrongly the more often the further its settings are from the best."""

    parameters: ClassVar[Any] = {
        "learning_rate": Parameter("the rate", 0.05, 1e-12, 1e-4, 1e-1),
    }

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[Any], settings: Settings) -> int:
        return 32

    def train(self, dataset: EncodedDataset, stack: Sequence[Any], settings: Settings, report: Any) -> list[Outcome]:
        return [ended(dataset, job) for job in stack]


def ended(dataset: EncodedDataset, job: Any) -> Outcome:
    """Return the outcome of one trial: a share of the dev rows is wrong."""
    strengths = [one.values["strength"] for one in job.treatments if "strength" in one.values]
    target = np.asarray(dataset.dev.target)
    wrong = evenly(target, np.asarray(dataset.dev.group))[: round(error(job.values, strengths) * len(target))]
    values = target.copy()
    values[wrong] = 1 - values[wrong]
    if strengths and strengths[0] > CONSTANT_FROM:
        values[:] = 0
    # Of the test rows nothing is known here: any answer will do, another one with each seed.
    test = np.random.default_rng(job.seed).integers(0, 2, len(dataset.test))
    return Outcome(Predicted(values), Predicted(test), (Epoch(1, 0.0, 0.5, 0.5),), 1, seconds=0.01)


def evenly(target: Any, group: Any) -> Any:
    """Return rows in an order in which classes and groups take turns by their shares: errors then make no gap."""
    cell = 2 * target + group
    share = np.zeros(len(cell))
    for code in np.unique(cell):
        rows = np.flatnonzero(cell == code)
        share[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(share, kind="stable")


def error(values: Any, strengths: Sequence[float]) -> float:
    """Return the share of wrong rows."""
    far = (math.log10(values["learning_rate"]) - math.log10(BEST_RATE)) ** 2 / 4
    far += sum((math.log10(strength) - math.log10(BEST_STRENGTH)) ** 2 / 16 for strength in strengths)
    return min(0.02 + 0.4 * far, 0.45)


def register() -> None:
    """Register learner and treatment."""
    learner("bowl", paper="none")(Bowl)
    treatment("tilted", stage="in", paper="none")(Tilted)


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Register them for a while."""
    kinds = ("learner", "treatment")
    before = {kind: {entry.name for entry in registry.entries(kind)} for kind in kinds}
    register()
    try:
        yield
    finally:
        for kind in kinds:
            for name in set(registry._entries[kind]) - before[kind]:
                registry._entries[kind].pop(name)
