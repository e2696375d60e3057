"""Total variation, its loss and orthogonality against explicit loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from equipoise.discovery._objective import orthogonality, total_variation, variation_loss
from equipoise.foundation import BadInput

shapes = st.tuples(st.integers(1, 3), st.integers(2, 5), st.integers(1, 4))
probabilities = arrays.arrays(np.float64, shapes, elements=st.floats(0, 1))


def loss_by_hand(p: np.ndarray, inside: np.ndarray) -> float:
    steps = []
    for latent in range(p.shape[1]):
        for place in range(len(p) - 1):
            counts = inside[place, latent] and inside[place + 1, latent]
            steps.append(abs(p[place + 1, latent] - p[place, latent]) if counts else 0.0)
    return -math.log(1e-10 + sum(steps) / len(steps))


@given(probabilities, st.data())
def test_the_loss_of_each_stack_is_that_of_a_loop(p: np.ndarray, data: st.DataObject) -> None:
    inside = data.draw(arrays.arrays(np.bool_, p.shape))
    every = np.ones_like(inside)
    np.testing.assert_allclose(variation_loss(p), [loss_by_hand(one, every[0]) for one in p], atol=1e-9)
    masked = [loss_by_hand(one, mask) for one, mask in zip(p, inside, strict=True)]
    np.testing.assert_allclose(variation_loss(p, inside), masked, atol=1e-9)
    assert total_variation(p).shape == (p.shape[0], p.shape[2])
    assert (total_variation(p, inside) <= total_variation(p) + 1e-12).all()


def test_the_mean_over_latents_is_inside_the_logarithm() -> None:
    p = np.array([[0.0, 0.0], [0.5, 0.0]])
    assert variation_loss(p) == pytest.approx(-math.log(0.25))


def test_tensors_give_what_arrays_give() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    p, inside = rng.uniform(size=(2, 6, 5)), rng.uniform(size=(2, 6, 5)) < 0.7
    found = variation_loss(torch.from_numpy(p), torch.from_numpy(inside))
    np.testing.assert_allclose(found.numpy(), variation_loss(p, inside))
    normals, others = rng.normal(size=(3, 4)), np.eye(4)[:2]
    for variant in ("squared", "signed"):
        tensor = orthogonality(torch.from_numpy(normals), torch.from_numpy(others), variant)
        np.testing.assert_allclose(tensor.numpy(), orthogonality(normals, others, variant))


def test_orthogonality_is_the_mean_squared_cosine_or_the_signed_sum() -> None:
    w = np.array([3.0, 4.0, 0.0])
    others = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    assert orthogonality(w, others) == pytest.approx((0.6**2 + 0.8**2) / 2)
    assert orthogonality(w, others, "signed") == pytest.approx(0.6 - 0.8)
    assert orthogonality(-w, others, "signed") == pytest.approx(0.8 - 0.6)
    assert orthogonality(w, np.zeros((0, 3))) == 0.0
    with pytest.raises(BadInput, match="squared"):
        orthogonality(w, others, "cubed")
