"""What is found out before any work is done: that settings count from 1, and that two networks fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require

PICTURES = 2
# A command line says how a classifier is read, and nothing of the reference beside it.
OWN_WORDS = (
    "give a Classifier, which declares how its output is read: Classifier(module, output=..., logits=True, size=..., "
    "resize=True)."
)


def check_counts(settings: object, names: Sequence[str]) -> None:
    """Refuse settings that are no numbers of things."""
    for name in names:
        if getattr(settings, name) < 1:
            raise BadInput(f"{name} is {getattr(settings, name)}", available="at least 1")


def check_pair(generator: Generator, classifier: Classifier, reference: Classifier | None = None) -> None:
    """Refuse a generator and classifiers that do not fit, or a generator that draws noise of its own."""
    torch = require("torch", extra="train", purpose="Discovery")
    latents = generator.sample(PICTURES, seed=0)
    with torch.no_grad():
        images = generator.images(latents)
        again = generator.images(latents)
        if not torch.allclose(images, again, rtol=1e-3, atol=1e-4):
            raise BadInput(
                "The generator returned two different pictures for one latent",
                available="a generator whose picture depends on the latent alone",
                help="fix the module's internal noise (a StyleGAN: noise_mode='const').",
            )  # fmt: skip
        classifier.probabilities(images)
        if reference is not None:
            _check_reference(reference, images)


def _check_reference(reference: Classifier, images: Any) -> None:
    """Refuse a reference in words of its own, for a classifier is at hand too."""
    try:
        reference.probabilities(images)
    except BadInput as error:
        of_reading = error.help.startswith("Classifier(")
        raise BadInput(
            error.given.replace("he classifier", "he reference"), available=error.available,
            help=OWN_WORDS if of_reading else error.help,
        ) from error  # fmt: skip
