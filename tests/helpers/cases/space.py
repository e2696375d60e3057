"""Rows of many classes with a planted structure, for tests of metric learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.training import EncodedDataset, Job, PreparedJob, Rows, prepare_job

CLASSES, FEATURES = 8, 12


def clustered(
    rows: int = 160, *, seed: int = 0, classes: int = CLASSES, groups: int = 2, noise: float = 1.0
) -> tuple[EncodedDataset, Any]:
    """Return a dataset whose classes are told by four columns among louder ones, and the classes of its test rows."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(classes, 4))

    def split(number: int, start: int, seen: bool) -> tuple[Rows, Any]:
        target = generator.permutation(np.arange(number) % classes)
        inputs = 3.0 * generator.normal(size=(number, FEATURES))
        inputs[:, :4] = centres[target] + 0.2 * noise * generator.normal(size=(number, 4))
        group = generator.integers(0, groups, number)
        ids = np.arange(start, start + number)
        shown = inputs.astype(np.float32)
        return (Rows(shown, ids, target, group, target) if seen else Rows(shown, ids)), target

    train, dev, test = (split(rows, 0, True), split(rows // 2, rows, True), split(rows // 2, 2 * rows, False))
    names = tuple(f"class {place}" for place in range(classes))
    return EncodedDataset(train[0], dev[0], test[0], names, tuple(f"group {place}" for place in range(groups))), test[1]


def trials_of(
    dataset: EncodedDataset, learner: Any, seeds: Any = (0,), treatments: Any = (), **values: Any
) -> list[PreparedJob]:
    """Return trials on all training rows, one a seed; a list among the values has one for each seed."""
    made = []
    for index, seed in enumerate(seeds):
        own = {name: value[index] if isinstance(value, list) else value for name, value in values.items()}
        job = Job(np.arange(len(dataset.train)), seed=seed, treatments=tuple(treatments))
        made.append(prepare_job(job, dataset, learner.with_defaults(own)))
    return made
