"""A generator: any torch module that turns latent vectors into pictures, with the prior that its latents come from.

A StyleGAN is one too, searched in z or in w, the space that its mapping leads to.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    describe_error,
    require,
    unknown_name,
)

if TYPE_CHECKING:
    import torch


Bytes = NDArray[np.uint8]
PIXELS = (0.0, 1.0)
# Beyond its range by this share of it a picture was declared wrongly, and not rounded.
SLACK = 0.01


def check_module(module: object, what: str) -> None:
    """Refuse what is no torch module."""
    torch = require("torch", extra="train", purpose=f"A {what}")
    if not isinstance(module, torch.nn.Module):
        raise BadInput(
            f"The {what} is of the type {type(module).__name__}", available="a torch.nn.Module",
            help="wrap a function in a small module whose forward calls it.",
        )  # fmt: skip


@contextmanager
def user_code(failure: str, *, available: str, help: str = "") -> Iterator[None]:
    """Refuse whatever somebody else's code stumbles over; what is refused already, and a full memory, pass."""
    torch = require("torch", extra="train", purpose="Discovery")
    try:
        yield
    except (BadInput, torch.OutOfMemoryError):
        raise
    except Exception as error:  # another's code may stumble in any way
        raise BadInput(f"{failure} ({describe_error(error)})", available=available, help=help) from error


def device_of(module: torch.nn.Module, declared_device: torch.device | None, what: str) -> Any:
    """Return the one device a module is on; the wanted one where it has no weights at all."""
    torch = require("torch", extra="train", purpose=f"A {what}")
    devices = {tensor.device for tensor in _tensors(module)}
    if len(devices) > 1:
        raise BadInput(
            f"The {what} is on several devices ({', '.join(sorted(map(str, devices)))})", available="one device"
        )
    if not devices:
        return declared_device or torch.device("cpu")
    device: Any = devices.pop()
    if declared_device is not None and (
        device.type != declared_device.type or declared_device.index not in (None, device.index)
    ):
        # A classifier declares nothing: it follows the pictures.
        declared = what != "classifier"
        raise BadInput(
            f"The {what} is on {device}, {'it was declared' if declared else 'the pictures are'} on {declared_device}",
            available="one device for all networks",
            help=f"move it (module.to({str(declared_device)!r}))"
            + (
                f" or declare device={str(device)!r}."
                if declared
                else f", or the generator to {str(device)!r} (--device {device.type})."
            ),
        )
    return device


def frozen(module: torch.nn.Module) -> torch.nn.Module:
    """Put a module into evaluation without gradients of its weights, channels last: in place, nothing is copied."""
    torch = require("torch", extra="train", purpose="A frozen module")
    module.eval().requires_grad_(False)
    # torch lays out every tensor of rank 4 or 5 then, and refuses those of rank 5.
    if all(tensor.ndim != 5 for tensor in _tensors(module)):
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload, unused-ignore]
    return module


def number_kind(module: torch.nn.Module) -> Any:
    """Return the kind of number a module computes with."""
    torch = require("torch", extra="train", purpose="A module")
    return next((tensor.dtype for tensor in _tensors(module) if tensor.is_floating_point()), torch.get_default_dtype())


def _tensors(module: torch.nn.Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


Prior = str | Callable[[int, Any], Any]
PRIORS = ("normal", "uniform")
OWN_PRIOR = "a function of a number and a torch.Generator that returns a tensor [number, latent_size]"
PICTURE = 4
# Latents that say where the middle of a prior is.
MIDDLE = 1000


@dataclass(frozen=True, eq=False)
class Generator:
    """Latents ``[n, latent_size]`` to pictures ``[n, C, H, W]``; the module is frozen and put into evaluation mode.

    ``prior`` is "normal", "uniform" (on [0, 1)) or, for a space that latents are mapped to first, a function of a
    number and a ``torch.Generator`` that returns so many latents. ``image`` is the (C, H, W) its pictures must have.
    """

    module: Any
    latent_size: int
    prior: Prior = "normal"
    device: Any = "cpu"
    image: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        torch = require("torch", extra="train", purpose="Discovery")
        if self.latent_size < 1:
            raise BadInput(f"The latent size is {self.latent_size}", available="a whole number from 1 on")
        if not callable(self.prior) and self.prior not in PRIORS:
            raise BadInput(
                f"Unknown prior {self.prior!r}",
                available=f"{', '.join(PRIORS)}, or a function of a number and a torch.Generator",
            )
        check_module(self.module, "generator")
        object.__setattr__(self, "device", device_of(self.module, torch.device(self.device), "generator"))
        frozen(self.module)

    @property
    def kind(self) -> Any:
        """Return the kind of number that the module computes with."""
        return number_kind(self.module)

    def sample(self, number: int, seed: int) -> Any:
        """Draw latents ``[number, latent_size]`` from the prior; a seed gives the same ones on every device."""
        torch = require("torch", extra="train", purpose="Discovery")
        return self.draw(number, torch.Generator().manual_seed(seed))

    def draw(self, number: int, random: Any) -> Any:
        """Draw the next latents ``[number, latent_size]`` of a stream (a ``torch.Generator`` of the processor)."""
        torch = require("torch", extra="train", purpose="Discovery")
        if callable(self.prior):
            drawn = self._mapped(number, random)
        else:
            draw = torch.randn if self.prior == "normal" else torch.rand
            drawn = draw(number, self.latent_size, generator=random)
        if tuple(drawn.shape) != (number, self.latent_size):
            raise BadInput(
                f"The prior returned latents of the shape {list(drawn.shape)}",
                available=f"the shape [{number}, {self.latent_size}]",
            )
        if not bool(drawn.isfinite().all()):
            raise BadInput("The prior returned latents that are not finite", available="finite numbers")
        return drawn.to(self.device, self.kind)

    def _mapped(self, number: int, random: Any) -> Any:
        """Draw latents by a prior that is a function of somebody else's."""
        torch = require("torch", extra="train", purpose="Discovery")
        assert callable(self.prior)
        with user_code(f"The prior could not draw {number} latents", available=OWN_PRIOR), torch.no_grad():
            drawn = self.prior(number, random)
        if not isinstance(drawn, torch.Tensor):
            raise BadInput(f"The prior returned a {type(drawn).__name__}", available=OWN_PRIOR)
        return drawn

    def images(self, latents: Any) -> Any:
        """Return the pictures ``[n, C, H, W]`` of latents, checked."""
        pictures = self.generate(latents)
        self.check(pictures, len(latents))
        return pictures

    def generate(self, latents: Any) -> Any:
        """Return what the module makes of latents as it is: a search looks at it only where something is wrong."""
        with user_code(
            f"The generator cannot read latents of {list(latents.shape)}",
            available="a module that takes [n, latent_size]",
            help="check latent_size; wrap a module that expects another shape.",
        ):
            return self.module(latents.to(self.kind))

    def middle(self, seed: int) -> NDArray[np.float64]:
        """Return the middle of the prior, as so many latents say it."""
        values: NDArray[np.float64] = self.sample(MIDDLE, seed).double().mean(0).cpu().numpy()
        return values

    def check(self, pictures: Any, number: int) -> None:
        """Refuse what are no pictures: another shape, another device, numbers that are not finite."""
        torch = require("torch", extra="train", purpose="Discovery")
        shape = list(getattr(pictures, "shape", ()))
        if not isinstance(pictures, torch.Tensor) or len(shape) != PICTURE or shape[0] != number:
            given = f"of the shape {shape}" if isinstance(pictures, torch.Tensor) else f"a {type(pictures).__name__}"
            raise BadInput(
                f"The generator returned {given} for {number} latents",
                available=f"pictures [{number}, channels, height, width]",
                help="wrap it in a small module that reshapes its output.",
            )
        if self.image is not None and tuple(shape[1:]) != tuple(self.image):
            raise BadInput(
                f"The generator returned pictures of {_times(shape[1:])}",
                available=f"{_times(self.image)}, as declared",
            )
        if pictures.device != self.device:
            raise BadInput(
                f"The generator returned pictures on {str(pictures.device)!r} and lies on {str(self.device)!r} itself",
                available="one device for weights, latents and pictures",
            )
        # One sum tells whether a number is missing, without a mask as large as the pictures.
        if not bool(pictures.detach().sum().isfinite()) and not bool(pictures.detach().isfinite().all()):
            raise BadInput(
                "The generator returned pictures with numbers that are NaN or infinite",
                available="finite pictures",
                help="check its weights, and that its prior is the one it was trained with.",
            )


def _times(shape: Any) -> str:
    return " x ".join(map(str, shape))


Space = Literal["z", "w"]
# A search compares pictures of neighbouring latents: noise that is drawn anew each time would count as a difference.
Noise = Literal["const", "none"]
INTERFACE = (
    "a network as StyleGAN2 and StyleGAN3 publish it: z_dim, w_dim, num_ws, c_dim, mapping(z, c, truncation_psi=...) "
    "to [n, num_ws, w_dim], and synthesis(ws, noise_mode=...) to pictures in [-1, 1]"
)
SIZES = {"z_dim": 1, "w_dim": 1, "num_ws": 1, "c_dim": 0}
# Pictures go a little beyond [-1, 1]; where more than half of the numbers are beyond this, they are on another scale.
FAR = 2.0
TRIED = 2


def style_generator(
    network: Any, *, space: Space = "w", truncation: float = 1.0, label: int | None = None, device: Any = "cpu",
    noise: Noise = "const",
) -> Generator:  # fmt: skip
    """Return the generator of a style network: latents are z (prior: normal) or w (prior: z, mapped).

    One w goes to all layers. ``truncation`` (psi) draws w towards its mean, and 1 leaves it; ``label`` is the class
    that a network with classes draws. Pictures are brought to [0, 1]. The network is frozen in place.
    """
    torch = require("torch", extra="train", purpose="A style space")
    check_module(network, "style network")
    _check_interface(network)
    _check_choices(space, truncation, noise)
    module = _styled_kind()(network, space, float(truncation), noise, _checked_label(network, label))
    place = device_of(module, torch.device(device), "style network")
    generator = Generator(
        module,
        network.z_dim if space == "z" else network.w_dim,
        "normal" if space == "z" else partial(_mapped, module, place),
        device=place,
    )
    _try(generator, network)
    return generator


@cache
def _styled_kind() -> Any:
    torch = require("torch", extra="train", purpose="A style space")

    class Styled(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        """From latents to pictures in [0, 1]."""

        def __init__(self, network: Any, space: str, truncation: float, noise: str, label: int | None) -> None:
            super().__init__()
            self.network, self.space, self.truncation, self.label = network, space, truncation, label
            self.options = {"noise_mode": noise} | _exact(network.synthesis)

        def styles(self, z: Any) -> Any:
            """Return what the layers are given for z: ``[n, num_ws, w_dim]``."""
            classes = None
            if self.label is not None:
                classes = z.new_zeros(len(z), self.network.c_dim)
                classes[:, self.label] = 1.0
            return self.network.mapping(z, classes, truncation_psi=self.truncation)

        def pictures(self, styles: Any) -> Any:
            """Return the network's own pictures, in [-1, 1]."""
            return self.network.synthesis(styles, **self.options)

        def forward(self, latents: Any) -> Any:
            w = self.space == "w"
            styles = latents[:, None].repeat(1, self.network.num_ws, 1) if w else self.styles(latents)
            # Cut off as where such pictures are saved: a classifier has seen nothing beyond.
            return ((self.pictures(styles) + 1) / 2).clamp(0, 1)

    return Styled


def _mapped(module: Any, place: Any, number: int, random: Any) -> Any:
    """Draw w: the mapping's answer to z of a normal."""
    torch = require("torch", extra="train", purpose="A style space")
    z = torch.randn(number, module.network.z_dim, generator=random)
    return module.styles(z.to(place, number_kind(module)))[:, 0]


def _exact(synthesis: Any) -> dict[str, bool]:
    """Ask for float32 throughout, where the network can be asked: slopes in half precision vanish."""
    asked = inspect.signature(getattr(synthesis, "forward", synthesis)).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in asked.values())
    return {"force_fp32": True} if anything or "force_fp32" in asked else {}


def _check_interface(network: Any) -> None:
    absent = [name for name in (*SIZES, "mapping", "synthesis") if not hasattr(network, name)]
    if absent:
        raise BadInput(
            f"The style network, of the type {type(network).__name__}, has no {', '.join(absent)}", available=INTERFACE,
            help="any other generator is a Generator(module, latent_size).",
        )  # fmt: skip
    for name, least in SIZES.items():
        value = getattr(network, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BadInput(f"{name} of the style network is {value!r}", available=f"a whole number from {least} on")
    for name in ("mapping", "synthesis"):
        if not callable(getattr(network, name)):
            raise BadInput(f"{name} of the style network cannot be called", available=INTERFACE)


def _check_choices(space: str, truncation: float, noise: str) -> None:
    if space not in get_args(Space):
        raise unknown_name("space", str(space), get_args(Space), "a style network")
    if not (isinstance(truncation, int | float) and math.isfinite(truncation) and truncation > 0):
        raise BadInput(f"The truncation is {truncation!r}", available="a number above 0; 1 is none, StyleGAN shows 0.7")
    if noise not in get_args(Noise):
        raise BadInput(
            f"The noise is {noise!r}", available=" or ".join(get_args(Noise)),
            help="noise that changes with every picture would be mistaken for the classifier's reaction.",
        )  # fmt: skip


def _checked_label(network: Any, label: int | None) -> int | None:
    number = network.c_dim
    if number == 0:
        if label is not None:
            raise BadInput(f"label is {label!r}, and the style network has no classes", help="leave out label.")
        return None
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < number:
        raise BadInput(
            f"The style network generates {number} classes, and label is {label!r}", available=f"0 to {number - 1}",
            help=f"name the class to generate: label=0, up to label={number - 1}.",
        )  # fmt: skip
    return label


def _try(generator: Generator, network: Any) -> None:
    """Ask for two pictures, so that what does not fit is said before a search begins."""
    torch = require("torch", extra="train", purpose="A style space")
    z = torch.randn(TRIED, network.z_dim, generator=torch.Generator().manual_seed(0))
    with user_code("The style network failed to generate pictures", available=INTERFACE), torch.no_grad():
        styles = generator.module.styles(z.to(generator.device, generator.kind))
        wanted = [TRIED, network.num_ws, network.w_dim]
        if list(styles.shape) != wanted:
            raise BadInput(f"mapping gave styles of the shape {list(styles.shape)}", available=f"the shape {wanted}")
        pictures = generator.module.pictures(styles)
    generator.check(pictures, TRIED)
    if float((pictures.abs() > FAR).double().mean()) > 0.5:
        raise BadInput(
            f"The style network gave pictures from {float(pictures.min()):.3g} to {float(pictures.max()):.3g}",
            available="pictures in [-1, 1]",
            help="wrap it in a module whose synthesis rescales them.",
        )


def as_bytes(images: Any, pixels: tuple[float, float] = PIXELS) -> Bytes:
    """Return generated pictures ``[n, C, H, W]`` as real ones are kept, uint8 ``[n, H, W, C]``."""
    scaled = as_shares(images, pixels).permute(0, 2, 3, 1)
    made: Bytes = (scaled * 255).round().cpu().numpy().astype(np.uint8)
    return made


def as_shares(images: Any, pixels: tuple[float, float]) -> Any:
    """Return generated pictures with black at 0 and white at 1; those out of their declared range are refused."""
    low, high = pixels
    scaled = (images.float() - low) / (high - low)
    least, most = (float(one) for one in scaled.detach().aminmax())
    if least < -SLACK or most > 1 + SLACK:
        raise BadInput(
            f"The generator's pictures range from {least * (high - low) + low:.3g} to {most * (high - low) + low:.3g}",
            available=f"{low:g} (black) to {high:g} (white), as declared",
            help="declare their range: pixels=(-1, 1), for instance, or --pixels -1,1.",
        )
    return scaled.clamp(0.0, 1.0)
