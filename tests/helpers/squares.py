"""Small pictures with a planted signal: classes are told by where a bright square is, groups by colour or grey."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.training import EncodedDataset, Job, Rows

CLASSES, GROUPS = ("down", "middle", "up"), ("colour", "grey")
SIDE = 8


def pictures(number: int, seed: int, skew: float = 0.8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pictures, classes and groups; a class prefers one of the groups by ``skew``."""
    generator = np.random.default_rng(seed)
    target = np.arange(number) % len(CLASSES)
    preferred = target % 2
    group = np.where(generator.random(number) < skew, preferred, 1 - preferred)
    found = generator.integers(0, 90, (number, SIDE, SIDE, 3))
    for index, code in enumerate(target):
        found[index, 2 * code + 1 : 2 * code + 4, 2:6] += 120
    found[group == 1] = found[group == 1].mean(axis=-1, keepdims=True).astype(int)
    return found.astype(np.uint8), target, group


def dataset(train: int = 96, dev: int = 30, test: int = 36, *, test_groups: bool = False) -> EncodedDataset:
    """Return a dataset of pictures; the test rows have no targets."""
    splits = []
    start = 0
    for seed, number in enumerate((train, dev, test)):
        found, target, group = pictures(number, seed)
        seen = seed < 2
        splits.append(
            Rows(
                found,
                np.arange(start, start + number),
                target if seen else None,
                group if seen or test_groups else None,
                target if seen else None,
            )
        )
        start += number
    return EncodedDataset(*splits, CLASSES, GROUPS)


def jobs(dataset: EncodedDataset, seeds: Sequence[int] = (0,), repeats: int = 1, treatments=(), **learner) -> list[Job]:
    """Return one job a seed and repeat, on all training rows."""
    rows = np.arange(len(dataset.train))
    return [Job(rows, seed, repeat, learner, tuple(treatments)) for seed in seeds for repeat in range(repeats)]
