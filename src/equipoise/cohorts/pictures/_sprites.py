"""Sprites drawn by the package: a square, an ellipse or a heart, of six sizes, turned and moved, 64 x 64 pixels.

The factors are those of dSprites (Matthey et al. 2017). A step of a position is a whole pixel, so that 3 x 6 x 40
drawings hold all 737,280 pictures: a picture is one of them, moved.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._factors import (
    Factor,
    FactorCodes,
    codes_of_cells,
    number_of_cells,
)
from equipoise.foundation import BadInput

SPRITE_SIDE = 64
# Of a drawing by itself: a sprite of any size and turn fits, and 32 places of it fill the picture.
SPRITE_WINDOW = 33
SPRITE_POSITIONS = SPRITE_SIDE - SPRITE_WINDOW + 1
# Points a pixel is looked at, along each side: a pixel is ink when at least half of them are.
POINTS = 4
# Pixels: half the side of the largest square, the half axes of the largest ellipse, the unit of the largest heart.
SQUARE, ELLIPSE, HEART = 11.0, (15.0, 7.5), 11.5

SPRITE_FACTORS = (
    Factor("shape", ("square", "ellipse", "heart")),
    Factor("scale", tuple(np.linspace(0.5, 1.0, 6).tolist())),
    # Forty different turns: a full one would be the first again, as it is in dSprites' own file.
    Factor("orientation", tuple((2 * np.pi * np.arange(40) / 40).tolist()), circular=True),
    Factor("x", tuple(np.linspace(0.0, 1.0, SPRITE_POSITIONS).tolist())),
    Factor("y", tuple(np.linspace(0.0, 1.0, SPRITE_POSITIONS).tolist())),
)
NUMBER_OF_SPRITES = number_of_cells(SPRITE_FACTORS)


class SpritePictures:
    """All sprites as if they were one array, uint8 ``[cell, 64, 64, 1]`` of 0 and 255, drawn when asked for."""

    shape = (NUMBER_OF_SPRITES, SPRITE_SIDE, SPRITE_SIDE, 1)
    dtype = np.dtype(np.uint8)

    def __len__(self) -> int:
        return NUMBER_OF_SPRITES

    def __getitem__(self, cells: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Draw the sprites of some cells, by number."""
        return draw_sprites(codes_of_cells(cells, SPRITE_FACTORS))


def draw_sprites(codes: dict[str, FactorCodes]) -> NDArray[np.uint8]:
    """Draw sprites, uint8 ``[row, 64, 64, 1]``, from the codes of their five factors."""
    shape, scale, orientation, x, y = (_checked(codes, factor) for factor in SPRITE_FACTORS)
    pictures = np.zeros((len(shape), SPRITE_SIDE, SPRITE_SIDE, 1), dtype=np.uint8)
    across = np.arange(SPRITE_WINDOW)
    rows = np.arange(len(shape))[:, None, None]
    down = y[:, None, None] + across[None, :, None]
    pictures[rows, down, x[:, None, None] + across, 0] = sprite_drawings()[shape, scale, orientation]
    return pictures


@cache
def sprite_drawings() -> NDArray[np.uint8]:
    """Return every sprite in the middle of its window, ``[shape, scale, orientation, row, column]``."""
    shapes, scales, turns = (factor.values for factor in SPRITE_FACTORS[:3])
    inside = (_in_square, _in_ellipse, _in_heart)
    drawings = np.empty((len(shapes), len(scales), len(turns), SPRITE_WINDOW, SPRITE_WINDOW), dtype=np.uint8)
    places = (np.arange(SPRITE_WINDOW * POINTS) + 0.5) / POINTS - SPRITE_WINDOW / 2
    for at, turn in enumerate(turns):
        right, up = places[None, :], -places[:, None]
        # The point is turned back instead of the sprite forward.
        along, over = right * np.cos(turn) + up * np.sin(turn), up * np.cos(turn) - right * np.sin(turn)
        for size, scale in enumerate(scales):
            for kind, holds in enumerate(inside):
                # Rounded, so that turns that look the same are the same, whatever sines and cosines lose.
                covered = holds(np.round(along / scale, 9), np.round(over / scale, 9))
                points = covered.reshape(SPRITE_WINDOW, POINTS, SPRITE_WINDOW, POINTS)
                drawings[kind, size, at] = np.where(2 * points.sum(axis=(1, 3)) >= POINTS**2, 255, 0)
    drawings.setflags(write=False)
    return drawings


def _in_square(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.maximum(np.abs(x), np.abs(y)) <= SQUARE


def _in_ellipse(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (x / ELLIPSE[0]) ** 2 + (y / ELLIPSE[1]) ** 2 <= 1.0
    return inside


def _in_heart(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(a^2 + b^2 - 1)^3 <= a^2 b^3: its lobes reach 1.43 from the middle."""
    a, b = x / HEART, y / HEART
    inside: NDArray[np.bool_] = (a**2 + b**2 - 1.0) ** 3 <= a**2 * b**3
    return inside


def _checked(codes: dict[str, FactorCodes], factor: Factor) -> FactorCodes:
    column_codes = np.asarray(codes[factor.name])
    if (
        column_codes.dtype.kind not in "iu"
        or column_codes.ndim != 1
        or (column_codes < 0).any()
        or (column_codes >= len(factor.values)).any()
    ):
        raise BadInput(
            f"The codes of {factor.name} are {column_codes.dtype} of the shape {column_codes.shape}, or out of range",
            available=f"whole numbers of 0 to {len(factor.values) - 1}, one per sprite",
        )
    return column_codes.astype(np.int64)
