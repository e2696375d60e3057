"""Cohorts of small pictures whose class is told by where a bright square is (``squares``), for tests of models."""

from __future__ import annotations

import numpy as np

from equipoise.cohorts import Cohort
from helpers.squares import CLASSES, GROUPS, pictures


def picture_cohort(rows: tuple[int, int, int] = (96, 30, 36), *, classes: int = 3, grey: bool = False) -> Cohort:
    """Return pictures with a label, a group and splits; columns: ``picture``, ``label``, ``group``, ``split``."""
    parts = [pictures(number, seed) for seed, number in enumerate(rows)]
    found, target, group = (np.concatenate([part[at] for part in parts]) for at in range(3))
    columns = {
        "picture": found[..., :1] if grey else found,
        "label": np.array(CLASSES)[target % classes],
        "group": np.array(GROUPS)[group],
        "split": np.repeat(["train", "dev", "test"], rows),
    }
    return Cohort("squares", columns, "label", ("group",), ("picture",), split="split")


def embedding_cohort(rows: tuple[int, int, int] = (120, 40, 48), *, classes: int = 4, width: int = 8) -> Cohort:
    """Return rows of numbers, one matrix ``features``, in which a class is told by some columns and a group by one."""
    generator = np.random.default_rng(0)
    number = sum(rows)
    target, group = np.arange(number) % classes, generator.integers(0, 2, number)
    features = generator.normal(size=(number, width))
    features[:, :3] = 1.5 * generator.normal(size=(classes, 3))[target] + 0.4 * features[:, :3]
    features[:, -1] += 2.0 * group
    columns = {
        "features": features.astype(np.float32),
        "label": np.array([f"class {place}" for place in range(classes)])[target],
        "group": np.array(["a", "b"])[group],
        "split": np.repeat(["train", "dev", "test"], rows),
    }
    return Cohort("points", columns, "label", ("group",), ("features",), split="split")
