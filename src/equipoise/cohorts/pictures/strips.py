"""Pictures kept as strips of lossless WebP in one ``.npz``: ``strip`` pictures below one another in each.

``blob`` holds the encoded strips one after another, ``offsets`` where each begins and the last ends, ``labels`` the
class numbers and ``strip`` how many pictures a strip has.
"""

from __future__ import annotations

import io
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


def read_strips(path: Path, side: int, classes: int) -> tuple[Pictures, NDArray[np.int64]]:
    """Decode all pictures of a file; every size it states is held against what is there first."""
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} beside the other", way_out=AGAIN)
    labels = checked_labels(read_array(path, "labels"), classes, path.name)
    blob, offsets, strip = _parts(path, len(labels), side)
    made = np.empty((len(labels), side, side, 3), dtype=np.uint8)
    for number, first in enumerate(range(0, len(labels), strip)):
        part = made[first : first + strip]
        encoded = blob[offsets[number] : offsets[number + 1]].tobytes()
        part[:] = _decoded(encoded, len(part), side, f"Strip {number} of {path.name}")
    return made, labels


def _parts(path: Path, pictures: int, side: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], int]:
    blob, offsets, strip = (read_array(path, name) for name in ("blob", "offsets", "strip"))
    if blob.dtype != np.uint8 or blob.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.ndim != 1:
        raise BadInput(f"{path.name} holds no strips of pictures", allowed="blob, offsets, labels and strip")
    if strip.dtype.kind not in "iu" or strip.size != 1 or not 0 < int(strip.reshape(-1)[0]) <= MOST_ROWS // side:
        raise BadInput(f"{path.name} does not say how many pictures a strip has", way_out=AGAIN)
    number = int(strip.reshape(-1)[0])
    strips, places = -(-pictures // number), offsets.astype(np.int64)
    ordered = len(places) and places[0] >= 0 and (np.diff(places) >= 0).all() and places[-1] <= len(blob)
    if not pictures or len(places) != strips + 1 or not ordered:
        raise BadInput(
            f"{path.name} is damaged: {pictures:,} pictures by {number:,} are {strips:,} strips, and its offsets do "
            "not fit them",
            way_out=AGAIN,
        )
    return blob, places, number


def _decoded(encoded: bytes, pictures: int, side: int, where: str) -> Pictures:
    images: Any = require("PIL.Image", extra="vision", purpose="Reading pictures")
    try:
        with images.open(io.BytesIO(encoded), formats=("WEBP",)) as opened:
            if opened.size != (side, side * pictures):
                raise BadInput(
                    f"{where} is {opened.size[0]:,} x {opened.size[1]:,} pixels",
                    allowed=f"{side} x {side * pictures:,}: {pictures:,} pictures below one another",
                    way_out=AGAIN,
                )
            made: Pictures = np.asarray(opened.convert("RGB"))
    except BadInput:
        raise
    except Exception as error:  # whatever a decoder stumbles over, the file is damaged
        raise BadInput(f"{where} is damaged: it is no WebP picture ({error})", way_out=AGAIN) from error
    return made.reshape(pictures, side, side, 3)
