"""The baselines of an investigation: as many directions as there is room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier, Hyperplane, SearchSettings
from equipoise.discovery._investigating import baseline_directions, chosen
from equipoise.discovery.generative import Generator
from equipoise.foundation import stream
from helpers.cases.discovery import torch


class Tiny(torch.nn.Module):
    """Pictures of four numbers from twelve latents."""

    def forward(self, latents: Any) -> Any:
        return torch.sigmoid(latents[:, :4] + latents[:, 4:8]).reshape(-1, 1, 2, 2)


def test_small_pictures_have_fewer_principal_components_than_there_are_latents() -> None:
    made = baseline_directions(Generator(Tiny(), 12), (), SearchSettings(steps=2))
    assert [len(made[name]()) for name in ("axes", "pca", "random")] == [12, 4, 12]


class Shade(torch.nn.Module):
    """Say how bright a picture is."""

    def forward(self, images: Any) -> Any:
        return images.mean((1, 2, 3))


def test_what_is_left_of_a_baseline_lies_as_far_from_the_middle_of_the_prior() -> None:
    generator, settings = Generator(Tiny(), 12, "uniform"), SearchSettings(steps=2)
    known, plane = Hyperplane("known", np.eye(12)[0]), Hyperplane("mixed", np.eye(12)[0] + np.eye(12)[1], -0.2)
    left = chosen(generator, Classifier(Shade()), [plane], [known], settings)
    assert left is not None
    middle = generator.middle(int(stream(settings.seed, "chosen on").integers(2**31)))
    assert left.distance(middle[None]) == pytest.approx(plane.distance(middle[None]))
    assert left.cosine(known) == pytest.approx(0.0)
