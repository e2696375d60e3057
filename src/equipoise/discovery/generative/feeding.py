"""Pictures for a training: any array, or what draws them when they are asked for, batch by batch on the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.generative.settings import GANSettings, Report, Stand, VAESettings
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream

if TYPE_CHECKING:
    import torch

SIDE = 64
# Arrays up to this many bytes are laid on a graphics card as a whole.
LARGEST = 16 * 2**30


class Pictures(Protocol):
    """uint8 ``[row, 64, 64, channel]``: an array, or what makes the pictures of given rows, such as SpritePictures."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of pictures, then what one picture has."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The kind of number."""
        ...

    def __getitem__(self, rows: Any, /) -> NDArray[np.uint8]: ...


def check_pictures(pictures: Pictures) -> None:
    """Refuse what is no set of pictures of 64 x 64."""
    shape = tuple(pictures.shape)
    fits = len(shape) == 4 and shape[0] > 0 and shape[1:3] == (SIDE, SIDE) and shape[3] in (1, 3)
    if not fits or pictures.dtype != np.uint8:
        raise BadInput(
            f"The pictures are {pictures.dtype} of the shape {shape}",
            available=f"uint8 [row, {SIDE}, {SIDE}, channel] of 1 or 3 channels",
            help=f"read them with resize={SIDE}.",
        )


def check_device(device: str) -> None:
    """Refuse a graphics card that is not there, before anything is built."""
    torch = require("torch", extra="train", purpose="Training a generator")
    if device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available()):
        raise BadInput(
            f"The device {device!r} is not available", available="cpu, or cuda where torch sees a graphics card"
        )


class Feed:
    """Batches drawn with repetition by a seed: the same whatever the device."""

    def __init__(self, pictures: Pictures, settings: VAESettings | GANSettings) -> None:
        check_pictures(pictures)
        check_device(settings.device)
        self.torch = require("torch", extra="train", purpose="Training a generator")
        self.pictures, self.size, self.device = laid_on(pictures, settings.device), settings.batch_size, settings.device
        self.order = stream(settings.seed, "batches of a generator")
        self.rows, self.channels = int(pictures.shape[0]), int(pictures.shape[3])

    def __call__(self) -> torch.Tensor:
        """Return the next batch as the network takes it."""
        return taken(self.pictures, self.order.integers(0, self.rows, self.size), self.device)


class Laid:
    """An array of pictures on a graphics card: a batch is gathered there, and no pixel travels."""

    def __init__(self, pictures: NDArray[np.uint8], device: str) -> None:
        self.torch = require("torch", extra="train", purpose="Training a generator")
        self.shape, self.dtype, self.host = tuple(pictures.shape), pictures.dtype, pictures
        self.pixels = self.torch.from_numpy(np.ascontiguousarray(pictures)).to(device)

    def __getitem__(self, rows: Any, /) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = self.host[rows]
        return found

    def drawn_on(self, rows: NDArray[np.int64], device: str) -> torch.Tensor:
        """Return the pictures of some rows as ``shown`` gives them."""
        found: torch.Tensor = self.pixels[sent(rows, device)]
        return found.permute(0, 3, 1, 2).to(self.torch.float32) / 255.0


def sent(values: NDArray[Any], device: str) -> torch.Tensor:
    """Send a small array to a device without waiting for what the device is doing."""
    library = require("torch", extra="train", purpose="Training")
    made: torch.Tensor = library.from_numpy(values)
    return made if device == "cpu" else made.pin_memory().to(device, non_blocking=True)


def laid_on(pictures: Pictures, device: str) -> Pictures:
    """Return an array that fits as one that lies on the graphics card; anything else as it is."""
    if device != "cpu" and isinstance(pictures, np.ndarray) and pictures.nbytes <= LARGEST:
        return Laid(pictures, device)
    return pictures


def taken(pictures: Pictures, rows: NDArray[np.int64], device: str) -> torch.Tensor:
    """Return the pictures of some rows as the network takes them, made on the device where they know how (drawn_on)."""
    drawn_on = getattr(pictures, "drawn_on", None)
    if drawn_on is not None and device != "cpu":
        found: torch.Tensor = drawn_on(rows, device)
        return found
    return shown(pictures[rows], device)


def shown(pictures: NDArray[np.uint8], device: str) -> torch.Tensor:
    """Return pictures as float32 ``[row, channel, 64, 64]`` of [0, 1], channels last in memory."""
    library = require("torch", extra="train", purpose="A generator")
    made: torch.Tensor = library.from_numpy(np.ascontiguousarray(pictures)).to(device)
    return made.permute(0, 3, 1, 2).to(library.float32) / 255.0


@contextmanager
def repeatable() -> Iterator[None]:
    """Let convolutions on a graphics card take the algorithms that give the same numbers each time."""
    torch = require("torch", extra="train", purpose="Training a generator")
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False):
        yield


class Stretch(Protocol):
    """How long a training is, and how often it tells of itself."""

    @property
    def steps(self) -> int:
        """The steps in all."""
        ...

    @property
    def report_every(self) -> int:
        """The steps between two reports."""
        ...


class Telling:
    """Sums losses on the device, and reports their means every so many steps: a read there would stop the device."""

    def __init__(self, settings: Stretch, report: Report | None) -> None:
        self.settings, self.report = settings, report
        self.stands: list[Stand] = []
        self.sums: dict[str, Any] = {}
        self.since = 0

    def __call__(self, step: int, losses: dict[str, torch.Tensor]) -> None:
        """Take in the losses of a step (they count from 1); stop where one is no longer finite."""
        for name, loss in losses.items():
            self.sums[name] = self.sums.get(name, 0.0) + loss.detach()
        self.since += 1
        if step % self.settings.report_every and step != self.settings.steps:
            return
        means = {name: float(value) / self.since for name, value in self.sums.items()}
        if not all(np.isfinite(list(means.values()))):
            raise BadInput(
                f"The losses are no longer finite numbers at step {step:,}: {means}",
                help="a lower learning_rate, or a lower strength.",
            )
        self.sums, self.since = {}, 0
        self.stands.append(Stand(step, self.settings.steps, means))
        if self.report is not None:
            self.report(self.stands[-1])
