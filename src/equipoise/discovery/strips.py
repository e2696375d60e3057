"""Strips: a few latents walked along a direction, as pictures with the probability under each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.investigation import Strip
from equipoise.discovery.slopes import chunk_for, predicted
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream

# A sigmoid or a tanh may be beyond its ends by a rounding.
SLACK = 0.01
COLOURS = 3


@dataclass(frozen=True, eq=False)
class Strips:
    """What every strip of an investigation shares: the same latents, the same steps, the same black and white."""

    generator: Generator
    classifier: Classifier
    latents: Any
    alphas: tuple[float, ...]
    black: float
    white: float
    chunk: int | None = None

    def along(self, plane: Hyperplane) -> tuple[Strip, ...]:
        """Return a strip for each latent; none where there are no latents."""
        if not len(self.latents):
            return ()
        moved = plane.traverse(self.latents, self.alphas)
        p = predicted(self.generator, self.classifier, moved, self.chunk).cpu().numpy()
        pictures = _bytes(_pictures(self.generator, moved.flatten(0, 1), self.chunk), self.black, self.white)
        pictures = pictures.reshape(*p.shape, *pictures.shape[1:])
        return tuple(Strip(pictures[:, place], p[:, place]) for place in range(p.shape[1]))


def strips_of(
    generator: Generator, classifier: Classifier, *, number: int, pictures: int, ends: Sequence[float], seed: int,
    chunk: int | None = None,
) -> Strips:  # fmt: skip
    """Draw latents for strips of so many pictures, from the first of the ends to the last; a chunk of them at once."""
    if number < 0 or pictures < 2:
        raise BadInput(
            f"{number} strips of {pictures} pictures were requested", available="strips of 2 pictures or more"
        )
    latents = generator.sample(max(number, 1), int(stream(seed, "strips").integers(2**31))).double()
    black, white = _ends(_pictures(generator, latents, chunk))
    alphas = tuple(np.linspace(ends[0], ends[-1], pictures).tolist())
    return Strips(generator, classifier, latents[:number], alphas, black, white, chunk)


def _pictures(generator: Generator, latents: Any, chunk: int | None) -> Any:
    torch = require("torch", extra="train", purpose="Discovery")
    with torch.no_grad():
        return torch.cat([generator.images(part).cpu() for part in latents.split(chunk_for(generator, chunk))])


def _ends(pictures: Any) -> tuple[float, float]:
    """Return what is black and what is white: 0 and 1, -1 and 1, or the darkest and the brightest number."""
    low, high = float(pictures.min()), float(pictures.max())
    if high > 1 + SLACK or low < -1 - SLACK:
        return low, high
    return (-1.0 if low < -SLACK else 0.0), 1.0


def _bytes(pictures: Any, black: float, white: float) -> NDArray[np.uint8]:
    """Return pictures as uint8 ``[n, height, width, channel]`` of one channel or three."""
    shown = pictures[:, : COLOURS if pictures.shape[1] >= COLOURS else 1]
    made: NDArray[np.uint8] = (
        ((shown.double() - black) / (white - black)).clamp(0, 1).mul(255).round().byte().permute(0, 2, 3, 1).numpy()
    )
    return made
