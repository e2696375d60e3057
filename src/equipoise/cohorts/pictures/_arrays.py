"""Pictures as arrays: kept in one ``.npz``, with checked class numbers, and without their colours or with fewer pixels.

They are kept as WebP (grey ones as PNG), each by itself, or ``strip`` below one another in each. ``blob`` holds the
encoded pictures or strips one after another, ``offsets`` where each begins and the last ends, ``strip`` how many
pictures a strip has and ``labels`` (of strips) the class numbers.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.foundation import BadInput, plural, require

Pictures = NDArray[np.uint8]
# Luminance by ITU-R 601-2 in 16 binary places, as Pillow computes it.
RED, GREEN, BLUE, HALF, FRACTION_BITS = 19_595, 38_470, 7_471, 32_768, 16
AT_ONCE = 1_000


def grey(pictures: Pictures) -> Pictures:
    """Return the luminance of pictures ``[row, height, width, 3]`` in all three channels.

    L = (19595 R + 38470 G + 7471 B + 32768) >> 16, in whole numbers: what Pillow's ``convert("L")`` gives.
    """
    greyed = np.empty_like(pictures)
    for part in _slices(len(pictures)):
        red, green, blue = np.moveaxis(pictures[part].astype(np.uint32), -1, 0)
        greyed[part] = ((RED * red + GREEN * green + BLUE * blue + HALF) >> FRACTION_BITS)[..., None]
    return greyed


def low_resolution(pictures: Pictures, side: int) -> Pictures:
    """Return pictures with ``side`` x ``side`` pixels at their old size: means of blocks, each pixel then repeated.

    Down by the box filter (the mean of a block, halves rounded up), up by the nearest pixel.
    """
    height, width = pictures.shape[1:3]
    if height != width or not 0 < side < height or height % side:
        fitting = [str(size) for size in range(1, height) if not height % size] if height == width else []
        raise BadInput(
            f"Pictures of {width} x {height} pixels are to have {side} x {side}",
            available=f"a side that divides theirs: {', '.join(fitting)}" if fitting else "square pictures",
        )
    block = height // side
    coarse = np.empty_like(pictures)
    for part in _slices(len(pictures)):
        blocks = pictures[part].reshape(-1, side, block, side, block, pictures.shape[3])
        sums = blocks.sum(axis=(2, 4), dtype=np.uint32)
        means = ((2 * sums + block**2) // (2 * block**2)).astype(np.uint8)
        coarse[part] = means.repeat(block, axis=1).repeat(block, axis=2)
    return coarse


def _slices(rows: int) -> Iterator[slice]:
    """Cut rows into parts, so that the wider numbers of one part only are in memory."""
    return (slice(first, first + AT_ONCE) for first in range(0, rows, AT_ONCE))


def checked_labels(labels: NDArray[Any], classes: int, file: str) -> NDArray[np.int64]:
    """Return class numbers; the first one out of range is named with its row."""
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise BadInput(
            f"The labels of {file} are {labels.dtype} of the shape {labels.shape}",
            available="one whole number per picture",
        )
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(outside):
        raise BadInput(
            f"{plural(len(outside), 'label')} of {file} out of range: the first is {int(labels[outside[0]])} in row "
            f"{int(outside[0]):,} (counted from 0)",
            available=f"0 to {classes - 1}",
            help="the file is damaged or of another data set; get it again.",
        )
    return labels.astype(np.int64)


AGAIN = "copy the file again."
# More rows than WebP can have in one picture.
MOST_ROWS = 16_383
# By the number of channels: the format that pictures are kept in, and what Pillow calls such pixels.
FORMATS = {1: ("PNG", "L"), 3: ("WEBP", "RGB")}


def read_strips(path: Path, side: int, classes: int) -> tuple[Pictures, NDArray[np.int64]]:
    """Decode all pictures of a file; every size it states is checked first."""
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} beside the other", help=AGAIN)
    labels = checked_labels(read_array(path, "labels"), classes, path.name)
    pictures = np.empty((len(labels), side, side, 3), dtype=np.uint8)
    _decode(path, pictures, read_array(path, "strip"), "Strip")
    return pictures, labels


def read_grey_strips(path: Path, side: int, pictures: int) -> Pictures:
    """Decode a file of so many pictures with one channel, ``[row, side, side, 1]``, kept as strips of PNG."""
    grey_pictures = np.empty((pictures, side, side, 1), dtype=np.uint8)
    _decode(path, grey_pictures, read_array(path, "strip"), "Strip")
    return grey_pictures


def read_singly(path: Path, pictures: Pictures) -> None:
    """Decode a file in which every picture stands by itself into ``made [row, side, side, 3]``; no copy is held."""
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} beside the other", help=AGAIN)
    _decode(path, pictures, np.array(1), "Picture")


@dataclass(frozen=True)
class SinglePictures:
    """Reads some pictures of a file in which each stands by itself, when they are asked for."""

    path: Path
    pictures: int
    side: int

    def __call__(self, rows: NDArray[np.int64]) -> Pictures:
        """Return the pictures of rows, by position."""
        if not self.path.is_file():
            raise BadInput(f"There is no file {self.path.name!r} beside the other", help=AGAIN)
        blob, offsets, _ = _parts(self.path, self.pictures, self.side, np.array(1))
        decoded = np.empty((len(rows), self.side, self.side, 3), dtype=np.uint8)
        for index, row in enumerate(rows.tolist()):
            encoded = blob[offsets[row] : offsets[row + 1]].tobytes()
            decoded[index] = _decoded(encoded, 1, self.side, f"Picture {row} of {self.path.name}")[0]
        return decoded


def _decode(path: Path, pictures: Pictures, strip: NDArray[Any], what: str) -> None:
    side, channels = pictures.shape[1], pictures.shape[3]
    blob, offsets, number = _parts(path, len(pictures), side, strip)
    for index, first in enumerate(range(0, len(pictures), number)):
        part = pictures[first : first + number]
        encoded = blob[offsets[index] : offsets[index + 1]].tobytes()
        part[:] = _decoded(encoded, len(part), side, f"{what} {index} of {path.name}", channels)


def _parts(
    path: Path, pictures: int, side: int, strip: NDArray[Any]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], int]:
    blob, offsets = (read_array(path, name) for name in ("blob", "offsets"))
    if blob.dtype != np.uint8 or blob.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.ndim != 1:
        raise BadInput(f"{path.name} holds no strips of pictures", available="blob, offsets, labels and strip")
    if strip.dtype.kind not in "iu" or strip.size != 1 or not 0 < int(strip.reshape(-1)[0]) <= MOST_ROWS // side:
        raise BadInput(f"{path.name} does not say how many pictures a strip has", help=AGAIN)
    number = int(strip.reshape(-1)[0])
    strips, places = -(-pictures // number), offsets.astype(np.int64)
    ordered = len(places) and places[0] >= 0 and (np.diff(places) >= 0).all() and places[-1] <= len(blob)
    if not pictures or len(places) != strips + 1 or not ordered:
        raise BadInput(
            f"{path.name} is damaged: {pictures:,} pictures by {number:,} are {strips:,} strips, and its offsets do "
            "not fit them",
            help=AGAIN,
        )
    return blob, places, number


def _decoded(encoded: bytes, pictures: int, side: int, where: str, channels: int = 3) -> Pictures:
    images: Any = require("PIL.Image", extra="vision", purpose="Reading pictures")
    kept_as, mode = FORMATS[channels]
    try:
        with images.open(io.BytesIO(encoded), formats=(kept_as,)) as opened:
            if opened.size != (side, side * pictures):
                raise BadInput(
                    f"{where} is {opened.size[0]:,} x {opened.size[1]:,} pixels",
                    available=f"{side} x {side * pictures:,}: {pictures:,} pictures below one another",
                    help=AGAIN,
                )
            if channels == 1 and opened.mode != mode:
                raise BadInput(f"{where} has pixels of the kind {opened.mode}", available=f"{mode}: 256 shades of grey")
            decoded: Pictures = np.asarray(opened.convert(mode))
    except BadInput:
        raise
    except Exception as error:  # whatever a decoder stumbles over, the file is damaged
        raise BadInput(f"{where} is damaged: it is no {kept_as} picture ({error})", help=AGAIN) from error
    return decoded.reshape(pictures, side, side, channels)
