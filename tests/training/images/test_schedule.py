"""The learning rate through a training."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.training.images import rates
from equipoise.training.images._optimisation import SCHEDULES


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_epochs_put_together_are_the_whole(schedule: str) -> None:
    whole = rates(schedule, 0.1, 0, 40, 40)
    parts = np.concatenate([rates(schedule, 0.1, first, 10, 40) for first in (0, 10, 20, 30)])
    assert np.array_equal(whole, parts)
    assert (whole >= 0).all()
    assert whole.max() <= np.float32(0.1)


def test_steps_divide_by_ten_at_each_quarter() -> None:
    found = rates("steps", 0.1, 0, 200, 200)
    assert np.allclose(found[[0, 49, 50, 99, 100, 149, 150, 199]],
                       [0.1, 0.1, 0.01, 0.01, 1e-3, 1e-3, 1e-4, 1e-4])  # fmt: skip


def test_a_triangle_rises_for_a_fifth_and_falls_to_nothing() -> None:
    found = rates("triangle", 1.0, 0, 100, 100)
    assert int(found.argmax()) in (19, 20)
    assert found[-1] < 0.01
    assert np.allclose(np.diff(found)[:18], 0.05, atol=1e-6)
