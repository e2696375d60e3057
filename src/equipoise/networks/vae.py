"""The encoder and decoder of paper 002's generators: pictures of 64 x 64 to latents and back, by convolutions alone."""

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
    return _begun(nn.Sequential(*layers, nn.Flatten(), nn.Linear(before, outputs)))


def vae_decoder(latent_size: int, channels: int = 1, width: int = WIDTH) -> torch.nn.Module:
    """Build what turns latents ``[n, latent size]`` into the logits of pictures: 1, 2, 6, 14, 30, 62 and 64 pixels."""
    nn = require("torch", extra="train", purpose="The decoder of a VAE").nn
    widths = [width * times for times in DECODER]
    layers: list[Any] = [nn.Unflatten(1, (latent_size, 1, 1)), nn.Conv2d(latent_size, widths[0], 1), nn.ReLU()]
    for place, (before, after) in enumerate(pairwise(widths)):
        layers += [nn.ConvTranspose2d(before, after, 4, 2, 1 if place == 0 else 0), nn.ReLU()]
    return _begun(nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], channels, 3)))


def _begun(network: Any) -> torch.nn.Module:
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
    made: torch.nn.Module = network
    return made
