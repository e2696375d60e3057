"""Training a small DCGAN (Radford et al. 2016), for pictures that a VAE would blur."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from equipoise.discovery.generative._generator import Generator
from equipoise.discovery.generative._training import (
    ENTRY,
    Feed,
    GANSettings,
    Pictures,
    Report,
    as_plain,
    check_device,
    counted,
    read_networks,
    repeatable,
    write_networks,
)
from equipoise.foundation import TensorFile, require
from equipoise.networks import dcgan_discriminator, dcgan_generator
from equipoise.training import Losses, StepProgress, StepTraining, descend, fix_seeds, seed_of, train_steps

if TYPE_CHECKING:
    import torch


FILE = TensorFile(ENTRY, "equipoise.gan/1", "GAN", "TrainedGAN.save")
BETAS = (0.5, 0.999)
REMEDY = "a lower learning_rate."


@dataclass(frozen=True, eq=False)
class TrainedGAN:
    """A generator of pictures of [0, 1] from normal latents, and how it came about."""

    network: torch.nn.Module = field(repr=False)
    settings: GANSettings
    channels: int = 3
    stands: tuple[StepProgress, ...] = field(default=(), repr=False)

    def generator(self) -> Generator:
        """Return it as a generator with a normal prior."""
        size = (self.channels, 64, 64)
        return Generator(self.network, self.settings.latent_size, device=self.settings.device, image=size)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights and settings as safetensors."""
        said = {"channels": self.channels, "settings": as_plain(self.settings),
                "stands": [[stand.step, stand.losses] for stand in self.stands]}  # fmt: skip
        write_networks(path, FILE, said, {"generator": self.network})


def train_gan(pictures: Pictures, settings: GANSettings | None = None, report: Report | None = None) -> TrainedGAN:
    """Train a DCGAN on pictures uint8 ``[row, 64, 64, channel]``, one step of each network in turn.

    The generator's loss is the one that does not saturate, -log D(G(z)). What is kept is the running average of its
    weights where ``average`` is above 0.
    """
    chosen = settings or GANSettings()
    torch = require("torch", extra="train", purpose="Training a GAN")
    functional = torch.nn.functional
    feed = Feed(pictures, chosen)
    generator, discriminator = _built(chosen, feed.channels)
    averaged = copy.deepcopy(generator)
    optimisers = [
        torch.optim.Adam(network.parameters(), lr=chosen.learning_rate, betas=BETAS, fused=True)
        for network in (generator, discriminator)
    ]
    noise = torch.Generator(chosen.device).manual_seed(seed_of(chosen.seed, "latents of a GAN"))
    shape = (chosen.batch_size, chosen.latent_size)

    def take(step: int) -> Losses:
        fakes = generator(torch.randn(shape, generator=noise, device=chosen.device))
        # softplus(-l) is -log D, softplus(l) is -log(1 - D), of a logit l.
        real, false = discriminator(feed()), discriminator(fakes.detach())
        discriminator_loss = functional.softplus(-real).mean() + functional.softplus(false).mean()
        descend(optimisers[1], discriminator_loss)
        generator_loss = functional.softplus(-discriminator(fakes)).mean()
        descend(optimisers[0], generator_loss)
        _averaged(averaged, generator, min(chosen.average, 1.0 - 1.0 / step))
        return {"discriminator": discriminator_loss, "generator": generator_loss}

    training = StepTraining(chosen.steps, take, report_every=chosen.report_every, report=report)
    with repeatable():
        train_steps([training], remedy=REMEDY)
    return TrainedGAN(averaged.eval().requires_grad_(False), chosen, feed.channels, tuple(training.reports))


def load_gan(path: str | os.PathLike[str], device: str = "cpu") -> TrainedGAN:
    """Read what ``TrainedGAN.save`` wrote; nothing in the file is run."""
    check_device(device)

    def build(content: dict[str, Any], device: str) -> TrainedGAN:
        settings, channels = GANSettings(**content["settings"], device=device), counted(content["channels"], "channels")
        stands = tuple(StepProgress(int(step), settings.steps, losses) for step, losses in content["stands"])
        return TrainedGAN(_built(settings, channels)[0], settings, channels, stands)

    loaded = read_networks(path, FILE, build, lambda gan: {"generator": gan.network}, device)
    return replace(loaded, network=loaded.network.eval().requires_grad_(False))


def _built(settings: GANSettings, channels: int) -> tuple[torch.nn.Module, torch.nn.Module]:
    torch: Any = require("torch", extra="train", purpose="A GAN")
    fix_seeds(seed_of(settings.seed, "weights of a GAN"))
    pair = (
        dcgan_generator(settings.latent_size, channels, settings.width),
        dcgan_discriminator(channels, settings.width),
    )
    generator, discriminator = (one.to(device=settings.device, memory_format=torch.channels_last) for one in pair)  # type: ignore[call-overload, unused-ignore]
    return generator.train(), discriminator.train()


def _averaged(kept: torch.nn.Module, now: torch.nn.Module, share: float) -> None:
    """Move the kept weights towards those of now; means and variances of normalisation go along with them."""
    torch = require("torch", extra="train", purpose="A GAN")
    with torch.no_grad():
        for old, new in zip(kept.state_dict().values(), now.state_dict().values(), strict=True):
            if old.is_floating_point():
                old.lerp_(new, 1.0 - share)
            else:
                old.copy_(new)
