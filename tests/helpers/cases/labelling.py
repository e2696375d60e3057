"""Real pictures for the loop: painted with noise that no generator made, a known patch and a known tint."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Cohort
from equipoise.discovery import Hyperplane, ProbeSettings, train_probe
from equipoise.discovery._reading import Probe
from equipoise.discovery.generative import Generator, as_bytes
from helpers.cases.discovery import SIDE, reader, torch

ROWS, TRAINED = 1600, 800
# A patch, a red tint, and seven patterns of stripes: in fewer dimensions random directions are much like any other.
LATENT = 9
PATCH, TINT = Hyperplane("patch", np.eye(LATENT)[0]), Hyperplane("tint", np.eye(LATENT)[1])
# Enough for an R2 of 0.9, in a few seconds.
QUICK = ProbeSettings(steps=300, width=8, batch=32, held_out=300)


class Wall(torch.nn.Module):  # type: ignore[misc]
    """Paint a patch, a tint, and stripes along and across, each by a latent of its own."""

    def __init__(self) -> None:
        super().__init__()
        paint = torch.zeros(LATENT, 3, SIDE, SIDE)
        paint[0, 1, 2:5, 2:5] = 2.0
        paint[1, 0] = 1.0
        for place in range(2, 6):
            paint[place, 2, place - 2 :: 4] = 1.0
        for place in range(6, LATENT):
            paint[place, 2, :, place - 6 :: 4] = 1.0
        self.register_buffer("paint", paint)

    def forward(self, latents: Any) -> Any:
        return torch.einsum("na,achw->nchw", latents, self.paint).sigmoid()


def wall() -> Generator:
    return Generator(Wall(), LATENT)


def painted(rows: int = ROWS, trained: int = TRAINED) -> Cohort:
    """Return a cohort whose true label is the patch with a little noise, and whose true tint is known."""
    generator, drawn = wall(), np.random.default_rng(5)
    latents = generator.sample(rows, 99)
    pictures = as_bytes(generator.images(latents)) + drawn.normal(0, 8, (rows, 8, 8, 3))
    z = latents.double().numpy()
    return Cohort(
        name="painted",
        columns={
            "image": np.clip(pictures.round(), 0, 255).astype(np.uint8),
            "patch": np.where(PATCH.distance(z) + 0.3 * drawn.normal(size=rows) > 0, "yes", "no"),
            "true tint": np.where(TINT.distance(z) > 0, "upper", "lower"),
            "split": np.repeat(["train", "test"], [trained, rows - trained]),
        },
        target="patch",
        groups=("true tint",),
        features=("image",),
        split="split",
        favourable="yes",
    )


def predicted(cohort: Cohort, bias: float) -> NDArray[Any]:
    """Return what a classifier of the patch says that looks at the tint too, so much."""
    images = torch.tensor(cohort["image"]).permute(0, 3, 1, 2) / 255.0
    return np.where(reader(6.0, bias).probabilities(images).detach().numpy() > 0.5, "yes", "no")


@cache
def taught() -> Probe:
    """Return one probe for all tests: it is frozen."""
    return train_probe(wall(), None, QUICK)
