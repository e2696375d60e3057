"""Samplers make the batches they promise, the same for the same seed and epoch, and say what would fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.foundation import BadInput, registry, stream
from equipoise.training.metric.samplers.n_pairs import NPairBatches
from equipoise.training.metric.samplers.samples_per_class import SamplesPerClass

NAMES = np.array(["wren", "owl", "kite", "gull", "tern"])
SAMPLERS = [entry.name for entry in registry.entries("sampler") if entry.module.startswith("equipoise.")]


@given(
    classes=st.lists(st.integers(0, 4), min_size=12, max_size=40).filter(lambda drawn: len(set(drawn)) > 1),
    number=st.integers(1, 4), seed=st.integers(0, 999), epoch=st.integers(1, 9),
)  # fmt: skip
def test_rows_of_a_draw_share_a_class(classes: list[int], number: int, seed: int, epoch: int) -> None:
    labels, size = NAMES[classes], 3 * number
    batches = SamplesPerClass(per_class=number).batches(labels, size, seed, epoch)
    assert batches.shape == (len(labels) // size, size)
    assert batches.dtype == np.int64
    told = labels[batches].reshape(-1, number)
    assert (told == told[:, :1]).all()


@given(classes=st.lists(st.integers(0, 4), min_size=12, max_size=40), seed=st.integers(0, 999), epoch=st.integers(1, 9))
def test_a_batch_of_pairs_has_every_class_once_and_two_rows_of_it(classes: list[int], seed: int, epoch: int) -> None:
    labels = NAMES[classes]
    able = [name for name, count in Counter(labels.tolist()).items() if count > 1]
    if len(able) < 2:
        return
    batches = NPairBatches().batches(labels, 2 * min(len(able), 3), seed, epoch)
    for batch in batches:
        assert len(set(batch)) == len(batch)
        assert set(Counter(labels[batch].tolist()).values()) == {2}
        assert (labels[batch][::2] == labels[batch][1::2]).all()


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_epoch_is_that_of_its_seed_and_of_no_other(name: str) -> None:
    sampler: Any = registry.get("sampler", name).implementation()
    labels = np.arange(400) % 40
    one = sampler.batches(labels, 16, 3, 5)
    assert np.array_equal(one, sampler.batches(labels, 16, 3, 5))
    assert not np.array_equal(one, sampler.batches(labels, 16, 3, 6))
    assert not np.array_equal(one, sampler.batches(labels, 16, 4, 5))


def test_classes_come_alike_however_many_rows_they_have_and_rows_alike_within_them() -> None:
    labels = np.repeat(["one row", "nine rows", "ninety rows"], [1, 9, 90])
    drawn = np.concatenate([SamplesPerClass().batches(labels, 20, 0, epoch) for epoch in range(2000)]).ravel()
    shares = Counter(labels[drawn].tolist())
    assert all(shares[name] / len(drawn) == pytest.approx(1 / 3, abs=0.01) for name in shares)
    counts = np.bincount(drawn[labels[drawn] == "nine rows"] - 1, minlength=9)
    assert counts / counts.sum() == pytest.approx(np.full(9, 1 / 9), abs=0.01)


def test_pairs_of_a_class_come_alike() -> None:
    labels = np.repeat([0, 1], [4, 2])
    pairs = np.concatenate([NPairBatches().batches(labels, 4, 0, epoch) for epoch in range(3000)])
    seen = Counter(tuple(row) for row in pairs.reshape(-1, 2).tolist() if row[0] < 4)
    assert len(seen) == 12
    assert all(count / 3000 == pytest.approx(1 / 12, abs=0.025) for count in seen.values())


@pytest.mark.parametrize(
    ("labels", "size", "number", "complaint"),
    [
        ([0] * 30, 8, 2, "have 1 class"),
        (list(range(10)) * 3, 9, 2, "a batch size of 8 would fit"),
        (list(range(10)) * 3, 32, 2, "a batch size of 30 would fit"),
        ([0, 1, 1], 8, 2, "batches of 4 at least"),
        (list(range(10)) * 3, 4, 4, "batches of 8 at least"),
    ],
)
def test_a_batch_that_cannot_be_made_is_refused_with_one_that_can(
    labels: list[int], size: int, number: int, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        SamplesPerClass(per_class=number).batches(np.array(labels), size, 0, 1)


def test_too_few_classes_with_two_rows_are_named() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2, *range(3, 30)])
    with pytest.raises(BadInput, match=r"3 of 30 classes have two training rows.*\n.*\n.*batch size of 6 would fit"):
        NPairBatches().batches(labels, 8, 0, 1)
    with pytest.raises(BadInput, match="two classes with two rows at least"):
        NPairBatches().batches(np.arange(20), 8, 0, 1)
    assert NPairBatches().batches(labels, 6, 0, 1).max() < 6


def drawn_by_loop(labels: Any, weights: Any, size: int, number: int, seed: int, epoch: int) -> list[list[int]]:
    """Of each draw: a class by the weight of its rows, then rows of it by theirs, one after another."""
    names = sorted(set(labels.tolist()))
    rows_of = {name: [row for row, label in enumerate(labels.tolist()) if label == name] for name in names}
    steps, draws = len(labels) // size, size // number
    generator = stream(seed, "samples per class", epoch)
    for_classes, for_rows = generator.random((steps, draws)), generator.random((steps, draws, number))

    def chosen(things: list[Any], heights: list[float], aim: float) -> Any:
        for thing, height in zip(things, heights, strict=True):
            if aim < height:
                return thing
            aim -= height
        return things[-1]

    batches = []
    for step in range(steps):
        batch = []
        for draw in range(draws):
            of_classes = [sum(weights[row] for row in rows_of[name]) for name in names]
            name = chosen(names, of_classes, for_classes[step, draw] * sum(of_classes))
            own = [weights[row] for row in rows_of[name]]
            batch += [chosen(rows_of[name], own, aim * sum(own)) for aim in for_rows[step, draw]]
        batches.append(batch)
    return batches


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_weighed_rows_are_drawn_by_class_and_then_by_row(seed: int, number: int) -> None:
    generator = np.random.default_rng(seed)
    labels, weights = NAMES[generator.integers(0, 5, 60)], generator.exponential(size=60)
    found = SamplesPerClass(per_class=number).batches(labels, 12, seed, 3, weights)
    assert found.tolist() == drawn_by_loop(labels, weights, 12, number, seed, 3)


def test_a_rows_chance_is_its_share_of_the_weight_and_one_of_weight_0_never_comes() -> None:
    labels = np.repeat(["one row", "nine rows", "ninety rows"], [1, 9, 90])
    weights = np.random.default_rng(1).exponential(size=100)
    weights[[3, 50, 51]] = 0.0
    weights[4] *= 1e-12
    epochs = [SamplesPerClass().batches(labels, 20, 0, epoch, weights) for epoch in range(2000)]
    drawn = np.concatenate(epochs).ravel()
    assert (labels[drawn].reshape(-1, 2) == labels[drawn].reshape(-1, 2)[:, :1]).all()
    found, wanted = np.bincount(drawn, minlength=100) / len(drawn), weights / weights.sum()
    assert (found[[3, 50, 51]] == 0).all()
    # Two rows of a draw are of one class: twice the variance of single rows is an upper bound.
    assert (np.abs(found - wanted) <= 5 * np.sqrt(2 * wanted * (1 - wanted) / len(drawn))).all()


def test_pairs_of_every_class_take_no_weights() -> None:
    with pytest.raises(BadInput, match="was given weights of rows"):
        NPairBatches().batches(np.arange(40) % 10, 8, 0, 1, np.ones(40))
