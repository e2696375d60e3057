"""Variational auto-encoders: what five kinds minimise, their training, and what a trained one does and draws."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.generative._generator import PIXELS, Generator, as_bytes
from equipoise.discovery.generative._training import (
    ENTRY,
    SIDE,
    Feed,
    Pictures,
    Report,
    VAESettings,
    as_plain,
    check_device,
    check_pictures,
    counted,
    network_pictures,
    picture_batch,
    read_networks,
    repeatable,
    write_networks,
)
from equipoise.foundation import (
    BadInput,
    TensorFile,
    require,
    unknown_name,
)
from equipoise.networks import vae_decoder, vae_encoder
from equipoise.training import (
    ONE_KIND,
    Losses,
    Recorder,
    StepProgress,
    StepTraining,
    descend,
    fix_seeds,
    seed_of,
    train_steps,
)
from equipoise.training.images import state_of

if TYPE_CHECKING:
    import torch


Kind = Literal["vae", "beta_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii"]
# What Locatello et al. (2019) tried of each, six values; the third of them is what we begin with. The plain VAE is
# their beta-VAE at 1.
TRIED: dict[str, tuple[float, ...]] = {
    "beta_vae": (1.0, 2.0, 4.0, 6.0, 8.0, 16.0),
    "beta_tcvae": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
    "dip_vae_i": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "dip_vae_ii": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
}
KINDS: tuple[Kind, ...] = ("vae", "beta_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii")
# lambda_d as a multiple of lambda_od, theirs too.
DIAGONAL = {"dip_vae_i": 10.0, "dip_vae_ii": 1.0}


def strength_of(kind: Kind, strength: float | None) -> float:
    """Return beta or lambda_od: the one given, or the third that Locatello et al. tried; 1 for a plain VAE."""
    if strength is not None:
        return float(strength)
    return TRIED[kind][2] if kind in TRIED else 1.0


def reconstruction(logits: torch.Tensor, pictures: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of pixels in [0, 1], summed over a picture, its mean over the batch."""
    functional = require("torch", extra="train", purpose="A VAE").nn.functional
    summed: torch.Tensor = functional.binary_cross_entropy_with_logits(logits, pictures, reduction="sum")
    return summed / len(pictures)


def divergence(means: torch.Tensor, log_variances: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z|x) || N(0, I)) = 1/2 sum (mean^2 + variance - log variance - 1), its mean over the batch."""
    return 0.5 * (means**2 + log_variances.exp() - log_variances - 1.0).sum(1).mean()


def total_correlation(latents: torch.Tensor, means: torch.Tensor, log_variances: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z) || prod_j q(z_j)) with q(z) taken as the mixture of this batch's own normal distributions.

    Chen et al. weight the batch within its data set: that adds a constant, which moves no gradient.
    """
    apart = latents[:, None] - means[None]
    log_densities = -0.5 * (apart**2 * (-log_variances).exp() + log_variances + math.log(2 * math.pi))
    number = math.log(len(means))
    whole = log_densities.sum(2).logsumexp(1) - number
    parts = (log_densities.logsumexp(1) - number).sum(1)
    return (whole - parts).mean()


def covariance(means: torch.Tensor) -> torch.Tensor:
    """Return Cov[mean] over the batch, ``[d, d]``: E[m m'] - E[m] E[m]', divided by n."""
    centred = means - means.mean(0)
    return centred.T @ centred / len(means)


def covariance_penalty(matrix: torch.Tensor, off_diagonal: float, diagonal: float) -> torch.Tensor:
    """Return how far a covariance is from the identity, off the diagonal and on it."""
    on = matrix.diagonal()
    off = (matrix**2).sum() - (on**2).sum()
    return off_diagonal * off + diagonal * ((on - 1.0) ** 2).sum()


def regulariser(
    kind: Kind, strength: float, latents: torch.Tensor, means: torch.Tensor, log_variances: torch.Tensor
) -> torch.Tensor:
    """Return all that is added to the reconstruction."""
    plain = divergence(means, log_variances)
    if kind in ("vae", "beta_vae"):
        return strength * plain
    if kind == "beta_tcvae":
        return plain + (strength - 1.0) * total_correlation(latents, means, log_variances)
    matrix = covariance(means)
    if kind == "dip_vae_ii":
        matrix = matrix + log_variances.exp().mean(0).diag()
    return plain + covariance_penalty(matrix, strength, strength * DIAGONAL[kind])


FILE = TensorFile(ENTRY, "equipoise.vae/1", "VAE", "TrainedVAE.save")
AT_ONCE = 512
REMEDY = "a lower learning_rate, or a lower strength."


@dataclass(frozen=True, eq=False)
class TrainedVAE:
    """An encoder to means and logarithms of variances, a decoder to logits, and how they came about."""

    encoder: torch.nn.Module = field(repr=False)
    decoder: torch.nn.Module = field(repr=False)
    kind: Kind
    settings: VAESettings
    channels: int = 1
    stands: tuple[StepProgress, ...] = field(default=(), repr=False)

    def encode(self, pictures: Pictures) -> NDArray[np.float64]:
        """Return the means of latents, ``[row, latent size]``, of pictures uint8 ``[row, 64, 64, channel]``."""
        torch = require("torch", extra="train", purpose="A VAE")
        check_pictures(pictures)
        if pictures.shape[3] != self.channels:
            raise BadInput(
                f"The pictures have {pictures.shape[3]} channels", available=f"{self.channels}, as in training"
            )
        rows, size = int(pictures.shape[0]), self.settings.latent_size
        made = np.empty((rows, size))
        with torch.inference_mode():
            for first in range(0, rows, AT_ONCE):
                rows_here = np.arange(first, min(first + AT_ONCE, rows))
                said = self.encoder(picture_batch(pictures, rows_here, self.settings.device))
                made[rows_here] = said[:, :size].cpu().numpy()
        return made

    def generator(self) -> Generator:
        """Return the decoder as a generator of pictures of [0, 1] with a normal prior."""
        nn = require("torch", extra="train", purpose="A VAE").nn
        size = (self.channels, 64, 64)
        return Generator(
            nn.Sequential(self.decoder, nn.Sigmoid()),
            self.settings.latent_size,
            device=self.settings.device,
            image=size,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights and settings as safetensors."""
        said = {"kind": self.kind, "channels": self.channels, "settings": as_plain(self.settings),
                "stands": [[stand.step, stand.losses] for stand in self.stands]}  # fmt: skip
        write_networks(path, FILE, said, {"encoder": self.encoder, "decoder": self.decoder})


def train_vae(
    pictures: Pictures, kind: Kind = "vae", settings: VAESettings | None = None, report: Report | None = None, *,
    record: bool = True,
) -> TrainedVAE:  # fmt: skip
    """Train one of five auto-encoders on pictures uint8 ``[row, 64, 64, channel]``.

    ``pictures`` is an array or what makes the pictures of given rows. The same seed gives the same weights on the same
    machine. ``report`` is told the mean losses every ``report_every`` steps. ``record=False`` launches every kernel
    of a graphics card anew instead of recording a step once.
    """
    (made,) = train_vaes([VAEPlan(pictures, kind, settings or VAESettings(), report)], record=record)
    return made


@dataclass(frozen=True, eq=False)
class VAEPlan:
    """One training: what of, of which kind, how, and who is told."""

    pictures: Pictures
    kind: Kind
    settings: VAESettings
    report: Report | None = None


def train_vaes(plans: Sequence[VAEPlan], *, record: bool = True) -> list[TrainedVAE]:
    """Train several auto-encoders side by side: on a graphics card each has a recorded step and a stream of its own.

    Each comes out as if it had been trained alone.
    """
    with repeatable():
        runs = [_Run(plan, record) for plan in plans]
        train_steps([run.training for run in runs], remedy=REMEDY)
        return [run.done() for run in runs]


class _Run:
    """One training: networks, optimiser, and the buffers that a recorded step reads."""

    def __init__(self, plan: VAEPlan, record: bool) -> None:
        if plan.kind not in KINDS:
            raise unknown_name("kind", str(plan.kind), KINDS, "the auto-encoders")
        self.torch = require("torch", extra="train", purpose="Training a VAE")
        self.kind, self.strength = plan.kind, strength_of(plan.kind, plan.settings.strength)
        self.settings = chosen = replace(plan.settings, strength=self.strength)
        self.feed = Feed(plan.pictures, chosen)
        self.encoder, self.decoder = _built(chosen, self.feed.channels)
        self.moved = [*self.encoder.parameters(), *self.decoder.parameters()]
        # A tensor, for a recorded step reads it anew each time.
        self.rate = self.torch.tensor(chosen.learning_rate, device=chosen.device)
        on_card = chosen.device != "cpu"
        self.optimiser = self.torch.optim.Adam(self.moved, lr=self.rate, fused=True, capturable=on_card)
        self.noise = self.torch.Generator(chosen.device).manual_seed(seed_of(chosen.seed, "noise of latents"))
        kind: dict[str, Any] = {"device": chosen.device, "dtype": self.torch.float32}
        shape = (chosen.batch_size, self.feed.channels, SIDE, SIDE)
        self.batch = self.torch.zeros(shape, **kind).to(memory_format=self.torch.channels_last)
        self.drawn = self.torch.zeros(chosen.batch_size, chosen.latent_size, **kind)
        self.losses: dict[str, torch.Tensor] = {}
        self.recorder = Recorder(chosen.device, self._tensors, record=record)
        self.recorder.record(ONE_KIND, self._step)
        self.training = StepTraining(
            chosen.steps, self._take, report_every=chosen.report_every, report=plan.report, recorder=self.recorder
        )

    def _take(self, step: int) -> Losses:
        self._prepare(step)
        self.recorder.take(ONE_KIND, self._step)
        return self.losses

    def done(self) -> TrainedVAE:
        """Return what was trained."""
        stands = tuple(self.training.reports)
        return TrainedVAE(
            _done(self.encoder), _done(self.decoder), self.kind, self.settings, self.feed.channels, stands
        )

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Return all that a step moves."""
        weights = {f"weight {index}": weight for index, weight in enumerate(self.moved)}
        return weights | state_of(self.optimiser)

    def _prepare(self, step: int) -> None:
        self.rate.fill_(self.settings.rate_at(step))
        self.batch.copy_(self.feed())
        self.torch.randn(self.drawn.shape, generator=self.noise, device=self.drawn.device, out=self.drawn)

    def _step(self) -> None:
        means, log_variances = self.encoder(self.batch).chunk(2, dim=1)
        latents = means + self.drawn * (0.5 * log_variances).exp()
        rebuilt = reconstruction(self.decoder(latents), self.batch)
        added = regulariser(self.kind, self.strength, latents, means, log_variances)
        loss = rebuilt + added
        descend(self.optimiser, loss)
        with self.torch.no_grad():
            self.losses = {"loss": loss.detach(), "reconstruction": rebuilt.detach(),
                           "divergence": divergence(means, log_variances)}  # fmt: skip


def load_vae(path: str | os.PathLike[str], device: str = "cpu") -> TrainedVAE:
    """Read what ``TrainedVAE.save`` wrote; nothing in the file is run."""
    check_device(device)

    def build(content: dict[str, Any], device: str) -> TrainedVAE:
        settings = VAESettings(**content["settings"], device=device)
        kind, channels = content["kind"], counted(content["channels"], "channels")
        if kind not in KINDS:
            raise unknown_name("kind", str(kind), KINDS, "the auto-encoders")
        stands = tuple(StepProgress(int(step), settings.steps, losses) for step, losses in content["stands"])
        return TrainedVAE(*_built(settings, channels), kind, settings, channels, stands)

    loaded = read_networks(path, FILE, build, lambda vae: {"encoder": vae.encoder, "decoder": vae.decoder}, device)
    return replace(loaded, encoder=_done(loaded.encoder), decoder=_done(loaded.decoder))


def _built(settings: VAESettings, channels: int) -> tuple[torch.nn.Module, torch.nn.Module]:
    torch: Any = require("torch", extra="train", purpose="A VAE")
    fix_seeds(seed_of(settings.seed, "weights of a VAE"))
    size, width = settings.latent_size, settings.width
    pair = (vae_encoder(2 * size, channels, width), vae_decoder(size, channels, width))
    encoder, decoder = (one.to(device=settings.device, memory_format=torch.channels_last) for one in pair)  # type: ignore[call-overload, unused-ignore]
    return encoder, decoder


def _done(network: torch.nn.Module) -> torch.nn.Module:
    return network.eval().requires_grad_(False)


def sample_grid(
    generator: Generator, rows: int = 4, columns: int = 8, seed: int = 0, pixels: tuple[float, float] = PIXELS
) -> NDArray[np.uint8]:
    """Return pictures of latents of the prior, uint8 ``[height, width, channel]``; ``pixels`` are black and white."""
    torch = require("torch", extra="train", purpose="A grid of pictures")
    with torch.inference_mode():
        return grid(as_bytes(generator.images(generator.sample(rows * columns, seed)), pixels), columns)


def reconstruction_grid(vae: TrainedVAE, pictures: Pictures, columns: int = 8) -> NDArray[np.uint8]:
    """Return the first pictures above what the auto-encoder makes of them."""
    torch = require("torch", extra="train", purpose="A grid of pictures")
    seen = pictures[np.arange(min(columns, int(pictures.shape[0])))]
    with torch.inference_mode():
        means = vae.encoder(network_pictures(seen, vae.settings.device))[:, : vae.settings.latent_size]
        rebuilt = as_bytes(vae.decoder(means).sigmoid())
    return grid(np.concatenate([seen, rebuilt]), len(seen))


def grid(pictures: NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    """Lay pictures ``[n, height, width, channel]`` out in rows of so many; what is left of the last row is black."""
    if pictures.ndim != 4 or not len(pictures) or columns < 1:
        raise BadInput(
            f"Pictures of the shape {pictures.shape} do not fit in {columns} columns",
            available="pictures [n, height, width, channel] and at least one column",
        )
    number, height, width, channels = pictures.shape
    rows = -(-number // columns)
    filled = np.zeros((rows * columns, height, width, channels), dtype=np.uint8)
    filled[:number] = pictures
    laid = filled.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return laid.reshape(rows * height, columns * width, channels)
