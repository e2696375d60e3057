"""The Hessian penalty of functions whose second derivatives are known."""

from __future__ import annotations

import itertools

import pytest

from equipoise.discovery._objective import hessian_penalty, random_signs
from helpers.cases.discovery import torch


def test_over_all_signs_it_is_twice_the_squared_interactions() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(4, 4, dtype=torch.float64)
    matrix = matrix + matrix.T
    basis = torch.linalg.qr(torch.randn(4, 3, dtype=torch.float64)).Q.T
    signs = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=3)), dtype=torch.float64)
    latents = torch.randn(5, 4, dtype=torch.float64)
    found = hessian_penalty(lambda z: 0.5 * ((z @ matrix) * z).sum(1), latents, basis, signs)
    inside = basis @ matrix @ basis.T
    apart = sum(float(inside[i, j]) ** 2 for i in range(3) for j in range(3) if i != j)
    assert float(found) == pytest.approx(2.0 * apart * 8 / 7)  # of a sample of 8, unbiased


def test_it_is_nothing_where_directions_do_not_interact_and_the_largest_output_counts() -> None:
    latents, basis = torch.randn(3, 2, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    signs = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    alone = hessian_penalty(lambda z: (z**2).sum(1), latents, basis, signs)
    assert float(alone) == pytest.approx(0.0, abs=1e-15)
    both = hessian_penalty(
        lambda z: torch.stack([z[:, 0] * z[:, 1], 3.0 * z[:, 0] * z[:, 1]], 1), latents, basis, signs
    )
    assert float(both) == pytest.approx(((6.0 - -6.0) ** 2) / 2)


def test_signs_never_say_the_same_twice() -> None:
    stream = torch.Generator().manual_seed(0)
    for _ in range(50):
        first, second = random_signs(2, stream)
        assert set(first.tolist()) | set(second.tolist()) <= {-1.0, 1.0}
        assert abs(float(first @ second)) < 2.0
