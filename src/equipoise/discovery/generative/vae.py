"""Training a variational auto-encoder, and what a trained one does: encode, draw, be kept in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.generative.feeding import (
    SIDE,
    Feed,
    Pictures,
    Telling,
    check_device,
    check_pictures,
    repeatable,
    taken,
)
from equipoise.discovery.generative.files import ENTRY, counted, read_networks, write_networks
from equipoise.discovery.generative.objectives import KINDS, Kind, divergence, reconstruction, regulariser, strength_of
from equipoise.discovery.generative.recording import RecordedStep
from equipoise.discovery.generative.settings import Report, Stand, VAESettings, as_plain
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.files import TensorFile
from equipoise.foundation.imports import require
from equipoise.networks.vae import vae_decoder, vae_encoder
from equipoise.training.fixing import fix_seeds, seed_of

if TYPE_CHECKING:
    import torch

FILE = TensorFile(ENTRY, "equipoise.vae/1", "VAE", "TrainedVAE.save")
AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class TrainedVAE:
    """An encoder to means and logarithms of variances, a decoder to logits, and how they came about."""

    encoder: torch.nn.Module = field(repr=False)
    decoder: torch.nn.Module = field(repr=False)
    kind: Kind
    settings: VAESettings
    channels: int = 1
    stands: tuple[Stand, ...] = field(default=(), repr=False)

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
                said = self.encoder(taken(pictures, rows_here, self.settings.device))
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
                "stands": [[one.step, one.losses] for one in self.stands]}  # fmt: skip
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
        for step in range(1, max((run.settings.steps for run in runs), default=0) + 1):
            for run in runs:
                if step <= run.settings.steps:
                    run.take(step)
        return [run.done() for run in runs]


class _Run:
    """One training: networks, optimiser, and the buffers that a recorded step reads."""

    def __init__(self, plan: VAEPlan, record: bool) -> None:
        if plan.kind not in KINDS:
            raise unknown_name("kind", str(plan.kind), KINDS, "the auto-encoders")
        self.torch = require("torch", extra="train", purpose="Training a VAE")
        self.kind, self.strength = plan.kind, strength_of(plan.kind, plan.settings.strength)
        self.settings = chosen = replace(plan.settings, strength=self.strength)
        self.feed, self.telling = Feed(plan.pictures, chosen), Telling(chosen, plan.report)
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
        self.recorded = RecordedStep(self._step, self.moved, self.optimiser, chosen.device, record=record)

    def take(self, step: int) -> None:
        """Take a step (they count from 1)."""
        self.recorded.take(lambda: self._prepare(step), lambda: self.telling(step, self.losses))

    def done(self) -> TrainedVAE:
        """Return what was trained."""
        self.recorded.wait()
        stands = tuple(self.telling.stands)
        return TrainedVAE(
            _done(self.encoder), _done(self.decoder), self.kind, self.settings, self.feed.channels, stands
        )

    def _prepare(self, step: int) -> None:
        self.rate.fill_(self.settings.rate_at(step))
        self.batch.copy_(self.feed())
        self.torch.randn(self.drawn.shape, generator=self.noise, device=self.drawn.device, out=self.drawn)

    def _step(self) -> None:
        means, log_variances = self.encoder(self.batch).chunk(2, dim=1)
        latents = means + self.drawn * (0.5 * log_variances).exp()
        rebuilt = reconstruction(self.decoder(latents), self.batch)
        added = regulariser(self.kind, self.strength, latents, means, log_variances)
        self.optimiser.zero_grad(set_to_none=True)
        (rebuilt + added).backward()  # type: ignore[no-untyped-call, unused-ignore]
        self.optimiser.step()
        with self.torch.no_grad():
            self.losses = {"loss": (rebuilt + added).detach(), "reconstruction": rebuilt.detach(),
                           "divergence": divergence(means, log_variances)}  # fmt: skip


def load_vae(path: str | os.PathLike[str], device: str = "cpu") -> TrainedVAE:
    """Read what ``TrainedVAE.save`` wrote; nothing in the file is run."""
    check_device(device)

    def build(said: dict[str, Any], place: str) -> TrainedVAE:
        settings = VAESettings(**said["settings"], device=place)
        kind, channels = said["kind"], counted(said["channels"], "channels")
        if kind not in KINDS:
            raise unknown_name("kind", str(kind), KINDS, "the auto-encoders")
        stands = tuple(Stand(int(step), settings.steps, losses) for step, losses in said["stands"])
        return TrainedVAE(*_built(settings, channels), kind, settings, channels, stands)

    made = read_networks(path, FILE, build, lambda vae: {"encoder": vae.encoder, "decoder": vae.decoder}, device)
    return replace(made, encoder=_done(made.encoder), decoder=_done(made.decoder))


def _built(settings: VAESettings, channels: int) -> tuple[torch.nn.Module, torch.nn.Module]:
    torch: Any = require("torch", extra="train", purpose="A VAE")
    fix_seeds(seed_of(settings.seed, "weights of a VAE"))
    size, width = settings.latent_size, settings.width
    pair = (vae_encoder(2 * size, channels, width), vae_decoder(size, channels, width))
    encoder, decoder = (one.to(device=settings.device, memory_format=torch.channels_last) for one in pair)  # type: ignore[call-overload, unused-ignore]
    return encoder, decoder


def _done(network: torch.nn.Module) -> torch.nn.Module:
    return network.eval().requires_grad_(False)
