"""Small studies that several tests run: a made-up cohort, plans as text, and training functions without torch."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cohorts import Cohort


def columns(rows: int = 400, seed: int = 0) -> dict[str, np.ndarray]:
    """People of two groups whose class can be learnt; the group leaks into the inputs."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 2, rows)
    target = (generator.random(rows) < 0.35 + 0.3 * group).astype(int)
    kinds = np.array(["p", "q", "r"])
    return {
        "a": np.round(target + generator.normal(0, 0.8, rows), 6),
        "b": np.round(group + generator.normal(0, 0.8, rows), 6),
        "kind": kinds[generator.integers(0, 3, rows)].astype(object),
        "sex": np.array(["F", "M"])[group].astype(object),
        "race": np.array(["x", "y"])[generator.integers(0, 2, rows)].astype(object),
        "hired": np.array(["no", "yes"])[target].astype(object),
        "split": np.array(["train", "train", "dev", "test"])[np.arange(rows) % 4].astype(object),
    }


def cohort(rows: int = 400, **changes: Any) -> Cohort:
    """Return the people as a cohort with all three splits."""
    roles: dict[str, Any] = {
        "name": "people", "target": "hired", "groups": ("sex", "race"), "features": ("a", "b", "kind"),
        "favourable": "yes", "split": "split", **changes,
    }  # fmt: skip
    return Cohort(columns=columns(rows), **roles)


def write_people(path: Path, rows: int = 400, seed: int = 0) -> None:
    """Write the people as CSV."""
    data = columns(rows, seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*data.values(), strict=True))


COHORT = """
group = "sex"
[cohort]
file = "people.csv"
target = "hired"
groups = ["sex", "race"]
features = ["a", "b", "kind"]
split = "split"
favourable = "yes"
"""

PLAN = """
schema = "equipoise.study-plan/1"
seeds = 2
repeats = 2
rounding = "deterministic"
""" + COHORT + """
[[conditions]]
name = "interpolation"
mode = "CB"
alpha = [0, 1]

[learner]
name = "mlp"
layers = 1
width = 8
epochs = 2
batch_size = 64

[[treatments]]
name = "untreated"

[[treatments]]
name = "reweighting"
"""  # fmt: skip


def write_plan(folder: Path, text: str = PLAN, rows: int = 400) -> Path:
    """Write a plan and the people it names."""
    write_people(folder / "people.csv", rows)
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


# Training functions that need no torch; each is known by its module and name.


def threshold(cohort: Cohort, seed: int, cut: float = 0.5) -> dict[str, Any]:
    """Predict by one input; the seed moves the cut a little."""
    cut += np.random.default_rng(seed).normal(0, 0.1)
    return {split: np.where(cohort.where(split)["a"] > cut, "yes", "no") for split in ("dev", "test")}


def by_the_mean(cohort: Cohort, seed: int) -> tuple[Any, Any]:
    """Predict by where the mean of the training rows is, with scores."""
    mean = cohort.where("train")["a"].astype(float).mean()
    dev, test = (1 / (1 + np.exp(mean - cohort.where(split)["a"].astype(float))) for split in ("dev", "test"))
    return dev, np.stack([1 - test, test], axis=1)
