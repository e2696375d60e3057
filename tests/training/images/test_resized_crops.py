"""Resized parts of pictures against torch's own antialiasing and slow loops; boxes against a loop that draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from helpers import squares as cases

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    Settings,
    prepare_job,
    sample_keys,
)
from equipoise.training.images import (  # noqa: E402
    Box,
    Crop,
    Pictures,
    Run,
    View,
)
from equipoise.training.images._pictures import resized  # noqa: E402
from equipoise.training.learners.image_network import ImageNetwork  # noqa: E402
from equipoise.training.metric import MetricLearner  # noqa: E402

BOXES = [(0, 0, 9, 12), (2, 3, 5, 5), (8, 11, 1, 1), (0, 1, 9, 3), (4, 0, 2, 12), (1, 1, 7, 10)]
BOTH = ((9, 12), (7, 7), (20, 5), (1, 1), (3, 30))


def some(rows: int = len(BOXES)) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (rows, 9, 12, 3)).astype(np.uint8)


def box_of(boxes: Any) -> Box:
    return Box(*(torch.tensor(part) for part in zip(*boxes, strict=True)))


@pytest.mark.parametrize("sides", BOTH)
def test_a_part_in_another_size_is_what_torch_makes_of_the_slice(sides: tuple[int, int]) -> None:
    pictures = torch.from_numpy(some()).permute(0, 3, 1, 2)
    found = resized(pictures, box_of(BOXES), sides, torch.float64)
    assert found.shape == (len(BOXES), 3, *sides)
    for index, (top, left, height, width) in enumerate(BOXES):
        part = pictures[index : index + 1, :, top : top + height, left : left + width].double()
        expected = torch.nn.functional.interpolate(
            part, size=sides, mode="bilinear", antialias=True, align_corners=False
        )
        assert torch.allclose(found[index], expected[0], atol=1e-9)


def test_a_line_is_interpolated_as_a_loop_does_it() -> None:
    line = np.array([10.0, 50.0, 30.0, 70.0, 20.0, 90.0, 40.0])
    pictures = torch.from_numpy(line.astype(np.uint8))[None, None, None, :].expand(1, 1, 2, 7)
    first, length, seen = 1, 5, 3
    found = resized(pictures, box_of([(0, first, 2, length)]), (2, seen), torch.float64)[0, 0, 0].numpy()
    step = length / seen
    for place in range(seen):
        middle, summed, weights = (place + 0.5) * step, 0.0, 0.0
        for pixel in range(length):
            weight = max(0.0, 1.0 - abs(pixel + 0.5 - middle) / max(step, 1.0))
            summed, weights = summed + weight * line[first + pixel], weights + weight
        assert found[place] == pytest.approx(summed / weights, abs=1e-12)


def test_the_whole_picture_in_its_own_size_is_the_picture() -> None:
    pictures = torch.from_numpy(some(2)).permute(0, 3, 1, 2)
    found = resized(pictures, box_of([(0, 0, 9, 12)] * 2), (9, 12), torch.float32)
    assert torch.equal(found, pictures.float())


def slow_box(seed: int, epoch: int, sample: int, height: int, width: int, least: float) -> tuple[int, int, int, int]:
    """The same draw for one sample, attempt by attempt."""
    for attempt in range(10):
        key = int(
            sample_keys(seed, epoch, np.array([sample]), np.array([0]), f"resized crop {attempt}").view(np.uint64)[0]
        )
        share, shape, down, across = ((key >> place) & 0xFFFF for place in (0, 16, 32, 48))
        area = height * width * (least + (1 - least) * (share + 0.5) / 65536)
        ratio = math.exp(math.log(3 / 4) + (math.log(4 / 3) - math.log(3 / 4)) * (shape + 0.5) / 65536)
        tall, wide = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
        if 0 < tall <= height and 0 < wide <= width:
            return down * (height - tall + 1) // 65536, across * (width - wide + 1) // 65536, tall, wide
    if width / height < 3 / 4:
        tall, wide = round(width / (3 / 4)), width
    elif width / height > 4 / 3:
        tall, wide = height, round(height * 4 / 3)
    else:
        tall, wide = height, width
    return (height - tall) // 2, (width - wide) // 2, tall, wide


@pytest.mark.parametrize(("height", "width", "least"), [(32, 32, 0.08), (9, 12, 0.5), (40, 8, 0.9), (8, 40, 0.9)])
def test_boxes_are_those_of_a_loop_over_samples_and_attempts(height: int, width: int, least: float) -> None:
    ids = torch.arange(300)
    box = Box.sample(5, 2, ids, ids * 0, height, width, least)
    found = list(zip(*(part.tolist() for part in box.parts), strict=True))
    assert found == [slow_box(5, 2, sample, height, width, least) for sample in range(300)]
    assert (box.top + box.height <= height).all()
    assert (box.left + box.width <= width).all()


def test_areas_ratios_and_places_are_spread_as_they_should_be() -> None:
    ids = torch.arange(20_000)
    box = Box.sample(1, 1, ids, ids * 0, 224, 224, 0.08)
    share = box.height * box.width / 224**2
    ratio = (box.width / box.height).log() / math.log(4 / 3)
    assert float(share.min()) > 0.07
    assert float(ratio.abs().max()) < 1.05
    # Of small areas every ratio fits; there both are uniform.
    small = share < 0.5
    counts = torch.histc(share[small & (share > 0.08)], 10, 0.08, 0.5)
    assert counts.min() > 0.85 * counts.mean()
    counts = torch.histc(ratio[small].float(), 10, -1, 1)
    assert counts.min() > 0.85 * counts.mean()
    free = 224 - box.height[small]
    assert abs(float((box.top[small] / free).mean()) - 0.5) < 0.02


def test_boxes_belong_to_samples_and_change_with_the_epoch() -> None:
    ids, copies = torch.tensor([11, 5, 8, 5]), torch.tensor([0, 0, 0, 1])
    box = Box.sample(0, 1, ids, copies, 64, 64, 0.08)
    turned = Box.sample(0, 1, ids.flip(0), copies.flip(0), 64, 64, 0.08)
    assert all(torch.equal(part, other.flip(0)) for part, other in zip(box.parts, turned.parts, strict=True))
    assert not torch.equal(box.top, Box.sample(0, 2, ids, copies, 64, 64, 0.08).top)
    assert (box.top[1], box.left[1]) != (box.top[3], box.left[3])


def test_a_flip_mirrors_and_shifts_nothing() -> None:
    ids = torch.arange(400)
    flipped = View(8, 8, "flip").crop(1, 1, ids, ids * 0)
    shifted, plain = Crop.sample(1, 1, ids, ids * 0), Crop.plain(ids)
    assert torch.equal(flipped.mirrored, shifted.mirrored)
    assert torch.equal(flipped.top, plain.top)
    assert torch.equal(flipped.left, plain.left)
    assert 150 < int(flipped.mirrored.sum()) < 250


@pytest.mark.parametrize(
    ("height", "width", "size", "centre", "expected"),
    [
        (8, 8, 6, 0.75, (1, 1, 6, 6)), (9, 12, 7, 1.0, (0, 1, 9, 9)), (9, 12, 0, 0.5, (2, 3, 4, 6)),
        (9, 12, 0, 1.0, (0, 0, 9, 12)),
    ],
)  # fmt: skip
def test_the_middle_is_what_resizing_the_short_side_and_cutting_the_centre_shows(
    height: int, width: int, size: int, centre: float, expected: tuple[int, ...]
) -> None:
    view = View(height, width, False, size, centre)
    assert [part.tolist() for part in view.middle(torch.arange(2)).parts] == [[number] * 2 for number in expected]
    assert view.resizes == (expected != (0, 0, height, width))


def run_of(**values: Any) -> Run:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset)
    trial = prepare_job(job, dataset, ImageNetwork.with_defaults({"network": "small", "batch_size": 16, **values}))
    return Run(trial, dataset, Pictures(dataset.train.inputs, "cpu"), Settings(precision="float64"))


def batches_of(run: Run, epoch: int = 1) -> list[Any]:
    """The pictures of the first batch of an epoch, and its places, before they are scaled."""
    seen: list[Any] = []
    scaling = run.inputs.scaling

    def watched(pictures: Any) -> Any:
        seen.append(pictures.clone())
        return scaling(pictures)

    run.inputs.scaling = watched  # type: ignore[assignment]
    run.begin(epoch)
    run.step("all")
    run.inputs.scaling = scaling
    return [seen[0], run.positions[0]]


def test_a_batch_shows_resized_parts_in_the_size_of_the_network() -> None:
    run = run_of(augmentation="resized_crop", size=12, least_area=0.3)
    pictures, places = batches_of(run)
    inputs = torch.from_numpy(cases.dataset().train.inputs).permute(0, 3, 1, 2).double()
    assert pictures.shape == (16, 3, 12, 12)
    drawn = [run.box.of(places), run.crop.of(places)]
    for row, place in enumerate(places.tolist()):
        top, left, height, width = (int(part[row]) for part in drawn[0].parts)
        whole = inputs[place : place + 1]
        whole = whole.flip(3) if bool(drawn[1].mirrored[row]) else whole
        part = whole[:, :, top : top + height, left : left + width]
        expected = torch.nn.functional.interpolate(part, size=(12, 12), mode="bilinear", antialias=True)
        assert torch.allclose(pictures[row], expected[0], atol=1e-9)
    again, other = batches_of(run_of(augmentation="resized_crop", size=12, least_area=0.3)), batches_of(run, 2)
    assert torch.equal(again[0], pictures)
    assert not torch.equal(other[0], pictures)


def test_pictures_are_read_as_their_middle() -> None:
    run, pictures = run_of(size=6, centre=0.75), cases.dataset().dev.inputs
    cut = run_of(size=6)
    expected = torch.from_numpy(np.ascontiguousarray(pictures[:, 1:7, 1:7])).permute(0, 3, 1, 2)
    with torch.no_grad():
        cut.parts["network"].eval()
        outputs = cut.features_and_outputs(cut.scaled_inputs(expected))[1]
    assert torch.allclose(run.read(pictures).double(), outputs, atol=1e-5)


def test_an_estimator_shows_resized_parts_too() -> None:
    pictures, target, _ = cases.pictures(48, 0)
    values = {"embedding_size": 4, "batch_size": 16, "epochs": 1, "learning_rate": 1e-3}
    found = {way: MetricLearner("small", augmentation=way, **values).fit(pictures, target).transform(pictures)
             for way in (True, "flip", "resized_crop")}  # fmt: skip
    assert not np.array_equal(found[True], found["flip"])
    assert not np.array_equal(found["resized_crop"], found["flip"])
    again = MetricLearner("small", augmentation="resized_crop", **values).fit(pictures, target).transform(pictures)
    assert np.array_equal(again, found["resized_crop"])
    own = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    scaled = pictures.transpose(0, 3, 1, 2).astype(np.float32) / 255
    plain, cropped = (MetricLearner(own, augmentation=way, **values).fit(scaled, target).transform(scaled)
                      for way in (False, "resized_crop"))  # fmt: skip
    assert not np.array_equal(plain, cropped)
