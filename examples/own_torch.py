"""Put a plain PyTorch loop of your own on trial, with two strengths of a penalty on the gap between groups."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

import equipoise

NUMBERS = ["age", "education_num", "hours_per_week", "capital_gain", "capital_loss"]


def penalised(cohort: equipoise.Cohort, seed: int, strength: float) -> dict[str, Any]:
    """Train with cross-entropy + strength x (difference of the groups' mean scores)^2; seeds are fixed before."""
    rows = {split: cohort.where(split) for split in ("train", "dev", "test")}
    raw = {split: np.stack([part[name] for name in NUMBERS], axis=1).astype("float32") for split, part in rows.items()}
    mean, spread = raw["train"].mean(axis=0), raw["train"].std(axis=0)
    points = {split: torch.tensor((values - mean) / spread) for split, values in raw.items()}
    target = torch.tensor((rows["train"][cohort.target] == ">50K").astype("float32"))
    women = torch.tensor((rows["train"]["sex"] == "Female").astype(bool))

    network = torch.nn.Sequential(torch.nn.Linear(len(NUMBERS), 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(60):
        scores = network(points["train"]).squeeze(1)
        gap = scores.sigmoid()[women].mean() - scores.sigmoid()[~women].mean()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, target) + strength * gap**2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():  # one score a row: that of the favourable class
        return {split: network(points[split]).squeeze(1).sigmoid().numpy() for split in ("dev", "test")}


def main() -> None:
    study = equipoise.Study(
        equipoise.load("adult"), group="sex", dev=0.2, size=2_000, seeds=4, train=penalised, version=1,
        hyper={"strength": [0.0, 10.0]},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "own.db"
        result = study.run(store)
        status = study.status(store)
        print(f"{status.done} of {status.total} trials are done")
        print(result.words[0])


if __name__ == "__main__":
    main()
