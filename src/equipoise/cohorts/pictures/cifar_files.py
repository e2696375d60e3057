"""CIFAR-10's own files: the binary version, or strips of lossless WebP in ``.npz``. The Python version is refused.

The Python version is pickles, and loading them could run code hidden in the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.array_files import PICKLED
from equipoise.cohorts.loading import Source, find_file
from equipoise.cohorts.pictures.cifar_binary import META, TEST, TRAIN, check_names, read_batches
from equipoise.cohorts.pictures.domains import Pictures
from equipoise.cohorts.pictures.strips import read_strips
from equipoise.foundation.errors import BadInput

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32

STRIPS = ("cifar10_train20k.npz", "cifar10_test10k.npz")
PICKLES = tuple(name.removesuffix(".bin") for name in TRAIN)
BINARY_FOLDER, PICKLE_FOLDER = "cifar-10-batches-bin", "cifar-10-batches-py"
SOURCE = Source(
    cohort="cifar10",
    files=(TRAIN[0], f"{BINARY_FOLDER}/{TRAIN[0]}", STRIPS[0]),
    how_to_get="Get the binary version, cifar-10-binary.tar.gz, from Krizhevsky's page of CIFAR-10 and unpack it.",
)


@dataclass(frozen=True, eq=False)
class Cifar:
    """Pictures ``[row, 32, 32, 3]`` of both splits, and the number of each one's class."""

    train: Pictures
    train_labels: NDArray[np.int64]
    test: Pictures
    test_labels: NDArray[np.int64]


def read_cifar(path: str | os.PathLike[str] | None = None) -> Cifar:
    """Read CIFAR-10 from a folder: the one given, or a copy below ``$EQUIPOISE_DATA`` or the cache."""
    if path is not None:
        _refuse_pickles(Path(path))
    found = find_file(SOURCE, path)
    folder = found.parent
    if found.name == TRAIN[0]:
        check_names(folder / META, CLASSES)
        return Cifar(*read_batches(folder, TRAIN, len(CLASSES)), *read_batches(folder, (TEST,), len(CLASSES)))
    if found.name == STRIPS[0]:
        train, test = (read_strips(folder / name, SIDE, len(CLASSES)) for name in STRIPS)
        return Cifar(*train, *test)
    raise _refused(found)


def _refuse_pickles(folder: Path) -> None:
    """Say why, where a folder holds the Python version alone."""
    if any((folder / file).is_file() for file in SOURCE.files):
        return
    for name in (PICKLES[0], f"{PICKLE_FOLDER}/{PICKLES[0]}"):
        if (folder / name).is_file():
            raise _refused(folder / name)


def _refused(found: Path) -> BadInput:
    if found.name in PICKLES:
        return BadInput(
            f"{found.name} is CIFAR-10's Python version and is refused: {PICKLED}",
            available=f"the binary version: {TRAIN[0]} to {TRAIN[-1]} and {TEST}",
            help=SOURCE.how_to_get,
        )
    return BadInput(
        f"{found.name} is not a readable file of CIFAR-10",
        available=f"a folder that holds {TRAIN[0]} to {TRAIN[-1]} and {TEST}, or {' and '.join(STRIPS)}",
        help=SOURCE.how_to_get,
    )
