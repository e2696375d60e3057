"""COIL-20: objects on a turntable, from a file of PNG strips; its factors, its halves, and files that are damaged."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.cohorts.pictures._arrays import read_grey_strips
from equipoise.cohorts.sources import coil20 as source
from equipoise.foundation import BadInput
from equipoise.testing import check

images = pytest.importorskip("PIL.Image", reason="needs equipoise[vision]")

FILE = "coil20_64.npz"
OBJECTS, EACH = 3, 8


def png(strips: list[np.ndarray]) -> dict[str, np.ndarray]:
    parts = []
    for strip in strips:
        file = io.BytesIO()
        images.fromarray(strip).save(file, "PNG")
        parts.append(file.getvalue())
    return {
        "blob": np.frombuffer(b"".join(parts), dtype=np.uint8),
        "offsets": np.cumsum([0, *map(len, parts)]).astype(np.int64),
    }


def write_objects(folder: Path, **changed: Any) -> np.ndarray:
    """Eight poses of three objects, 45 degrees apart, in the layout of the whole file."""
    pictures = np.random.default_rng(4).integers(0, 256, (OBJECTS * EACH, 64, 64), dtype=np.uint8)
    arrays: dict[str, Any] = {
        **png([pictures[first : first + EACH].reshape(-1, 64) for first in range(0, len(pictures), EACH)]),
        "object": np.repeat(np.array([0, 9, 10], dtype=np.uint8), EACH),
        "pose": np.tile(np.arange(0, 72, 9, dtype=np.uint8), OBJECTS), "strip": np.int64(EACH),
    }  # fmt: skip
    np.savez(folder / FILE, **{**arrays, **changed})
    return pictures


def test_the_shared_checks_hold_and_the_datasheet_is_whole(tmp_path: Path) -> None:
    write_objects(tmp_path)
    check("cohort", "coil20", path=tmp_path)
    datasheet = equipoise.load("coil20", path=tmp_path).datasheet
    for word in ("Source:", "Licence: not stated", "Contested:", "another copy than the one that is known here"):
        assert word in datasheet
    assert max(map(len, datasheet.splitlines())) <= 130


def test_pictures_come_with_their_object_pose_and_halves(tmp_path: Path) -> None:
    pictures = write_objects(tmp_path)
    made = equipoise.load("coil20", path=tmp_path)
    assert np.array_equal(made["image"][..., 0], pictures)
    assert (made.target, made.groups, made.features) == ("object", ("pose_half",), ("image",))
    assert made["object"].tolist() == ["object 01"] * 8 + ["object 10"] * 8 + ["object 11"] * 8
    assert np.allclose(made["pose"], np.tile(np.pi / 4 * np.arange(8), 3))
    assert made["pose_half"].tolist() == (["lower"] * 4 + ["upper"] * 4) * 3
    assert made["object_half"].tolist() == ["lower"] * 16 + ["upper"] * 8
    assert [(made["split"][made["object"] == one] == "train").sum() for one in ("object 01", "object 11")] == [4, 4]
    assert made.examples(np.array([5])).shape == (1, 64, 64, 3)
    circular = {factor.name: factor.circular for factor in source.FACTORS}
    assert circular == {"object": False, "pose": True}


def test_some_rows_are_drawn_by_a_seed(tmp_path: Path) -> None:
    pictures = write_objects(tmp_path)
    some = equipoise.load("coil20", path=tmp_path, rows=10, seed=2)
    places = [int(np.flatnonzero((pictures[..., None] == one).all(axis=(1, 2, 3)))[0]) for one in some["image"]]
    assert places == sorted(set(places))
    assert np.allclose(some["pose"], np.array(places) % 8 * np.pi / 4)
    assert not np.array_equal(some["image"], equipoise.load("coil20", path=tmp_path, rows=10, seed=3)["image"])
    with pytest.raises(BadInput, match="1 to 24"):
        equipoise.load("coil20", path=tmp_path, rows=25)


def test_a_folder_without_the_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)no coil20 file at.*help: Keep"):
        equipoise.load("coil20", path=tmp_path)
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(BadInput, match=r"notes.txt is not a readable file of COIL-20"):
        equipoise.load("coil20", path=tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"object": np.full(24, 20, np.uint8)}, "24 labels of coil20_64.npz out of range"),
        ({"pose": np.full(24, 72, np.uint8)}, "24 labels of coil20_64.npz out of range"),
        ({"pose": np.zeros(24)}, "are float64"),
        ({"pose": np.arange(23)}, "do not match"),
        ({"pose": np.zeros(24, np.uint8)}, "pose 0 of object 01 more than once"),
        ({"object": np.zeros(0, np.uint8), "pose": np.zeros(0, np.uint8)}, "0 pictures by 8 are 0 strips"),
        ({"strip": np.int64(0)}, "does not say how many pictures a strip has"),
        ({"strip": np.int64(12)}, "24 pictures by 12 are 2 strips"),
        ({"offsets": np.array([0, 5, 3, 9])}, "its offsets do not fit"),
        ({"blob": np.zeros(200_000, np.uint8)}, "Strip 0 of coil20_64.npz is damaged: it is no PNG picture"),
        (png([np.zeros((64 * 7, 64), np.uint8)] * 3), r"(?s)64 x 448 pixels.*64 x 512"),
        (png([np.zeros((64 * 8, 64, 3), np.uint8)] * 3), r"(?s)pixels of the kind RGB.*256 shades of grey"),
        ({"object": np.array([{}] * 24)}, "pickled Python objects"),
    ],
)
def test_damaged_files_are_refused(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_objects(tmp_path, **changed)
    with pytest.raises(BadInput, match=words):
        equipoise.load("coil20", path=tmp_path)


def test_a_file_that_is_cut_short_or_lacks_an_array_is_refused(tmp_path: Path) -> None:
    write_objects(tmp_path)
    file = tmp_path / FILE
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"not a whole .npz file"):
        equipoise.load("coil20", path=tmp_path)
    np.savez(file, object=np.zeros(1, np.uint8))
    with pytest.raises(BadInput, match="array 'pose' not found"):
        equipoise.load("coil20", path=tmp_path)
    write_objects(tmp_path)
    with np.load(file) as arrays:
        blob, offsets = arrays["blob"].copy(), arrays["offsets"]
    blob[offsets[1] + 60 : offsets[1] + 4000] = 0
    write_objects(tmp_path, blob=blob)
    with pytest.raises(BadInput, match=r"Strip 1 of coil20_64.npz is damaged"):
        read_grey_strips(file, 64, 24)


def test_another_file_of_the_whole_size_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "POSES", EACH)
    monkeypatch.setattr(source, "OBJECTS", OBJECTS)
    write_objects(tmp_path, pose=np.tile(np.arange(8, dtype=np.uint8), 3))
    with pytest.warns(UserWarning, match=r"coil20_64.npz is another version"):
        equipoise.load("coil20", path=tmp_path)


@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA does not say where the real data is")
def test_the_real_pictures_turn_by_small_steps() -> None:
    made = equipoise.load("coil20")
    assert made["image"].shape == (1_440, 64, 64, 1)
    assert "the copy that is known here" in made.datasheet
    assert len(set(zip(made["object"].tolist(), made["pose"].tolist(), strict=True))) == 1_440
    assert (made["split"] == "train").sum() == (made["pose_half"] == "lower").sum() == 720
    # Neighbours on the circle look alike, the last and the first among them; half a turn is another view.
    turned = made["image"].reshape(20, 72, -1).astype(float)
    near, far = (np.abs(turned - np.roll(turned, by, axis=1)).mean(axis=(1, 2)) for by in (1, 36))
    assert (near < far).all()
    closing = np.abs(turned[:, 0] - turned[:, -1]).mean()
    assert closing < 0.5 * far.mean()
