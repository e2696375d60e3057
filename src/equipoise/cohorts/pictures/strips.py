"""Pictures kept as WebP (grey ones as PNG) in one ``.npz``: each by itself, or ``strip`` below one another in each.

``blob`` holds the encoded pictures or strips one after another, ``offsets`` where each begins and the last ends,
``strip`` how many pictures a strip has and ``labels`` (of strips) the class numbers.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.array_files import read_array
from equipoise.cohorts.pictures.domains import Pictures
from equipoise.cohorts.pictures.labels import checked_labels
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require

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
    made = np.empty((len(labels), side, side, 3), dtype=np.uint8)
    _decode(path, made, read_array(path, "strip"), "Strip")
    return made, labels


def read_grey_strips(path: Path, side: int, pictures: int) -> Pictures:
    """Decode a file of so many pictures with one channel, ``[row, side, side, 1]``, kept as strips of PNG."""
    made = np.empty((pictures, side, side, 1), dtype=np.uint8)
    _decode(path, made, read_array(path, "strip"), "Strip")
    return made


def read_singly(path: Path, made: Pictures) -> None:
    """Decode a file in which every picture stands by itself into ``made [row, side, side, 3]``; no copy is held."""
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} beside the other", help=AGAIN)
    _decode(path, made, np.array(1), "Picture")


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
        made = np.empty((len(rows), self.side, self.side, 3), dtype=np.uint8)
        for place, row in enumerate(rows.tolist()):
            encoded = blob[offsets[row] : offsets[row + 1]].tobytes()
            made[place] = _decoded(encoded, 1, self.side, f"Picture {row} of {self.path.name}")[0]
        return made


def _decode(path: Path, made: Pictures, strip: NDArray[Any], what: str) -> None:
    side, channels = made.shape[1], made.shape[3]
    blob, offsets, number = _parts(path, len(made), side, strip)
    for place, first in enumerate(range(0, len(made), number)):
        part = made[first : first + number]
        encoded = blob[offsets[place] : offsets[place + 1]].tobytes()
        part[:] = _decoded(encoded, len(part), side, f"{what} {place} of {path.name}", channels)


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
            made: Pictures = np.asarray(opened.convert(mode))
    except BadInput:
        raise
    except Exception as error:  # whatever a decoder stumbles over, the file is damaged
        raise BadInput(f"{where} is damaged: it is no {kept_as} picture ({error})", help=AGAIN) from error
    return made.reshape(pictures, side, side, channels)
