"""The binary version of CIFAR-10: 3,073 bytes a picture, its class and then 1,024 bytes of red, green and blue each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.pictures.domains import Pictures
from equipoise.cohorts.pictures.labels import checked_labels
from equipoise.foundation.errors import BadInput, listing

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
