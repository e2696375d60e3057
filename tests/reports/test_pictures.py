"""Pictures inside a page: PNG that others read, and small enough together."""

from __future__ import annotations

import base64
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.discovery import Strip
from equipoise.reports._pictures import Album, png, shrunk


def slow_pixels(content: bytes) -> np.ndarray:
    """Read a PNG byte by byte, as its specification says."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        name, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        assert struct.unpack(">I", content[place + 8 + length : place + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name] = body
        place += 12 + length
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    step = {0: 1, 2: 3, 6: 4}[kind]
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = [[0] * (width * step)]
    for line in range(height):
        how, *given_row = raw[line * (1 + width * step) : (line + 1) * (1 + width * step)]
        row: list[int] = []
        for place, value in enumerate(given_row):
            left = row[place - step] if place >= step else 0
            above, corner = rows[-1][place], rows[-1][place - step] if place >= step else 0
            guess = left + above - corner
            paeth = min((left, above, corner), key=lambda one, guess=guess: abs(guess - one))
            row.append((value + (0, left, above, (left + above) // 2, paeth)[how]) % 256)
        rows.append(row)
    return np.array(rows[1:], dtype=np.uint8).reshape(height, width, step)


@given(
    st.sampled_from([1, 3, 4]).flatmap(
        lambda channels: arrays(np.uint8, st.tuples(st.integers(1, 7), st.integers(1, 7), st.just(channels)))
    )
)
def test_pixels_come_back(picture: np.ndarray) -> None:
    np.testing.assert_array_equal(slow_pixels(png(picture)), picture)


def test_another_library_reads_the_same_pixels() -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    picture = np.random.default_rng(0).integers(0, 256, (9, 5, 3)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(picture)))), picture)


def test_smooth_pictures_are_small() -> None:
    ramp = np.add.outer(np.arange(64), np.arange(64))[..., None].repeat(3, 2).astype(np.uint8)
    assert len(png(ramp)) < ramp.size // 20


def test_channels_that_are_no_colours_are_shown_by_their_mean() -> None:
    picture = np.stack([np.full((2, 2), value, dtype=np.uint8) for value in (10, 20)], axis=2)
    assert (slow_pixels(png(picture)) == 15).all()


def test_a_smaller_picture_has_the_means_of_blocks() -> None:
    picture = np.arange(5 * 4, dtype=np.uint8).reshape(5, 4, 1)
    small = shrunk(picture, 2)
    assert small[..., 0].tolist() == [[2, 4], [10, 12]]  # (0 + 1 + 4 + 5) / 4 is 2.5, rounded to even
    assert shrunk(picture, 1) is picture
    assert shrunk(picture, 99).shape == (1, 1, 1)


def test_pictures_that_are_too_much_together_are_all_shrunk_alike() -> None:
    rng = np.random.default_rng(0)
    strips = [Strip(rng.integers(0, 256, (5, 60, 60, 3)).astype(np.uint8), np.zeros(5)) for _ in range(4)]
    whole, small = Album(strips), Album(strips, most_bytes=40_000)
    assert whole.factor == 1
    assert small.factor > 1
    assert sum(len(one) for strip in strips for one in small.addresses(strip)) <= 40_000
    sizes = set()
    for strip in strips:
        for address in small.addresses(strip):
            kind, _, content = address.partition(",")
            assert kind == "data:image/png;base64"
            sizes.add(slow_pixels(base64.b64decode(content)).shape)
    assert sizes == {(60 // small.factor, 60 // small.factor, 3)}
    assert Album([]).factor == 1
