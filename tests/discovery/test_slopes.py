"""Slopes in chunks against plain autograd, and the loss chained outside against one graph through everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier
from equipoise.discovery._classifier import predicted, slopes
from equipoise.discovery._hyperplane import traversed
from equipoise.discovery._objective import Objective, Weights, guard_of, orthogonality, variation_loss
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput
from helpers.cases.discovery import torch

nn = torch.nn


def pair(seed: int) -> tuple[Generator, Classifier, Classifier]:
    """A small decoder and two small classifiers in float64, with the layers that real ones have."""
    torch.manual_seed(seed)
    decoder = nn.Sequential(
        nn.Linear(5, 16), nn.Unflatten(1, (4, 2, 2)), nn.BatchNorm2d(4), nn.ReLU(),
        nn.ConvTranspose2d(4, 3, 4, 2, 1), nn.Sigmoid(),
    ).double()  # fmt: skip
    readers = [
        nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), nn.Tanh(), nn.Flatten(), nn.Linear(64, 1)).double() for _ in range(2)
    ]
    one, other = (Classifier(network, logits=True) for network in readers)
    return Generator(decoder, 5), one, other


@pytest.mark.parametrize("chunk", [1, 3, 12, 100])
def test_slopes_are_those_of_plain_autograd_whatever_the_chunk(chunk: int) -> None:
    generator, *classifiers = pair(0)
    latents = generator.sample(12, seed=1).reshape(3, 4, 5)
    p, slope = slopes(generator, classifiers, latents, chunk)
    assert p.shape == (2, 3, 4)
    for index, classifier in enumerate(classifiers):
        for row in range(3):
            for column in range(4):
                z = latents[row, column][None].clone().requires_grad_()
                value = classifier.probabilities(generator.images(z))
                (expected,) = torch.autograd.grad(value.sum(), z)
                assert torch.allclose(p[index, row, column], value[0], atol=1e-12)
                assert torch.allclose(slope[index, row, column], expected[0], atol=1e-12)
        assert torch.allclose(predicted(generator, classifier, latents, chunk), p[index])


def test_a_classifier_that_does_not_look_has_no_slope() -> None:
    generator, *_ = pair(0)
    blind = Classifier(nn.Sequential(nn.Flatten(), nn.Linear(48, 1).double(), nn.Threshold(1e9, 0.5)))
    p, slope = slopes(generator, [blind], generator.sample(4, seed=0))
    assert p.unique().tolist() == [0.5]
    assert not slope.any()


def test_a_chunk_of_none_is_refused() -> None:
    generator, classifier, _ = pair(0)
    with pytest.raises(BadInput, match="at least 1"):
        predicted(generator, classifier, generator.sample(2, seed=0), 0)


def objective(generator: Generator, classifier: Classifier, **more: Any) -> Objective:
    others = torch.linalg.qr(torch.randn(5, 2, dtype=torch.float64)).Q.T
    given = {"guard": None, "reference": None, "weights": Weights(10.0, "squared", 0.0, 7.0), **more}
    alphas = (-1.0, -0.2, 0.3, 1.5)
    return Objective(generator, classifier, alphas, others, chunk=5, precision="native", **given)


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("variant", ["squared", "signed"])
def test_loss_and_gradients_are_those_of_one_graph_through_both_networks(guarded: bool, variant: str) -> None:
    generator, classifier, reference = pair(2)
    guard = guard_of(generator, 0, 0.5) if guarded else None
    made = objective(generator, classifier, guard=guard, reference=reference, weights=Weights(10.0, variant, 0.0, 7.0))
    rng = torch.Generator().manual_seed(3)
    normals = torch.randn(2, 5, generator=rng, dtype=torch.float64).requires_grad_()
    offsets = torch.randn(2, generator=rng, dtype=torch.float64).requires_grad_()
    latents = generator.sample(6, seed=4)
    found = made.loss(normals, offsets, latents, rng)

    expected = []
    for normal, offset in zip(normals, offsets, strict=True):
        unit = normal / normal.norm()
        moved = traversed(latents, unit, offset, made.alphas)
        seen = [
            one.probabilities(generator.images(moved.reshape(-1, 5))).reshape(4, 6) for one in (classifier, reference)
        ]
        inside = None if guard is None else guard.inside(moved.detach())
        steps = abs(seen[1][1:] - seen[1][:-1])
        expected.append(
            variation_loss(seen[0], inside)
            + 10.0 * orthogonality(unit, made.other_normals, variant)
            + 7.0 * steps.sum(0).mean()
        )
    assert torch.allclose(found, torch.stack(expected))
    ours = torch.autograd.grad(found.sum(), [normals, offsets])
    theirs = torch.autograd.grad(torch.stack(expected).sum(), [normals, offsets])
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.allclose(mine, other, atol=1e-10)
    values, _ = made.value((normals / normals.norm(dim=-1, keepdim=True)).detach(), offsets.detach(), latents)
    assert torch.allclose(values, found)


def test_the_hessian_penalty_is_part_of_the_loss_and_of_its_gradient() -> None:
    generator, classifier, _ = pair(5)
    latents = generator.sample(4, seed=0)
    normals = torch.randn(3, 5, dtype=torch.float64).requires_grad_()
    offsets = torch.zeros(3, dtype=torch.float64)
    plain = objective(generator, classifier)
    for others in (plain.other_normals, plain.other_normals[:0]):
        made, without = (
            objective(generator, classifier, weights=Weights(0.0, "squared", weight, 0.0)) for weight in (2.0, 0.0)
        )
        object.__setattr__(made, "others", others)
        stream = torch.Generator().manual_seed(0)
        extra = made.loss(normals, offsets, latents, stream) - without.loss(normals, offsets, latents, stream)
        assert (extra > 0).all()
        (gradient,) = torch.autograd.grad(extra.sum(), normals)
        assert np.isfinite(gradient.numpy()).all()
        assert gradient.abs().max() > 0


def test_a_guard_keeps_the_share_of_the_prior_that_it_was_asked_for() -> None:
    module = pair(0)[0].module
    for prior in ("normal", "uniform", lambda number, random: 4.0 + torch.randn(number, 5, generator=random)):
        generator = Generator(module, 5, prior)
        guard = guard_of(generator, seed=0, share=0.9)
        fresh = generator.sample(20_000, seed=1)
        assert float(guard.inside(fresh).double().mean()) == pytest.approx(0.9, abs=0.01)
        assert not guard.inside(fresh + 10.0).any()
    with pytest.raises(BadInput, match="below 1"):
        guard_of(generator, 0, 1.0)
    with pytest.raises(BadInput, match="is constant"):
        guard_of(Generator(module, 5, lambda number, random: torch.zeros(number, 5)), 0)
