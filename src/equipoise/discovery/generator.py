"""A generator: any torch module that turns latent vectors into pictures, with the prior that its latents come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.modules import check_module, device_of, frozen, number_kind, others_code
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require

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
        with others_code(f"The prior could not draw {number} latents", available=OWN_PRIOR), torch.no_grad():
            drawn = self.prior(number, random)
        if not isinstance(drawn, torch.Tensor):
            raise BadInput(f"The prior returned a {type(drawn).__name__}", available=OWN_PRIOR)
        return drawn

    def images(self, latents: Any) -> Any:
        """Return the pictures ``[n, C, H, W]`` of latents, checked."""
        pictures = self.drawn(latents)
        self.check(pictures, len(latents))
        return pictures

    def drawn(self, latents: Any) -> Any:
        """Return what the module makes of latents as it is: a search looks at it only where something is wrong."""
        with others_code(
            f"The generator cannot read latents of {list(latents.shape)}",
            available="a module that takes [n, latent_size]",
            help="check latent_size; wrap a module that expects another shape.",
        ):
            return self.module(latents.to(self.kind))

    def middle(self, seed: int) -> NDArray[np.float64]:
        """Return the middle of the prior, as so many latents say it."""
        found: NDArray[np.float64] = self.sample(MIDDLE, seed).double().mean(0).cpu().numpy()
        return found

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
