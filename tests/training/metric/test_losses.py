"""Losses are what plain loops compute, for one head and for many, with a true gradient, and survive every batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.foundation import BadInput, registry  # noqa: E402
from equipoise.training.metric import MinedTriplets  # noqa: E402
from equipoise.training.metric.losses.arcface import ArcFace  # noqa: E402
from equipoise.training.metric.losses.margin import Margin  # noqa: E402
from equipoise.training.metric.losses.multi_similarity import MultiSimilarity  # noqa: E402
from equipoise.training.metric.losses.n_pair import NPair  # noqa: E402
from equipoise.training.metric.losses.proxy_nca import ProxyNCA  # noqa: E402
from equipoise.training.metric.losses.triplet import Triplet  # noqa: E402
from equipoise.training.metric.miners.n_pair import NPairs  # noqa: E402
from equipoise.training.metric.miners.random_triplets import RandomTriplets  # noqa: E402
from helpers.cases.metric import CLASSES, LABELS, SEEDS, listed, numbers_of, points_of  # noqa: E402
from helpers.oracles import metric as slow  # noqa: E402

LOSSES = [entry.name for entry in registry.entries("metric_loss") if entry.module.startswith("equipoise.")]
WIDTH = 6


def loss_named(name: str, **values: object) -> Any:
    return registry.get("metric_loss", name).implementation(**values)


def number(value: Any) -> float:
    return value.detach().item()


def mined_for(loss: Any, points: Any, labels: Any, seed: int) -> MinedTriplets | None:
    if loss.needs == "nothing":
        return None
    miner = NPairs() if loss.needs == "pairs" else RandomTriplets()
    return miner(points, labels, numbers_of(labels, seed))


def learnt_of(loss: Any, seeds: Any, dtype: str = "float64") -> dict[str, Any]:
    """Return what a loss starts with, moved a little: a beta is then another in every class."""
    made = loss.start(seeds, CLASSES, WIDTH, dtype=dtype)
    generator = np.random.default_rng(0)
    for tensor in made.values():
        with torch.no_grad():
            tensor += torch.from_numpy(0.2 * generator.standard_normal(tuple(tensor.shape)))
    return made


def test_every_loss_has_a_reference() -> None:
    assert set(slow.LOSS_ORACLES) == set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=40)
@given(labels=LABELS, seed=SEEDS)
def test_a_loss_is_that_of_a_plain_loop(name: str, labels: list[int], seed: int) -> None:
    loss, told = loss_named(name), torch.tensor(labels)
    points = points_of(seed, len(labels), WIDTH, unit=loss.unit_length)
    mined, learnt = mined_for(loss, points, told, seed), learnt_of(loss, seed)
    triplets = [] if mined is None else listed(mined)
    expected = slow.LOSS_ORACLES[name](
        points.tolist(), labels, triplets, {key: value.tolist() for key, value in learnt.items()}
    )
    assert number(loss(points, told, mined, learnt)) == pytest.approx(expected, rel=1e-9, abs=1e-11)
    single = {key: value.detach().float() for key, value in learnt.items()}
    assert number(loss(points.float(), told, mined, single)) == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=10)
@given(seed=SEEDS, samples=st.integers(2, 9))
def test_heads_of_a_stack_have_the_losses_and_gradients_of_each_alone(name: str, seed: int, samples: int) -> None:
    loss = loss_named(name)
    points = points_of(seed, samples, WIDTH, 3, unit=loss.unit_length).requires_grad_()
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, CLASSES, (3, samples)))
    seeds = [seed, seed + 1, seed + 2]
    mined, learnt = mined_for(loss, points.detach(), labels, seed), loss.start(seeds, CLASSES, WIDTH, dtype="float64")
    losses = loss(points, labels, mined, learnt)
    assert losses.shape == (3,)
    losses.sum().backward()
    for head in range(3):
        own = points.detach()[head].clone().requires_grad_()
        began = loss.start(seeds[head], CLASSES, WIDTH, dtype="float64")
        found = None
        if mined is not None:
            negatives = None if mined.negatives is None else mined.negatives[head]
            found = MinedTriplets(mined.anchors[head], mined.positives[head], negatives, mined.mask[head])
        alone = loss(own, labels[head], found, began)
        alone.backward()
        assert number(losses[head]) == pytest.approx(number(alone), rel=1e-12, abs=1e-12)
        torch.testing.assert_close(points.grad[head], own.grad, rtol=1e-9, atol=1e-12)
        for key, tensor in began.items():
            torch.testing.assert_close(learnt[key].grad[head], tensor.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_the_slope(name: str) -> None:
    loss, labels = loss_named(name), torch.tensor([0, 0, 1, 1, 2, 3, 3, 3])
    points = points_of(11, 8, WIDTH, unit=loss.unit_length)
    mined, learnt = mined_for(loss, points, labels, 3), learnt_of(loss, 5)

    def value(embeddings: Any, *tensors: Any) -> Any:
        return loss(embeddings, labels, mined, dict(zip(learnt, tensors, strict=True)))

    assert torch.autograd.gradcheck(value, (points.requires_grad_(), *learnt.values()))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_a_batch_of_one_class_or_without_positives_teaches_nothing_that_needs_pairs(
    name: str, labels: list[int]
) -> None:
    loss, told = loss_named(name), torch.tensor(labels)
    points = points_of(1, 4, WIDTH).float().requires_grad_()
    learnt = loss.start(0, CLASSES, WIDTH)
    value = loss(points, told, mined_for(loss, points.detach(), told, 0), learnt)
    value.backward()
    assert points.grad.isfinite().all()
    assert math.isfinite(number(value))
    if name not in ("arcface", "proxy_nca"):
        assert number(value) == 0
        assert not points.grad.any()


@pytest.mark.parametrize("name", LOSSES)
def test_an_image_that_is_its_own_positive_has_a_finite_gradient(name: str) -> None:
    loss, labels = loss_named(name), torch.tensor([0, 0, 1, 1])
    points = points_of(2, 4, WIDTH).float()
    points[1] = points[0]
    learnt = loss.start(0, CLASSES, WIDTH)
    if name == "arcface":  # the cosine is 1
        with torch.no_grad():
            learnt["vectors"][0] = 5 * points[0]
    points.requires_grad_()
    loss(points, labels, mined_for(loss, points.detach(), labels, 0), learnt).backward()
    assert points.grad.isfinite().all()
    assert all(tensor.grad.isfinite().all() for tensor in learnt.values())


def test_the_margin_loss_divides_by_triplets_not_by_terms() -> None:
    """Both terms of the first triplet are active, one of the second, none of the third."""
    points = torch.tensor([[0.0], [1.5], [0.9], [0.0], [0.5]], dtype=torch.float64)
    mined = MinedTriplets(
        torch.tensor([0, 0, 3]), torch.tensor([1, 1, 3]), torch.tensor([2, 1, 1]), torch.tensor([True, True, True])
    )
    loss = Margin()(points, torch.tensor([0, 0, 1, 2, 2]), mined, Margin().start(0, 3, 1, dtype="float64"))
    assert number(loss) == pytest.approx((0.5 + 0.5 + 0.5) / 2, abs=1e-7)


def test_beta_is_that_of_the_anchors_class_and_learns_there_only() -> None:
    points = points_of(0, 6, WIDTH)
    labels = torch.tensor([0, 0, 3, 3, 3, 1])
    mined = MinedTriplets(torch.tensor([2]), torch.tensor([3]), torch.tensor([0]), torch.tensor([True]))
    learnt = Margin(boundary=0.01).start(0, 4, WIDTH, dtype="float64")
    assert learnt["beta"].tolist() == [0.01] * 4
    Margin()(points, labels, mined, learnt).backward()
    assert learnt["beta"].grad.tolist() == [0, 0, 0, -1]


def test_a_beta_moves_at_its_own_rate() -> None:
    assert [loss_named(name).rate for name in ("margin", "arcface", "proxy_nca")] == [5e-4] * 3
    assert all(loss_named(name).start(0, 5, 4) == {} for name in LOSSES if loss_named(name).rate is None)


def test_squared_distances_and_hinge_of_the_triplet_loss_by_hand() -> None:
    points = torch.tensor([[0.0], [0.5], [0.6]], dtype=torch.float64)
    mined = MinedTriplets(*(torch.tensor([place]) for place in (0, 1, 2)), torch.tensor([True]))
    assert number(Triplet()(points, torch.tensor([0, 0, 1]), mined)) == pytest.approx(0.25 - 0.36 + 0.2)


def test_n_pair_adds_the_norm_and_not_its_square() -> None:
    points = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    mined = MinedTriplets(torch.tensor([0]), torch.tensor([1]), None, torch.tensor([True]))
    expected = math.log(1 + math.exp(0 - 4)) + 0.005 * 2
    assert number(NPair()(points, torch.tensor([0, 0, 1]), mined)) == pytest.approx(expected)


def test_multi_similarity_skips_anchors_without_hard_pairs() -> None:
    """Classes far apart: every anchor is skipped, where a mean of nothing would raise."""
    points = torch.eye(3, dtype=torch.float64)[[0, 0, 1, 1]].requires_grad_()
    value = MultiSimilarity()(points, torch.tensor([0, 0, 1, 1]))
    value.backward()
    assert number(value) == 0
    assert not points.grad.any()


def test_arcface_sees_no_negative_cosine() -> None:
    points = torch.tensor([[-1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    learnt = {"vectors": torch.tensor([[1.0, 0.0], [1.0, 0.2]], dtype=torch.float64)}
    value = ArcFace()(points, torch.tensor([0]), None, learnt)
    true = 16 * math.cos(math.pi / 2 + 0.5)
    assert number(value) == pytest.approx(math.log(math.exp(true) + 1) - true, rel=1e-6)
    value.backward()
    assert not points.grad.any()


def test_proxies_start_with_their_spread_and_vectors_within_their_reach() -> None:
    proxies = ProxyNCA().start([1, 2], 100, 128)["proxies"]
    assert proxies.shape == (2, 100, 128)
    assert number(proxies.std()) == pytest.approx(1 / 8, rel=0.02)
    assert not torch.equal(proxies[0], proxies[1])
    assert torch.equal(proxies[1], ProxyNCA().start(2, 100, 128)["proxies"])
    vectors = ArcFace().start(0, 100, 128)["vectors"]
    assert number(vectors.abs().max()) <= 128**-0.5
    assert number(vectors.std()) == pytest.approx((128 * 3) ** -0.5, rel=0.02)
    assert vectors.requires_grad
    assert vectors.is_leaf


def test_what_is_missing_is_said() -> None:
    points, labels = points_of(0, 4, WIDTH), torch.tensor([0, 0, 1, 1])
    with pytest.raises(BadInput, match="no triplets"):
        Triplet()(points, labels)
    pairs = NPairs()(points, labels, numbers_of(labels, 0))
    with pytest.raises(BadInput, match="pairs without a negative"):
        Triplet()(points, labels, pairs)
    with pytest.raises(BadInput, match="no beta"):
        Margin()(points, labels, RandomTriplets()(points, labels, numbers_of(labels, 0)))
    for loss in (ArcFace(), ProxyNCA()):
        with pytest.raises(BadInput, match="was given no"):
            loss(points, labels)
        with pytest.raises(BadInput, match="two or more"):
            loss.start(0, 1, WIDTH)
    with pytest.raises(BadInput, match="margin is -1"):
        Margin(margin=-1)


@pytest.mark.parametrize("name", LOSSES)
def test_half_precision_is_worked_on_in_single(name: str) -> None:
    loss, labels = loss_named(name), torch.tensor([0, 0, 1, 1, 2, 2])
    points = points_of(2, 6, WIDTH, unit=loss.unit_length).to(torch.bfloat16)
    learnt = loss.start(0, CLASSES, WIDTH)
    mined = mined_for(loss, points, labels, 0)
    value = loss(points, labels, mined, learnt)
    assert value.dtype == torch.float32
    assert number(value) == number(loss(points.float(), labels, mined, learnt))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", LOSSES)
def test_a_gpu_computes_the_same_and_is_never_waited_for(name: str) -> None:
    loss = loss_named(name)
    labels = torch.arange(64).remainder(CLASSES).expand(3, 64).contiguous()
    points = points_of(0, 64, WIDTH, 3, unit=loss.unit_length)
    mined, learnt = mined_for(loss, points, labels, 0), loss.start([1, 2, 3], CLASSES, WIDTH, dtype="float64")
    expected = loss(points, labels, mined, learnt)
    there = points.cuda().requires_grad_()
    moved = None
    if mined is not None:
        negatives = None if mined.negatives is None else mined.negatives.cuda()
        moved = MinedTriplets(mined.anchors.cuda(), mined.positives.cuda(), negatives, mined.mask.cuda())
    parts = {key: tensor.detach().cuda().requires_grad_() for key, tensor in learnt.items()}
    told, gradients = labels.cuda(), []
    for mode in ("default", "error", "error"):
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode(mode)
        try:
            value = loss(there, told, moved, parts)
            gradients.append(torch.autograd.grad(value.sum(), [there, *parts.values()]))
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(value.cpu(), expected)
    assert all(torch.equal(one, other) for one, other in zip(gradients[1], gradients[2], strict=True))
