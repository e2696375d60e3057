"""Hyperplanes against explicit loops, for arrays of numpy and tensors of torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.discovery import Hyperplane, without
from equipoise.discovery._hyperplane import basis_of, traversed
from equipoise.foundation import BadInput

numbers = st.floats(-5, 5).filter(lambda value: abs(value) > 1e-3 or value == 0)


@st.composite
def cases(draw: Any) -> tuple[list[float], float, list[list[float]]]:
    size = draw(st.integers(1, 5))
    vector = st.lists(numbers, min_size=size, max_size=size)
    return draw(vector.filter(any)), draw(numbers), draw(st.lists(vector, min_size=1, max_size=4))


def projected_by_hand(w: list[float], o: float, z: list[float]) -> list[float]:
    above = sum(a * b for a, b in zip(w, z, strict=True)) + o
    square = sum(a * a for a in w)
    return [value - above * a / square for a, value in zip(w, z, strict=True)]


@given(cases())
def test_a_projection_is_what_a_loop_makes_of_the_raw_normal_and_offset(case: Any) -> None:
    w, o, latents = case
    plane = Hyperplane("plane", np.array(w), o)
    found = plane.project(np.array(latents))
    assert math.isclose(float(np.linalg.norm(plane.normal)), 1.0)
    np.testing.assert_allclose(found, [projected_by_hand(w, o, z) for z in latents], atol=1e-8)
    np.testing.assert_allclose(plane.distance(found), 0.0, atol=1e-8)
    np.testing.assert_allclose(plane.project(found), found, atol=1e-8)


@given(cases(), st.lists(numbers, min_size=1, max_size=4))
def test_a_traversal_steps_from_the_plane_along_the_unit_normal(case: Any, alphas: list[float]) -> None:
    w, o, latents = case
    length = math.sqrt(sum(a * a for a in w))
    expected = [
        [[p + alpha * a / length for p, a in zip(projected_by_hand(w, o, z), w, strict=True)] for z in latents]
        for alpha in alphas
    ]
    plane = Hyperplane("plane", np.array(w), o)
    np.testing.assert_allclose(plane.traverse(np.array(latents), alphas), expected, atol=1e-8)


def test_tensors_and_stacks_give_what_arrays_give_one_by_one() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    normals, offsets, latents = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=(5, 4))
    alphas = [-1.0, 0.5]
    each = [Hyperplane("p", w, o).traverse(latents, alphas) for w, o in zip(normals, offsets, strict=True)]
    stacked = traversed(*map(torch.from_numpy, (latents, normals, offsets)), alphas)
    np.testing.assert_allclose(stacked.numpy(), each)
    one = Hyperplane("p", normals[0], offsets[0]).traverse(torch.from_numpy(latents).float(), alphas)
    assert one.dtype == torch.float32
    np.testing.assert_allclose(one.numpy(), each[0], atol=1e-5)


def test_cosines_are_of_the_normals_alone() -> None:
    one, other = Hyperplane("a", np.array([3.0, 0.0]), 7.0), Hyperplane("b", np.array([-1.0, 1.0]), -2.0)
    assert one.cosine(other) == pytest.approx(-math.sqrt(0.5))
    assert one.cosine(one) == 1.0
    assert one.offset == pytest.approx(7 / 3)


def test_a_plane_without_others_is_orthogonal_to_them_and_as_far_from_the_middle() -> None:
    rng = np.random.default_rng(1)
    plane, *others = (Hyperplane(str(place), rng.normal(size=5), 0.3) for place in range(3))
    middle = rng.normal(size=5)
    left = without(plane, others, middle)
    assert left is not None
    assert [left.cosine(other) for other in others] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert float(left.distance(middle)) == pytest.approx(float(plane.distance(middle)))
    assert without(others[0], others, middle) is None
    assert basis_of([others[0], others[0]], 5).shape == (1, 5)
    assert plane.moved_through(middle).distance(middle) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("normal", "offset", "words"),
    [
        ([0.0, 0.0], 0.0, "0 everywhere"),
        ([1.0, math.nan], 0.0, "not finite"),
        ([1.0], math.inf, "not finite"),
        ([[1.0]], 0.0, "shape"),
        ([], 0.0, "shape"),
    ],
)
def test_what_is_no_plane_is_refused(normal: Any, offset: float, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Hyperplane("plane", np.array(normal), offset)


def test_planes_of_other_latent_spaces_are_refused() -> None:
    one, other = Hyperplane("a", np.ones(2)), Hyperplane("b", np.ones(3))
    with pytest.raises(BadInput, match="dimensions"):
        one.cosine(other)
    with pytest.raises(BadInput, match="dimensions"):
        one.project(np.zeros((4, 3)))
    with pytest.raises(BadInput, match="dimensions"):
        basis_of([one, other], 2)
