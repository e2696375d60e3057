"""Crops against explicit slices, and scaling against numpy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training.images import Crop, Pictures, Scaling, check_pictures  # noqa: E402
from equipoise.training.images import _pictures as pictures_module  # noqa: E402
from equipoise.training.images._pictures import SHIFT  # noqa: E402


def some(number: int = 5) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (number, 6, 7, 3)).astype(np.uint8)


def test_a_crop_is_a_slice_of_the_padded_picture() -> None:
    inputs = some()
    pictures = Pictures(inputs, "cpu")
    ids = torch.arange(5)
    crop = Crop.sample(3, 2, ids, ids * 0)
    rows = torch.tensor([4, 0, 2])
    found = pictures.crops(rows, crop.of(rows)).numpy()
    padded = np.pad(inputs, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
    for index, row in enumerate(rows.tolist()):
        top, left = int(crop.top[row]), int(crop.left[row])
        expected = padded[row, top : top + 6, left : left + 7]
        if crop.mirrored[row]:
            expected = expected[:, ::-1]
        assert np.array_equal(found[index].transpose(1, 2, 0), expected)


def test_crops_belong_to_samples_and_not_to_their_order() -> None:
    ids = torch.tensor([11, 5, 8, 5])
    copies = torch.tensor([0, 0, 0, 1])
    crop = Crop.sample(0, 1, ids, copies)
    turned = Crop.sample(0, 1, ids.flip(0), copies.flip(0))
    for name in ("top", "left", "mirrored"):
        assert torch.equal(getattr(crop, name), getattr(turned, name).flip(0))


def test_crops_use_every_offset_and_both_sides_about_equally() -> None:
    ids = torch.arange(20_000)
    crop = Crop.sample(7, 1, ids, ids * 0)
    for offsets in (crop.top, crop.left):
        counts = torch.bincount(offsets, minlength=2 * SHIFT + 1)
        assert len(counts) == 2 * SHIFT + 1
        assert counts.min() > 0.9 * 20_000 / 9
    assert abs(float(crop.mirrored.float().mean()) - 0.5) < 0.02
    assert abs(float(torch.corrcoef(torch.stack([crop.top, crop.left]).double())[0, 1])) < 0.03


def test_crops_that_are_overwritten_stay_apart() -> None:
    ids = torch.arange(200)
    crop, drawn = Crop.plain(ids), Crop.sample(1, 1, ids, ids * 0)
    crop.take(drawn)
    for name in ("top", "left", "mirrored"):
        assert torch.equal(getattr(crop, name), getattr(drawn, name))


def test_without_augmentation_the_pictures_are_as_they_are() -> None:
    inputs = some()
    pictures = Pictures(inputs, "cpu")
    ids = torch.arange(5)
    assert np.array_equal(pictures.crops(ids, Crop.plain(ids)).numpy(), inputs.transpose(0, 3, 1, 2))


def test_scaling_is_that_of_the_rows_in_use_as_often_as_they_are_there() -> None:
    inputs = some()
    rows = np.array([0, 0, 0, 3, 4])
    scaled = Scaling.of(Pictures(inputs, "cpu"), rows, torch.float64)(torch.from_numpy(inputs.transpose(0, 3, 1, 2)))
    used = inputs[rows].astype(float)
    expected = (inputs - used.mean(axis=(0, 1, 2))) / used.std(axis=(0, 1, 2))
    assert np.allclose(scaled.numpy(), expected.transpose(0, 3, 1, 2), atol=1e-12)


def test_a_channel_that_never_changes_is_left_in_its_units() -> None:
    inputs = np.full((2, 3, 3, 1), 9, dtype=np.uint8)
    scaled = Scaling.of(Pictures(inputs, "cpu"), np.arange(2), torch.float32)(
        torch.from_numpy(inputs.transpose(0, 3, 1, 2))
    )
    assert torch.equal(scaled, torch.zeros(2, 1, 3, 3))


@pytest.mark.parametrize("shape", [(5, 6, 7, 3), (1, 1, 1, 1), (0, 4, 4, 3), (4, 9, 5, 1)])
@pytest.mark.parametrize("at_once", [1, 200, pictures_module.PIXELS])
def test_sums_of_pixels_and_squares_are_exact(
    shape: tuple[int, ...], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures_module, "PIXELS", at_once)
    inputs = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    whole = inputs.astype(object)
    for found, power in zip(Pictures(inputs, "cpu").sums, (1, 2), strict=True):
        assert found.dtype == np.float64
        assert np.array_equal(found, (whole**power).sum(axis=(1, 2)).astype(np.float64))


def test_the_sums_of_a_white_picture_do_not_overflow() -> None:
    inputs = np.full((1, 300, 300, 3), 255, dtype=np.uint8)
    first, second = Pictures(inputs, "cpu").sums
    assert first.tolist() == [[255 * 90_000] * 3]
    assert second.tolist() == [[255**2 * 90_000] * 3]


@pytest.mark.parametrize("inputs", [np.zeros((3, 4)), np.zeros((3, 4, 4, 3)), np.zeros((3, 4, 4, 2), dtype=np.uint8)])
def test_what_is_no_picture_is_refused(inputs: np.ndarray) -> None:
    with pytest.raises(BadInput, match="pictures: uint8"):
        check_pictures(inputs, "the training rows")
