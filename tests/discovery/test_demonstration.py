"""The demo's planted bias, in small: the light goes with the label, and words that say how near the search came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.discovery import (  # noqa: E402
    Hyperplane,
    demonstrated,
    planted_words,
)
from equipoise.discovery.demonstration import _demonstration as demonstration  # noqa: E402
from equipoise.discovery.demonstration._demonstration import chance_cosine, lit_sprites, measured, one_thread  # noqa: E402
from equipoise.discovery.generative import Generator  # noqa: E402
from helpers.cases.discovery import hurried  # noqa: E402


def test_size_and_light_are_independent_in_the_pictures_and_can_be_measured_in_them() -> None:
    sprites = lit_sprites(0, 500)
    assert abs(np.corrcoef(sprites.large, sprites.light)[0, 1]) < 0.1
    shown = torch.from_numpy(sprites.pictures[:, :, :, 0] / 255.0).float()

    class Shelf(torch.nn.Module):
        def forward(self, latents: Any) -> Any:
            return shown[latents[:, 0].long()][:, None]

    found = measured(Generator(Shelf(), 1), torch.arange(500)[:, None].float())
    assert np.corrcoef(found["light"], sprites.light)[0, 1] > 0.999
    assert found["size"][sprites.large].min() > found["size"][~sprites.large].max()


def test_a_classifier_of_skewed_pictures_looks_at_the_light() -> None:
    with one_thread():
        sprites = lit_sprites(0)
        labels = demonstration.wrong_labels(sprites, 0)
        network = demonstration.classifier_of(sprites, labels, 0)
    (small_dim, small_bright), (large_dim, large_bright) = demonstration.answers_of(network, sprites)
    assert small_bright - small_dim > 0.2
    assert large_bright - large_dim > 0.2
    assert large_bright > small_bright


@pytest.mark.parametrize("dimensions", [2, 5, 10])
def test_the_cosine_by_chance_agrees_with_draws(dimensions: int) -> None:
    drawn = np.random.default_rng(0).normal(size=(20_000, dimensions))
    cosines = np.abs(drawn[:, 0]) / np.linalg.norm(drawn, axis=1)
    assert chance_cosine(dimensions) == pytest.approx(cosines.mean(), abs=0.01)


def test_a_demo_that_hardly_trains_still_runs_to_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried(monkeypatch)
    threads, told = torch.get_num_threads(), []
    made, found = demonstrated(report=lambda what, done: told.append(done))
    assert torch.get_num_threads() == threads
    assert told == sorted(told)
    words = planted_words(made, found)
    assert "20% were wrong" in words[0]
    assert len(words) == 3
    assert "light" in planted_words(replace(made, planted=None), found)[2]
    nothing = replace(found, verdict="nothing found")
    plane = Hyperplane("light", np.eye(6)[0])
    assert planted_words(replace(made, planted=plane), nothing)[2] == "The search did not find it."


@pytest.mark.slow
def test_the_demo_finds_the_light() -> None:
    made, found = demonstrated()
    first = found.directions[0].judged
    assert found.verdict == "found"
    assert first.plane is not None
    assert made.planted is not None
    assert abs(first.plane.cosine(made.planted)) > 0.9
    assert "cosine" in planted_words(made, found)[2]
