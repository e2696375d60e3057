"""A generator whose latent directions have a meaning, and classifiers of its pictures with a planted bias."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier, Hyperplane, JudgeSettings, SearchSettings
from equipoise.discovery.generative import Generator

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

LATENT, SIDE = 6, 8
# What the rotated latents paint: a patch, a red tint, and four patterns of stripes that mean nothing.
TARGET, BIAS = 0, 1


class Painter(torch.nn.Module):
    """Paint a patch and a tint, each along one direction of the latent space, and stripes along the others."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        turned = np.linalg.qr(rng.normal(size=(LATENT, LATENT)))[0]
        self.register_buffer("turned", torch.tensor(turned, dtype=torch.float32))
        painted = np.zeros((LATENT, 3, SIDE, SIDE))
        painted[TARGET, 1, 2:5, 2:5] = 2.0
        painted[BIAS, 0] = 1.0
        for place in range(2, LATENT):
            painted[place, 2, (place - 2) :: 4] = 1.0
        self.register_buffer("painted", torch.tensor(painted, dtype=torch.float32))

    def forward(self, latents: Any) -> Any:
        attributes = latents @ self.turned
        return torch.sigmoid(torch.einsum("na,achw->nchw", attributes, self.painted))


class Reader(torch.nn.Module):
    """Read the patch and the tint off a picture, so much of each."""

    def __init__(self, target: float, bias: float) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.tensor([target, bias]))

    def forward(self, images: Any) -> Any:
        seen = torch.stack([images[:, 1, 2:5, 2:5].mean((1, 2)), images[:, 0].mean((1, 2))], 1)
        return ((seen - 0.5) @ self.weights).sigmoid()


class Constant(torch.nn.Module):
    """Say the same of every picture."""

    def forward(self, images: Any) -> Any:
        return torch.full((len(images),), 0.7)


def painter(seed: int = 0) -> Generator:
    return Generator(Painter(seed), LATENT)


def meaning(seed: int, place: int, name: str) -> Hyperplane:
    """Return the true hyperplane of an attribute."""
    return Hyperplane(name, Painter(seed).turned[:, place].double().numpy())


def reader(target: float, bias: float) -> Classifier:
    return Classifier(Reader(target, bias))


def by_coin(seed: int, generator: Generator) -> Classifier:
    """Train a network on random labels, of so many pictures that it cannot know them by heart."""
    network, images, labels = _coins(seed, generator, 8000, torch.nn.ReLU())
    for start in list(range(0, 8000, 250)) * 4:
        logits = network(images[start : start + 250])[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels[start : start + 250])
        for weight, slope in zip(
            network.parameters(), torch.autograd.grad(loss, list(network.parameters())), strict=True
        ):
            weight.data -= 0.1 * slope
    return Classifier(network, logits=True)


def by_heart(seed: int, generator: Generator) -> Classifier:
    """Train a network on random labels of so few pictures that it begins to know them."""
    network, images, labels = _coins(seed, generator, 300, torch.nn.GELU())
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(150):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(images)[:, 0], labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Classifier(network, logits=True)


def _coins(seed: int, generator: Generator, number: int, bend: Any) -> tuple[Any, Any, Any]:
    """Return a network that has learnt nothing yet, so many pictures, and a label by coin for each."""
    nn = torch.nn
    labelled = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 16), bend, nn.Linear(16, 1))
    images = generator.images(generator.sample(number, seed))
    return network, images, torch.randint(2, (number,), generator=labelled).float()


def quick(seed: int = 0, **more: Any) -> SearchSettings:
    """Return the settings of a search that takes less than a second."""
    settings = {"steps": 100, "batch": 16, "alphas": tuple(np.linspace(-2, 2, 7).tolist()), "rate": 0.05, "seed": seed}
    return SearchSettings(**{**settings, **more})


def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo of discovery run through in a second or two, having learnt nothing."""
    from equipoise.discovery.demonstration import _demonstration as demonstration

    few = {"VAE_STEPS": 2, "CLASSIFIER_STEPS": 2, "LABELLED": 50, "DIRECTIONS": 1, "RESTARTS": 1}
    for name, value in few.items():
        monkeypatch.setattr(demonstration, name, value)
    search = replace(demonstration.search_settings(0), steps=1, batch=2, held_out=2)
    judging = JudgeSettings(latents=4, null_latents=2, random_directions=19)
    monkeypatch.setattr(demonstration, "search_settings", lambda seed: search)
    monkeypatch.setattr(demonstration, "judge_settings", lambda seed: judging)
