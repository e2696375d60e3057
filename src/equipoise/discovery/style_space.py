"""Style spaces: a StyleGAN as a generator, searched in z or in w, the space that its mapping leads to.

The network has what StyleGAN2 and StyleGAN3 publish: ``z_dim``, ``w_dim``, ``num_ws``, ``c_dim``, ``mapping(z, c,
truncation_psi=...)`` to ``[n, num_ws, w_dim]`` and ``synthesis(ws, noise_mode=...)`` to pictures in [-1, 1]. Its files
are pickles and are never read here: whoever has one builds the network and hands it over.
"""

from __future__ import annotations

import inspect
import math
from functools import cache, partial
from typing import Any, Literal, get_args

from equipoise.discovery.generator import Generator
from equipoise.discovery.modules import check_module, device_of, number_kind, others_code
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.imports import require

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
    with others_code("The style network failed to generate pictures", available=INTERFACE), torch.no_grad():
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
