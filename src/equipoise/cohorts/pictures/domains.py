"""Another version of a picture: without its colours, or with fewer pixels. Plain arithmetic; no library is asked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput

Pictures = NDArray[np.uint8]
# Luminance by ITU-R 601-2 in 16 binary places, as Pillow computes it.
RED, GREEN, BLUE, HALF, PLACES = 19_595, 38_470, 7_471, 32_768, 16
AT_ONCE = 1_000


def grey(pictures: Pictures) -> Pictures:
    """Return the luminance of pictures ``[row, height, width, 3]`` in all three channels.

    L = (19595 R + 38470 G + 7471 B + 32768) >> 16, in whole numbers: what Pillow's ``convert("L")`` gives.
    """
    made = np.empty_like(pictures)
    for part in _parts(len(pictures)):
        red, green, blue = np.moveaxis(pictures[part].astype(np.uint32), -1, 0)
        made[part] = ((RED * red + GREEN * green + BLUE * blue + HALF) >> PLACES)[..., None]
    return made


def low_resolution(pictures: Pictures, side: int) -> Pictures:
    """Return pictures with ``side`` x ``side`` pixels at their old size: means of blocks, each pixel then repeated.

    Down by the box filter (the mean of a block, halves rounded up), up by the nearest pixel.
    """
    height, width = pictures.shape[1:3]
    if height != width or not 0 < side < height or height % side:
        fitting = [str(one) for one in range(1, height) if not height % one] if height == width else []
        raise BadInput(
            f"Pictures of {width} x {height} pixels are to have {side} x {side}",
            available=f"a side that divides theirs: {', '.join(fitting)}" if fitting else "square pictures",
        )
    block = height // side
    made = np.empty_like(pictures)
    for part in _parts(len(pictures)):
        blocks = pictures[part].reshape(-1, side, block, side, block, pictures.shape[3])
        sums = blocks.sum(axis=(2, 4), dtype=np.uint32)
        means = ((2 * sums + block**2) // (2 * block**2)).astype(np.uint8)
        made[part] = means.repeat(block, axis=1).repeat(block, axis=2)
    return made


def _parts(rows: int) -> Iterator[slice]:
    """Cut rows into parts, so that the wider numbers of one part only are in memory."""
    return (slice(first, first + AT_ONCE) for first in range(0, rows, AT_ONCE))
