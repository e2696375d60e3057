"""The trainings that ``metric_learning.py`` times: stacked heads, the share of miner and loss in a network's step,
pictures a second, and a whole head on CUB200. Each part prints its figures with the claim beside them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import equipoise
from equipoise.studies.plans import Named, with_splits
from equipoise.training import (
    Batch,
    EncodedDataset,
    Job,
    MetricLearning,
    PreparedJob,
    Rows,
    Settings,
    Stack,
    TrainingCallback,
    TrainingContext,
    encode_dataset,
    prepare_job,
    train,
)
from equipoise.training.images import Pictures, Run, Steps
from equipoise.training.metric import EmbeddingTask, MetricObjective, head_stack, picture_values, recipe_of

HEADS = 32
CLAIMS = {"heads": 3.0, "share": 0.10, "minutes": 10.0}
RATES = (3e-3, 1e-3, 3e-4)


def waited(device: str) -> float:
    """Return the time when everything on the device is done."""
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


def rows_of(inputs: np.ndarray, classes: int) -> EncodedDataset:
    """Return a dataset of these inputs, classes in turn."""
    target = np.arange(len(inputs)) % classes
    whole = Rows(inputs, np.arange(len(inputs)), target, target % 2, target)
    few = Rows(inputs[:2], np.arange(2), target[:2], target[:2] % 2, target[:2])
    return EncodedDataset(whole, few, few, tuple(map(str, range(classes))), ("a", "b"))


def trials_of(dataset: EncodedDataset, number: int, **values: Any) -> list[PreparedJob]:
    everything = np.arange(len(dataset.train))
    made = MetricLearning.with_defaults(values)
    return [prepare_job(Job(everything, seed=seed), dataset, made) for seed in range(number)]


def heads(device: str, *, small: bool) -> None:
    """Time epochs of 32 heads together against those of one."""
    rows, features, classes = (256, 32, 20) if small else (4_794, 1_280, 200)
    dataset = rows_of(np.random.default_rng(0).standard_normal((rows, features)).astype(np.float32), classes)
    settings, spent = Settings(device=device), {}
    stacks = {number: heads_of(dataset, number, settings, small) for number in (1, HEADS)}
    for _ in range(2 if small else 4):  # in turns; the first round warms up
        for number, stack in stacks.items():
            began = waited(device)
            stack.epoch(1)
            spent.setdefault(number, []).append(waited(device) - began)
    one, many = (float(np.median(spent[number][1:])) for number in (1, HEADS))
    claim = f"; claim on a GPU: {CLAIMS['heads']:g}" if device != "cpu" else ""
    print(
        f"heads ({device}): an epoch of one takes {1e3 * one:.1f} ms, of {HEADS} together {1e3 * many:.1f} ms: ratio "
        f"{many / one:.2f}, {HEADS * one / many:.1f} times as many an hour{claim}"
    )


def heads_of(dataset: EncodedDataset, number: int, settings: Settings, small: bool) -> Stack:
    trials = trials_of(dataset, number, batch_size=32 if small else 128, embedding_size=16 if small else 128)
    return head_stack(trials, dataset, recipe_of(trials), settings)


class SumOfEmbedding(MetricObjective):
    """The same batches under a loss that costs nothing: the sum of the embedding."""

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """Return a loss of each trial that mines nothing."""
        return batch.output.sum((1, 2))


class WithoutLoss(EmbeddingTask):
    """The same network and head, without miner and loss."""

    def __init__(self, trial: PreparedJob, *context: Any) -> None:
        super().__init__(trial, *context)
        metric = self.metric

        def objective(context: TrainingContext) -> TrainingCallback:
            return SumOfEmbedding(metric, [trial], context)

        self.callback = objective


class FixedBatchRun(Run):
    """A run that is shown the same pictures at every step, already on the device."""

    fixed: torch.Tensor | None = None

    def scaled_inputs(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the pictures of the first step."""
        if self.fixed is None:
            self.fixed = super().scaled_inputs(pictures).detach().clone()
        return self.fixed


def run_of(
    dataset: EncodedDataset, device: str, kind: type[Run], task: type[EmbeddingTask], precision: str, **values: Any
) -> Run:
    settings = Settings(device=device, precision=precision)  # type: ignore[arg-type]
    (trial,) = trials_of(dataset, 1, **values)
    shown = replace(trial, values=picture_values(trial))

    def make_task(trial: PreparedJob, dataset: EncodedDataset, features: int) -> EmbeddingTask:
        return task(trial, dataset, features, recipe_of([trial]), settings)

    return kind(shown, dataset, Pictures(dataset.train.inputs, device), settings, task=make_task)


def seconds_of(run: Run, device: str, steps: int) -> float:
    """Return how long a step takes, recorded where the device records."""
    taken, phase = Steps(run), run.phase(1)
    taken.begin(1)
    taken.again(phase)
    taken.wait()
    began = waited(device)
    for _ in range(steps):
        taken.again(phase)
    taken.wait()
    return (waited(device) - began) / steps


def share(device: str, *, small: bool, precision: str = "tf32") -> None:
    """Time a step of ResNet-50 with margin loss and distance-weighted mining, and without them."""
    side, network, batch, rows = (16, "small", 32, 64) if small else (224, "resnet50", 128, 512)
    pictures = np.random.default_rng(0).integers(0, 256, (rows, side, side, 3), dtype=np.uint8)
    dataset, steps = rows_of(pictures, 32), 3 if small else 20
    values = {"backbone": network, "batch_size": batch}
    whole, bare = (
        seconds_of(run_of(dataset, device, Run, kind, precision, **values), device, steps)
        for kind in (EmbeddingTask, WithoutLoss)
    )
    print(
        f"{network} ({device}, {side} x {side}, batch {batch}, {precision}): {1e3 * whole:.1f} ms a step, "
        f"{1e3 * bare:.1f} ms without miner and loss: a share of {max(1 - bare / whole, 0):.1%} (claim on a GPU: under "
        f"{CLAIMS['share']:.0%})"
    )


def pictures_a_second(folder: str | None, device: str, *, small: bool, precision: str = "tf32") -> None:
    """Time steps on CUB200 at 64 x 64 with ResNet-18, and the network alone on one batch that stands ready."""
    if small or folder is None:
        side, rows = (16, 64) if small else (64, 5_994)
        inputs = np.random.default_rng(0).integers(0, 256, (rows, side, side, 3), dtype=np.uint8)
        dataset, told = rows_of(inputs, 20 if small else 200), "noise"
    else:
        cohort = equipoise.load("cub200", path=folder, pixels="pictures")
        dataset, told = encode_dataset(with_splits(cohort, dev=0.2, within="class"), "colour"), "CUB200"
    network, batch, steps = ("small", 32, 3) if small else ("resnet18", 128, 40)
    values = {"backbone": network, "batch_size": batch}
    whole = seconds_of(run_of(dataset, device, Run, EmbeddingTask, precision, **values), device, steps)
    bare = seconds_of(run_of(dataset, device, FixedBatchRun, WithoutLoss, precision, **values), device, steps)
    side = dataset.train.inputs.shape[1]
    print(
        f"{network} ({device}, {told}, {side} x {side}, batch {batch}, {precision}): {batch / whole:,.0f} pictures a "
        f"second, {max(1 - bare / whole, 0):.1%} of the time outside the network"
    )


def whole_head(folder: str, *, rates: bool, epochs: int = 150, threads: int = 2) -> None:
    """Train a head of 150 epochs on the features of CUB200; with ``rates``, heads of several rates and losses."""
    torch.set_num_threads(threads)
    cohort = with_splits(equipoise.load("cub200", path=folder), dev=0.2, within="class")
    dataset = encode_dataset(cohort, "colour")
    everything = np.arange(len(dataset.train))
    (raw,) = train(dataset, Named("raw_features", 1), [Job(everything, seed=0)], Settings(selection="last"))
    print(f"raw features: {raw.history[0].performance:.3f} of the dev rows by their nearest training row")
    for loss in ("margin", "triplet", "contrastive", "multi_similarity", "proxy_nca", "arcface", "n_pair")[
        : None if rates else 1
    ]:
        jobs = [Job(everything, seed=0, learner={"learning_rate": rate}) for rate in (RATES if rates else RATES[-1:])]
        began = time.perf_counter()
        ended = train(
            dataset, Named("metric_learner", 1, {"loss": loss, "epochs": epochs}), jobs, Settings(selection="last")
        )
        spent = time.perf_counter() - began
        for job, one in zip(jobs, ended, strict=True):
            seen = ", ".join(f"{epoch.number}: {epoch.performance:.3f}" for epoch in one.history[::4])
            last = one.history[-1].performance
            print(f"{loss}, learning_rate {job.learner['learning_rate']:g}: {last:.3f} on dev at the end ({seen})")
        claim = "" if rates else f" (claim: under {CLAIMS['minutes']:g})"
        print(f"{len(jobs)} heads of {epochs} epochs, {threads} threads: {spent / 60:.2f} minutes{claim}")


def parts(asked: Any) -> list[Callable[[], None]]:
    """Return what was asked for, in order."""
    small, device = asked.small, "cpu" if asked.small else asked.device
    chosen: list[Callable[[], None]] = []
    if asked.heads or small:
        chosen.append(lambda: heads(device, small=small))
    if asked.resnet50 or small:
        chosen.append(lambda: share(device, small=small, precision="float32" if small else asked.precision))
    if asked.cub is not None or small:
        how = {"small": small, "precision": "float32" if small else asked.precision}
        chosen.append(lambda: pictures_a_second(asked.cub, device, **how))
    if asked.head or asked.rates:
        chosen.append(lambda: whole_head(asked.cub, rates=asked.rates, epochs=asked.epochs))
    return chosen
