"""How two tensors differ: bits, sizes and units in the last place, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.training.diverging._first_difference import difference, differing, lengths

torch = pytest.importorskip("torch")

FINITE = st.floats(-(2.0**100), 2.0**100, width=32)


def steps_between(one: np.float32, other: np.float32, most: int = 50) -> int:
    """Count the steps from one number to the next by taking them."""
    taken, toward = 0, one
    while toward != other and taken < most:
        toward = np.nextafter(toward, other)
        taken += 1
    return taken


@given(FINITE, st.integers(0, 40))
def test_units_are_the_steps_from_one_number_to_the_next(start: float, steps: int) -> None:
    one = other = np.float32(start)
    for _ in range(steps):
        other = np.nextafter(other, np.float32(np.inf))
    found = difference(torch.tensor([one]), torch.tensor([other]))
    assert found.units == steps == steps_between(one, other)
    assert found.largest == abs(np.float64(one) - np.float64(other))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_one_unit_is_one_unit_in_every_precision_and_across_zero(dtype: str) -> None:
    kind = getattr(torch, dtype)
    tiny = torch.finfo(kind).smallest_normal * torch.finfo(kind).eps  # the smallest number above 0
    one = torch.tensor([1.0, 3.0], dtype=kind)
    next_one = torch.tensor([1.0 + torch.finfo(kind).eps, 3.0], dtype=kind)
    assert difference(one, next_one).units == 1
    assert difference(torch.tensor([-tiny], dtype=kind), torch.tensor([tiny], dtype=kind)).units == 2
    assert differing([(one, next_one), (one, one.clone())]) == [True, False]


def test_the_size_is_that_of_the_largest_difference_and_relative_to_the_first() -> None:
    one, other = torch.tensor([[3.0, 4.0], [0.0, 12.0]]), torch.tensor([[3.0, 4.5], [0.0, 12.0]])
    found = difference(one, other)
    assert found.largest == 0.5
    assert found.relative == pytest.approx(0.5 / 13)
    assert lengths([(one[0], other[0]), (one[1], other[1])]) == pytest.approx((0.5, 13.0))


def test_every_bit_counts() -> None:
    zero, nan = torch.tensor([0.0, -0.0]), torch.tensor([math.nan])
    assert differing([(zero[:1], zero[1:]), (nan, nan.clone()), (nan, torch.tensor([1.0]))]) == [True, False, True]
    signs = difference(zero[:1], zero[1:])
    assert (signs.largest, signs.units) == (0, 0)
    assert math.isnan(difference(nan, torch.tensor([1.0])).units)


def test_another_shape_or_type_is_a_difference_without_a_size() -> None:
    one = torch.zeros(2)
    assert differing([(one, torch.zeros(3)), (one, one.double()), (one, one)]) == [True, True, False]
    assert math.isnan(difference(one, torch.zeros(3)).largest)
    assert differing([]) == []


def test_whole_numbers_are_compared_too() -> None:
    one, other = torch.tensor([1, 2]), torch.tensor([1, 4])
    assert differing([(one, other)]) == [True]
    found = difference(one, other)
    assert found.largest == 2
    assert math.isnan(found.units)


def test_the_memory_order_of_a_tensor_does_not_matter() -> None:
    one = torch.randn(2, 3, 4, 4)
    assert differing([(one, one.contiguous(memory_format=torch.channels_last))]) == [False]
