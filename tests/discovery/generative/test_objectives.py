"""What auto-encoders minimise, against plain loops and against torch's own distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.discovery.generative import _vae as objectives

torch = pytest.importorskip("torch")


def batch(seed: int, rows: int, size: int) -> tuple[Any, Any, Any]:
    draws = np.random.default_rng(seed)
    return tuple(torch.as_tensor(draws.normal(size=(rows, size))) for _ in range(3))  # type: ignore[return-value]


def slow_covariance(means: np.ndarray) -> list[list[float]]:
    rows, size = means.shape
    middle = [sum(means[row, at] for row in range(rows)) / rows for at in range(size)]
    return [[sum((means[row, one] - middle[one]) * (means[row, other] - middle[other]) for row in range(rows)) / rows
             for other in range(size)] for one in range(size)]  # fmt: skip


def slow_dip(means: np.ndarray, log_variances: np.ndarray, kind: str, off: float, on: float) -> float:
    """Kumar et al.'s penalty: Var[z] by the law of total variance, entry by entry."""
    rows, size = means.shape
    matrix = slow_covariance(means)
    if kind == "dip_vae_ii":
        for at in range(size):
            matrix[at][at] += sum(math.exp(log_variances[row, at]) for row in range(rows)) / rows
    total = 0.0
    for one in range(size):
        for other in range(size):
            total += on * (matrix[one][one] - 1) ** 2 if one == other else off * matrix[one][other] ** 2
    return total


def slow_correlation(latents: np.ndarray, means: np.ndarray, log_variances: np.ndarray) -> float:
    rows, size = means.shape

    def density(row: int, other: int, at: int) -> float:
        variance = math.exp(log_variances[other, at])
        return math.exp(-((latents[row, at] - means[other, at]) ** 2) / 2 / variance) / math.sqrt(
            2 * math.pi * variance
        )

    total = 0.0
    for row in range(rows):
        whole = sum(math.prod(density(row, other, at) for at in range(size)) for other in range(rows)) / rows
        parts = math.prod(sum(density(row, other, at) for other in range(rows)) / rows for at in range(size))
        total += math.log(whole) - math.log(parts)
    return total / rows


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 7), size=st.integers(1, 4))
def test_every_regulariser_agrees_with_a_plain_loop(seed: int, rows: int, size: int) -> None:
    latents, means, log_variances = batch(seed, rows, size)
    z, m, v = (one.numpy() for one in (latents, means, log_variances))
    normal = torch.distributions.Normal(means, (0.5 * log_variances).exp())
    prior = torch.distributions.Normal(torch.zeros_like(means), torch.ones_like(means))
    plain = float(torch.distributions.kl_divergence(normal, prior).sum(1).mean())
    expected = {
        "vae": plain,
        "beta_vae": 4.0 * plain,
        "beta_tcvae": plain + 3.0 * slow_correlation(z, m, v),
        "dip_vae_i": plain + slow_dip(m, v, "dip_vae_i", 5.0, 50.0),
        "dip_vae_ii": plain + slow_dip(m, v, "dip_vae_ii", 5.0, 5.0),
    }
    for kind in objectives.KINDS:
        strength = objectives.strength_of(kind, None)
        found = float(objectives.regulariser(kind, strength, latents, means, log_variances))
        assert found == pytest.approx(expected[kind], rel=1e-8, abs=1e-10), kind
    assert np.allclose(objectives.covariance(means), np.cov(m.T, bias=True).reshape(size, size))


def test_the_total_variance_of_the_second_kind_is_that_of_latents_drawn() -> None:
    draws = np.random.default_rng(0)
    means, log_variances = draws.normal(size=(5, 2)), draws.normal(size=(5, 2))
    rows = draws.integers(0, 5, 400_000)
    drawn = means[rows] + draws.normal(size=(400_000, 2)) * np.exp(0.5 * log_variances[rows])
    matrix = objectives.covariance(torch.as_tensor(means)) + torch.as_tensor(log_variances).exp().mean(0).diag()
    assert np.allclose(matrix, np.cov(drawn.T), atol=0.03)


def test_reconstruction_is_summed_over_pixels_and_averaged_over_pictures() -> None:
    logits, pictures = torch.randn(3, 1, 4, 4), torch.rand(3, 1, 4, 4)
    p = torch.sigmoid(logits)
    slow = -(pictures * p.log() + (1 - pictures) * (1 - p).log()).sum() / 3
    assert float(objectives.reconstruction(logits, pictures)) == pytest.approx(float(slow), rel=1e-5)


def test_strengths_are_the_third_that_locatello_et_al_tried() -> None:
    assert [objectives.strength_of(kind, None) for kind in objectives.KINDS] == [1.0, 4.0, 4.0, 5.0, 5.0]
    assert objectives.strength_of("beta_vae", 16) == 16.0
    assert all(len(tried) == 6 for tried in objectives.TRIED.values())
