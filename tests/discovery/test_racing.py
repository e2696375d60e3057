"""A race among restarts: who drops out when, and that the winner is the one that a whole search would have had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.discovery import search
from equipoise.discovery._search import ahead, cost, halvings
from helpers.cases.discovery import TARGET, meaning, painter, quick, reader


def test_sixteen_restarts_are_halved_four_times_and_cost_a_sixth() -> None:
    assert halvings(16, 1000) == {50: 8, 100: 4, 200: 2, 400: 1}
    assert cost(16, 1000) == 50 * 16 + 50 * 8 + 100 * 4 + 200 * 2 + 600
    assert halvings(5, 100) == {10: 3, 20: 2, 40: 1}
    assert halvings(1, 100) == {}
    assert cost(1, 100) == 100


@given(st.integers(1, 40), st.integers(1, 300))
def test_a_race_ends_with_one_restart_and_never_costs_more_than_all(restarts: int, steps: int) -> None:
    made = halvings(restarts, steps)
    left = list(made.values())
    assert left == sorted(left, reverse=True)
    assert all(1 <= step < steps for step in made)
    if steps > 1 and restarts > 1:
        assert left[-1] == 1
    running, taken = restarts, 0
    for step in range(1, steps + 1):  # step by step, as a search takes them
        taken += running
        running = made.get(step, running)
    assert cost(restarts, steps) == taken <= restarts * steps


def test_what_counts_is_how_a_restart_does_of_late() -> None:
    losses = np.array([[0.0, 0.0, 0.0, 9.0], [9.0, 9.0, 9.0, 1.0], [5.0, 5.0, 5.0, 2.0]])
    assert ahead(losses, 2).tolist() == [1, 2]
    assert ahead(losses, 1).tolist() == [1]


@pytest.mark.parametrize("seed", range(3))
def test_the_winner_of_a_race_is_what_that_restart_finds_without_one(seed: int) -> None:
    asked = quick(seed)
    raced = search(
        painter(seed), reader(6.0, 4.0), target=meaning(seed, TARGET, "target"), directions=2, restarts=6,
        settings=replace(asked, race=True),
    )  # fmt: skip
    whole = search(
        painter(seed), reader(6.0, 4.0), target=meaning(seed, TARGET, "target"), directions=2, restarts=6,
        settings=asked,
    )  # fmt: skip
    first = raced.directions[0]
    assert np.isfinite(first.losses).sum() == 1
    assert np.isfinite(first.losses[first.restart])
    np.testing.assert_allclose(raced.curves[0, first.restart], whole.curves[0, first.restart], rtol=1e-6)
    assert first.loss == pytest.approx(whole.directions[0].losses[first.restart], rel=1e-6)
    # Restarts end close to each other here, so whoever wins is as good as the best.
    assert first.loss < whole.directions[0].loss + 0.02
    assert abs(raced.directions[0].plane.cosine(raced.directions[1].plane)) < 1e-9
    gone = np.isnan(raced.curves[0])
    assert gone[:, -1].sum() == 5
    assert not gone[:, 0].any()
