"""Miners find what plain loops find, for one head and for many, and survive every batch."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.foundation import BadInput, registry  # noqa: E402
from equipoise.training.metric import (  # noqa: E402
    integer_weights,
    squared_distances,
    uniforms_for,
    uniforms_of_epoch,
)
from equipoise.training.metric._mining import (  # noqa: E402
    sample_columns,
    take_rows,
)
from equipoise.training.metric.miners.distance_weighted import DistanceWeighted  # noqa: E402
from equipoise.training.metric.miners.random_triplets import distinct_numbers  # noqa: E402
from helpers.cases.metric import LABELS, SEEDS, listed, numbers_of, points_of  # noqa: E402
from helpers.oracles import metric as slow  # noqa: E402

MINERS = [entry.name for entry in registry.entries("miner") if entry.module.startswith("equipoise.")]


def miner_named(name: str, **values: object):
    return registry.get("miner", name).implementation(**values)


def test_every_miner_has_a_reference() -> None:
    assert set(slow.MINER_ORACLES) == set(MINERS)


@pytest.mark.parametrize("name", MINERS)
@settings(deadline=None, max_examples=40)
@given(labels=LABELS, seed=SEEDS)
def test_a_miner_finds_the_triplets_of_a_plain_loop(name: str, labels: list[int], seed: int) -> None:
    points, told = points_of(seed, len(labels)), torch.tensor(labels)
    numbers = numbers_of(told, seed)
    found = listed(miner_named(name)(points, told, numbers))
    first, second = numbers.tolist()
    assert found == slow.MINER_ORACLES[name](points.tolist(), labels, first, second)


@pytest.mark.parametrize("name", MINERS)
@settings(deadline=None, max_examples=15)
@given(seed=SEEDS, samples=st.integers(2, 10))
def test_heads_of_a_stack_are_mined_as_if_alone(name: str, seed: int, samples: int) -> None:
    points = points_of(seed, samples, 6, 2, 3)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, 4, (2, 3, samples)))
    numbers = numbers_of(labels, seed)
    mined = miner_named(name)(points, labels, numbers)
    for head in np.ndindex(2, 3):
        alone = miner_named(name)(points[head], labels[head], numbers[head])
        assert torch.equal(mined.mask[head], alone.mask)
        assert torch.equal(mined.anchors[head], alone.anchors)
        assert torch.equal(mined.positives[head], alone.positives)
        if mined.negatives is not None:
            assert torch.equal(mined.negatives[head], alone.negatives)


@settings(deadline=None, max_examples=25)
@given(labels=LABELS, seed=SEEDS)
def test_the_cut_leaves_out_far_negatives_and_anchors_that_have_no_other(labels: list[int], seed: int) -> None:
    points, told = points_of(seed, len(labels)), torch.tensor(labels)
    numbers = numbers_of(told, seed)
    found = listed(DistanceWeighted(cut=0.9)(points, told, numbers))
    assert found == slow.distance_weighted(points.tolist(), labels, *numbers.tolist(), cut=0.9)


def test_a_cut_that_is_no_distance_is_refused() -> None:
    for cut in (0, -1.4, math.inf, math.nan, True, "1.4"):
        with pytest.raises(BadInput, match="cut is"):
            DistanceWeighted(cut=cut)
    with pytest.raises(BadInput, match="did you mean 'floor'"):
        DistanceWeighted(flor=0.5)


def test_a_negative_is_drawn_as_often_as_its_weight_says() -> None:
    labels, grid = torch.tensor([0, 0, 1, 1, 2, 2, 3]), 4000
    points = points_of(3, 7, 5)
    second = (torch.arange(grid, dtype=torch.float64) + 0.5) / grid
    numbers = torch.stack([torch.zeros(grid, 7, dtype=torch.float64), second[:, None].expand(grid, 7)], 1)
    mined = DistanceWeighted()(points.expand(grid, 7, 5), labels.expand(grid, 7), numbers)
    for anchor in range(6):
        shares = Counter(mined.negatives[:, anchor].tolist())
        expected = slow.distance_weights(points.tolist(), labels.tolist(), anchor)
        for place in range(7):
            assert shares[place] / grid == pytest.approx(expected.get(place, 0.0), abs=1.01 / grid)
    assert not mined.mask[:, 6].any()


@pytest.mark.parametrize("width", [3, 4, 16, 128])
def test_weights_are_one_over_the_density_of_distances_on_a_sphere(width: int) -> None:
    miner = DistanceWeighted(floor=1e-6)

    def density(d: float) -> float:
        return math.exp(-float(miner.log_weights(torch.tensor(d * d, dtype=torch.float64), width)))

    whole = 2 ** (width - 2) * special.beta((width - 1) / 2, (width - 1) / 2)
    assert integrate.quad(density, 1e-5, 2, limit=200)[0] / whole == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("width", [2, 3, 128])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_opposite_and_equal_points_have_finite_weights(width: int, dtype: str) -> None:
    points = torch.zeros(5, width, dtype=getattr(torch, dtype))
    points[:, 0] = torch.tensor([1.0, 1.0, -1.0, 1.0, -1.0])
    labels = torch.tensor([0, 0, 1, 2, 1])
    assert DistanceWeighted().log_weights(squared_distances(points), width).isfinite().all()
    mined = DistanceWeighted()(points, labels, numbers_of(labels, 0))
    assert mined.mask.tolist() == [True, True, True, False, True]
    assert (labels[mined.negatives] != labels).all()
    if width == 128:  # 1 over the density grows without limit towards d = 2
        assert mined.negatives[0] in (2, 4)


def test_one_far_negative_does_not_take_the_weight_of_all_others() -> None:
    """In one exponent for the whole batch the weights of every other anchor would underflow to 0."""
    generator = torch.Generator().manual_seed(0)
    points = torch.nn.functional.normalize(torch.randn(64, 128, generator=generator), dim=-1)
    points[1] = -points[0] + 1e-4 * points[1]
    labels = torch.arange(64) // 2
    labels[1], labels[2] = labels[2].item(), labels[1].item()
    for cut in (None, 1.4):
        logs = DistanceWeighted().log_weights(squared_distances(points), 128)
        allowed = (labels[:, None] != labels) & (squared_distances(points) <= (cut or 9) ** 2)
        assert (integer_weights(logs, allowed).sum(-1) > 0).all()
        mined = DistanceWeighted(cut=cut)(points, labels, numbers_of(labels, 1))
        assert mined.mask.all()
        assert len(set(mined.negatives.tolist())) > 20


@pytest.mark.parametrize("name", MINERS)
@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2], [0]])
def test_a_batch_of_one_class_or_without_positives_has_no_triplets(name: str, labels: list[int]) -> None:
    told = torch.tensor(labels)
    mined = miner_named(name)(points_of(0, len(labels)), told, numbers_of(told, 0))
    assert not mined.mask.any()
    for places in (mined.anchors, mined.positives, mined.negatives):
        assert places is None or ((places >= 0) & (places < len(labels))).all()


@pytest.mark.parametrize("name", MINERS)
def test_half_precision_and_broken_embeddings_give_places_in_the_batch(name: str) -> None:
    labels = torch.arange(16) // 2
    points = points_of(0, 16).to(torch.bfloat16)
    broken = points.float()
    broken[3] = math.nan
    for embeddings in (points, broken):
        mined = miner_named(name)(embeddings, labels, numbers_of(labels, 0))
        for places in (mined.anchors, mined.positives, mined.negatives):
            assert places is None or ((places >= 0) & (places < 16)).all()


# Drawing.


@given(weights=st.lists(st.integers(0, 3), min_size=1, max_size=8), uniform=st.floats(0, 1, exclude_max=True))
def test_a_column_without_weight_is_never_drawn(weights: list[int], uniform: float) -> None:
    column, there = sample_columns(torch.tensor([weights]), torch.tensor([uniform], dtype=torch.float64))
    assert bool(there) == any(weights)
    if any(weights):
        assert weights[int(column)] > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_number_below_1_draws_the_last_column_that_has_weight(dtype: str) -> None:
    below = torch.nextafter(torch.ones((), dtype=getattr(torch, dtype)), torch.zeros((), dtype=getattr(torch, dtype)))
    for total in (1, 2, 3, 5, 127, 2**24 + 1, 2**40 + 1, 3 * 2**40 - 1, 2**47 - 1):
        column, _ = sample_columns(torch.tensor([[total - 1, 1, 0]]), below[None])
        assert int(column) == (1 if total < 2**24 or dtype == "float64" else 0)
        assert int(distinct_numbers(torch.tensor([total]), below[None])) <= total - 1


@settings(max_examples=60, deadline=None)
@given(total=st.integers(0, 40), draws=st.integers(1, 12), seed=SEEDS)
def test_distinct_numbers_are_distinct(total: int, draws: int, seed: int) -> None:
    uniforms = torch.from_numpy(np.random.default_rng(seed).random(draws))
    numbers = distinct_numbers(torch.tensor([total]), uniforms).tolist()[: min(total, draws)]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < total for number in numbers)


def test_every_set_of_numbers_is_drawn_alike() -> None:
    """Every outcome of the draws in 4, 5 and 6 steps, once each: 6 for each of the 20 sets of 3 out of 6."""
    uniforms = torch.tensor(
        [[(i + 0.5) / 4, (j + 0.5) / 5, (k + 0.5) / 6] for i in range(4) for j in range(5) for k in range(6)]
    )
    numbers = distinct_numbers(torch.full((120, 1), 6), uniforms)
    counts = Counter(frozenset(row) for row in numbers.tolist())
    assert counts == {frozenset(chosen): 6 for chosen in combinations(range(6), 3)}


def test_numbers_of_an_epoch_belong_to_their_seed() -> None:
    together = uniforms_of_epoch([7, 8, 9], 3, steps=4, batch_size=6)
    assert together.shape == (4, 3, 2, 6)
    assert torch.equal(together[:, 1], uniforms_of_epoch(8, 3, steps=4, batch_size=6))
    assert not torch.equal(together[:, 1], uniforms_of_epoch(8, 4, steps=4, batch_size=6))
    assert ((together >= 0) & (together < 1)).all()


def test_a_generator_decides_alone() -> None:
    labels = torch.zeros(3, 8, dtype=torch.int64)
    one, other = (uniforms_for(labels, torch.Generator().manual_seed(5)) for _ in range(2))
    assert one.shape == (3, 2, 8)
    assert torch.equal(one, other)


def test_rows_of_a_stack_are_taken_with_their_gradient() -> None:
    values = points_of(0, 4, 3, 2).requires_grad_()
    places = torch.tensor([[1, 1, 0], [3, 2, 3]])
    rows = take_rows(values, places)
    assert torch.equal(rows, torch.stack([values[0][places[0]], values[1][places[1]]]))
    rows.sum().backward()
    assert values.grad is not None
    assert values.grad[..., 0].tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", MINERS)
def test_a_gpu_mines_the_same_and_is_never_waited_for(name: str) -> None:
    labels = torch.arange(64).remainder(24).expand(3, 64).contiguous()
    points, miner = points_of(0, 64, 16, 3), miner_named(name)
    numbers = numbers_of(labels, 0)
    here, there = miner(points, labels, numbers), (points.cuda(), labels.cuda(), numbers.cuda())
    miner(*there)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        mined = miner(*there)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(mined.mask.cpu(), here.mask)
    assert torch.equal(mined.positives.cpu(), here.positives)
    if here.negatives is not None:
        assert torch.equal(mined.negatives.cpu(), here.negatives)
