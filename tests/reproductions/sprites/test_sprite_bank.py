"""Chosen sprites: drawn on a device as they are drawn by the cohort, skewed as asked, held out without overlap."""

from __future__ import annotations

import numpy as np
import pytest
from reproductions.sprites.sprite_bank import ChosenSprites, held_out_cells, skewed_sprites, upper_half

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import (
    NUMBER_OF_SPRITES,
    SPRITE_FACTORS,
)
from equipoise.discovery.generative import network_pictures
from equipoise.discovery.generative._training import check_pictures
from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")


def test_a_gather_of_720_drawings_gives_the_pictures_that_are_drawn_one_by_one() -> None:
    # The corners of every position are in it.
    cells = np.concatenate(
        [np.random.default_rng(0).integers(0, NUMBER_OF_SPRITES, 300), [0, 31, 992, 1023, NUMBER_OF_SPRITES - 1]]
    )
    sprites = ChosenSprites(cells)
    check_pictures(sprites)
    rows = np.arange(len(cells))[::-1].copy()
    assert torch.equal(sprites.drawn_on(rows, "cpu"), network_pictures(sprites[rows], "cpu"))


def test_all_sprites_are_there_by_default() -> None:
    sprites = ChosenSprites()
    assert len(sprites) == NUMBER_OF_SPRITES
    assert sprites.shape == (NUMBER_OF_SPRITES, 64, 64, 1)
    assert np.array_equal(sprites[[0, NUMBER_OF_SPRITES - 1]], ChosenSprites(np.array([0, NUMBER_OF_SPRITES - 1]))[:])


@pytest.mark.parametrize("agreement", [0.1, 0.5, 0.9])
def test_two_halves_go_together_as_often_as_asked(agreement: float) -> None:
    among = np.arange(0, NUMBER_OF_SPRITES, 7)
    cells = skewed_sprites("shape", "y", agreement, 20_000, 3, among)
    codes = codes_of_cells(cells, SPRITE_FACTORS)
    target, biased = upper_half("shape", codes), upper_half("y", codes)
    assert np.isin(cells, among).all()
    assert abs(target.mean() - 0.5) < 0.02
    assert abs((target == biased).mean() - agreement) < 0.02


def test_held_out_sprites_are_not_among_the_others() -> None:
    kept, out = held_out_cells(1_000, 0)
    assert len(out) == 1_000
    assert np.array_equal(np.sort(np.concatenate([kept, out])), np.arange(NUMBER_OF_SPRITES))
    assert not np.array_equal(out, held_out_cells(1_000, 1)[1])


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="two different factors"):
        skewed_sprites("x", "x", 0.9, 10, 0)
    with pytest.raises(BadInput, match="colour"):
        skewed_sprites("x", "colour", 0.9, 10, 0)
    with pytest.raises(BadInput, match="held out"):
        held_out_cells(NUMBER_OF_SPRITES, 0)
