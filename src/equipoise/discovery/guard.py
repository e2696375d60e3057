"""What a generator has seen: latents as far from the middle as its prior's own, and no further.

A traversal may leave the data: there a classifier's reaction says nothing about pictures that exist. A latent counts
where its standardised distance r to the prior's mean is at most that of 99.9 % of the prior's latents:
r(z)^2 = sum over dimensions of ((z - mean) / standard deviation)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput

if TYPE_CHECKING:
    from equipoise.discovery.generator import Generator

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
    drawn = generator.sample(SAMPLES, seed).double()
    spread = drawn.std(0)
    if not bool((spread > 0).all()):
        raise BadInput(
            "One latent dimension of the prior is constant", available="a prior that varies in every dimension",
            help="leave that dimension out of the latent vector, or search without the guard.",
        )  # fmt: skip
    guard = Guard(drawn.mean(0), spread, 0.0)
    return Guard(guard.mean, spread, float(guard.distance(drawn).quantile(share)))
