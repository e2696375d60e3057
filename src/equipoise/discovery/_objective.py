"""What a search makes small, for a stack of hyperplanes: L = L_V + lambda L_perp (+ what was asked for besides)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equipoise.discovery._classifier import (
    Classifier,
    Precision,
    classifier_in,
    generator_in,
    linked,
    predicted,
    slopes,
)
from equipoise.discovery._hyperplane import traversed
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput, require

if TYPE_CHECKING:
    import torch


SHARE = 0.999
SAMPLES = 20_000


@dataclass(frozen=True, eq=False)
class Guard:
    """The middle of a prior, its spread, and how far its latents go."""

    mean: Any
    spread: Any
    limit: float

    def inside(self, latents: Any) -> Any:
        """Tell which latents ``[..., d]`` count."""
        return self.distance(latents) <= self.limit

    def distance(self, latents: Any) -> Any:
        """Return the standardised distance of latents ``[..., d]`` to the middle of the prior."""
        return (((latents - self.mean) / self.spread) ** 2).sum(-1).sqrt()


def guard_of(generator: Generator, seed: int, share: float = SHARE) -> Guard:
    """Measure a prior by a sample of it."""
    if not 0.5 <= share < 1.0:
        raise BadInput(f"A guard that keeps {share} of the prior was requested", available="from 0.5 to below 1")
    latents = generator.sample(SAMPLES, seed).double()
    spread = latents.std(0)
    if not bool((spread > 0).all()):
        raise BadInput(
            "One latent dimension of the prior is constant", available="a prior that varies in every dimension",
            help="leave that dimension out of the latent vector, or search without the guard.",
        )  # fmt: skip
    guard = Guard(latents.mean(0), spread, 0.0)
    return Guard(guard.mean, spread, float(guard.distance(latents).quantile(share)))


DRAWS = 2
STEP = 0.1


def hessian_penalty(
    function: Callable[[Any], Any], latents: torch.Tensor, basis: torch.Tensor, signs: torch.Tensor, step: float = STEP
) -> Any:
    """Return the penalty of a function at latents ``[n, d]`` in a basis ``[m, d]``, for signs ``[draw, m]``."""
    middle = function(latents)
    seconds = [
        (function(latents + step * move) - 2.0 * middle + function(latents - step * move)) / step**2
        for move in signs @ basis
    ]
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    return torch.stack(seconds).var(0).amax()


def random_signs(number: int, stream: torch.Generator, draws: int = DRAWS) -> Any:
    """Return signs -1 and 1, ``[draw, number]``, no two draws alike or opposite where that can be.

    Draws that are alike or opposite have the same second difference: they would say nothing.
    """
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    signs = 2.0 * torch.randint(2, (draws, number), generator=stream).double() - 1.0
    if number > 1 and draws == DRAWS and bool((signs[0] == signs[1]).all() | (signs[0] == -signs[1]).all()):
        signs[1, int(torch.randint(number, (1,), generator=stream))] *= -1.0
    return signs


TINY = 1e-10
VARIANTS = ("squared", "signed")


def steps_of(probabilities: Any) -> Any:
    """Return |p_{i+1} - p_i| as ``[..., N - 1, n]`` of probabilities ``[..., N, n]``."""
    return abs(probabilities[..., 1:, :] - probabilities[..., :-1, :])


def counted(inside: Any) -> Any:
    """Return which steps count ``[..., N - 1, n]``: those with both ends inside ``[..., N, n]``."""
    return inside[..., 1:, :] & inside[..., :-1, :]


def total_variation(probabilities: Any, inside: Any = None) -> Any:
    """Return the mean step of each latent, ``[..., n]``; a step that does not count is one of 0.

    It is not left out of the mean: otherwise a plane far out, of which few steps count, could have the largest.
    """
    steps = steps_of(probabilities)
    return (steps if inside is None else steps * counted(inside)).mean(-2)


def variation_loss(probabilities: Any, inside: Any = None) -> Any:
    """Return L_V of probabilities ``[..., N, n]``, as ``[...]``."""
    mean = total_variation(probabilities, inside).mean(-1) + TINY
    if hasattr(mean, "log"):
        return -mean.log()
    import numpy as np

    return -np.log(mean)


def orthogonality(normals: Any, others: Any, variant: str = "squared") -> Any:
    """Return L_perp of normals ``[..., d]`` to unit normals ``[k, d]``, as ``[...]``; 0 without others."""
    if variant not in VARIANTS:
        raise BadInput(f"Unknown orthogonality {variant!r}", available=" or ".join(VARIANTS))
    length = (normals * normals).sum(-1) ** 0.5
    if not len(others):
        return 0.0 * length
    cosines = (normals @ others.T) / length[..., None]
    return (cosines**2).mean(-1) if variant == "squared" else cosines.sum(-1)


# So many latents of a batch are looked at by the Hessian penalty, whose memory is not chunked.
HESSIAN_LATENTS = 8


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each term counts beside L_V."""

    orthogonality: float
    kind: str
    hessian: float
    reference: float


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of planes with normals ``[restart, d]`` and offsets ``[restart]``; the normals have any length."""

    generator: Generator
    classifier: Classifier
    alphas: tuple[float, ...]
    other_normals: torch.Tensor
    weights: Weights
    guard: Guard | None
    reference: Classifier | None
    chunk: int | None
    precision: Precision

    def loss(self, normals: torch.Tensor, offsets: torch.Tensor, latents: torch.Tensor, stream: Any) -> Any:
        """Return the loss of each plane, ``[restart]``, with gradients."""
        units = normals / normals.norm(dim=-1, keepdim=True)
        moved = traversed(latents, units, offsets, self.alphas)
        p, slope = slopes(*self._walked, moved, self.chunk)
        return self._sum(units, moved, linked(moved, p, slope)) + self._hessian(units, latents, stream)

    def value(self, normals: torch.Tensor, offsets: torch.Tensor, latents: torch.Tensor) -> tuple[Any, Any]:
        """Return the loss of each plane without gradients (and without the Hessian), and the probabilities."""
        moved = traversed(latents, normals, offsets, self.alphas)
        p = [predicted(self.generator, classifier, moved, self.chunk) for classifier in self._watched]
        return self._sum(normals, moved, p), p[0]

    @cached_property
    def _walked(self) -> tuple[Generator, list[Classifier]]:
        """Return the networks as the steps of a search ask them; what it ends with is asked of them as they are."""
        lowered = [classifier_in(self.precision, classifier) for classifier in self._watched]
        return generator_in(self.precision, self.generator), lowered

    @property
    def _watched(self) -> list[Classifier]:
        return [self.classifier] if self.reference is None else [self.classifier, self.reference]

    def _sum(self, units: torch.Tensor, moved: torch.Tensor, p: Any) -> torch.Tensor:
        inside = None if self.guard is None else self.guard.inside(moved.detach())
        total: torch.Tensor = variation_loss(p[0], inside)
        if self.weights.kind != "exact":
            total = total + self.weights.orthogonality * orthogonality(units, self.other_normals, self.weights.kind)
        if self.reference is not None:
            # The whole way that the reference's probability goes along a traversal, from 0 upwards.
            way = total_variation(p[1]).mean(-1) * (len(self.alphas) - 1)
            total = total + self.weights.reference * way
        return total

    def _hessian(self, units: torch.Tensor, latents: torch.Tensor, stream: Any) -> Any:
        if not self.weights.hessian:
            return 0.0
        few = latents[:HESSIAN_LATENTS]
        return self.weights.hessian * _torch().stack([self._interaction(unit, few, stream) for unit in units])

    def _interaction(self, unit: torch.Tensor, latents: torch.Tensor, stream: Any) -> Any:
        """Return how much a direction changes what the others do to the picture; a random one stands in for none."""
        others = self.other_normals
        if not len(others):
            random_direction = _torch().randn(1, len(unit), generator=stream, dtype=unit.dtype).to(unit.device)
            others = random_direction - (random_direction @ unit.detach())[:, None] * unit.detach()
            others = others / others.norm(dim=-1, keepdim=True)
        basis = _torch().cat([unit[None], others])
        signs = random_signs(len(basis), stream).to(unit.device)

        def pictures(moved: torch.Tensor) -> torch.Tensor:
            images: torch.Tensor = self.generator.module(moved.to(self.generator.kind)).double()
            return images

        return hessian_penalty(pictures, latents, basis, signs)


def _torch() -> Any:
    return require("torch", extra="train", purpose="Discovery")
