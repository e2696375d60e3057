"""What reads latents off real pictures: an encoder, or a probe; and how well it reads those that were generated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generative.feeding import shown
from equipoise.discovery.generative.vae import TrainedVAE
from equipoise.discovery.generator import Generator
from equipoise.discovery.hyperplane import Floats, Hyperplane
from equipoise.discovery.modules import device_of
from equipoise.discovery.slopes import chunk_for
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream

Bytes = NDArray[np.uint8]
PIXELS = (0.0, 1.0)
# Beyond its range by this share of it a picture was declared wrongly, and not rounded.
SLACK = 0.01
AT_ONCE = 512


class Reader(Protocol):
    """Reads latents ``[row, latent size]`` off pictures uint8 ``[row, height, width, channel]``."""

    @property
    def how(self) -> str:
        """In words: what it is."""
        ...

    def read(self, pictures: Bytes) -> Floats:
        """Return the latents of pictures, as far as they can be told."""
        ...

    def check(self, planes: Sequence[Hyperplane]) -> None:
        """Refuse planes that it knows nothing of."""
        ...


Encoder = TrainedVAE | Callable[[Bytes], ArrayLike]


@dataclass(frozen=True, eq=False)
class EncoderDistances:
    """The mean latent that an encoder gives to a picture: a VAE that was trained here, or a function of pictures."""

    encoder: Encoder
    how: str = "the mean latent of an encoder"

    def read(self, pictures: Bytes) -> Floats:
        """Return the mean latents of pictures."""
        encode = self.encoder.encode if isinstance(self.encoder, TrainedVAE) else self.encoder
        latents = np.asarray(encode(pictures), dtype=np.float64)
        if latents.ndim != 2 or len(latents) != len(pictures) or not np.isfinite(latents).all():
            raise BadInput(
                f"The encoder returned latents of the shape {list(latents.shape)} for {len(pictures):,} pictures"
                + ("" if np.isfinite(latents).all() else ", some of them not finite"),
                available=f"finite numbers [{len(pictures)}, latent size]",
            )
        return latents

    def check(self, planes: Sequence[Hyperplane]) -> None:
        """Refuse planes of another latent space than the VAE's."""
        if isinstance(self.encoder, TrainedVAE):
            for plane in planes:
                plane.distance(np.zeros((1, self.encoder.settings.latent_size)))


def reader_of(encoder: Encoder | None, probe: Reader | None) -> Reader:
    """Return the one reader that was given."""
    if (encoder is None) == (probe is None):
        raise BadInput(
            "An encoder and a probe were given" if probe is not None else "Neither an encoder nor a probe was given",
            available="one of them: encoder= (a TrainedVAE, or pictures to latents) or probe= (of train_probe)",
        )
    return EncoderDistances(encoder) if encoder is not None else probe  # type: ignore[return-value]


def read_distances(pictures: Bytes, planes: Sequence[Hyperplane], reader: Reader) -> Floats:
    """Return the signed distance of pictures to planes, ``[row, plane]``: each picture is read once."""
    reader.check(planes)
    latents = reader.read(pictures)
    return np.stack([plane.distance(latents) for plane in planes], axis=1)


def pictures_of(cohort: Cohort) -> Bytes:
    """Return the pictures of a cohort, uint8 ``[row, height, width, channel]``."""
    columns = [*cohort.features, *cohort.columns]
    for column in (cohort[name] for name in columns):
        if column.ndim == 4 and column.dtype == np.uint8:
            return column
    if cohort.pictures is None:
        raise BadInput(
            f"The cohort {cohort.name!r} has no pictures",
            available="a column of pictures, uint8 [row, height, width, channel]",
            help="with_pictures(cohort, column, folder) reads the files that a column names.",
        )
    return cohort.examples(np.arange(len(cohort)))


def as_bytes(images: Any, pixels: tuple[float, float] = PIXELS) -> Bytes:
    """Return generated pictures ``[n, C, H, W]`` as real ones are kept, uint8 ``[n, H, W, C]``."""
    scaled = as_shares(images, pixels).permute(0, 2, 3, 1)
    made: Bytes = (scaled * 255).round().cpu().numpy().astype(np.uint8)
    return made


def as_shares(images: Any, pixels: tuple[float, float]) -> Any:
    """Return generated pictures with black at 0 and white at 1; those out of their declared range are refused."""
    low, high = pixels
    scaled = (images.float() - low) / (high - low)
    least, most = (float(one) for one in scaled.detach().aminmax())
    if least < -SLACK or most > 1 + SLACK:
        raise BadInput(
            f"The generator's pictures range from {least * (high - low) + low:.3g} to {most * (high - low) + low:.3g}",
            available=f"{low:g} (black) to {high:g} (white), as declared",
            help="declare their range: pixels=(-1, 1), for instance, or --pixels -1,1.",
        )
    return scaled.clamp(0.0, 1.0)


def probabilities_of(
    classifier: Classifier, pictures: Bytes, pixels: tuple[float, float] = PIXELS,
    report: Callable[[float], None] | None = None,
) -> Floats:  # fmt: skip
    """Return what a classifier says of real pictures; ``pixels`` is what black and white are to it.

    ``report`` is told the share that is done.
    """
    torch = require("torch", extra="train", purpose="Classifying pictures")
    device = device_of(classifier.module, None, "classifier")
    low, high = pixels
    made = np.empty(len(pictures))
    with torch.no_grad():
        for first in range(0, len(pictures), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            images = shown(pictures[part], str(device)) * (high - low) + low
            made[part] = classifier.probabilities(images).double().cpu().numpy()
            if report is not None:
                report(min(first + AT_ONCE, len(pictures)) / len(pictures))
    broken = ~np.isfinite(made)
    if broken.any():
        raise BadInput(
            f"The classifier returned NaN for {int(broken.sum()):,} of {len(pictures):,} pictures",
            available="a probability for every picture",
            help="check its weights and the range of pixels it was trained on: pixels=(-1, 1), --pixels -1,1.",
        )
    return made


def fidelity(
    reader: Reader,
    generator: Generator,
    planes: Sequence[Hyperplane],
    *,
    number: int = 1000,
    seed: int = 0,
    pixels: tuple[float, float] = PIXELS,
) -> Floats:
    """Return the R2 of read distances to planes, on fresh latents whose pictures were generated.

    It says how well a reader does where the truth is known. Real pictures are others than generated ones: there it
    may do worse, and nothing here can say by how much.
    """
    torch = require("torch", extra="train", purpose="Reading pictures")
    latents = generator.sample(number, int(stream(seed, "fidelity").integers(2**31)))
    with torch.no_grad():
        made = [as_bytes(generator.images(part), pixels) for part in latents.split(chunk_for(generator))]
    z = latents.double().cpu().numpy()
    truth = np.stack([plane.distance(z) for plane in planes], axis=1)
    missed = ((read_distances(np.concatenate(made), planes, reader) - truth) ** 2).sum(0)
    spread = ((truth - truth.mean(0)) ** 2).sum(0)
    found: Floats = np.where(spread > 0, 1.0 - missed / np.where(spread > 0, spread, 1.0), np.nan)
    return found
