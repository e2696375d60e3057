"""Pictures on the device: padded once, so that a shifted and mirrored crop is one lookup; and normalised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.training.device_keys import device_keys

if TYPE_CHECKING:
    import torch

# Training pictures are shifted by up to so many pixels, black coming in at the edge, and mirrored half the time.
SHIFT = 4
# Numbers that are squared at once: they stay in a processor's cache.
PIXELS = 2**20


def check_pictures(inputs: NDArray[Any], what: str) -> None:
    """Refuse what is no array of pictures."""
    if inputs.ndim != 4 or inputs.dtype != np.uint8 or inputs.shape[3] not in (1, 3):
        raise BadInput(
            f"The inputs of {what} are {inputs.dtype} of the shape {inputs.shape}",
            available="pictures: uint8 of the shape [row, height, width, channel], with 1 or 3 channels",
            help="the learner mlp takes columns of a table.",
        )


class Pictures:
    """All training pictures, ``[row, height, width, channel]``, with a border of ``SHIFT`` pixels."""

    def __init__(self, inputs: NDArray[np.uint8], device: str) -> None:
        self.torch = require("torch", extra="train", purpose="Training on pictures")
        check_pictures(inputs, "the training rows")
        self.height, self.width = inputs.shape[1:3]
        self.sums = _sums(inputs)
        here = self.torch.from_numpy(np.ascontiguousarray(inputs)).to(device)
        self.padded = self.torch.nn.functional.pad(here, (0, 0, SHIFT, SHIFT, SHIFT, SHIFT))
        self._down = self.torch.arange(self.height, device=device)
        self._across = self.torch.arange(self.width, device=device)

    def crops(self, rows: torch.Tensor, crop: Crop) -> torch.Tensor:
        """Return the pictures of some rows as bytes, ``[row, channel, height, width]`` with channels last in memory."""
        down = crop.top[:, None] + self._down
        mirrored = self.torch.where(crop.mirrored[:, None], self.width - 1 - self._across, self._across)
        across = crop.left[:, None] + mirrored
        found: torch.Tensor = self.padded[rows[:, None, None], down[:, :, None], across[:, None, :]]
        return found.permute(0, 3, 1, 2)


class Crop:
    """Where each picture of an epoch is cut out: offsets from the corner of the border, and which are mirrored."""

    def __init__(self, top: torch.Tensor, left: torch.Tensor, mirrored: torch.Tensor) -> None:
        self.top, self.left, self.mirrored = top, left, mirrored

    @classmethod
    def drawn(cls, seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor) -> Crop:
        """Draw the crops of an epoch, keyed by sample: the same whatever the order of samples."""
        keys = device_keys(seed, epoch, ids, copies, "augmentation")
        offsets = 2 * SHIFT + 1
        return cls((keys & 0xFFFF) % offsets, ((keys >> 16) & 0xFFFF) % offsets, ((keys >> 32) & 1) == 1)

    @classmethod
    def plain(cls, ids: torch.Tensor) -> Crop:
        """The pictures as they are."""
        middle = ids * 0 + SHIFT
        # Tensors of their own: others are written into them.
        return cls(middle, middle.clone(), ids < 0)

    def of(self, places: torch.Tensor) -> Crop:
        """Return the crops of some places."""
        return Crop(*(part.index_select(0, places) for part in (self.top, self.left, self.mirrored)))

    def take(self, other: Crop) -> None:
        """Overwrite these crops with others, in place: a recorded step reads them where they are."""
        for mine, new in zip(
            (self.top, self.left, self.mirrored), (other.top, other.left, other.mirrored), strict=True
        ):
            mine.copy_(new)


def shifted(pictures: torch.Tensor, crop: Crop) -> torch.Tensor:
    """Return pictures ``[row, channel, height, width]`` cut out as ``crop`` says; 0 comes in at the edge."""
    library = require("torch", extra="train", purpose="Training on pictures")
    height, width = pictures.shape[2:]
    padded = library.nn.functional.pad(pictures, (SHIFT, SHIFT, SHIFT, SHIFT)).permute(0, 2, 3, 1)
    down, across = (library.arange(number, device=pictures.device) for number in (height, width))
    down = crop.top[:, None] + down
    across = crop.left[:, None] + library.where(crop.mirrored[:, None], width - 1 - across, across)
    rows = library.arange(len(pictures), device=pictures.device)
    found: torch.Tensor = padded[rows[:, None, None], down[:, :, None], across[:, None, :]]
    channels_first: torch.Tensor = found.permute(0, 3, 1, 2).contiguous()
    return channels_first


class Scaling:
    """Mean 0 and standard deviation 1 a channel, over the training pictures in use (repeated ones count repeatedly)."""

    def __init__(self, pictures: Pictures, rows: NDArray[np.int64], dtype: torch.dtype) -> None:
        counts = np.bincount(rows, minlength=len(pictures.padded)).astype(np.float64)
        pixels = counts.sum() * pictures.height * pictures.width
        mean, squares = (counts @ sums / pixels for sums in pictures.sums)
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
        # A channel that never changes is left in its own units.
        scale = np.where(spread > 0, spread, 1.0)
        self._mean, self._scale = (
            pictures.torch.tensor(one, dtype=dtype, device=pictures.padded.device)[None, :, None, None]
            for one in (mean, scale)
        )

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return normalised pictures."""
        scaled: torch.Tensor = (pictures.to(self._mean.dtype) - self._mean) / self._scale
        return scaled


def _sums(inputs: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of the pixels of every picture and channel, and of their squares: exact in whole numbers."""
    rows, height, width, channels = inputs.shape
    first, second = np.zeros((2, rows, channels), dtype=np.int64)
    at_once = max(PIXELS // max(height * width * channels, 1), 1)
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        # Down the columns first: numbers that lie side by side are then added at once.
        values = inputs[part].reshape(-1, height, width * channels).astype(np.int32)
        for sums, numbers in ((first, values), (second, values * values)):
            sums[part] = numbers.sum(axis=1, dtype=np.int64).reshape(-1, width, channels).sum(axis=1)
    return first.astype(np.float64), second.astype(np.float64)
