"""Pictures on the device, and how a network reads them.

They are padded once, so that a shifted and mirrored crop is one lookup; resized; and normalised. A network reads them a
part at a time, with the batch statistics of training held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require
from equipoise.training._dataset import Settings
from equipoise.training._numerics import casting_of, dtype_of, layout_of
from equipoise.training._seeding import device_keys

if TYPE_CHECKING:
    import torch

# Training pictures are shifted by up to so many pixels, black coming in at the edge, and mirrored half the time.
SHIFT = 4
# Numbers that are squared at once: they stay in a processor's cache.
SUMMED_AT_ONCE = 2**20
# Ways of augmentation beside True (shifted and mirrored) and False.
FLIP, RESIZED_CROP = "flip", "resized_crop"
# The least share of a picture in a resized crop, the ratios of its width to its height, and how often one is drawn
# until it fits, as is usual since Szegedy et al. 2015.
LEAST_AREA, RATIOS, ATTEMPTS = 0.08, (3 / 4, 4 / 3), 10
# How pixels of 0 to 255 become numbers: by the pictures in use, to [0, 1], to [-1, 1], or as most weights of ImageNet
# expect them.
USUAL_SCALING = "usual"
FIXED = {
    "unit": ((0.0,), (255.0,)),
    "half": ((127.5,), (127.5,)),
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
}
SCALINGS = (USUAL_SCALING, "training", *FIXED)


def check_pictures(inputs: NDArray[Any], source: str) -> None:
    """Refuse what is no array of pictures."""
    if inputs.ndim != 4 or inputs.dtype != np.uint8 or inputs.shape[3] not in (1, 3):
        raise BadInput(
            f"The inputs of {source} are {inputs.dtype} of the shape {inputs.shape}",
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
        images = self.torch.from_numpy(np.ascontiguousarray(inputs)).to(device)
        self.padded = self.torch.nn.functional.pad(images, (0, 0, SHIFT, SHIFT, SHIFT, SHIFT))
        self._down = self.torch.arange(self.height, device=device)
        self._across = self.torch.arange(self.width, device=device)

    def crops(self, rows: torch.Tensor, crop: Crop) -> torch.Tensor:
        """Return the pictures of some rows as bytes, ``[row, channel, height, width]`` with channels last in memory."""
        return crop.cut(self.padded, rows, self._down, self._across)


class _OfPictures:
    """Numbers of each picture of an epoch, ``parts``, where a recorded step reads them."""

    def __init__(self, *parts: torch.Tensor) -> None:
        self.parts = parts

    def of(self, positions: torch.Tensor) -> Self:
        """Return those of some places."""
        return type(self)(*(part.index_select(0, positions) for part in self.parts))

    def take(self, other: Self) -> None:
        """Overwrite these numbers with others, in place: a recorded step reads them where they are."""
        for mine, new in zip(self.parts, other.parts, strict=True):
            mine.copy_(new)


class Crop(_OfPictures):
    """Where each picture of an epoch is cut out: offsets from the corner of the border, and which are mirrored."""

    def __init__(self, top: torch.Tensor, left: torch.Tensor, mirrored: torch.Tensor) -> None:
        super().__init__(top, left, mirrored)
        self.top, self.left, self.mirrored = top, left, mirrored

    @classmethod
    def sample(cls, seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor, *, shifts: bool = True) -> Crop:
        """Draw the crops of an epoch, keyed by sample: the same whatever the order of samples.

        Without ``shifts`` pictures are only mirrored.
        """
        keys = device_keys(seed, epoch, ids, copies, "augmentation")
        if not shifts:
            plain = cls.plain(ids)
            return cls(plain.top, plain.left, ((keys >> 32) & 1) == 1)
        offsets = 2 * SHIFT + 1
        return cls((keys & 0xFFFF) % offsets, ((keys >> 16) & 0xFFFF) % offsets, ((keys >> 32) & 1) == 1)

    @classmethod
    def plain(cls, ids: torch.Tensor) -> Crop:
        """The pictures as they are."""
        middle = ids * 0 + SHIFT
        # Tensors of their own: others are written into them.
        return cls(middle, middle.clone(), ids < 0)

    def cut(self, padded: torch.Tensor, rows: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
        """Return these parts of some rows of padded pictures ``[row, height, width, channel]``, channels second.

        ``down`` and ``across`` number the pixels of a side.
        """
        library = require("torch", extra="train", purpose="Training on pictures")
        mirrored = library.where(self.mirrored[:, None], len(across) - 1 - across, across)
        lines, columns = self.top[:, None] + down, self.left[:, None] + mirrored
        tensor: torch.Tensor = padded[rows[:, None, None], lines[:, :, None], columns[:, None, :]]
        return tensor.permute(0, 3, 1, 2)


def shifted(pictures: torch.Tensor, crop: Crop) -> torch.Tensor:
    """Return pictures ``[row, channel, height, width]`` cut out as ``crop`` says; 0 comes in at the edge."""
    library = require("torch", extra="train", purpose="Training on pictures")
    height, width = pictures.shape[2:]
    padded = library.nn.functional.pad(pictures, (SHIFT, SHIFT, SHIFT, SHIFT)).permute(0, 2, 3, 1)
    places = (library.arange(number, device=pictures.device) for number in (len(pictures), height, width))
    return crop.cut(padded, *places).contiguous()


@dataclass(frozen=True)
class View:
    """How pictures are shown to a network: how training changes them, and the size in which they are seen.

    ``size`` are the pixels of a side, 0 those of the stored pictures; ``centre`` is the share of the sides that is
    shown where no crop is drawn.
    """

    height: int
    width: int
    augmentation: bool | str = True
    size: int = 0
    centre: float = 1.0
    least_area: float = LEAST_AREA

    @classmethod
    def of(cls, values: Mapping[str, Any], height: int, width: int) -> View:
        """Return the view that hyper-parameters ask for, of pictures of this size."""
        return cls(
            height, width, values["augmentation"], int(values.get("size", 0)), float(values.get("centre", 1.0)),
            float(values.get("least_area", LEAST_AREA)),
        )  # fmt: skip

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width as the network sees them."""
        return (self.size, self.size) if self.size else (self.height, self.width)

    @property
    def draws_boxes(self) -> bool:
        """Whether training draws a part of each picture, which is then resized."""
        return self.augmentation == RESIZED_CROP

    @property
    def resizes(self) -> bool:
        """Whether anything but whole pictures in their own size is shown."""
        return self.draws_boxes or self.centre < 1.0 or self.sides != (self.height, self.width)

    def middle(self, ids: torch.Tensor) -> Box:
        """Return the part of each picture that is shown where none is drawn: as square as what the network sees."""
        height, width = self.height, self.width
        if self.size:
            height = width = min(height, width)
        height, width = (max(round(self.centre * side), 1) for side in (height, width))
        top, left = (self.height - height) // 2, (self.width - width) // 2
        # Tensors of their own: others are written into them.
        return Box(*(ids * 0 + number for number in (top, left, height, width)))

    def crop(self, seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor) -> Crop:
        """Return how pictures are shifted and mirrored in an epoch."""
        if self.augmentation is False:
            return Crop.plain(ids)
        return Crop.sample(seed, epoch, ids, copies, shifts=self.augmentation is True)

    def box(self, seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor) -> Box:
        """Return which part of each picture is shown in an epoch."""
        if not self.draws_boxes:
            return self.middle(ids)
        return Box.sample(seed, epoch, ids, copies, self.height, self.width, self.least_area)

    def resized(self, pictures: torch.Tensor, box: Box, dtype: torch.dtype) -> torch.Tensor:
        """Return the parts of pictures in the size that the network sees."""
        return resized(pictures, box, self.sides, dtype)


class Box(_OfPictures):
    """The part of each picture that is shown: its upper left corner, its height and its width, in pixels."""

    def __init__(self, top: torch.Tensor, left: torch.Tensor, height: torch.Tensor, width: torch.Tensor) -> None:
        super().__init__(top, left, height, width)
        self.top, self.left, self.height, self.width = top, left, height, width

    @classmethod
    def sample(
        cls, seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor, height: int, width: int,
        least_area: float,
    ) -> Box:  # fmt: skip
        """Draw a part for each sample, keyed by it: an area, a ratio of the sides and a place, each uniform.

        The ratio is uniform in its logarithm. What does not fit into the picture is drawn again, ten times at most;
        then the largest part in the middle whose ratio is allowed is shown. Nothing waits for the device.
        """
        library = require("torch", extra="train", purpose="Training on pictures")
        low, high = (math.log(ratio) for ratio in RATIOS)
        ratio = width / height
        largest = (height, width)
        if ratio < RATIOS[0]:
            largest = (min(round(width / RATIOS[0]), height), width)
        elif ratio > RATIOS[1]:
            largest = (height, min(round(height * RATIOS[1]), width))
        tall, wide = (ids * 0 + side for side in largest)
        top, left = (height - tall) // 2, (width - wide) // 2
        # From the last attempt to the first: an earlier one that fits takes the place of later ones.
        for attempt in reversed(range(ATTEMPTS)):
            keys = device_keys(seed, epoch, ids, copies, f"resized crop {attempt}")
            share, shape, down, across = ((keys >> shift) & 0xFFFF for shift in (0, 16, 32, 48))
            area = height * width * (least_area + (1 - least_area) * (share.double() + 0.5) / 2**16)
            sides = (low + (high - low) * (shape.double() + 0.5) / 2**16).exp()
            own_tall, own_wide = ((area / sides).sqrt().round().long(), (area * sides).sqrt().round().long())
            fits = (own_tall > 0) & (own_tall <= height) & (own_wide > 0) & (own_wide <= width)
            drawn_part = (
                down * (height - own_tall + 1) >> 16,
                across * (width - own_wide + 1) >> 16,
                own_tall,
                own_wide,
            )
            top, left, tall, wide = (
                library.where(fits, new, old) for new, old in zip(drawn_part, (top, left, tall, wide), strict=True)
            )
        return cls(top, left, tall, wide)


def resized(pictures: torch.Tensor, box: Box, sides: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    """Return a part of each picture ``[row, channel, height, width]`` in another size, interpolated linearly.

    Where a part is made smaller, each new pixel is a mean with triangular weights over all that it stands for (which is
    called antialiasing); pixels outside the part are not looked at. Both directions are a product of matrices, one pair
    for each picture, so that shapes never depend on what was drawn.
    """
    library = require("torch", extra="train", purpose="Training on pictures")
    rows, channels, height, width = pictures.shape
    down = _weights(box.top, box.height, height, sides[0], dtype)
    across = _weights(box.left, box.width, width, sides[1], dtype)
    # Down: [row, new height, width x channel]; then across, which leaves [row, new width, new height, channel].
    tall = library.bmm(down, pictures.to(dtype).permute(0, 2, 3, 1).reshape(rows, height, width * channels))
    lying = tall.view(rows, sides[0], width, channels).transpose(1, 2).reshape(rows, width, sides[0] * channels)
    tensor: torch.Tensor = library.bmm(across, lying).view(rows, sides[1], sides[0], channels).permute(0, 3, 2, 1)
    return tensor


def _weights(first: torch.Tensor, length: torch.Tensor, stored: int, visible: int, dtype: torch.dtype) -> torch.Tensor:
    """Return what each stored pixel ``[row, seen, stored]`` adds to each that is seen, of a part of each line."""
    library = require("torch", extra="train", purpose="Training on pictures")
    step = (length.to(dtype) / visible)[:, None, None]
    middles = (library.arange(visible, device=first.device, dtype=dtype) + 0.5)[None, :, None] * step
    pixels = library.arange(stored, device=first.device)[None, None] - first[:, None, None]
    near = 1 - (pixels.to(dtype) + 0.5 - middles).abs() / step.clamp_min(1)
    inside = (pixels >= 0) & (pixels < length[:, None, None])
    weights = library.where(inside, near.clamp_min(0), near.new_zeros(()))
    tensor: torch.Tensor = weights / weights.sum(dim=2, keepdim=True)
    return tensor


class Scaling:
    """How pixels become numbers, a channel at a time: fixed by its name, or from the training pictures in use.

    From these they have mean 0 and standard deviation 1 (pictures that are repeated count repeatedly).
    """

    def __init__(self, mean: torch.Tensor, scale: torch.Tensor) -> None:
        """Take both ``[1, channel, 1, 1]``, in the precision of the network."""
        self.mean, self.scale = mean, scale

    @classmethod
    def of(cls, pictures: Pictures, rows: NDArray[np.int64], dtype: torch.dtype, name: str = "training") -> Scaling:
        """Return the scaling of a name, for pictures on their device."""
        mean, scale = cls._fixed(pictures, name) if name in FIXED else cls._of_rows(pictures, rows)
        device = pictures.padded.device
        tensors = [
            pictures.torch.tensor(values, dtype=dtype, device=device)[None, :, None, None] for values in (mean, scale)
        ]
        return cls(*tensors)

    def on_cpu(self) -> Scaling:
        """Return the same on the CPU."""
        return Scaling(self.mean.cpu(), self.scale.cpu())

    @staticmethod
    def _fixed(pictures: Pictures, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        mean, scale = FIXED[name]
        channels = int(pictures.padded.shape[3])
        if len(mean) not in (1, channels):
            raise BadInput(
                f"scaling is {name!r}, which is one of {len(mean)} channels, and the pictures have {channels}",
                available="'training', 'unit' or 'half' for grey pictures",
            )
        return mean, scale

    @staticmethod
    def _of_rows(pictures: Pictures, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = np.bincount(rows, minlength=len(pictures.padded)).astype(np.float64)
        pixels = counts.sum() * pictures.height * pictures.width
        mean, squares = (counts @ sums / pixels for sums in pictures.sums)
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
        # A channel that never changes is left in its own units.
        return mean, np.where(spread > 0, spread, 1.0)

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return normalised pictures."""
        scaled: torch.Tensor = (pictures.to(self.mean.dtype) - self.mean) / self.scale
        return scaled


def _sums(inputs: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of the pixels of every picture and channel, and of their squares: exact in whole numbers."""
    rows, height, width, channels = inputs.shape
    first, second = np.zeros((2, rows, channels), dtype=np.int64)
    at_once = max(SUMMED_AT_ONCE // max(height * width * channels, 1), 1)
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        # Down the columns first: numbers that lie side by side are then added at once.
        values = inputs[part].reshape(-1, height, width * channels).astype(np.int32)
        for sums, numbers in ((first, values), (second, values * values)):
            sums[part] = numbers.sum(axis=1, dtype=np.int64).reshape(-1, width, channels).sum(axis=1)
    return first.astype(np.float64), second.astype(np.float64)


# Pictures at once, and their pixels: they bound the memory that reading takes.
AT_ONCE, PIXELS = 1_000, 4_000_000


class PictureInputs:
    """How stored pictures become what a network sees: the part and the size that are shown, and the scaling."""

    def __init__(self, view: View, scaling: Scaling, settings: Settings) -> None:
        self.view, self.scaling, self.settings = view, scaling, settings

    def scaled(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return pictures as the network takes them: scaled, and laid in memory as its weights are."""
        return self.scaling(pictures).contiguous(memory_format=layout_of(self.settings))

    def network_inputs(self, inputs: NDArray[np.uint8]) -> torch.Tensor:
        """Return stored pictures on the device as a network sees them where nothing is drawn."""
        library = require("torch", extra="train", purpose="A network on pictures")
        images = library.from_numpy(np.ascontiguousarray(inputs)).to(self.settings.device).permute(0, 3, 1, 2)
        if self.view.resizes:
            middle = self.view.middle(library.arange(len(images), device=images.device))
            images = self.view.resized(images, middle, dtype_of(self.settings))
        return self.scaled(images)


class PictureReader:
    """A network and its head as they read pictures, in training and afterwards alike.

    With ``unit_length`` outputs are scaled to length 1; ``user_network`` tells of a network that nobody knows.
    """

    def __init__(
        self, inputs: PictureInputs, network: torch.nn.Module, head: torch.nn.Module, *, unit_length: bool = False,
        user_network: bool = False,
    ) -> None:  # fmt: skip
        self.inputs, self.network, self.head = inputs, network, head
        self.unit_length, self.user_network = unit_length, user_network

    def features_and_outputs(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and outputs of pictures, in full precision."""
        with casting_of(self.inputs.settings)():
            features = self.network(pictures)
            output = self.head(features)
        output = full_precision(output)
        if self.unit_length:
            library = require("torch", extra="train", purpose="A network on pictures")
            output = library.nn.functional.normalize(output, dim=-1)
        return full_precision(features), output

    def mode(self) -> AbstractContextManager[None]:
        """Return the context of a reading: what an own network keeps of it must be of use to a training."""
        library = require("torch", extra="train", purpose="A network on pictures")
        manager: AbstractContextManager[None] = library.no_grad() if self.user_network else library.inference_mode()
        return manager

    def parts(self, inputs: NDArray[np.uint8]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield features and outputs of pictures, a part of them at a time.

        Network and head have to be in evaluation mode.
        """
        number = min(at_once(*inputs.shape[1:3]), at_once(*self.inputs.view.sides))
        for start in range(0, len(inputs), number):
            with self.mode():
                part = self.features_and_outputs(self.inputs.network_inputs(inputs[start : start + number]))
            yield part


def full_precision(output: torch.Tensor) -> torch.Tensor:
    """Return float32 for what was computed in fewer bits."""
    return output.float() if output.element_size() < 4 else output


def at_once(height: int, width: int) -> int:
    """Return how many pictures of a size are read at once."""
    return min(AT_ONCE, max(PIXELS // (height * width), 1))
