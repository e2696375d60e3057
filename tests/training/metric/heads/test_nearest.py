"""The nearest training row, against a double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.training.metric import _heads as module
from equipoise.training.metric import nearest


@given(st.integers(0, 2**20), st.integers(0, 9), st.integers(1, 12), st.integers(1, 40))
def test_the_nearest_point_is_that_of_a_double_loop(seed: int, queries: int, points: int, at_once: int) -> None:
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(seed)
    asked, there = generator.normal(size=(queries, 3)), generator.normal(size=(points, 3))
    expected = [min(range(points), key=lambda place: float(((row - there[place]) ** 2).sum())) for row in asked]
    before = module.AT_ONCE
    module.AT_ONCE = at_once
    try:
        assert nearest(asked, there).tolist() == expected
        assert nearest(torch.from_numpy(asked), torch.from_numpy(there)).tolist() == expected
    finally:
        module.AT_ONCE = before
