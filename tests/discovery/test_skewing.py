"""Skewed samples: every row comes from the cell its draw asks for, in the shares asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.discovery import halves, skewed_cells
from equipoise.foundation import BadInput


@settings(max_examples=25)
@given(agreement=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), seed=st.integers(0, 10_000))
def test_halves_go_together_as_often_as_asked_and_the_target_is_even(agreement: float, seed: int) -> None:
    draws = np.random.default_rng(seed)
    target, biased = draws.random(500) < 0.2, draws.random(500) < 0.7
    rows = skewed_cells(target, biased).sample(4_000, agreement=agreement, seed=seed)
    assert rows.min() >= 0
    assert rows.max() < 500
    assert abs((target[rows] == biased[rows]).mean() - agreement) <= 0.05 * (0 < agreement < 1)
    assert abs(target[rows].mean() - 0.5) < 0.05
    assert np.array_equal(rows, skewed_cells(target, biased).sample(4_000, agreement=agreement, seed=seed))


def test_every_row_of_a_cell_is_drawn_as_often() -> None:
    target, biased = np.repeat([False, False, True, True], 5), np.tile(np.repeat([False, True], 5), 2)
    rows = skewed_cells(target, biased).sample(40_000, agreement=0.9, seed=1)
    expected = np.where(target == biased, 0.9, 0.1) / 2 / 5
    assert np.abs(np.bincount(rows, minlength=20) / 40_000 / expected - 1).max() < 0.12


def test_a_cell_without_rows_is_named_unless_nothing_is_drawn_from_it() -> None:
    target, biased = np.array([False, False, True]), np.array([False, True, True])
    cells = skewed_cells(target, biased)
    with pytest.raises(BadInput, match="upper half of the target and the lower half of the other"):
        cells.sample(500)
    assert set(cells.sample(500, agreement=1.0).tolist()) == {0, 2}


def test_what_is_not_cut_in_two_and_shares_that_are_none_are_refused() -> None:
    with pytest.raises(BadInput, match="two arrays of booleans"):
        skewed_cells(np.array([0, 1]), np.array([True, False]))
    cells = skewed_cells(np.array([True, False]), np.array([True, False]))
    with pytest.raises(BadInput, match="agreement is 90"):
        cells.sample(5, agreement=90)
    with pytest.raises(BadInput, match="sample of 0 rows"):
        cells.sample(0)


def test_the_halves_of_a_cohort_are_those_of_its_factors() -> None:
    sprites = equipoise.load("sprites", rows=200)
    assert np.array_equal(halves(sprites, "shape"), sprites["shape"] != "square")
    assert np.array_equal(halves(sprites, "orientation"), np.sin(sprites["orientation"] + 1e-9) < 0)
    with pytest.raises(BadInput, match="did you mean 'scale'"):
        halves(sprites, "scales")
