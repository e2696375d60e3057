"""Where pytorch-metric-learning's version equals ours, and where it differs as docs/guide/metric-learning.md says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs equipoise[train]")
pytest.importorskip("pytorch_metric_learning", reason="needs pytorch-metric-learning")

from pytorch_metric_learning import distances, losses, miners, reducers, regularizers  # noqa: E402

from equipoise.training.metric import (  # noqa: E402
    integer_weights,
    pairs_of,
)
from equipoise.training.metric.losses.arcface import ArcFace  # noqa: E402
from equipoise.training.metric.losses.contrastive import Contrastive  # noqa: E402
from equipoise.training.metric.losses.margin import Margin  # noqa: E402
from equipoise.training.metric.losses.multi_similarity import MultiSimilarity  # noqa: E402
from equipoise.training.metric.losses.n_pair import NPair  # noqa: E402
from equipoise.training.metric.losses.proxy_nca import ProxyNCA  # noqa: E402
from equipoise.training.metric.losses.triplet import Triplet  # noqa: E402
from equipoise.training.metric.miners.distance_weighted import DistanceWeighted  # noqa: E402
from equipoise.training.metric.miners.n_pair import NPairs  # noqa: E402
from equipoise.training.metric.samplers.samples_per_class import SamplesPerClass  # noqa: E402
from helpers.cases.metric import numbers_of, points_of  # noqa: E402

WIDTH, CLASSES = 16, 12


@pytest.fixture(params=range(4))
def batch(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    """Return embeddings, labels and distance-weighted triplets; the labels have a class with one sample."""
    rows = np.arange(240) % CLASSES
    labels = torch.from_numpy(rows[SamplesPerClass().batches(rows, 24, request.param, 1)[0]])
    labels[-1] = CLASSES - 1
    points = points_of(request.param, 24, WIDTH)
    return points, labels, DistanceWeighted()(points, labels, numbers_of(labels, request.param))


def triplets_of(mined: Any) -> tuple[Any, Any, Any]:
    return tuple(places[mined.mask] for places in (mined.anchors, mined.positives, mined.negatives))


def euclidean(power: int = 1) -> Any:
    return distances.LpDistance(normalize_embeddings=False, power=power)


def inner_product() -> Any:
    return distances.DotProductSimilarity(normalize_embeddings=False)


def close(one: Any, other: Any, tolerance: float = 1e-7) -> None:
    assert one.item() == pytest.approx(other.item(), rel=tolerance, abs=tolerance)


def test_triplet_and_contrastive_are_the_librarys_with_plain_means(batch: tuple[Any, Any, Any]) -> None:
    points, labels, mined = batch
    theirs = losses.TripletMarginLoss(margin=0.2, distance=euclidean(2), reducer=reducers.MeanReducer())
    close(Triplet()(points, labels, mined), theirs(points, labels, triplets_of(mined)))
    theirs = losses.ContrastiveLoss(distance=euclidean(), reducer=reducers.MeanReducer())
    close(Contrastive()(points, labels, mined), theirs(points, labels, triplets_of(mined)), 1e-6)


def test_n_pair_is_the_librarys_nt_xent_at_temperature_1_with_a_norm_regulariser(batch: tuple[Any, Any, Any]) -> None:
    _, labels, _ = batch
    points = points_of(1, 24, WIDTH, unit=False)
    mined = NPairs()(points, labels, numbers_of(labels, 0))
    anchors, negatives = torch.where(pairs_of(labels)[1])
    theirs = losses.NTXentLoss(
        temperature=1, distance=inner_product(), reducer=reducers.MeanReducer(),
        embedding_regularizer=regularizers.LpRegularizer(p=2, power=1), embedding_reg_weight=0.005,
    )  # fmt: skip
    pairs = (mined.anchors[mined.mask], mined.positives[mined.mask], anchors, negatives)
    close(NPair()(points, labels, mined), theirs(points, labels, pairs), 1e-6)
    plain = losses.NPairsLoss(distance=inner_product())(points, labels)
    assert abs(plain.item() - NPair()(points, labels, mined).item()) > 1e-3


def test_multi_similarity_is_the_librarys_with_its_miner_and_a_mean_over_kept_anchors(
    batch: tuple[Any, Any, Any],
) -> None:
    points, labels, _ = batch
    pairs = miners.MultiSimilarityMiner(epsilon=0.1, distance=inner_product())(points, labels)
    theirs = losses.MultiSimilarityLoss(
        alpha=2, beta=40, base=0.5, distance=inner_product(), reducer=reducers.AvgNonZeroReducer()
    )
    close(MultiSimilarity()(points, labels), theirs(points, labels, pairs))


def test_the_librarys_margin_loss_divides_by_terms_and_ours_by_triplets(batch: tuple[Any, Any, Any]) -> None:
    points, labels, mined = batch
    theirs = losses.MarginLoss(margin=0.2, beta=1.2, learn_beta=True, num_classes=CLASSES, distance=euclidean())
    beta = torch.linspace(0.8, 1.6, CLASSES, dtype=torch.float64)
    theirs.beta.data = beta
    anchors, positives, negatives = triplets_of(mined)
    far = (points[:, None] - points).norm(dim=-1)
    pull = far[anchors, positives] - beta[labels[anchors]] + 0.2 > 0
    push = beta[labels[anchors]] - far[anchors, negatives] + 0.2 > 0
    terms, either = (pull.sum() + push.sum()).item(), (pull | push).sum().item()
    assert terms > either
    value = theirs(points, labels, triplets_of(mined)).detach()
    close(Margin()(points, labels, mined, {"beta": beta}), value * terms / either, 1e-6)


def test_arcface_is_the_librarys_where_no_cosine_is_negative() -> None:
    generator = np.random.default_rng(0)
    vectors = torch.from_numpy(generator.uniform(0.1, 1, (CLASSES, WIDTH)))
    points = torch.nn.functional.normalize(torch.from_numpy(generator.uniform(0.1, 1, (24, WIDTH))), dim=-1)
    labels = torch.arange(24) % CLASSES
    theirs = losses.ArcFaceLoss(CLASSES, WIDTH, margin=math.degrees(0.5), scale=16)
    for sign, same in ((1, True), (-1, False)):
        turned = vectors.clone()
        turned[0] *= sign
        theirs.W.data = turned.T.clone()
        difference = ArcFace()(points, labels, None, {"vectors": turned}) - theirs(points, labels).detach()
        assert (abs(difference.item()) < 1e-6) == same


def test_proxy_nca_is_the_librarys_but_for_the_own_class_in_the_sum(batch: tuple[Any, Any, Any]) -> None:
    points, labels, _ = batch
    proxies = ProxyNCA().start(0, CLASSES, WIDTH, dtype="float64")["proxies"].detach()
    theirs = losses.ProxyNCALoss(CLASSES, WIDTH, softmax_scale=9)
    theirs.proxies.data = proxies
    squares = 9 * (points[:, None] - torch.nn.functional.normalize(proxies, dim=-1)).square().sum(-1)
    own = squares.gather(1, labels[:, None])[:, 0]
    with_own = own + (-squares).logsumexp(1)
    close(theirs(points, labels).detach(), with_own.mean(), 1e-6)
    without = squares.scatter(1, labels[:, None], math.inf)
    close(ProxyNCA()(points, labels, None, {"proxies": proxies}), (own + (-without).logsumexp(1)).mean())


def test_one_far_pair_takes_every_other_anchor_from_the_librarys_miner_and_none_from_ours() -> None:
    """Its weights are exponentials below the largest of the whole batch; ours are below the largest of the row."""
    generator = torch.Generator().manual_seed(0)
    points = torch.nn.functional.normalize(torch.randn(32, 128, generator=generator), dim=-1)
    points[31] = -points[0]
    points[31, 0] += 1e-3
    points = torch.nn.functional.normalize(points, dim=-1)
    labels = torch.arange(32) // 2
    theirs, _, _ = miners.DistanceWeightedMiner()(points, labels)
    ours = DistanceWeighted(cut=1.4)(points, labels, numbers_of(labels, 0))
    assert ours.mask.all()
    assert len(theirs) == 0
    logs = torch.tensor([[0.0, -2000.0, -2001.0]])
    assert (integer_weights(logs, torch.tensor([[False, True, True]])) > 0).tolist() == [[False, True, True]]
