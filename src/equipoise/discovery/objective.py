"""What a search makes small, for a stack of hyperplanes: L = L_V + lambda L_perp (+ what was asked for besides)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.discovery.guard import Guard
from equipoise.discovery.hessian import drawn_signs, hessian_penalty
from equipoise.discovery.hyperplane import traversed
from equipoise.discovery.lowering import Precision, classifier_in, generator_in
from equipoise.discovery.slopes import linked, predicted, slopes
from equipoise.discovery.variation import orthogonality, total_variation, variation_loss
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

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
    others: torch.Tensor
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
        p = [predicted(self.generator, one, moved, self.chunk) for one in self._watched]
        return self._sum(normals, moved, p), p[0]

    @cached_property
    def _walked(self) -> tuple[Generator, list[Classifier]]:
        """Return the networks as the steps of a search ask them; what it ends with is asked of them as they are."""
        lowered = [classifier_in(self.precision, one) for one in self._watched]
        return generator_in(self.precision, self.generator), lowered

    @property
    def _watched(self) -> list[Classifier]:
        return [self.classifier] if self.reference is None else [self.classifier, self.reference]

    def _sum(self, units: torch.Tensor, moved: torch.Tensor, p: Any) -> torch.Tensor:
        inside = None if self.guard is None else self.guard.inside(moved.detach())
        total: torch.Tensor = variation_loss(p[0], inside)
        if self.weights.kind != "exact":
            total = total + self.weights.orthogonality * orthogonality(units, self.others, self.weights.kind)
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
        others = self.others
        if not len(others):
            drawn = _torch().randn(1, len(unit), generator=stream, dtype=unit.dtype).to(unit.device)
            others = drawn - (drawn @ unit.detach())[:, None] * unit.detach()
            others = others / others.norm(dim=-1, keepdim=True)
        basis = _torch().cat([unit[None], others])
        signs = drawn_signs(len(basis), stream).to(unit.device)

        def pictures(moved: torch.Tensor) -> torch.Tensor:
            images: torch.Tensor = self.generator.module(moved.to(self.generator.kind)).double()
            return images

        return hessian_penalty(pictures, latents, basis, signs)


def _torch() -> Any:
    return require("torch", extra="train", purpose="Discovery")
