"""Chosen sprites that are drawn where they are needed: on a graphics card from 720 drawings, none of them kept.

A picture is a window of a drawing in a frame wide enough for every position, so a batch is one gather.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import (
    Factor,
    FactorCodes,
    codes_of_cells,
)
from equipoise.cohorts.pictures import (
    NUMBER_OF_SPRITES,
    SPRITE_FACTORS,
    SPRITE_POSITIONS,
    SPRITE_SIDE,
    SPRITE_WINDOW,
    draw_sprites,
    sprite_drawings,
)
from equipoise.discovery import skewed_cells
from equipoise.discovery.generative import sent
from equipoise.foundation import (
    BadInput,
    require,
    stream,
    unknown_name,
)

if TYPE_CHECKING:
    import torch

NAMES = tuple(factor.name for factor in SPRITE_FACTORS)
# Places on each side of a drawing that some position needs.
AROUND = SPRITE_POSITIONS - 1


class ChosenSprites:
    """Sprites by the numbers of their cells, as if they were one array uint8 ``[row, 64, 64, 1]``."""

    dtype = np.dtype(np.uint8)

    def __init__(self, cells: NDArray[np.int64] | None = None) -> None:
        self.cells = np.arange(NUMBER_OF_SPRITES) if cells is None else np.asarray(cells, dtype=np.int64)
        self.shape = (len(self.cells), SPRITE_SIDE, SPRITE_SIDE, 1)
        self._frames: dict[str, tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, rows: Any, /) -> NDArray[np.uint8]:
        """Draw the sprites of some rows."""
        return draw_sprites(codes_of_cells(self.cells[rows], SPRITE_FACTORS))

    def drawn_on(self, rows: NDArray[np.int64], device: str) -> torch.Tensor:
        """Draw some rows on a device: float32 ``[row, 1, 64, 64]`` of 0 and 1."""
        library = require("torch", extra="train", purpose="Sprites on a device")
        cells = self.cells[rows]
        # The last factor changes fastest: x, then y, inside each of the 720 drawings.
        drawing, position = np.divmod(cells, SPRITE_POSITIONS**2)
        x, y = np.divmod(position, SPRITE_POSITIONS)
        where = sent(np.stack([drawing, AROUND - y, AROUND - x]), device)
        frames, across = self._laid(device)
        down, along = where[1, :, None, None] + across[None, :, None], where[2, :, None, None] + across
        pictures: torch.Tensor = frames[where[0, :, None, None], down, along]
        return pictures.to(library.float32)[:, None]

    def _laid(self, device: str) -> tuple[Any, Any]:
        """Return the drawings in their frames and the places of a picture's side, laid on the device once."""
        library = require("torch", extra="train", purpose="Sprites on a device")
        if device not in self._frames:
            drawings = sprite_drawings().reshape(-1, SPRITE_WINDOW, SPRITE_WINDOW) // 255
            framed = np.pad(drawings, ((0, 0), (AROUND, AROUND), (AROUND, AROUND)))
            self._frames[device] = (library.from_numpy(framed).to(device), library.arange(SPRITE_SIDE, device=device))
            if device != "cpu":
                library.cuda.synchronize()
        return self._frames[device]


def upper_half(name: str, codes: dict[str, FactorCodes]) -> NDArray[np.bool_]:
    """Return which rows are in the upper half of a factor."""
    return _factor(name).upper(codes[name])


def skewed_sprites(
    target: str, biased: str, agreement: float, number: int, seed: int, cells: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Draw cells in which the halves of two factors go together: what a classifier or a generator is trained on."""
    if target == biased:
        raise BadInput(f"{target} is the target and the biased factor", available="two different factors")
    among = np.arange(NUMBER_OF_SPRITES) if cells is None else cells
    codes = codes_of_cells(among, SPRITE_FACTORS)
    four = skewed_cells(upper_half(target, codes), upper_half(biased, codes))
    sprites: NDArray[np.int64] = among[four.sample(number, agreement=agreement, seed=seed)]
    return sprites


def held_out_cells(number: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part all cells into those to train on and so many that are held out, both in rising order."""
    if not 0 < number < NUMBER_OF_SPRITES:
        raise BadInput(f"{number:,} cells are to be held out", available=f"1 to {NUMBER_OF_SPRITES - 1:,}")
    out = np.zeros(NUMBER_OF_SPRITES, dtype=bool)
    out[stream(seed, "held-out sprites").choice(NUMBER_OF_SPRITES, size=number, replace=False)] = True
    return np.flatnonzero(~out), np.flatnonzero(out)


def _factor(name: str) -> Factor:
    if name not in NAMES:
        raise unknown_name("factor", name, NAMES, "the sprites")
    return SPRITE_FACTORS[NAMES.index(name)]
