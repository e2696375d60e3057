"""How alike are identical runs? PNKA between networks that differ in rounding alone, and between two seeds.

    python docs/papers/004/noise_floor.py --data data/cifar10 --json docs/papers/004/noise_floor.json

Trains identical runs of seed 0 and one run of seed 1, takes what the network gives its head for every test picture,
and compares each pair: of all pictures and by domain, and apart those that two runs classify alike and those they do
not. What identical runs reach is the noise floor: a treatment that changes representations less changed nothing that
another run of the same training would not. Without a GPU: --device cpu --precision float32 --network small --rows 500.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

import equipoise
from equipoise import measures
from equipoise.studies.plans import with_splits
from equipoise.training import EncodedDataset, Job, Settings, encode_dataset, learner_of, prepare_job, product_precision
from equipoise.training.images import Pictures, Run, Steps

LEVELS = (0.01, 0.05, 0.1, 0.5)
AT_ONCE = 1_000
OTHER_SEED = 1
# Features and predicted class of every test picture.
Said = tuple[torch.Tensor, torch.Tensor]


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, compare and write; the defaults are those of cifar10s.toml."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="the folder of CIFAR-10")
    parser.add_argument("--json", required=True, help="where the numbers go")
    parser.add_argument("--runs", type=int, default=8, help="identical runs")
    parser.add_argument("--rows", type=int, help="training pictures; all by default")
    parser.add_argument("--network", default="resnet18")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.02)
    parser.add_argument("--rounding", default="native", help="jitter on a CPU, where native runs are equal")
    parser.add_argument("--precision", default="tf32")
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args(arguments)
    cohort = with_splits(equipoise.load("cifar10s", path=asked.data), dev=0.05)
    dataset = encode_dataset(cohort, "domain", groups_at_prediction=True)
    settings = Settings(asked.rounding, asked.precision, asked.device, "last")
    rows = np.arange(len(dataset.train))[: asked.rows]
    values = {
        "network": asked.network, "epochs": asked.epochs, "batch_size": asked.batch_size,
        "learning_rate": asked.learning_rate, "schedule": "triangle",
    }  # fmt: skip
    jobs = [*(Job(rows, 0, repeat) for repeat in range(asked.runs)), Job(rows, OTHER_SEED)]
    begun = time.perf_counter()
    with product_precision(settings):
        runs = trained(dataset, jobs, values, settings)
        said = [read(run, dataset) for run in runs]
    found = {
        "network": asked.network, "epochs": asked.epochs, "training_rows": len(rows),
        "test_rows": len(dataset.test), "features": said[0][0].shape[1], "runs": asked.runs,
        "rounding": asked.rounding, "precision": asked.precision, "device": asked.device, "torch": torch.__version__,
        "graphics": torch.cuda.get_device_name() if asked.device == "cuda" else None,
        "seconds": round(time.perf_counter() - begun, 1), **compared(said, dataset),
    }  # fmt: skip
    Path(asked.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def trained(dataset: EncodedDataset, jobs: Sequence[Job], values: dict[str, Any], settings: Settings) -> list[Run]:
    """Train networks side by side, as studies do, and return them."""
    pictures = Pictures(dataset.train.inputs, settings.device)
    whole = learner_of("image_network").with_defaults(values)
    steps = [Steps(Run(prepare_job(job, dataset, whole), dataset, pictures, settings)) for job in jobs]
    first = steps[0].run
    for epoch in range(1, first.recipe.epochs + 1):
        for one in steps:
            one.begin(epoch)
        for _ in range(first.steps):
            for one in steps:
                one.take(first.phase(epoch))
        for one in steps:
            one.wait()
    return [one.run for one in steps]


def read(run: Run, dataset: EncodedDataset) -> Said:
    """Return the features of every test picture (float64, where the network is) and its predicted class."""
    for part in run.parts.values():
        part.eval()
    features, classes = [], []
    with torch.inference_mode():
        for start in range(0, len(dataset.test), AT_ONCE):
            here = torch.from_numpy(dataset.test.inputs[start : start + AT_ONCE]).to(run.settings.device)
            inner, output = run.features_and_outputs(run.scaled_inputs(here.permute(0, 3, 1, 2)))
            features.append(inner.double())
            classes.append(output.argmax(dim=1))
    return torch.cat(features), torch.cat(classes)


def compared(said: Sequence[Said], dataset: EncodedDataset) -> dict[str, Any]:
    """Compare every pair of identical runs, and each of them with the run of another seed, which is the last."""
    other = len(said) - 1
    kinds = {"identical": list(combinations(range(other), 2)), "seed": [(run, other) for run in range(other)]}
    assert dataset.test.group is not None
    found: dict[str, Any] = {}
    for kind, pairs in kinds.items():
        lines = [pair_of(said[one], said[two], dataset.test.group, dataset.groups) for one, two in pairs]
        means = [line["mean"] for line in lines]
        found[kind] = {
            **averaged(lines), "lowest_pair": min(means), "highest_pair": max(means), "pairs": len(pairs),
            "mean_by_pair": {f"{one} {two}": mean for (one, two), mean in zip(pairs, means, strict=True)},
        }  # fmt: skip
    return found


def pair_of(
    before: Said,
    after: Said,
    group: Any,
    names: Sequence[str],
) -> dict[str, Any]:
    """Return PNKA of one pair of networks in a few numbers; a picture at the mean of a space has no place there."""
    scores: Any = measures.pnka(before[0], after[0])
    scores = scores.cpu().numpy()
    same = (before[1] == after[1]).cpu().numpy()
    defined = ~np.isnan(scores)
    return {
        "mean": mean_of(scores[defined]), "undefined": int((~defined).sum()),
        "quantiles": {f"{level:.2f}": float(np.quantile(scores[defined], level)) for level in LEVELS},
        "cka": float(measures.cka(before[0], after[0])),
        "by_group": {name: mean_of(scores[defined & (group == code)]) for code, name in enumerate(names)},
        "same_class": mean_of(scores[defined & same]), "other_class": mean_of(scores[defined & ~same]),
        "churn": float((~same).mean()),
    }  # fmt: skip


def mean_of(scores: np.ndarray) -> float | None:
    """Return a mean; of nothing it is undefined."""
    return float(scores.mean()) if len(scores) else None


def averaged(lines: Sequence[Any]) -> Any:
    """Return the mean over pairs of every number, where all pairs have it."""
    if isinstance(lines[0], dict):
        return {name: averaged([line[name] for line in lines]) for name in lines[0]}
    return None if any(line is None for line in lines) else float(np.mean(lines))


if __name__ == "__main__":
    main()
