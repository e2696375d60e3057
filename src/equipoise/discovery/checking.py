"""What is found out before any work is done: that settings count from 1, and that two networks fit together."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require

PICTURES = 2


def check_counts(settings: object, names: Sequence[str]) -> None:
    """Refuse settings that are no numbers of things."""
    for name in names:
        if getattr(settings, name) < 1:
            raise BadInput(f"{name} is {getattr(settings, name)}", allowed="at least 1")


def check_pair(generator: Generator, *classifiers: Classifier | None) -> None:
    """Refuse a generator and classifiers that do not fit, or a generator that draws noise of its own."""
    torch = require("torch", extra="train", purpose="Discovery")
    latents = generator.sample(PICTURES, seed=0)
    with torch.no_grad():
        images = generator.images(latents)
        again = generator.images(latents)
        if not torch.allclose(images, again, rtol=1e-3, atol=1e-4):
            raise BadInput(
                "The generator gave two different pictures for one latent", allowed="a picture that its latent decides",
                way_out="hold the module's own noise still (a StyleGAN: noise_mode='const').",
            )  # fmt: skip
        for classifier in classifiers:
            if classifier is not None:
                classifier.probabilities(images)
