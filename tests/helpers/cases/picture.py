"""Small CIFAR-10 folders in the layout of the real one, and picture files, for tests."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def drawn(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pictures ``[row, 32, 32, 3]`` and the numbers of their classes."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (rows, 32, 32, 3), dtype=np.uint8), generator.permutation(np.arange(rows) % 10)


def binary_rows(pictures: np.ndarray, labels: np.ndarray) -> bytes:
    """The bytes of a file, row by row, written as slowly as the format is described."""
    made = bytearray()
    for picture, label in zip(pictures, labels, strict=True):
        made.append(int(label))
        for channel in range(3):
            made += picture[:, :, channel].tobytes()
    return bytes(made)


def write_binary(
    folder: Path, train: int = 100, test: int = 30
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Write the binary version: five training files of equal size, the test file and the names of the classes."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures, labels = drawn(train)
    size = train // 5
    for number in range(5):
        own = slice(number * size, (number + 1) * size)
        (folder / f"data_batch_{number + 1}.bin").write_bytes(binary_rows(pictures[own], labels[own]))
    tested, test_labels = drawn(test, seed=1)
    (folder / "test_batch.bin").write_bytes(binary_rows(tested, test_labels))
    (folder / "batches.meta.txt").write_text("\n".join(CLASSES) + "\n\n", encoding="utf-8")
    return pictures, labels, tested, test_labels


def strips(pictures: np.ndarray, labels: np.ndarray, strip: int = 8) -> dict[str, Any]:
    """The arrays of a ``.npz`` of strips; it needs Pillow."""
    from PIL import Image

    parts = []
    for first in range(0, len(pictures), strip):
        file = io.BytesIO()
        Image.fromarray(pictures[first : first + strip].reshape(-1, 32, 3)).save(
            file, "WEBP", lossless=True, exact=True
        )
        parts.append(file.getvalue())
    offsets = np.cumsum([0, *map(len, parts)])
    return {
        "blob": np.frombuffer(b"".join(parts), dtype=np.uint8), "offsets": offsets.astype(np.int64),
        "labels": labels.astype(np.uint8), "strip": np.int64(strip),
    }  # fmt: skip


def write_strips(folder: Path, train: int = 60, test: int = 30) -> tuple[np.ndarray, ...]:
    """Write both splits as strips."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[np.ndarray] = []
    for name, rows, seed in (("train20k", train, 0), ("test10k", test, 1)):
        pictures, labels = drawn(rows, seed)
        np.savez(folder / f"cifar10_{name}.npz", **strips(pictures, labels))
        made += [pictures, labels]
    return tuple(made)


def write_photos(folder: Path) -> None:
    """Write four pictures of different sizes as ``<class>/<sex>/<file>``; it needs Pillow."""
    from PIL import Image

    for number, name in enumerate(("nurse/man", "nurse/woman", "doctor/man", "doctor/woman")):
        (folder / name).mkdir(parents=True)
        pixels = np.full((20 + number, 24, 3), 40 * number, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name / "1.png")
