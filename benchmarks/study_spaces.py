"""Claim: a second report of embedding spaces takes at most a tenth of the first, which computes each number once.

The trials are of the size of CUB200: 5,794 test rows of 128 dimensions in 200 classes and four classifiers, each
trained on own and on balanced rows. Most of the first report is k-means.

Run it as: python benchmarks/study_spaces.py [--small]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from study_store import ENVIRONMENT

from equipoise.studies import Trial
from equipoise.studies.findings import data_of, measure_study, space_parts
from equipoise.studies.plans import (
    Named,
    Recorded,
)
from equipoise.studies.storage import EvaluationLabels, SplitLabels, Store, open_store
from equipoise.training import Predicted

COHORT = "sha256:benchmark"
CLASSIFIERS = ("logistic_regression", "random_forest", "svm", "k_means")


def trials(seeds: int) -> list[Trial]:
    return [
        Trial(
            COHORT, ("colour",), Named("minoritised", 1, {"degree": degree, "classes": 10}), 4_000,
            Named("metric_learner", 1, {"loss": loss}), (Named("untreated", 1, {}),), seed, 0, "native", "float32",
            "cpu", "last",
        )
        for degree in (0.5, 0.9) for loss in ("margin", "triplet") for seed in range(seeds)
    ]  # fmt: skip


def evaluation_labels(classes: int, rows: int) -> EvaluationLabels:
    colour = np.arange(classes) % 4
    target = {"dev": np.arange(rows // 5) % classes, "test": np.arange(rows) % classes}
    splits = {split: SplitLabels(own, colour[own]) for split, own in target.items()}
    names = tuple(f"class {place:03d}" for place in range(classes))
    return EvaluationLabels(
        COHORT, "class", names, ("colour",), tuple((f"colour {place}",) for place in range(4)), splits
    )


def fill(store: Store, asked: list[Trial], truth: EvaluationLabels, width: int) -> None:
    """Record every trial as done, with spaces of classes around centres and classifiers that are often right."""
    generator = np.random.default_rng(0)
    classes = len(truth.classes)
    centres = generator.normal(size=(classes, width))
    store.plan([(one, index, one.treatment) for index, one in enumerate(asked)])

    def said(target: np.ndarray) -> np.ndarray:
        return np.where(generator.random(len(target)) < 0.4, generator.integers(0, classes, len(target)), target)

    for one in asked:
        kept = {}
        for split, own in truth.splits.items():
            points = centres[own.target] + 1.8 * generator.normal(size=(len(own), width))
            kept[f"embedding.{split}"] = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
        target = truth.of("test").target
        kept |= {f"downstream.{name}.{rows}.test": said(target) for name in CLASSIFIERS for rows in ("own", "balanced")}
        predicted = {split: Predicted(said(own.target)) for split, own in truth.splits.items()}
        store.add([Recorded(one, "done", predicted, (), 1, seconds=1.0, environment=ENVIRONMENT, arrays=kept)], truth)


def reported(where: Path, truth: EvaluationLabels) -> float:
    """Return the seconds that the spaces of a report take."""
    with open_store(str(where), create=False, read_only=True, plan="spaces") as store:
        study = measure_study(data_of(store, name="spaces", truth=truth))
        start = time.perf_counter()
        space_parts(study)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="8 trials of 600 rows: does it run?")
    small = parser.parse_args().small
    asked = trials(2 if small else 4)
    truth = evaluation_labels(20 if small else 200, 600 if small else 5_794)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "study.db"
        with open_store(str(where), plan="spaces") as store:
            fill(store, asked, truth, 16 if small else 128)
        first, second = reported(where, truth), reported(where, truth)
    print(f"spaces of {len(asked)} trials: {first / len(asked):.3f} s a trial first, {second / len(asked):.3f} s again")
    print(f"ratio: {first / second:.1f}")


if __name__ == "__main__":
    main()
