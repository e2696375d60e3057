"""How generators are trained: settings, pictures fed batch by batch, and networks in one file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    TensorFile,
    describe_error,
    listing,
    require,
    stream,
)
from equipoise.training import StepProgress as StepProgress

if TYPE_CHECKING:
    import torch


Report = Callable[[StepProgress], None]


@dataclass(frozen=True)
class VAESettings:
    """Locatello et al.'s numbers (2019); ``strength`` is beta or lambda_od (None: the third value that they tried).

    ``width`` is that of the narrowest layer: 32 in paper 002, less for a small machine. They keep the learning rate as
    it is; with the schedule "cosine" it falls to 0 over the steps, which a short training gains by.
    """

    latent_size: int = 10
    steps: int = 300_000
    batch_size: int = 64
    learning_rate: float = 1e-4
    strength: float | None = None
    width: int = 32
    seed: int = 0
    device: str = "cpu"
    report_every: int = 1_000
    schedule: Literal["constant", "cosine"] = "constant"

    def __post_init__(self) -> None:
        _check(self, ("latent_size", "steps", "batch_size", "width", "report_every"), ("learning_rate",))
        if self.schedule not in ("constant", "cosine"):
            raise BadInput(f"schedule is {self.schedule!r}", available="constant, cosine")
        if self.strength is not None and not self.strength >= 0:
            raise BadInput(f"strength is {self.strength!r}", available="None, or a number of at least 0")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step (they count from 1)."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / self.steps))


@dataclass(frozen=True)
class GANSettings:
    """Radford et al.'s numbers (2016), with a running average of the generator's weights (0 for none)."""

    latent_size: int = 64
    steps: int = 20_000
    batch_size: int = 128
    learning_rate: float = 2e-4
    width: int = 64
    average: float = 0.999
    seed: int = 0
    device: str = "cpu"
    report_every: int = 500

    def __post_init__(self) -> None:
        _check(self, ("latent_size", "steps", "batch_size", "width", "report_every"), ("learning_rate",))
        if not 0 <= self.average < 1:
            raise BadInput(f"average is {self.average!r}", available="0 to below 1")


def as_plain(settings: VAESettings | GANSettings) -> dict[str, Any]:
    """Return settings as plain values for a file; where it was trained is no part of what it is."""
    return {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in NOT_STORED}


NOT_STORED = ("device", "report_every")


def _check(settings: object, whole: tuple[str, ...], positive: tuple[str, ...]) -> None:
    for name in whole:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadInput(f"{name} is {value!r}", available="a whole number of at least 1")
    for name in positive:
        if not getattr(settings, name) > 0:
            raise BadInput(f"{name} is {getattr(settings, name)!r}", available="a number above 0")


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
        return picture_batch(self.pictures, self.order.integers(0, self.rows, self.size), self.device)


class DevicePictures:
    """An array of pictures on a graphics card: a batch is gathered there, and no pixel travels."""

    def __init__(self, pictures: NDArray[np.uint8], device: str) -> None:
        self.torch = require("torch", extra="train", purpose="Training a generator")
        self.shape, self.dtype, self.host = tuple(pictures.shape), pictures.dtype, pictures
        self.pixels = self.torch.from_numpy(np.ascontiguousarray(pictures)).to(device)

    def __getitem__(self, rows: Any, /) -> NDArray[np.uint8]:
        values: NDArray[np.uint8] = self.host[rows]
        return values

    def drawn_on(self, rows: NDArray[np.int64], device: str) -> torch.Tensor:
        """Return the pictures of some rows as ``network_pictures`` gives them."""
        tensor: torch.Tensor = self.pixels[sent(rows, device)]
        return tensor.permute(0, 3, 1, 2).to(self.torch.float32) / 255.0


def sent(values: NDArray[Any], device: str) -> torch.Tensor:
    """Send a small array to a device without waiting for what the device is doing."""
    library = require("torch", extra="train", purpose="Training")
    tensor: torch.Tensor = library.from_numpy(values)
    return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def laid_on(pictures: Pictures, device: str) -> Pictures:
    """Return an array that fits as one that lies on the graphics card; anything else as it is."""
    if device != "cpu" and isinstance(pictures, np.ndarray) and pictures.nbytes <= LARGEST:
        return DevicePictures(pictures, device)
    return pictures


def picture_batch(pictures: Pictures, rows: NDArray[np.int64], device: str) -> torch.Tensor:
    """Return the pictures of some rows as the network takes them, made on the device where they know how (drawn_on)."""
    drawn_on = getattr(pictures, "drawn_on", None)
    if drawn_on is not None and device != "cpu":
        tensor: torch.Tensor = drawn_on(rows, device)
        return tensor
    return network_pictures(pictures[rows], device)


def network_pictures(pictures: NDArray[np.uint8], device: str) -> torch.Tensor:
    """Return pictures as float32 ``[row, channel, 64, 64]`` of [0, 1], channels last in memory."""
    library = require("torch", extra="train", purpose="A generator")
    tensor: torch.Tensor = library.from_numpy(np.ascontiguousarray(pictures)).to(device)
    return tensor.permute(0, 3, 1, 2).to(library.float32) / 255.0


@contextmanager
def repeatable() -> Iterator[None]:
    """Let convolutions on a graphics card take the algorithms that give the same numbers each time."""
    torch = require("torch", extra="train", purpose="Training a generator")
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False):
        yield


ENTRY = "equipoise.generative"
SHAPES_ALONE = "meta"
Networks = TypeVar("Networks")


def write_networks(
    path: str | os.PathLike[str],
    kind: TensorFile,
    description: Mapping[str, Any],
    networks: Mapping[str, torch.nn.Module],
) -> None:
    """Write networks by name."""
    kind.write(path, description, {f"{name}.{key}": value for name, network in networks.items()
                            for key, value in network.state_dict().items()})  # fmt: skip


def read_networks(
    path: str | os.PathLike[str], kind: TensorFile, build: Callable[[dict[str, Any], str], Networks],
    networks_of: Callable[[Networks], Mapping[str, torch.nn.Module]], device: str,
) -> Networks:  # fmt: skip
    """Build networks from what a file says, and fill them; one that is torn or of something else is refused.

    ``build`` is asked twice: first on the device "meta", where weights have a shape and take no room. So a file never
    makes more room be taken than it holds weights for, whatever its header says.
    """
    library = require("torch", extra="train", purpose=f"Reading a {kind.content}")
    where = Path(path)
    content, tensors = kind.read(where)
    try:
        with library.device(SHAPES_ALONE):
            expected = _weights(networks_of(build(content, SHAPES_ALONE)))
    except BadInput:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
        raise BadInput(
            f"{where.name} does not say how it was trained ({describe_error(error)})", available=kind.schema
        ) from error
    faults = _faults(expected, tensors)
    if faults:
        raise BadInput(f"The weights of {where.name} do not fit: {listing(faults, 6)}", help="train or copy it again.")
    networks = build(content, device)
    for name, network in networks_of(networks).items():
        network.load_state_dict({key: tensors[f"{name}.{key}"] for key in network.state_dict()})
    return networks


def counted(value: object, name: str) -> int:
    """Return a number of things that a file says; what does not count from 1 is no such number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}")
    return value


def _weights(networks: Mapping[str, torch.nn.Module]) -> dict[str, torch.Tensor]:
    return {f"{name}.{key}": value for name, network in networks.items() for key, value in network.state_dict().items()}


def _faults(expected: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Say which weights of a file are not those that networks have."""
    shared = [key for key in expected if key in tensors]
    same_kind = [key for key in shared if _are_same_kind(tensors[key].dtype, expected[key].dtype)]
    return [
        *(f"{key} is not in the file" for key in expected if key not in tensors),
        *(f"{key} is not in the networks" for key in tensors if key not in expected),
        *(f"{key} has the shape {list(tensors[key].shape)} and not {list(expected[key].shape)}"
          for key in shared if tensors[key].shape != expected[key].shape),
        *(f"{key} is {tensors[key].dtype} and not {expected[key].dtype}" for key in shared if key not in same_kind),
        *(f"{key} is not finite" for key in same_kind if not bool(tensors[key].isfinite().all())),
    ]  # fmt: skip


def _are_same_kind(found: torch.dtype, wanted: torch.dtype) -> bool:
    """Tell whether numbers become the wanted ones without becoming others; of one byte they are too coarse."""
    return bool(found == wanted or (found.is_floating_point and wanted.is_floating_point and found.itemsize > 1))
