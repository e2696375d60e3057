"""Small planted cohorts as dataset, and a treatment with a discriminator of its own, for tests of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from equipoise.training import (
    Batch,
    EncodedDataset,
    Job,
    Need,
    Parameter,
    Rows,
    Settings,
    Table,
    TrainingCallback,
    TrainingContext,
    Treatment,
)


@dataclass(frozen=True)
class Learns:
    """A learner by name, as a trial names it."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)


def planted(
    rows: int = 240, *, seed: int = 0, groups: int = 2, classes: int = 2, task: str = "class", features: int = 6
) -> EncodedDataset:
    """Rows whose first columns tell the class and whose last column tells the group, which tells the class a little."""
    generator = np.random.default_rng(seed)

    def split(number: int, start: int, seen: bool) -> Rows:
        group = generator.integers(0, groups, number)
        signal = generator.normal(size=(number, features))
        wanted = signal[:, 0] + 0.5 * signal[:, 1] + 0.7 * (group == 0)
        target: Any = np.digitize(wanted, np.linspace(-1, 1, classes - 1) if classes > 2 else [0.0]).astype(np.int64)
        cell = target
        if task == "regression":
            target = (50 + 10 * wanted + generator.normal(size=number)).astype(np.float32)
            cell = np.digitize(target, np.quantile(target, [0.25, 0.5, 0.75])).astype(np.int64)
        signal[:, -1] += 2.0 * group
        ids = np.arange(start, start + number)
        shown = signal.astype(np.float32)
        return Rows(shown, ids, target, group, cell) if seen else Rows(shown, ids)

    names = tuple(f"class {place}" for place in range(4 if task == "regression" else classes))
    called = tuple(f"group {place}" for place in range(groups))
    parts = (split(rows, 0, True), split(rows // 2, rows, True), split(rows // 2, 2 * rows, False))
    return EncodedDataset(*parts, names, called, task)  # type: ignore[arg-type]


def jobs_of(
    dataset: EncodedDataset, seeds: Sequence[int], treatments: Sequence[Treatment] = (), **more: Any
) -> list[Job]:
    """One job a seed, on all training rows."""
    rows = np.arange(len(dataset.train))
    return [Job(rows, seed=seed, treatments=tuple(treatments), **more) for seed in seeds]


class Rival(Treatment):
    """A linear discriminator of the group, trained by plain gradient steps; the network is to hide from it."""

    requires: ClassVar[frozenset[Need]] = frozenset({Need.HIDDEN})
    parameters: ClassVar[Table] = {"strength": Parameter("how much", 0.5, 0.0, 0.1, 1.0)}

    @classmethod
    def during(cls, trials: Sequence[Any], context: TrainingContext) -> RivalStack:
        return RivalStack([trial.values["strength"] for trial in trials], context)


class RivalStack(TrainingCallback):
    """The discriminators of a stack: weights ``[trial, width, group]``."""

    def __init__(self, strengths: Sequence[float], context: TrainingContext) -> None:
        import torch

        self.torch = torch
        dtype = getattr(torch, context.settings.precision)
        drawn = [
            np.random.default_rng(seed).normal(size=(context.width, len(context.groups))) for seed in context.seeds
        ]
        self.weights = torch.tensor(np.stack(drawn), dtype=dtype)
        self.strengths = torch.tensor(strengths, dtype=dtype)

    def errors(self, hidden: Any, weights: Any, group: Any) -> Any:
        logs = (hidden @ weights).log_softmax(-1)
        return -logs.gather(-1, group[..., None])[..., 0].mean(1)

    def before_step(self, batch: Batch) -> None:
        assert not batch.hidden.requires_grad
        weights = self.weights.detach().requires_grad_()
        errors = self.errors(batch.hidden, weights, batch.group)
        (gradient,) = self.torch.autograd.grad(errors.sum(), [weights])
        self.weights = (weights - 0.1 * gradient).detach()

    def penalty(self, batch: Batch) -> Any:
        return -self.strengths * self.errors(batch.hidden, self.weights, batch.group)

    def select_trials(self, trials: Any) -> None:
        self.weights, self.strengths = self.weights[trials], self.strengths[trials]


def stack_of(dataset: EncodedDataset, jobs: Sequence[Job], settings: Settings | None = None, **values: Any) -> Any:
    """The perceptrons of jobs as a stack, ready to train."""
    import torch

    from equipoise.networks import stacked_mlp
    from equipoise.training import Stack, prepare_job
    from equipoise.training.learners.mlp import MultilayerPerceptron, recipe_of

    settings = settings or Settings(precision="float64")
    given = {"width": 7, "batch_size": 32, **values}
    trials = [
        prepare_job(job, dataset, MultilayerPerceptron.with_defaults({**given, **job.learner}, dataset.task))
        for job in jobs
    ]
    made = trials[0].values
    outputs = 1 if dataset.task == "regression" else len(dataset.classes)
    sizes = [dataset.train.inputs.shape[1], *[made["width"]] * made["layers"], outputs]
    network = stacked_mlp(sizes, [job.seed for job in jobs], dtype=getattr(torch, settings.precision))
    return Stack(network, trials, dataset, recipe_of(trials), settings)
