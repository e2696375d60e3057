"""What a found direction is compared with: directions by chance, a generator's axes, its main and its calm directions.

In ten dimensions a random direction has a cosine of about 0.26 to any given one, and one drawn orthogonally to target
and known normals beats many a method by that alone: a method works where it beats ``random_orthogonal_directions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.discovery.hessian import drawn_signs, hessian_penalty
from equipoise.discovery.hyperplane import Hyperplane, basis_of
from equipoise.discovery.slopes import chunk_for, predicted
from equipoise.discovery.variation import variation_loss
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream
from equipoise.training.adam import StackedAdam


def random_directions(size: int, number: int, seed: int, centre: ArrayLike | None = None) -> tuple[Hyperplane, ...]:
    """Return directions drawn evenly from the sphere, their planes through the centre (the origin unless told)."""
    return random_orthogonal_directions(size, number, seed, (), centre)


def random_orthogonal_directions(
    size: int, number: int, seed: int, away: Sequence[Hyperplane], centre: ArrayLike | None = None
) -> tuple[Hyperplane, ...]:
    """Return directions drawn evenly from those that are orthogonal to some normals, such as target and known ones."""
    rows = basis_of(away, size)
    if len(rows) >= size:
        raise BadInput(
            f"{len(rows)} normals leave no direction of {size} dimensions", available="fewer normals than dimensions"
        )
    drawn = stream(seed, "random directions").normal(size=(number, size))
    drawn -= (drawn @ rows.T) @ rows
    middle = np.zeros(size) if centre is None else centre
    return tuple(Hyperplane(f"random {place + 1}", one).moved_through(middle) for place, one in enumerate(drawn))


def axes(size: int, centre: ArrayLike | None = None) -> tuple[Hyperplane, ...]:
    """Return the latent dimensions themselves, which a disentangled VAE takes for attributes."""
    middle = np.zeros(size) if centre is None else centre
    return tuple(Hyperplane(f"axis {place}", row).moved_through(middle) for place, row in enumerate(np.eye(size)))


def pca_directions(
    generator: Generator, number: int, seed: int, *, samples: int = 2000, chunk: int | None = None
) -> tuple[Hyperplane, ...]:
    """Return the directions of the pictures' principal components (GANSpace, Härkönen et al. 2020).

    The latents are regressed on the components' scores: a direction is what a component changes in the latent.
    """
    torch = require("torch", extra="train", purpose="Principal components")
    latents = generator.sample(samples, seed)
    with torch.no_grad():
        parts = [generator.images(part).flatten(1) for part in latents.split(chunk_for(generator, chunk))]
    pixels = torch.cat(parts).double()
    most = min(samples - 1, pixels.shape[1])
    if not 1 <= number <= min(most, generator.latent_size):
        raise BadInput(
            f"{number} principal components were requested", available=f"1 to {min(most, generator.latent_size)}"
        )
    left, values, _ = torch.linalg.svd(pixels - pixels.mean(0), full_matrices=False)
    # The scores are orthogonal, so the regression is a product.
    z = latents.double()
    moved = ((left * values).T @ (z - z.mean(0)))[:number].cpu().numpy()
    middle = z.mean(0).cpu().numpy()
    return tuple(Hyperplane(f"component {place + 1}", row).moved_through(middle) for place, row in enumerate(moved))


def lowest(
    generator: Generator, classifier: Classifier, planes: Sequence[Hyperplane], *, alphas: ArrayLike, seed: int,
    latents: int = 128, chunk: int | None = None,
) -> tuple[Hyperplane, tuple[float, ...]]:  # fmt: skip
    """Return the plane with the lowest L_V, and the loss of each: how a baseline chooses among its directions."""
    if not planes:
        raise BadInput("There is no direction to choose from", available="at least one")
    drawn = generator.sample(latents, seed).double()
    losses = [
        float(variation_loss(predicted(generator, classifier, plane.traverse(drawn, alphas), chunk)))
        for plane in planes
    ]  # fmt: skip
    return planes[int(np.argmin(losses))], tuple(losses)


def hessian_directions(
    generator: Generator, number: int, seed: int, *, steps: int = 200, batch: int = 8, rate: float = 0.01
) -> tuple[Hyperplane, ...]:
    """Return orthogonal directions that change the picture without changing what each other does (Hessian penalty)."""
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    if not 2 <= number <= generator.latent_size:
        raise BadInput(
            f"{number} directions were requested",
            available=f"2 to {generator.latent_size}: a single one interacts with no other",
        )
    start = stream(seed, "Hessian start").normal(size=(generator.latent_size, number))
    raw = torch.tensor(start, dtype=torch.float64, device=generator.device, requires_grad=True)
    optimiser = StackedAdam([raw], rate)
    draws = torch.Generator().manual_seed(int(stream(seed, "Hessian draws").integers(2**31)))

    def pictures(moved: Any) -> Any:
        return generator.module(moved.to(generator.kind)).double()

    for _ in range(steps):
        basis = torch.linalg.qr(raw).Q.T
        latents = generator.draw(batch, draws).double()
        signs = drawn_signs(number, draws).to(generator.device)
        penalty: Any = hessian_penalty(pictures, latents, basis, signs)
        penalty.backward()
        optimiser.step()
    rows = torch.linalg.qr(raw.detach()).Q.T.cpu().numpy()
    middle = generator.middle(seed)
    return tuple(Hyperplane(f"calm {place + 1}", row).moved_through(middle) for place, row in enumerate(rows))
