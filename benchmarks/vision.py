"""Claim: on one GPU, at least 4 times as many ResNet-18 runs an hour, to the same accuracy, as a plain PyTorch loop
with its data on the device, with 8 runs at once; and sharing the card does not change what is measured.

Run it as: python benchmarks/vision.py [--small] [--data FOLDER] [--device cuda] [--precision bfloat16] [--epochs N]
[--runs N] [--plain N] [--churn]

The work is CIFAR-10S from the pictures in FOLDER (without one, noise of the same size: then accuracies say nothing). A
run is a whole training and the predictions of all test pictures. The plain loop is what most people write: torch's own
optimiser, crops and mirrors by indexing, tf32 as torch has it by default; ``--precision tf32`` compares like with like.
``--churn`` is the other claim: it trains identical runs side by side and one after another (tf32, in which a GPU rounds
differently from run to run) and compares how many predictions change between two runs: equivalent where the 90 %
interval of the difference, over pictures and runs, lies within one point.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from equipoise.networks import build
from equipoise.studies.plans import Named
from equipoise.training import EncodedDataset, Job, Rows, Settings, train
from equipoise.training.images import rates, side_by_side_of

CLAIMED, MARGIN = 4.0, 1.0
# Accuracies that lie so many points apart are called the same; and the quantile of a 90 % interval.
SAME, NORMAL = 2.0, 1.645
BATCH, RATE = 128, 0.02


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a small network and few pictures on a CPU: does it run?")
    parser.add_argument("--data", help="the folder of CIFAR-10")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", default="bfloat16", choices=("bfloat16", "tf32", "float32"))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--runs", type=int, default=8, help="runs at once")
    parser.add_argument("--plain", type=int, default=2, help="runs of the plain loop")
    parser.add_argument("--churn", action="store_true", help="compare identical runs side by side and in turn")
    parser.add_argument("--json", help="write the figures here")
    asked = parser.parse_args()
    asked.network = "small" if asked.small else "resnet18"
    if asked.small:
        asked.device, asked.precision, asked.epochs, asked.runs, asked.plain = "cpu", "float32", 1, 2, 1
    if asked.churn:
        asked.precision = "tf32"
    dataset, truth = dataset_of(asked.data, 512 if asked.small else 20_000)
    said: dict[str, Any] = {"pictures": len(dataset.train), "test": len(dataset.test), **vars(asked)}
    print(f"{asked.network}, {len(dataset.train):,} pictures, {asked.epochs} epochs, {asked.device}")
    said |= churn(dataset, asked) if asked.churn else speed(dataset, truth, asked)
    if asked.json:
        Path(asked.json).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def speed(dataset: EncodedDataset, truth: np.ndarray | None, asked: argparse.Namespace) -> dict[str, Any]:
    """Time whole trainings of both kinds."""
    settings = Settings(device=asked.device, precision=asked.precision, selection="last")
    ours(dataset, settings, asked, epochs=1, runs=1)  # what is loaded on first use is no part of it
    begun = time.perf_counter()
    found = ours(dataset, settings, asked, epochs=asked.epochs, runs=asked.runs)
    each = (time.perf_counter() - begun) / asked.runs
    plain_run(dataset, asked, seed=0, epochs=1)
    begun = time.perf_counter()
    plain = [plain_run(dataset, asked, seed=seed, epochs=asked.epochs) for seed in range(asked.plain)]
    alone = (time.perf_counter() - begun) / asked.plain
    beside = side_by_side_of({"network": asked.network}, settings)
    print(f"a run takes {alone:.1f} s in the plain loop, {each:.1f} s as one of {asked.runs} ({beside} side by side, "
          f"{asked.precision}): {3600 / each:,.0f} runs an hour")  # fmt: skip
    said: dict[str, Any] = {"plain_seconds": alone, "seconds": each, "ratio": alone / each}
    if truth is not None:
        said["plain_accuracy"], said["accuracy"] = ([float((one == truth).mean()) for one in ones]
                                                    for ones in (plain, found))  # fmt: skip
        print("accuracy: plain " + ", ".join(f"{one:.3f}" for one in said["plain_accuracy"])
              + "; ours " + ", ".join(f"{one:.3f}" for one in said["accuracy"]))  # fmt: skip
        apart = 100 * (np.mean(said["accuracy"]) - np.mean(said["plain_accuracy"]))
        print(f"the mean accuracies are {apart:+.1f} points apart: "
              + ("the same" if abs(apart) <= SAME else "NOT the same") + f" by a margin of {SAME:g}")  # fmt: skip
    print(f"ratio: {alone / each:.2f} (claimed on a GPU: {CLAIMED:g})")
    return said


def churn(dataset: EncodedDataset, asked: argparse.Namespace) -> dict[str, Any]:
    """Compare how many predictions change between identical runs side by side, and one after another."""
    settings = Settings(device=asked.device, precision=asked.precision, selection="last")
    beside = np.stack(ours(dataset, settings, asked, epochs=asked.epochs, runs=asked.runs, same=True))
    in_turn = np.stack(ours(dataset, settings, asked, epochs=asked.epochs, runs=asked.runs, same=True, stack=1))
    moved = [100 * disagreement(one) for one in (beside, in_turn)]
    difference = _by_picture(moved[0] - moved[1])
    generator = np.random.default_rng(0)
    drawn = [difference[generator.integers(0, len(difference), len(difference))].mean() for _ in range(2_000)]
    # Other pictures would give another difference, and so would other runs.
    spread = math.sqrt(np.var(drawn) + sum(_variance_over_runs(one) for one in (beside, in_turn)))
    low, high = difference.mean() - NORMAL * spread, difference.mean() + NORMAL * spread
    told = "equivalent" if low > -MARGIN and high < MARGIN else "not shown to be equivalent"
    print(f"predictions that differ between two identical runs: {moved[0].mean():.2f} % side by side, "
          f"{moved[1].mean():.2f} % one after another; difference {difference.mean():+.2f} points "
          f"(90 % interval {low:+.2f} to {high:+.2f}, margin {MARGIN:g}): {told}")  # fmt: skip
    return {"churn_side_by_side": float(moved[0].mean()), "churn_in_turn": float(moved[1].mean()),
            "churn_interval": [float(low), float(high)], "churn_margin": MARGIN, "churn_verdict": told}  # fmt: skip


def _by_picture(rows: np.ndarray) -> np.ndarray:
    """Return the mean of the two rows of a picture, in colour and in grey: they are drawn together."""
    return rows.reshape(2, -1).mean(axis=0) if len(rows) % 2 == 0 else rows


def _variance_over_runs(predictions: np.ndarray) -> float:
    """Return the jackknife's variance of the mean disagreement, in squared points, over runs."""
    number = len(predictions)
    if number < 3:
        return 0.0
    without = [100 * disagreement(np.delete(predictions, place, axis=0)).mean() for place in range(number)]
    return float((number - 1) * np.var(without))


def disagreement(predictions: np.ndarray) -> np.ndarray:
    """Return for each row the share of pairs of runs that disagree, from predictions ``[run, row]``."""
    number = len(predictions)
    counts = np.stack([(predictions == code).sum(axis=0) for code in range(predictions.max() + 1)])
    return 1 - (counts * (counts - 1)).sum(axis=0) / (number * (number - 1))


def ours(
    dataset: EncodedDataset, settings: Settings, asked: argparse.Namespace, *, epochs: int, runs: int,
    same: bool = False,
    stack: int | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """Train runs with the package: of different seeds, or identical ones."""
    rows = np.arange(len(dataset.train))
    learner = Named("image_network", 1, {"network": asked.network, "epochs": epochs, "batch_size": BATCH,
                                         "schedule": "triangle", "learning_rate": RATE})  # fmt: skip
    jobs = [Job(rows, 0 if same else place, place) for place in range(runs)]
    ended = train(dataset, learner, jobs, settings, stack=stack)
    assert all(one.failure is None for one in ended), ended[0].failure
    return [one.test.values for one in ended if one.test is not None]


def plain_run(dataset: EncodedDataset, asked: argparse.Namespace, *, seed: int, epochs: int) -> np.ndarray:
    """The same training as most people would write it."""
    device = asked.device
    torch.manual_seed(seed)
    network, features = build(asked.network, 3)
    model = torch.nn.Sequential(network, torch.nn.Linear(features, len(dataset.classes))).to(device)
    pictures = torch.from_numpy(dataset.train.inputs).to(device).permute(0, 3, 1, 2).float() / 255
    target = torch.from_numpy(dataset.train.target).to(device)  # type: ignore[arg-type]
    mean, spread = pictures.mean((0, 2, 3), keepdim=True), pictures.std((0, 2, 3), keepdim=True)
    pictures = (pictures - mean) / spread
    padded = torch.nn.functional.pad(pictures, (4, 4, 4, 4))
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, weight_decay=5e-4)
    steps = len(target) // BATCH
    speeds = rates("triangle", RATE, 0, steps * epochs, steps * epochs)
    line = torch.arange(32, device=device)
    for step in range(steps * epochs):
        if step % steps == 0:
            order = torch.randperm(len(target), device=device)
        rows = order[step % steps * BATCH : (step % steps + 1) * BATCH]
        top, left = torch.randint(0, 9, (2, BATCH, 1), device=device)
        across = torch.where(torch.rand(BATCH, 1, device=device) < 0.5, line, 31 - line) + left
        batch = padded[rows[:, None, None], :, (top + line)[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)
        for group in optimiser.param_groups:
            group["lr"] = float(speeds[step])
        loss = torch.nn.functional.cross_entropy(model(batch), target[rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    model.eval()
    found = []
    with torch.no_grad():
        for part in np.array_split(dataset.test.inputs, max(len(dataset.test) // 1000, 1)):
            shown = torch.from_numpy(part).to(device).permute(0, 3, 1, 2).float() / 255
            found.append(model((shown - mean) / spread).argmax(1).cpu().numpy())
    return np.concatenate(found)


def dataset_of(folder: str | None, number: int) -> tuple[EncodedDataset, np.ndarray | None]:
    """Return CIFAR-10S with the true classes of its test rows, or noise of the same shape without any."""
    if folder is not None:
        import equipoise
        from equipoise.studies.plans import with_splits
        from equipoise.training import encode_dataset as encoded

        cohort = with_splits(equipoise.load("cifar10s", path=folder), dev=0.05)
        dataset = encoded(cohort, "domain")
        codes = {name: code for code, name in enumerate(dataset.classes)}
        return dataset, np.array([codes[name] for name in cohort[cohort.target][dataset.test.ids]])
    generator = np.random.default_rng(0)

    def split(rows: int, start: int) -> Rows:
        target, group = generator.integers(0, 10, rows), generator.integers(0, 2, rows)
        inputs = generator.integers(0, 256, (rows, 32, 32, 3)).astype(np.uint8)
        return Rows(inputs, np.arange(start, start + rows), target, group, target)

    splits = (split(number, 0), split(number // 20, number), split(number // 2, 2 * number))
    return EncodedDataset(*splits, tuple("abcdefghij"), ("colour", "grey")), None


if __name__ == "__main__":
    main()
