"""Probabilities and their slopes dp/dz for many latents, in chunks: weights are frozen, the loss is chained outside.

A picture's probability depends on its own latent alone, so one backward pass over a chunk gives every slope, and what a
loss makes of the probabilities costs nothing of the networks' memory. ``linked`` puts both together: a number with the
probability's value whose gradient with respect to the latent is its slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

# How many pictures go through the networks at once: what a processor's cache likes, what keeps a GPU busy.
CHUNKS = {"cpu": 64}
ON_A_DEVICE = 2048


def chunk_for(generator: Generator, chunk: int | None = None) -> int:
    """Return how many pictures to take at once."""
    if chunk is not None and chunk < 1:
        raise BadInput(f"A chunk of {chunk} pictures was requested", available="at least 1")
    return chunk or CHUNKS.get(generator.device.type, ON_A_DEVICE)


def predicted(generator: Generator, classifier: Classifier, latents: Any, chunk: int | None = None) -> Any:
    """Return the probability of each latent ``[..., d]``, without gradients, in float64."""
    torch = require("torch", extra="train", purpose="Discovery")
    flat = latents.reshape(-1, latents.shape[-1]).to(generator.kind)
    with torch.no_grad():
        parts = [
            classifier.probabilities(generator.drawn(part)) for part in flat.split(chunk_for(generator, chunk))
        ]  # fmt: skip
    p = torch.cat(parts).double().reshape(latents.shape[:-1])
    _check(generator, flat, p)
    return p


def slopes(
    generator: Generator, classifiers: Sequence[Classifier], latents: torch.Tensor, chunk: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return p ``[classifier, ...]`` and dp/dz ``[classifier, ..., d]`` of latents ``[..., d]``, in float64."""
    torch = require("torch", extra="train", purpose="Discovery")
    flat = latents.detach().reshape(-1, latents.shape[-1]).to(generator.kind)
    p = torch.empty(len(classifiers), len(flat), dtype=torch.float64, device=flat.device)
    slope = torch.zeros(*p.shape, flat.shape[-1], dtype=torch.float64, device=flat.device)
    size = chunk_for(generator, chunk)
    for start in range(0, len(flat), size):
        part = flat[start : start + size].requires_grad_()
        images = generator.drawn(part)
        for place, classifier in enumerate(classifiers):
            values = classifier.probabilities(images)
            p[place, start : start + size] = values.detach()
            if not values.requires_grad:  # it does not look at the picture
                continue
            (gradient,) = torch.autograd.grad(
                values.sum(), part, retain_graph=place + 1 < len(classifiers), materialize_grads=True
            )
            slope[place, start : start + size] = gradient
    _check(generator, flat, p)
    return p.reshape(-1, *latents.shape[:-1]), slope.reshape(-1, *latents.shape)


def linked(latents: torch.Tensor, p: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return p as a function of the latents to first order: the value of p, and dp/dz as its gradient."""
    return p + ((latents - latents.detach()) * slope).sum(-1)


def _check(generator: Generator, flat: torch.Tensor, p: torch.Tensor) -> None:
    """Refuse probabilities that are no numbers, and say whose fault they are."""
    broken = ~p.reshape(-1, len(flat)).isfinite().all(0)
    if not bool(broken.any()):
        return
    some = flat.detach()[broken][:1]
    generator.images(some)
    raise BadInput(
        f"The classifier returned NaN for {float(broken.double().mean()):.0%} of pictures that are finite",
        available="probabilities", help="check its weights and the range of pixels it was trained on.",
    )  # fmt: skip
