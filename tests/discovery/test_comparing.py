"""The baselines of an investigation: as many directions as there is room for."""

from __future__ import annotations

from typing import Any

from discovery_cases import torch
from equipoise.discovery.comparing import baseline_directions
from equipoise.discovery.generator import Generator
from equipoise.discovery.search import SearchSettings


class Tiny(torch.nn.Module):
    """Pictures of four numbers from twelve latents."""

    def forward(self, latents: Any) -> Any:
        return torch.sigmoid(latents[:, :4] + latents[:, 4:8]).reshape(-1, 1, 2, 2)


def test_small_pictures_have_fewer_principal_components_than_there_are_latents() -> None:
    made = baseline_directions(Generator(Tiny(), 12), (), SearchSettings(steps=2))
    assert [len(made[name]()) for name in ("axes", "pca", "random")] == [12, 4, 12]
