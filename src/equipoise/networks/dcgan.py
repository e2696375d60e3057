"""The generator and discriminator of a DCGAN (Radford et al. 2016) for pictures of 64 x 64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch

SIDE = 64
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
    for place, times in enumerate(WIDER):
        step = (4, 1, 0) if place == 0 else (4, 2, 1)
        layers += [
            nn.ConvTranspose2d(before, width * times, *step, bias=False),
            nn.BatchNorm2d(width * times),
            nn.ReLU(),
        ]
        before = width * times
    return _begun(nn.Sequential(*layers, nn.ConvTranspose2d(before, channels, 4, 2, 1), nn.Sigmoid()))


def dcgan_discriminator(channels: int = 3, width: int = 64) -> torch.nn.Module:
    """Build what says of pictures of [0, 1], as a logit ``[n, 1]``, whether they are real."""
    nn = require("torch", extra="train", purpose="A DCGAN").nn
    layers: list[Any] = []
    before = channels
    for place, times in enumerate(reversed(WIDER)):
        layers.append(nn.Conv2d(before, width * times, 4, 2, 1, bias=place == 0))
        layers += [] if place == 0 else [nn.BatchNorm2d(width * times)]
        layers.append(nn.LeakyReLU(0.2))
        before = width * times
    return _begun(nn.Sequential(*layers, nn.Conv2d(before, 1, 4), nn.Flatten()))


def _begun(network: Any) -> torch.nn.Module:
    """Draw the weights as the paper does: normal with a spread of 0.02, scales of normalisation about 1."""
    nn = require("torch", extra="train", purpose="A DCGAN").nn
    for layer in network:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, 0.0, SPREAD)
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight, 1.0, SPREAD)
    made: torch.nn.Module = network
    return made
