"""What a search is compared with: of each baseline the direction with the lowest loss, chosen on the same latents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from equipoise.discovery.baselines import (
    axes,
    hessian_directions,
    lowest,
    pca_directions,
    random_directions,
    random_orthogonal_directions,
)
from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.discovery.hyperplane import Hyperplane, basis_of, without
from equipoise.discovery.objective import HESSIAN_LATENTS
from equipoise.discovery.search import SearchSettings
from equipoise.foundation.reproducibility import stream

# Each baseline has as many directions to choose from, and no more than this.
MOST_CANDIDATES = 32
CHOSEN_ON = 32
# Steps of the Hessian penalty: those of the search, and no more than this.
HESSIAN_STEPS = 200
# Principal components: numbers that are looked at together, at ease and at most (float64), and pictures.
AT_EASE, AT_MOST = 2**21, 2**26
FEW_PICTURES, MOST_PICTURES = 256, 2000


def candidates(size: int) -> int:
    """Return how many directions each baseline chooses from."""
    return min(size, MOST_CANDIDATES)


def baseline_directions(
    generator: Generator, named: Sequence[Hyperplane], settings: SearchSettings
) -> dict[str, Callable[[], tuple[Hyperplane, ...]]]:
    """Return what makes each baseline's directions; what the latent space has no room for is left out."""
    size = generator.latent_size
    number, seed = candidates(size), int(stream(settings.seed, "baselines").integers(2**31))
    centre, pixels = generator.middle(seed), _pixels(generator)
    made: dict[str, Callable[[], tuple[Hyperplane, ...]]] = {
        "axes": lambda: _some(axes(size, centre), number, seed),
        "pca": lambda: pca_directions(
            generator, min(number, pixels), seed, samples=_pictures(pixels, number), chunk=settings.chunk
        ),
        "hessian": lambda: hessian_directions(
            generator,
            number,
            seed,
            steps=min(settings.steps, HESSIAN_STEPS),
            batch=min(HESSIAN_LATENTS, settings.chunk or HESSIAN_LATENTS),
        ),
        "random": lambda: random_directions(size, number, seed, centre),
        "random orthogonal": lambda: random_orthogonal_directions(size, number, seed + 1, named, centre),
    }
    if size < 2:
        del made["hessian"]
    if len(basis_of(named, size)) >= size:
        del made["random orthogonal"]
    return made


def chosen(
    generator: Generator, classifier: Classifier, planes: Sequence[Hyperplane], named: Sequence[Hyperplane],
    settings: SearchSettings,
) -> Hyperplane | None:  # fmt: skip
    """Return the direction with the lowest loss, less its part along target and known attributes.

    The latents are the same for every baseline. None where nothing is left of any direction.
    """
    seed = int(stream(settings.seed, "chosen on").integers(2**31))
    centre = generator.middle(seed)
    parts = [without(plane, named, centre) for plane in planes]
    planes = [part for part in parts if part is not None]
    if not planes:
        return None
    found, _ = lowest(
        generator, classifier, planes, alphas=settings.alphas, seed=seed, latents=CHOSEN_ON, chunk=settings.chunk
    )
    return found


def _some(planes: tuple[Hyperplane, ...], number: int, seed: int) -> tuple[Hyperplane, ...]:
    """Return all planes, or so many of them drawn by a seed."""
    if len(planes) <= number:
        return planes
    drawn = np.sort(stream(seed, "axes").choice(len(planes), number, replace=False))
    return tuple(planes[int(place)] for place in drawn)


def _pictures(pixels: int, number: int) -> int:
    """Return how many pictures so many principal components are taken of, so that they fit into memory."""
    wanted = max(AT_EASE // pixels, min(FEW_PICTURES, AT_MOST // pixels), 2 * number)
    return min(wanted, MOST_PICTURES)


def _pixels(generator: Generator) -> int:
    """Return how many numbers a picture has."""
    return int(np.prod(generator.images(generator.sample(1, 0)).shape[1:]))
