"""What reads latents off real pictures: an encoder, or a probe taught by a generator's own pictures; and how well."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cohorts import Cohort
from equipoise.discovery._classifier import Classifier, chunk_for
from equipoise.discovery._hyperplane import (
    NOTHING,
    Hyperplane,
    basis_of,
)
from equipoise.discovery._judging import axes
from equipoise.discovery.generative import (
    ENTRY,
    PIXELS,
    Bytes,
    Generator,
    Report,
    TrainedVAE,
    as_bytes,
    as_shares,
    check_device,
    counted,
    device_of,
    network_pictures,
    read_networks,
    repeatable,
    write_networks,
)
from equipoise.foundation import BadInput, Floats, TensorFile, require, stream
from equipoise.networks import SIDE, vae_encoder
from equipoise.training import Losses, StepProgress, StepTraining, descend, fix_seeds, seed_of, train_steps

if TYPE_CHECKING:
    import torch


AT_ONCE = 512


class Reader(Protocol):
    """Reads latents ``[row, latent size]`` off pictures uint8 ``[row, height, width, channel]``."""

    @property
    def description(self) -> str:
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
    description: str = "the mean latent of an encoder"

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
    probabilities = np.empty(len(pictures))
    with torch.no_grad():
        for first in range(0, len(pictures), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            images = network_pictures(pictures[part], str(device)) * (high - low) + low
            probabilities[part] = classifier.probabilities(images).double().cpu().numpy()
            if report is not None:
                report(min(first + AT_ONCE, len(pictures)) / len(pictures))
    broken = ~np.isfinite(probabilities)
    if broken.any():
        raise BadInput(
            f"The classifier returned NaN for {int(broken.sum()):,} of {len(pictures):,} pictures",
            available="a probability for every picture",
            help="check its weights and the range of pixels it was trained on: pixels=(-1, 1), --pixels -1,1.",
        )
    return probabilities


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
    values: Floats = np.where(spread > 0, 1.0 - missed / np.where(spread > 0, spread, 1.0), np.nan)
    return values


FILE = TensorFile(ENTRY, "equipoise.probe/1", "probe", "Probe.save")
# So many latents say where their coordinates lie.
SCALE = 2000


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """How a probe is taught: fresh latents in every step, Adam with a rate that falls to 0.

    ``pixels`` is what black and white are in the generator's pictures; ``held_out`` is how many fresh latents say how
    well it reads.
    """

    steps: int = 2000
    batch: int = 64
    rate: float = 1e-3
    width: int = 16
    held_out: int = 1000
    pixels: tuple[float, float] = PIXELS
    seed: int = 0
    report_every: int = 100

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "width", "held_out", "report_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(f"{name} is {value!r}", available="a whole number of at least 1")
        low, high = self.pixels
        if not (self.rate > 0 and np.isfinite([low, high]).all() and low < high):
            raise BadInput(
                f"The rate is {self.rate!r} and pixels are {self.pixels!r}",
                available="a rate above 0; black and white, such as (0, 1) or (-1, 1)",
            )


@dataclass(frozen=True, eq=False)
class Probe:
    """A network from pictures to coordinates ``basis [k, d]`` of the latent; ``r2`` by the name of the plane."""

    network: torch.nn.Module = field(repr=False)
    basis: Floats = field(repr=False)
    image: tuple[int, int, int]
    settings: ProbeSettings
    device: str = "cpu"
    middle: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    spread: Floats = field(default_factory=lambda: np.ones(0), repr=False)
    r2: dict[str, float] = field(default_factory=dict)
    stands: tuple[StepProgress, ...] = field(default=(), repr=False)

    @property
    def description(self) -> str:
        """In words: what it is, and how well it reads pictures that were generated."""
        defined = [value for value in self.r2.values() if np.isfinite(value)]
        return "a probe trained on generated pictures" + (
            f" (R2 {min(defined):.2f} to {max(defined):.2f} on others of them)" if defined else ""
        )

    def read(self, pictures: Bytes) -> Floats:
        """Return latents ``[row, d]``: what the basis spans of them, and 0 elsewhere."""
        torch = require("torch", extra="train", purpose="A probe")
        channels, height, width = self.image
        if pictures.dtype != np.uint8 or pictures.shape[1:] != (height, width, channels):
            raise BadInput(
                f"The pictures are {pictures.dtype} of the shape {pictures.shape}",
                available=f"uint8 [row, {height}, {width}, {channels}], as the generator makes them",
                help=f"read them with resize={height} (--resize-pictures {height})."
                if pictures.shape[3:] == (channels,)
                else "",
            )
        read_values = np.empty((len(pictures), len(self.basis)))
        with torch.inference_mode():
            for first in range(0, len(pictures), AT_ONCE):
                part = slice(first, first + AT_ONCE)
                read_values[part] = (
                    self.network(_sized(network_pictures(pictures[part], self.device))).double().cpu().numpy()
                )
        values: Floats = (read_values * self.spread + self.middle) @ self.basis
        return values

    def check(self, planes: Sequence[Hyperplane]) -> None:
        """Refuse planes that lie outside of what it was taught."""
        for plane in planes:
            along = self.basis @ plane.normal if plane.size == self.basis.shape[1] else np.zeros(1)
            if abs(1.0 - float(np.linalg.norm(along))) > NOTHING:
                raise BadInput(
                    f"The probe was not trained for the plane {plane.name!r}",
                    available=", ".join(self.r2) or "the planes that it was trained with",
                    help="train_probe(generator) without planes trains it for the whole latent space.",
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, basis and settings as safetensors."""
        said = {
            "settings": asdict(self.settings), "image": list(self.image), "basis": self.basis.tolist(),
            "middle": self.middle.tolist(), "spread": self.spread.tolist(),
            "r2": {name: value if np.isfinite(value) else None for name, value in self.r2.items()},
            "stands": [[stand.step, stand.losses] for stand in self.stands],
        }  # fmt: skip
        write_networks(path, FILE, said, {"probe": self.network})


def train_probe(
    generator: Generator,
    planes: Sequence[Hyperplane] | None = None,
    settings: ProbeSettings | None = None,
    report: Report | None = None,
) -> Probe:
    """Teach a probe the distances to planes, or (without planes) the whole latent space.

    Pictures of another size than 64 x 64 are brought to it. The same seed gives the same probe on the same machine;
    it is trained where the generator lies. ``report`` is told the mean loss every ``report_every`` steps: 1 is that of
    a probe that knows nothing.
    """
    torch: Any = require("torch", extra="train", purpose="Training a probe")
    chosen, device = settings or ProbeSettings(), str(generator.device)
    basis = np.eye(generator.latent_size) if planes is None else basis_of(planes, generator.latent_size)
    if not len(basis):
        raise BadInput(
            "A probe without a plane was requested", available="at least one, or None for the whole latent space"
        )
    distances = (
        generator.sample(SCALE, seed_of(chosen.seed, "scale of a probe") % 2**31).double().cpu().numpy() @ basis.T
    )
    middle, spread = distances.mean(0), distances.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    with torch.no_grad():
        first = generator.images(generator.sample(1, 0))
    image = tuple(int(size) for size in first.shape[1:])
    probe = Probe(_built(chosen, len(basis), image[0], device), basis, image, chosen, device, middle, spread)  # type: ignore[arg-type]
    stands = _taught(probe, generator, report)
    probe = replace(probe, network=probe.network.eval().requires_grad_(False), stands=tuple(stands))
    read_planes = planes if planes is not None else axes(generator.latent_size)
    quality = fidelity(
        probe,
        generator,
        read_planes,
        number=chosen.held_out,
        seed=seed_of(chosen.seed, "held out"),
        pixels=chosen.pixels,
    )
    return replace(probe, r2={plane.name: float(value) for plane, value in zip(read_planes, quality, strict=True)})


def load_probe(path: str | os.PathLike[str], device: str = "cpu") -> Probe:
    """Read what ``Probe.save`` wrote; nothing in the file is run."""
    check_device(device)

    def build(content: dict[str, Any], device: str) -> Probe:
        settings = ProbeSettings(**{**content["settings"], "pixels": tuple(content["settings"]["pixels"])})
        basis, middle, spread = (np.array(content[name], dtype=np.float64) for name in ("basis", "middle", "spread"))
        image = tuple(counted(size, "image") for size in content["image"])
        if basis.ndim != 2 or not len(basis) or len(image) != 3 or not middle.shape == spread.shape == (len(basis),):
            raise ValueError("basis and scale do not fit")
        if not all(np.isfinite(array).all() for array in (basis, middle, spread)):
            raise ValueError("basis and scale are not finite")
        r2 = {str(name): float("nan") if value is None else float(value) for name, value in content["r2"].items()}
        stands = tuple(StepProgress(int(step), settings.steps, losses) for step, losses in content["stands"])
        network = _built(settings, len(basis), image[0], device)
        return Probe(network, basis, image, settings, device, middle, spread, r2, stands)

    loaded = read_networks(path, FILE, build, lambda probe: {"probe": probe.network}, device)
    loaded.network.eval().requires_grad_(False)
    return loaded


def _taught(probe: Probe, generator: Generator, report: Report | None) -> list[StepProgress]:
    torch: Any = require("torch", extra="train", purpose="Training a probe")
    chosen = probe.settings
    basis, middle, spread = (
        torch.tensor(array, dtype=torch.float32, device=generator.device)
        for array in (probe.basis, probe.middle, probe.spread)
    )
    optimiser = torch.optim.Adam(probe.network.parameters(), lr=chosen.rate, fused=True)
    random = torch.Generator().manual_seed(seed_of(chosen.seed, "latents of a probe"))

    def take(step: int) -> Losses:
        latents = generator.draw(chosen.batch, random)
        with torch.no_grad():
            images = _sized(as_shares(generator.images(latents), chosen.pixels))
            distances = (latents.float() @ basis.T - middle) / spread
        loss = ((probe.network(images) - distances) ** 2).mean()
        optimiser.param_groups[0]["lr"] = chosen.rate * (1 - (step - 1) / chosen.steps)
        descend(optimiser, loss)
        return {"loss": loss}

    training = StepTraining(chosen.steps, take, report_every=chosen.report_every, report=report)
    with repeatable():
        train_steps([training], remedy="a lower rate.")
    return training.reports


def _built(settings: ProbeSettings, outputs: int, channels: int, device: str) -> torch.nn.Module:
    torch: Any = require("torch", extra="train", purpose="A probe")
    fix_seeds(seed_of(settings.seed, "weights of a probe"))
    network: torch.nn.Module = vae_encoder(outputs, channels, settings.width)
    return network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return, unused-ignore]


def _sized(images: Any) -> Any:
    """Bring pictures to the size that the network reads; nothing flows back through it."""
    if tuple(images.shape[-2:]) == (SIDE, SIDE):
        return images
    torch = require("torch", extra="train", purpose="A probe")
    return torch.nn.functional.interpolate(images, (SIDE, SIDE), mode="bilinear", antialias=True)
