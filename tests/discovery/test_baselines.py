"""Baselines: chance is what theory says, and each finds what it is meant to find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from equipoise.discovery import (
    Hyperplane,
    axes,
    hessian_directions,
    lowest_loss_direction,
    pca_directions,
    random_directions,
    random_orthogonal_directions,
)
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput
from helpers.cases.discovery import BIAS, LATENT, TARGET, meaning, painter, quick, reader, torch


def test_a_random_direction_of_ten_dimensions_has_the_cosine_that_theory_gives() -> None:
    planes = random_directions(10, 20_000, seed=0)
    given = Hyperplane("given", np.arange(1.0, 11.0))
    found = np.abs([plane.cosine(given) for plane in planes])
    expected = special.gamma(5) / (np.sqrt(np.pi) * special.gamma(5.5))  # the mean |cosine| on a sphere
    assert found.mean() == pytest.approx(expected, abs=0.005)
    assert expected == pytest.approx(0.26, abs=0.02)


def test_random_orthogonal_directions_stay_in_the_complement_and_pass_the_centre() -> None:
    away = [Hyperplane("target", np.eye(5)[0] + np.eye(5)[1]), Hyperplane("known", np.eye(5)[1])]
    centre = np.full(5, 0.5)
    for plane in random_orthogonal_directions(5, 20, 3, away, centre):
        assert [plane.cosine(one) for one in away] == pytest.approx([0.0, 0.0], abs=1e-12)
        assert float(plane.distance(centre)) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(BadInput, match="no direction"):
        random_orthogonal_directions(2, 1, 0, axes(2))


def test_the_axis_with_the_lowest_loss_is_the_one_the_classifier_reacts_to() -> None:
    generator = painter()
    generator.module.turned.copy_(torch.eye(LATENT))
    best, losses = lowest_loss_direction(generator, reader(0.0, 5.0), axes(LATENT), alphas=quick().alphas, seed=0)
    assert best.name == f"axis {BIAS}"
    assert np.argmin(losses) == BIAS
    with pytest.raises(BadInput, match="at least one"):
        lowest_loss_direction(generator, reader(0.0, 5.0), (), alphas=quick().alphas, seed=0)


def test_principal_components_of_pictures_are_the_latents_that_paint_most() -> None:
    class Linear(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            rng = np.random.default_rng(0)
            pixels = np.linalg.qr(rng.normal(size=(48, 4)))[0] * np.array([4.0, 2.0, 1.0, 0.5])
            self.turned = np.linalg.qr(rng.normal(size=(4, 4)))[0]
            self.register_buffer("matrix", torch.tensor(pixels @ self.turned.T))

        def forward(self, latents: Any) -> Any:
            return (latents @ self.matrix.T).reshape(-1, 3, 4, 4)

    module = Linear()
    planes = pca_directions(Generator(module, 4), 3, seed=0, samples=4000, chunk=500)
    for index, plane in enumerate(planes):
        assert abs(float(plane.normal @ module.turned[:, index])) > 0.99
    with pytest.raises(BadInput, match="1 to 4"):
        pca_directions(Generator(module, 4), 5, seed=0)


def test_calm_directions_do_not_interact() -> None:
    class Saddle(torch.nn.Module):  # type: ignore[misc]
        """Pictures with z0 z1 in them: calm along the diagonals, where it is a difference of squares."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("zero", torch.zeros((), dtype=torch.float64))

        def forward(self, z: Any) -> Any:
            return (z[:, 0] * z[:, 1])[:, None, None, None] + self.zero

    planes = hessian_directions(Generator(Saddle(), 2), 2, seed=1, steps=300)
    assert abs(planes[0].cosine(planes[1])) < 1e-9
    assert np.abs(planes[0].normal) == pytest.approx(np.full(2, np.sqrt(0.5)), abs=0.02)
    with pytest.raises(BadInput, match="2 to 2"):
        hessian_directions(Generator(Saddle(), 2), 1, seed=0)


def test_of_the_calm_directions_the_one_is_taken_that_the_classifier_reacts_to() -> None:
    generator, classifier = painter(), reader(4.0, 4.0)
    calm = hessian_directions(generator, LATENT, 0, steps=5)
    chosen, losses = lowest_loss_direction(generator, classifier, calm, alphas=quick().alphas, seed=0)
    assert chosen is calm[int(np.argmin(losses))]
    seen = [abs(chosen.cosine(meaning(0, place, "one"))) for place in (TARGET, BIAS)]
    assert max(seen) > 0.1
