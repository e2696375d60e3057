"""Sprites against a slow drawing of each pixel, dSprites' and SmallNORB's file formats, and factors cut in two."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.cohorts import (
    Factor,
    codes_of_cells,
    read_array,
)
from equipoise.cohorts import _array_files as array_files
from equipoise.cohorts._array_files import read_rows
from equipoise.cohorts.pictures import (
    NUMBER_OF_SPRITES,
    SPRITE_FACTORS,
    SpritePictures,
    draw_sprites,
    sprite_drawings,
)
from equipoise.cohorts.pictures import _norb_files as norb_files
from equipoise.cohorts.sources.smallnorb import PARTS, smaller
from equipoise.foundation import BadInput
from equipoise.testing import check

DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"


def slow_pixel(shape: str, scale: float, turn: float, x: int, y: int, row: int, column: int) -> int:
    """One pixel of a sprite, point by point."""
    held = 0
    for point in range(16):
        right = column + (point % 4 + 0.5) / 4 - (16.5 + x)
        up = (16.5 + y) - (row + (point // 4 + 0.5) / 4)
        a = round((right * math.cos(turn) + up * math.sin(turn)) / scale, 9)
        b = round((up * math.cos(turn) - right * math.sin(turn)) / scale, 9)
        if shape == "square":
            held += abs(a) <= 11 and abs(b) <= 11
        elif shape == "ellipse":
            held += (a / 15) ** 2 + (b / 7.5) ** 2 <= 1
        else:
            a, b = a / 11.5, b / 11.5
            held += (a**2 + b**2 - 1) ** 3 <= a**2 * b**3
    return 255 if held >= 8 else 0


@settings(max_examples=25)
@given(cell=st.integers(0, NUMBER_OF_SPRITES - 1), seed=st.integers(0, 1_000))
def test_pixels_of_a_sprite_are_what_a_slow_drawing_of_its_factors_gives(cell: int, seed: int) -> None:
    codes = {name: int(code[0]) for name, code in codes_of_cells(np.array([cell]), SPRITE_FACTORS).items()}
    shape, scale, turn = (factor.values[codes[factor.name]] for factor in SPRITE_FACTORS[:3])
    made = SpritePictures()[np.array([cell])][0, :, :, 0]
    x, y = codes["x"], codes["y"]
    # Most of them near the sprite.
    near = np.random.default_rng(seed).integers(0, 33, (30, 2)) + np.array([y, x])
    far = np.random.default_rng(seed).integers(0, 64, (10, 2))
    for row, column in np.concatenate([near, far]).tolist():
        assert made[row, column] == slow_pixel(shape, scale, turn, x, y, row, column)


def test_there_are_as_many_different_drawings_as_shapes_allow_and_none_is_cut_off() -> None:
    # A square looks the same after a quarter of a turn, an ellipse after half of one.
    assert [len(np.unique(sprite_drawing.reshape(240, -1), axis=0)) for sprite_drawing in sprite_drawings()] == [
        60,
        120,
        240,
    ]
    ink = (sprite_drawings() > 0).sum(axis=(3, 4))
    # The area of the scale, whatever the turn: nothing is cut off at the edge of a window.
    areas = np.array([22.0**2, np.pi * 15 * 7.5])[:, None] * np.linspace(0.5, 1, 6) ** 2
    assert np.abs(ink[:2].mean(axis=2) / areas - 1).max() < 0.03
    assert np.abs(ink / ink.mean(axis=2, keepdims=True) - 1).max() < 0.1
    assert NUMBER_OF_SPRITES == 737_280
    corners = SpritePictures()[np.array([0, NUMBER_OF_SPRITES - 1])]
    assert corners.shape == (2, 64, 64, 1)
    assert (corners > 0).any(axis=(1, 2, 3)).all()


def test_codes_out_of_range_are_refused() -> None:
    codes = codes_of_cells(np.array([5]), SPRITE_FACTORS)
    with pytest.raises(BadInput, match="codes of scale"):
        draw_sprites({**codes, "scale": np.array([6])})
    with pytest.raises(BadInput, match="codes of x"):
        draw_sprites({**codes, "x": np.array([0.5])})


def test_the_cohort_of_sprites_holds_the_rows_asked_for_and_its_factors_draw_its_pictures() -> None:
    check("cohort", "sprites", rows=300)
    made = equipoise.load("sprites", rows=300, seed=3)
    assert made["image"].shape == (300, 64, 64, 1)
    codes = {
        factor.name: np.array([factor.values.index(value) for value in made[factor.name].tolist()])
        for factor in SPRITE_FACTORS
    }
    assert np.array_equal(draw_sprites(codes), made["image"])
    assert len({tuple(row) for row in np.column_stack(list(codes.values())).tolist()}) == 300
    for factor in SPRITE_FACTORS:
        assert ((made[factor.half] == "upper") == (codes[factor.name] >= len(factor.values) // 2)).all()
    assert set(made["shape"][made["shape_half"] == "lower"]) == {"square"}
    assert not np.array_equal(made["image"], equipoise.load("sprites", rows=300, seed=4)["image"])
    assert max(map(len, made.datasheet.splitlines())) <= 130
    assert made.examples(np.array([7])).shape == (1, 64, 64, 3)
    for rows in (0, NUMBER_OF_SPRITES + 1, True):
        with pytest.raises(BadInput, match="1 to 737,280"):
            equipoise.load("sprites", rows=rows)


@given(size=st.integers(2, 60))
def test_halves_are_as_even_as_they_can_be(size: int) -> None:
    upper = Factor("one", tuple(range(size))).upper(np.arange(size))
    assert upper.sum() - (~upper).sum() == size % 2
    assert (np.diff(upper.astype(int)) >= 0).all()


# dSprites.


def write_dsprites(folder: Path, *, compressed: bool = True, **changed: Any) -> dict[str, Any]:
    """A few rows in the layout of the published file, with its pickled description."""
    rows = 50
    draws = np.random.default_rng(2)
    codes = np.column_stack(
        [np.zeros(rows, int), *(draws.integers(0, len(factor.values), rows) for factor in SPRITE_FACTORS)]
    )
    arrays: dict[str, Any] = {
        "imgs": draws.integers(0, 2, (rows, 64, 64), dtype=np.uint8), "latents_classes": codes.astype(np.int64),
        "latents_values": codes.astype(np.float64), "metadata": np.array({"title": "dSprites"}, dtype=object),
    } | changed  # fmt: skip
    folder.mkdir(exist_ok=True)
    (np.savez_compressed if compressed else np.savez)(folder / DSPRITES, **arrays)
    return arrays


@pytest.mark.parametrize("compressed", [True, False])
def test_dsprites_reads_some_rows_and_never_the_pickle(compressed: bool, tmp_path: Path) -> None:
    arrays = write_dsprites(tmp_path, compressed=compressed)
    check("cohort", "dsprites", path=tmp_path, rows=None)
    whole = equipoise.load("dsprites", path=tmp_path, rows=None)
    assert np.array_equal(whole["image"][..., 0], 255 * arrays["imgs"])
    assert whole["shape"].tolist() == [SPRITE_FACTORS[0].values[code] for code in arrays["latents_classes"][:, 1]]
    assert np.allclose(whole["orientation"], 2 * np.pi * arrays["latents_classes"][:, 3] / 39)
    some = equipoise.load("dsprites", path=tmp_path, rows=20)
    assert len(some) == 20
    places = [int(np.flatnonzero((whole["image"] == one).all(axis=(1, 2, 3)))[0]) for one in some["image"]]
    assert places == sorted(set(places))
    assert some["x"].tolist() == whole["x"][places].tolist()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"latents_classes": np.zeros((50, 5), int)}, "latents_classes"),
        ({"latents_classes": np.full((50, 6), 3)}, "out of range"),
        ({"imgs": np.zeros((50, 32, 32), np.uint8)}, "imgs of"),
        ({"imgs": np.full((50, 64, 64), 2, np.uint8)}, "imgs of"),
    ],
)
def test_a_dsprites_file_that_does_not_fit_is_named(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_dsprites(tmp_path, **changed)
    with pytest.raises(BadInput, match=words):
        equipoise.load("dsprites", path=tmp_path, rows=None)


@settings(max_examples=20)
@given(chosen=st.sets(st.integers(0, 49), min_size=1), at_once=st.integers(1, 200_000))
def test_rows_of_a_compressed_array_are_those_of_the_whole(
    chosen: set[int], at_once: int, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.getbasetemp() / "chosen rows"
    if not (folder / DSPRITES).exists():
        write_dsprites(folder)
    rows = np.array(sorted(chosen))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_files, "CHUNK", at_once)
        found = read_rows(folder / DSPRITES, "imgs", rows)
    assert np.array_equal(found, read_array(folder / DSPRITES, "imgs")[rows])


# SmallNORB.


def matrix(values: np.ndarray) -> bytes:
    kind = {"u": 0x1E3D4C55, "i": 0x1E3D4C54}[values.dtype.kind]
    sides = [*values.shape, 1, 1, 1][: max(values.ndim, 3)]
    return struct.pack(f"<ii{len(sides)}i", kind, values.ndim, *sides) + values.tobytes()


def write_norb(folder: Path, *, packed: bool = False, **changed: bytes) -> dict[str, dict[str, np.ndarray]]:
    made: dict[str, dict[str, np.ndarray]] = {}
    for index, (part, name) in enumerate(PARTS.items()):
        draws, rows = np.random.default_rng(index), 30 + index
        info = (draws.integers(0, (10, 9, 18, 6), (rows, 4)) * (1, 1, 2, 1)).astype("<i4")
        made[part] = {
            "dat": draws.integers(0, 256, (rows, 2, 96, 96), dtype=np.uint8), "info": info,
            "cat": draws.integers(0, 5, rows).astype("<i4"),
        }  # fmt: skip
        for what, values in made[part].items():
            content = changed.get(what, matrix(values))
            file = folder / f"{name}-{what}.mat{'.gz' if packed else ''}"
            file.write_bytes(gzip.compress(content) if packed else content)
    return made


@pytest.mark.parametrize("packed", [True, False])
def test_smallnorb_reads_the_left_pictures_and_their_factors(packed: bool, tmp_path: Path) -> None:
    made = write_norb(tmp_path, packed=packed)
    check("cohort", "smallnorb", path=tmp_path)
    whole = equipoise.load("smallnorb", path=tmp_path, small=False)
    left = np.concatenate([made[part]["dat"][:, 0] for part in PARTS])
    info = np.concatenate([made[part]["info"] for part in PARTS])
    assert np.array_equal(whole["image"][..., 0], left)
    assert np.allclose(whole["azimuth"], np.pi * info[:, 2] / 18)
    assert whole["elevation"].tolist() == (30 + 5 * info[:, 1]).tolist()
    assert whole["split"].tolist() == ["train"] * 30 + ["test"] * 31
    assert set(whole["category"][whole["category_half"] == "lower"]) == {"animal", "human"}
    some = equipoise.load("smallnorb", path=tmp_path, rows=25, seed=1)
    assert some["image"].shape == (25, 64, 64, 1)
    for picture, lighting in zip(some["image"], some["lighting"].tolist(), strict=True):
        place = int(np.flatnonzero((smaller(left)[..., None] == picture).all(axis=(1, 2, 3)))[0])
        assert lighting == info[place, 3]


def test_smaller_pictures_are_means_of_the_area_a_pixel_covers() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (96, 96), dtype=np.uint8)
    # Each pixel becomes 2 x 2, so that a new one covers 3 x 3 of those exactly.
    fine = picture.repeat(2, axis=0).repeat(2, axis=1).astype(float)
    means = fine.reshape(64, 3, 64, 3).mean(axis=(1, 3))
    assert np.array_equal(smaller(picture[None])[0], np.floor(means + 0.5 + 1e-9).astype(np.uint8))


def test_damaged_files_of_smallnorb_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norb_files, "AT_ONCE", 7)
    made = write_norb(tmp_path)
    dat = tmp_path / f"{PARTS['test']}-dat.mat"
    dat.write_bytes(dat.read_bytes()[:-1])
    with pytest.raises(BadInput, match="truncated at row 28 of 31"):
        equipoise.load("smallnorb", path=tmp_path)
    write_norb(tmp_path, cat=matrix(made["train"]["cat"][:-1]))
    with pytest.raises(BadInput, match="do not match"):
        equipoise.load("smallnorb", path=tmp_path)
    write_norb(tmp_path, info=b"no matrix at all")
    with pytest.raises(BadInput, match="not a matrix in SmallNORB's format"):
        equipoise.load("smallnorb", path=tmp_path)
    odd = made["train"]["info"].copy()
    odd[:, 2] = 3
    write_norb(tmp_path, info=matrix(odd), cat=matrix(made["train"]["cat"]), dat=matrix(made["train"]["dat"]))
    with pytest.raises(BadInput, match="odd azimuths"):
        equipoise.load("smallnorb", path=tmp_path)
    write_norb(tmp_path)
    (tmp_path / f"{PARTS['test']}-cat.mat").unlink()
    with pytest.raises(BadInput, match=r"There is no file smallnorb-5x01235x9x18x6x2x96x96-testing-cat.mat"):
        equipoise.load("smallnorb", path=tmp_path)
