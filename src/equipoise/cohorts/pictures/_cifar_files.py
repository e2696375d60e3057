"""CIFAR-10's own files: the binary version, or strips of lossless WebP in ``.npz``. The Python version is refused.

The binary version has 3,073 bytes a picture: its class, and then 1,024 bytes of red, green and blue each. The Python
version is pickles, and loading them could run code hidden in the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import PICKLE_REASON
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import (
    Pictures,
    checked_labels,
    read_strips,
)
from equipoise.foundation import BadInput, listing

TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST, META = "test_batch.bin", "batches.meta.txt"
SIDE, CHANNELS = 32, 3
PIXELS = SIDE * SIDE * CHANNELS
ROW = 1 + PIXELS
AGAIN = "get cifar-10-binary.tar.gz again and unpack all of it."


def read_batches(folder: Path, names: Sequence[str], classes: int) -> tuple[Pictures, NDArray[np.int64]]:
    """Read files one after another; all must be there, whole, and of one size."""
    absent = [name for name in names if not (folder / name).is_file()]
    if absent:
        raise BadInput(
            f"The folder {str(folder)!r} has no {listing(absent)}", available=f"all of {listing(names)}", help=AGAIN
        )
    rows = {name: _rows(folder / name) for name in names}
    usual = max(rows.values())
    for name, number in rows.items():
        if number != usual:
            raise BadInput(
                f"{name} holds {number:,} pictures and another file {usual:,}: it is truncated",
                available="equally many in each",
                help=AGAIN,
            )
    parts = [_read(folder / name, classes) for name in names]
    return np.concatenate([pictures for pictures, _ in parts]), np.concatenate([labels for _, labels in parts])


def check_names(path: Path, classes: Sequence[str]) -> None:
    """Refuse a list of classes that is not CIFAR-10's; without a list the numbers are taken as CIFAR-10's."""
    if not path.is_file():
        return
    with open(path, "rb") as file:
        text = file.read(10_000).decode("utf-8", "replace")
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if names != list(classes):
        raise BadInput(
            f"{path.name} lists the classes {listing(names)}", available=f"CIFAR-10's: {listing(classes)}", help=AGAIN
        )


def _rows(path: Path) -> int:
    size = path.stat().st_size
    if not size or size % ROW:
        raise BadInput(
            f"{path.name} is truncated or damaged: it has {size:,} bytes",
            available=f"{ROW:,} bytes per picture; 30,730,000 as published",
            help=AGAIN,
        )
    return size // ROW


def _read(path: Path, classes: int) -> tuple[Pictures, NDArray[np.int64]]:
    try:
        rows = np.fromfile(path, dtype=np.uint8).reshape(-1, ROW)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path.name} could not be read ({error})", help=AGAIN) from error
    labels = checked_labels(rows[:, 0], classes, path.name)
    planes = rows[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

STRIPS = ("cifar10_train20k.npz", "cifar10_test10k.npz")
PICKLES = tuple(name.removesuffix(".bin") for name in TRAIN)
BINARY_FOLDER, PICKLE_FOLDER = "cifar-10-batches-bin", "cifar-10-batches-py"
SOURCE = Source(
    cohort="cifar10",
    files=(TRAIN[0], f"{BINARY_FOLDER}/{TRAIN[0]}", STRIPS[0]),
    instructions="Get the binary version, cifar-10-binary.tar.gz, from Krizhevsky's page of CIFAR-10 and unpack it.",
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
    file = find_file(SOURCE, path)
    folder = file.parent
    if file.name == TRAIN[0]:
        check_names(folder / META, CLASSES)
        return Cifar(*read_batches(folder, TRAIN, len(CLASSES)), *read_batches(folder, (TEST,), len(CLASSES)))
    if file.name == STRIPS[0]:
        train, test = (read_strips(folder / name, SIDE, len(CLASSES)) for name in STRIPS)
        return Cifar(*train, *test)
    raise _refused(file)


def _refuse_pickles(folder: Path) -> None:
    """Say why, where a folder holds the Python version alone."""
    if any((folder / file).is_file() for file in SOURCE.files):
        return
    for name in (PICKLES[0], f"{PICKLE_FOLDER}/{PICKLES[0]}"):
        if (folder / name).is_file():
            raise _refused(folder / name)


def _refused(file: Path) -> BadInput:
    if file.name in PICKLES:
        return BadInput(
            f"{file.name} is CIFAR-10's Python version and is refused: {PICKLE_REASON}",
            available=f"the binary version: {TRAIN[0]} to {TRAIN[-1]} and {TEST}",
            help=SOURCE.instructions,
        )
    return BadInput(
        f"{file.name} is not a readable file of CIFAR-10",
        available=f"a folder that holds {TRAIN[0]} to {TRAIN[-1]} and {TEST}, or {' and '.join(STRIPS)}",
        help=SOURCE.instructions,
    )
