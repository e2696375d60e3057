"""Pictures inside a page: PNG without any library for it, small enough together, and strips of them as a grid."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery import Strip
from equipoise.reports._document import Images, Picture, Text
from equipoise.reports._formats import UNDEFINED, signed_short

Pixels = NDArray[np.uint8]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
# How PNG calls pictures of so many channels.
KINDS = {1: 0, 3: 2, 4: 6}
MOST_SIDE = 96
MOST_BYTES = 1_400_000
# Shown larger than this: what has fewer pixels is shown with sharp ones.
SHOWN_SIDE = 80


def png(picture: Pixels) -> bytes:
    """Write a picture ``[height, width, channel]`` as PNG; of channels that are no colours the mean is shown."""
    height, width, channels = picture.shape
    if channels not in KINDS:
        picture, channels = np.rint(picture.mean(2, keepdims=True)).astype(np.uint8), 1
    head = struct.pack(">IIBBBBB", width, height, 8, KINDS[channels], 0, 0, 0)
    lines = _filtered(picture.reshape(height, width * channels), channels)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _filtered(rows: Pixels, step: int) -> bytes:
    """Return every row less what is known of it, by the filter that leaves least, and its number before the row."""
    pixels = rows.astype(np.int16)
    left, above, corner = np.zeros_like(pixels), np.zeros_like(pixels), np.zeros_like(pixels)
    left[:, step:], above[1:], corner[1:, step:] = pixels[:, :-step], pixels[:-1], pixels[:-1, :-step]
    guess = left + above - corner
    to_left, to_above, to_corner = abs(guess - left), abs(guess - above), abs(guess - corner)
    paeth = np.where(
        (to_left <= to_above) & (to_left <= to_corner), left, np.where(to_above <= to_corner, above, corner)
    )
    predictions = (np.zeros_like(pixels), left, above, (left + above) // 2, paeth)
    tried = np.stack([(pixels - prediction).astype(np.uint8) for prediction in predictions])
    best = np.abs(tried.astype(np.int8).astype(np.int16)).sum(2).argmin(0)
    chosen = tried[best, np.arange(len(rows))]
    return bytes(np.concatenate([best[:, None].astype(np.uint8), chosen], axis=1).tobytes())


def shrunk(picture: Pixels, factor: int) -> Pixels:
    """Return a picture of a whole fraction of the size, a pixel the mean of a block; edges that do not fit are cut."""
    height, width, channels = picture.shape
    factor = min(factor, height, width)
    if factor <= 1:
        return picture
    blocks = picture[: height // factor * factor, : width // factor * factor]
    blocks = blocks.reshape(height // factor, factor, width // factor, factor, channels)
    smaller: Pixels = np.rint(blocks.mean((1, 3))).astype(np.uint8)
    return smaller


class Album:
    """The strips of a page as addresses that hold the pictures, all shrunk alike until they fit."""

    def __init__(self, strips: Sequence[Strip], most_bytes: int = MOST_BYTES) -> None:
        every = list({id(strip): strip for strip in strips}.values())
        side = max((max(strip.pictures.shape[1:3]) for strip in every), default=1)
        self.factor = -(-side // MOST_SIDE)
        while True:
            self._made = {
                id(strip): [_address(shrunk(picture, self.factor)) for picture in strip.pictures] for strip in every
            }
            size = sum(len(address) for addresses in self._made.values() for address in addresses)
            if size <= most_bytes or self.factor >= side:
                break
            # The size goes with the square of the side.
            self.factor = max(self.factor + 1, int(self.factor * (size / most_bytes) ** 0.5))
        self.sharp = side / self.factor < SHOWN_SIDE

    def addresses(self, strip: Strip) -> list[str]:
        """Return the pictures of a strip, in their order."""
        return self._made[id(strip)]


def _address(picture: Pixels) -> str:
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode("ascii")


def strip_images(
    album: Album, caption: Text, heading: str, alphas: Sequence[float], rows: Sequence[tuple[Text, str, Strip]]
) -> Images:
    """Return strips as a grid; of each row its heading, the words before every description, and the strip.

    Below every picture stands the classifier's probability.
    """
    steps = tuple("0" if not alpha else signed_short(alpha) for alpha in alphas)
    return Images(
        caption, (heading, *steps), tuple((lead, _cells(album, words, alphas, strip)) for lead, words, strip in rows),
        sharp=album.sharp,
    )  # fmt: skip


def _cells(album: Album, words: str, alphas: Sequence[float], strip: Strip) -> tuple[Picture, ...]:
    cells = []
    for address, value, alpha in zip(album.addresses(strip), strip.probabilities, alphas, strict=True):
        p = float(value)
        text = f"{p:.2f}" if math.isfinite(p) else UNDEFINED
        alt = f"{words}, step {signed_short(alpha)}: probability {text}"
        cells.append(Picture(address, alt, (text,), min(max(p, 0.0), 1.0) if math.isfinite(p) else None))
    return tuple(cells)
