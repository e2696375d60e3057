"""Encoders, decoders, generators and discriminators for pictures of 64 x 64: paper 002's VAE, and a DCGAN.

A VAE's encoder takes pictures to latents and its decoder takes latents back, by convolutions alone. The DCGAN is that
of Radford et al. (2016).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch

SIDE = 64
# How many times the narrowest width the layers have; the paper's width is 32.
ENCODER = (1, 1, 2, 4, 8, 8)
DECODER = (8, 8, 4, 4, 2, 2)
WIDTH = 32


def vae_encoder(outputs: int, channels: int = 1, width: int = WIDTH) -> torch.nn.Module:
    """Build six convolutions that halve the picture down to one pixel, and a linear layer.

    A VAE has ``2 x latent size`` outputs (means, then logarithms of variances); a classifier of the paper has one.
    """
    nn = require("torch", extra="train", purpose="The encoder of a VAE").nn
    layers: list[Any] = []
    before = channels
    for times in ENCODER:
        layers += [nn.Conv2d(before, width * times, 4, 2, 1), nn.ReLU()]
        before = width * times
    return _begun_vae(nn.Sequential(*layers, nn.Flatten(), nn.Linear(before, outputs)))


def vae_decoder(latent_size: int, channels: int = 1, width: int = WIDTH) -> torch.nn.Module:
    """Build what turns latents ``[n, latent size]`` into the logits of pictures: 1, 2, 6, 14, 30, 62 and 64 pixels."""
    nn = require("torch", extra="train", purpose="The decoder of a VAE").nn
    widths = [width * times for times in DECODER]
    layers: list[Any] = [nn.Unflatten(1, (latent_size, 1, 1)), nn.Conv2d(latent_size, widths[0], 1), nn.ReLU()]
    for index, (before, after) in enumerate(pairwise(widths)):
        layers += [nn.ConvTranspose2d(before, after, 4, 2, 1 if index == 0 else 0), nn.ReLU()]
    return _begun_vae(nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], channels, 3)))


def _begun_vae(network: Any) -> torch.nn.Module:
    """Draw the weights: Xavier's normal for convolutions, Kaiming's for linear layers, biases 0."""
    nn = require("torch", extra="train", purpose="A VAE").nn
    for layer in network:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.xavier_normal_(layer.weight)
        elif isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight)
        else:
            continue
        nn.init.zeros_(layer.bias)
    module: torch.nn.Module = network
    return module


# How many times the narrowest width the layers have, from the latents to the picture.
WIDER = (8, 4, 2, 1)
SPREAD = 0.02


def dcgan_generator(latent_size: int, channels: int = 3, width: int = 64) -> torch.nn.Module:
    """Build what turns latents ``[n, latent size]`` into pictures of [0, 1]: 4, 8, 16, 32 and 64 pixels.

    It ends with a sigmoid where the paper has a hyperbolic tangent: the same curve, on [0, 1].
    """
    nn = require("torch", extra="train", purpose="A DCGAN").nn
    layers: list[Any] = [nn.Unflatten(1, (latent_size, 1, 1))]
    before = latent_size
    for index, times in enumerate(WIDER):
        step = (4, 1, 0) if index == 0 else (4, 2, 1)
        layers += [
            nn.ConvTranspose2d(before, width * times, *step, bias=False),
            nn.BatchNorm2d(width * times),
            nn.ReLU(),
        ]
        before = width * times
    return _begun_dcgan(nn.Sequential(*layers, nn.ConvTranspose2d(before, channels, 4, 2, 1), nn.Sigmoid()))


def dcgan_discriminator(channels: int = 3, width: int = 64) -> torch.nn.Module:
    """Build what says of pictures of [0, 1], as a logit ``[n, 1]``, whether they are real."""
    nn = require("torch", extra="train", purpose="A DCGAN").nn
    layers: list[Any] = []
    before = channels
    for index, times in enumerate(reversed(WIDER)):
        layers.append(nn.Conv2d(before, width * times, 4, 2, 1, bias=index == 0))
        layers += [] if index == 0 else [nn.BatchNorm2d(width * times)]
        layers.append(nn.LeakyReLU(0.2))
        before = width * times
    return _begun_dcgan(nn.Sequential(*layers, nn.Conv2d(before, 1, 4), nn.Flatten()))


def _begun_dcgan(network: Any) -> torch.nn.Module:
    """Draw the weights as the paper does: normal with a spread of 0.02, scales of normalisation about 1."""
    nn = require("torch", extra="train", purpose="A DCGAN").nn
    for layer in network:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, 0.0, SPREAD)
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight, 1.0, SPREAD)
    module: torch.nn.Module = network
    return module
