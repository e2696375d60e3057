"""Sums over short axes: slice by slice they are what numpy's are."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.foundation import reduce_axis


@pytest.mark.parametrize(
    "shape", [(3, 2, 2), (4_000, 5, 2, 2), (2_000, 50, 2), (2_000, 50, 1), (3_000, 2, 12), (9, 0, 3)]
)
@pytest.mark.parametrize("axis", [-1, -2])
def test_sums_and_largest_values_are_those_of_numpy(shape: tuple[int, ...], axis: int) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(reduce_axis(axis, values), values.sum(axis=axis), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(reduce_axis(axis, values > 0), (values > 0).sum(axis=axis))
    if values.shape[axis]:
        np.testing.assert_array_equal(reduce_axis(axis, values, np.maximum), values.max(axis=axis))


def test_undefined_numbers_stay_undefined() -> None:
    values = np.ones((4_000, 2, 2))
    values[7, 1, 0] = np.nan
    assert np.isnan(reduce_axis(-1, values)).sum() == 1
    assert np.isnan(reduce_axis(-2, values, np.maximum)).sum() == 1


def test_what_is_summed_is_not_changed() -> None:
    values = np.ones((4_000, 2))
    reduce_axis(-1, values)
    assert (values == 1).all()
