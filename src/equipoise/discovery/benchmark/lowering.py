"""A generator that computes in fewer bits: its decoder in bfloat16, the picture and all that follows in float32."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, get_args

from equipoise.discovery.generative.vae import TrainedVAE
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import unknown_name
from equipoise.foundation.imports import require

# What torch's convolutions do by themselves (TF32 on a card, float32 on a CPU), or bfloat16 in the decoder.
Precision = Literal["native", "bfloat16"]


@cache
def lowered_kind() -> Any:
    """Return the class of a decoder in bfloat16."""
    torch = require("torch", extra="train", purpose="A generator")

    class Lowered(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Latents to pictures of [0, 1]; the weights stay in float32."""

        def __init__(self, decoder: Any) -> None:
            super().__init__()
            self.decoder = decoder

        def forward(self, latents: Any) -> Any:
            with torch.autocast(latents.device.type, dtype=torch.bfloat16):
                logits = self.decoder(latents)
            return logits.float().sigmoid()

    return Lowered


def generator_of(vae: TrainedVAE, precision: Precision = "native") -> Generator:
    """Return a VAE as a generator that computes with a precision."""
    if precision not in get_args(Precision):
        raise unknown_name("precision", str(precision), get_args(Precision), "the benchmark")
    if precision == "native":
        return vae.generator()
    settings = vae.settings
    return Generator(lowered_kind()(vae.decoder), settings.latent_size, device=settings.device,
                     image=(vae.channels, 64, 64))  # fmt: skip
