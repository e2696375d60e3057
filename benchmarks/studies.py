"""Claim: 32 replicas of the adversarial treatment train faster together than one at a time, on two cores at least 5
times at hidden 64 and batch 128, 1.5 times at hidden 64 and batch 1024, and no slower at hidden 300 and batch 1024.

Run it as: python benchmarks/studies.py [--small] [--one-thread] [--replicas N] [--alone N] [--rounds N] [--device cuda]
[--precision tf32] [--epochs N] [--hidden N] [--packed DIR]

The cohort is Adult with sex, as encoded for studies; a training is two epochs (``--epochs``) and the predictions. The
adversary is as wide as the network. Where few replicas fit into a stack, four stacks stand for all. One at a time is a
stack of one in the same code; a plain loop of torch's own layers and optimiser is timed beside it, to show that it is
no straw man. The ratio is of medians over interleaved rounds. ``--one-thread`` counts time of the processor, which a
shared machine changes little: it shows what stacking saves in work alone. ``--packed`` takes the rows of a
study of Adult that ``equipoise study pack`` wrote, for a machine without DuckDB.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import equipoise
from equipoise.studies.plans import Named, with_splits
from equipoise.studies.running import unpack
from equipoise.training import EncodedDataset, Job, Settings, encode_dataset, stack_size, train
from equipoise.treatments import Adversarial


@dataclass(frozen=True)
class Size:
    """A network's width and batch, and the ratio that is claimed."""

    hidden: int
    batch: int
    claimed: float


SIZES = (Size(64, 128, 5.0), Size(64, 1024, 1.5), Size(300, 1024, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="few rows and replicas: does it run?")
    parser.add_argument("--one-thread", action="store_true", help="one thread, and time of the processor")
    parser.add_argument("--replicas", type=int, default=32)
    parser.add_argument("--alone", type=int, default=4, help="how many are trained one at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", choices=("float32", "tf32"))
    parser.add_argument("--epochs", type=int, default=2, help="epochs of a training")
    parser.add_argument("--hidden", type=int, help="only the sizes of this width")
    parser.add_argument("--packed", help="a packed study of Adult: the rows are taken from there")
    asked = parser.parse_args()
    if asked.one_thread:
        torch.set_num_threads(1)
    if asked.small:
        asked.replicas, asked.alone, asked.rounds = 4, 1, 1
    if asked.packed:
        dataset = unpack(asked.packed).dataset
    else:
        dataset = encode_dataset(with_splits(equipoise.load("adult"), dev=0.1), "sex")
    rows = np.arange(2_000 if asked.small else len(dataset.train))
    print(f"Adult: {len(rows):,} rows of {dataset.train.inputs.shape[1]} columns, {torch.get_num_threads()} threads")
    for size in [size for size in SIZES if asked.hidden in (None, size.hidden)]:
        compare(dataset, rows, size, asked)


def compare(dataset: EncodedDataset, rows: np.ndarray, size: Size, asked: argparse.Namespace) -> None:
    """Time a replica's epoch together, alone and in plain torch, by turns."""
    learner = Named("mlp", 1, {"width": size.hidden, "batch_size": size.batch, "epochs": asked.epochs})
    settings = Settings(device=asked.device, precision=asked.precision)
    jobs = [Job(rows, seed, treatments=(Adversarial(width=size.hidden),)) for seed in range(asked.replicas)]
    chosen = stack_size(learner, dataset, jobs, settings)
    jobs = jobs[: 4 * chosen]

    def trained(some: list[Job], stack: int | None) -> None:
        ended = train(dataset, learner, some, settings, stack=stack)
        assert all(outcome.failure is None for outcome in ended)

    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "together": (lambda: trained(jobs, None), len(jobs)),
        "alone": (lambda: trained(jobs[: asked.alone], 1), asked.alone),
        "plain": (lambda: plain_training(dataset, rows, size, asked.epochs, asked.device), 1),
    }
    for some in (jobs[:1], jobs):  # what is loaded on first use is no part of it
        trained(some, None)
    plain_training(dataset, rows[:2_000], size, 1, asked.device)
    clock = time.process_time if asked.one_thread else time.perf_counter
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(asked.rounds):
        for name, (run, replicas) in ways.items():
            begun = clock()
            run()
            spent[name].append((clock() - begun) / replicas)
    each = {name: statistics.median(times) for name, times in spent.items()}
    alone, plain, together = (f"{1000 * each[name]:,.0f} ms" for name in ("alone", "plain", "together"))
    print(
        f"hidden {size.hidden}, batch {size.batch}: a replica takes {alone} alone (a plain torch loop {plain}), "
        f"{together} as one of {len(jobs)} in stacks of at most {chosen}"
    )
    print(f"ratio: {each['alone'] / each['together']:.2f} (claimed on two cores: {size.claimed:g})")


def plain_training(dataset: EncodedDataset, rows: np.ndarray, size: Size, epochs: int, device: str) -> None:
    """The same training as most people would write it."""
    nn = torch.nn
    inputs = torch.tensor(dataset.train.inputs[rows], device=device)
    target = torch.tensor(dataset.train.target[rows], device=device)  # type: ignore[index]
    group = torch.tensor(dataset.train.group[rows], device=device)  # type: ignore[index]
    width = size.hidden
    body = nn.Sequential(nn.Linear(inputs.shape[1], width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()).to(device)
    head = nn.Linear(width, 2).to(device)
    rival = nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
    ).to(device)
    main_adam = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=3e-3)
    rival_adam = torch.optim.Adam(rival.parameters(), lr=1e-3)
    batches = [one for _ in range(epochs) for one in torch.randperm(len(rows), device=device).split(size.batch)]
    for chosen in batches:
        hidden = body(inputs[chosen])
        rival_adam.zero_grad()
        nn.functional.cross_entropy(rival(hidden.detach()), group[chosen]).backward()
        rival_adam.step()
        main_adam.zero_grad()
        loss = nn.functional.cross_entropy(head(hidden), target[chosen])
        (loss - nn.functional.cross_entropy(rival(hidden), group[chosen])).backward()
        main_adam.step()
    with torch.no_grad():
        for split in (dataset.dev, dataset.test):
            head(body(torch.tensor(split.inputs, device=device))).argmax(1)


if __name__ == "__main__":
    main()
