"""Files of picture features in one ``.npz``: a byte a number with a scale, the class, the split and the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.cohorts.pictures._arrays import (
    SinglePictures,
    checked_labels,
    read_singly,
)
from equipoise.foundation import (
    BadInput,
    unknown_name,
)

# What the learner gets: numbers that a network found in the pictures, or the pictures themselves.
Pixels = Literal["features", "pictures"]
FEATURES, IMAGE = "features", "image"
AGAIN = "download the file again."


@dataclass(frozen=True, eq=False)
class PictureRows:
    """What a file says of each picture: the number of its class, its split and its file; and the names of classes."""

    labels: NDArray[np.int64]
    test: NDArray[np.bool_]
    files: NDArray[Any]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def each(self, values: object) -> NDArray[Any]:
        """Return what the class of each picture has, from a value a class."""
        by_class = np.empty(len(self.classes), dtype=object)
        by_class[:] = values
        row_values: NDArray[Any] = by_class[self.labels]
        return row_values

    @property
    def split(self) -> NDArray[Any]:
        """The official split of each picture."""
        return np.array(["train", "test"], dtype=object)[self.test.astype(np.int64)]


def checked_pixels(pixels: object) -> str:
    """Return what was asked for, features or pictures; true stands for pictures."""
    kind = ("pictures" if pixels else "features") if isinstance(pixels, bool) else pixels
    if kind not in get_args(Pixels):
        raise unknown_name("pixels", str(pixels), get_args(Pixels), "a cohort of pictures")
    return str(kind)


def read_picture_rows(path: Path) -> PictureRows:
    """Read what there is beside the features; every part must be of one length."""
    classes = tuple(str(name) for name in read_array(path, "class_names").tolist())
    labels = checked_labels(read_array(path, "label"), len(classes), path.name)
    test, files = read_array(path, "is_test"), read_array(path, "file_name")
    for name, part in (("is_test", test), ("file_name", files)):
        if part.shape != labels.shape:
            raise BadInput(
                f"{path.name} has {len(labels):,} labels and {name} of the shape {part.shape}",
                available="one of each per picture",
                help=AGAIN,
            )
    if not np.isin(test, (0, 1)).all():
        raise BadInput(f"is_test of {path.name} has other values than 0 and 1", help=AGAIN)
    return PictureRows(labels, test.astype(bool), files.astype(object), classes)


def read_inputs(path: Path, rows: int, pixels: str, thumbs: str, side: int) -> dict[str, NDArray[Any]]:
    """Return the one column of inputs: features as float32, or the pictures of the file ``thumbs`` beside it."""
    if pixels == "features":
        return {FEATURES: _features(path, rows)}
    pictures = np.empty((rows, side, side, 3), dtype=np.uint8)
    read_singly(path.with_name(thumbs), pictures)
    return {IMAGE: pictures}


def shown_pictures(path: Path, rows: int, pixels: str, thumbs: str, side: int) -> str | SinglePictures:
    """Return what shows rows as examples: the column of pictures, or the file ``thumbs``, read when it is asked for."""
    return SinglePictures(path.with_name(thumbs), rows, side) if pixels == "features" else IMAGE


def _features(path: Path, rows: int) -> NDArray[np.float32]:
    stored, scale = read_array(path, "features_u8"), read_array(path, "scale")
    fits = stored.ndim == 2 and scale.ndim == 1 and stored.shape == (rows, len(scale)) and stored.size
    if not fits or stored.dtype != np.uint8 or scale.dtype.kind != "f" or not np.isfinite(scale).all():
        raise BadInput(
            f"The features of {path.name} are {stored.dtype} of the shape {stored.shape}, their scale is {scale.dtype} "
            f"of the shape {scale.shape}",
            available=f"uint8, a row for each of {rows:,} pictures, and a finite scale for each column",
            help=AGAIN,
        )
    points = stored.astype(np.float32)
    points *= scale.astype(np.float32)
    return points
