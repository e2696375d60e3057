"""Grids of pictures as one array: what a generator draws, and what an auto-encoder makes of what it saw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.generative.feeding import Pictures, shown
from equipoise.discovery.generative.vae import TrainedVAE
from equipoise.discovery.generator import Generator
from equipoise.discovery.reading import PIXELS, as_bytes
from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require


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
        means = vae.encoder(shown(seen, vae.settings.device))[:, : vae.settings.latent_size]
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
