"""Small trials, truths and predictions for tests of the store and of trial files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from equipoise.studies import Trial
from equipoise.studies.plans import (
    Named,
    Recorded,
)
from equipoise.studies.storage import EvaluationLabels, SplitLabels
from equipoise.training import Epoch, Predicted

COHORT = "sha256:" + "ab" * 32
GROUPS = (("Female", "Black"), ("Female", None), ("Male", "Black"), ("Male", "White"))


@dataclass
class Clock:
    """A clock that tests set."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def trial(seed: int = 0, treatment: str = "reweighting", **more: Any) -> Trial:
    given: dict[str, Any] = {
        "cohort": COHORT, "groups": ("sex",), "condition": Named("interpolation", 1, {"mode": "CB", "alpha": 1.0}),
        "size": 100, "learner": Named("mlp", 1, {"hidden": [300, 300]}), "treatments": (Named(treatment, 1),),
        "seed": seed, "repeat": 0, "rounding": "native", "precision": "float32", "device": "cpu", "selection": "dto",
    }  # fmt: skip
    return Trial(**{**given, **more})


def planned(number: int, stack: int = 3) -> list[tuple[Trial, int, str]]:
    """So many trials in two cells, a few a stack."""
    half = (number + 1) // 2
    return [
        (trial(seed % half, "reweighting" if seed < half else "untreated"), seed // stack, f"cell {seed // half}")
        for seed in range(number)
    ]


def truth(
    rows: int = 40,
    *,
    task: Literal["class", "regression"] = "class",
    classes: int = 3,
    cohort: str = COHORT,
    seed: int = 0,
) -> EvaluationLabels:
    """A random truth; some rows have no target."""
    generator = np.random.default_rng(seed)

    def split() -> SplitLabels:
        group = generator.integers(0, len(GROUPS), rows)
        if task == "class":
            return SplitLabels(generator.integers(-1, classes, rows), group)
        target = np.where(generator.random(rows) < 0.1, np.nan, generator.normal(1e6, 10.0, rows))
        return SplitLabels(target, group, generator.integers(0, 4, rows))

    names = tuple(f"class {place}" for place in range(classes)) if task == "class" else ("1", "2", "3", "4")
    pivot = 1e6 if task == "regression" else 0.0
    return EvaluationLabels(cohort, task, names, ("sex", "race"), GROUPS, {"dev": split(), "test": split()}, pivot)


@dataclass(frozen=True, eq=False)
class Predicting:
    """Makes predictions that fit a truth."""

    truth: EvaluationLabels = field(default_factory=truth)

    def __call__(self, one: Trial, *, seed: int | None = None, scores: bool = False, **more: Any) -> Recorded:
        generator = np.random.default_rng(one.seed if seed is None else seed)
        given: dict[str, Any] = {
            "state": "done",
            "predictions": {split: self.predicted(split, generator, scores) for split in self.truth.splits},
            "history": (Epoch(1, 0.7, 0.6, float("nan")), Epoch(2, float("inf"), 0.7, 0.9)),
            "best_epoch": 2,
            "notes": ("a note",),
            "seconds": 1.5,
            "environment": {"torch": "2.13", "host": {"cores": 2}},
        }
        return Recorded(one, **{**given, **more})

    def predicted(self, split: str, generator: np.random.Generator, scores: bool) -> Predicted:
        rows = len(self.truth.of(split))
        if self.truth.task == "regression":
            return Predicted(generator.normal(1e6, 10.0, rows).astype(np.float32))
        values = generator.integers(0, len(self.truth.classes), rows)
        given = generator.random((rows, len(self.truth.classes))).astype(np.float32)
        return Predicted(values, given / given.sum(axis=1, keepdims=True) if scores else None)


def failed(one: Trial, why: str = "the cell (b, Female) is empty") -> Recorded:
    return Recorded(one, "failed", failure=why, seconds=0.5)
