"""Claim: a step of margin loss and distance-weighted mining (batch 128, D = 128, SPC-2, backward included) takes a 25th
of the time of a loop over anchors and triplets, as in the base code of paper 000, and a fifth of that of
pytorch-metric-learning's miner and loss (two triplets an anchor in such a batch, not one). Beside it, without a claim:
three losses that the library computes alike, for 32 heads as one stack against the library head by head.

Run it as: python benchmarks/metric_learning.py [--small] [--by-the-clock]
or, for trainings: python benchmarks/metric_learning.py [--heads] [--resnet50] [--cub FOLDER [--head] [--rates]]
[--device cuda] [--precision tf32] [--epochs N]

Claims of trainings: 32 feature heads stacked on one GPU train in at most 3 times the time of one (--heads); miner and
loss take under 10 % of the step of a ResNet-50 on a GPU (--resnet50); a head of 150 epochs on the features of CUB200
takes under 10 minutes on two cores (--cub FOLDER --head). Without a claim: pictures a second of ResNet-18 on CUB200 at
64 x 64, with the share of time outside the network (--cub FOLDER), and how heads stand at several rates (--rates).
All sides start from the same embeddings, take turns, and have one thread; counted is the time of the processor, because
others may hold the cores (--by-the-clock counts by the clock). First it is checked that the loop computes what we
compute. Without pytorch-metric-learning its part is left out, and that is said.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable

import metric_training
import numpy as np
import torch

from equipoise.training.metric import (
    MinedTriplets,
    get_preset,
    integer_weights,
    make_loss,
    pairs_of,
    squared_distances,
    uniforms_for,
)

BATCH, WIDTH, CLASSES, HEADS = 128, 128, 200, 32
FLOOR, MARGIN = 0.5, 0.2
CLAIMS = {"loop": 25, "pytorch-metric-learning": 5}
LOSS, MINER, SAMPLER = get_preset("margin_distance").make()


def batch_of(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return embeddings before they are brought to length 1, and labels: rows of a class lie a little closer."""
    generator = np.random.default_rng(seed)
    rows = np.arange(30 * CLASSES)
    labels = (rows % CLASSES)[SAMPLER.batches(rows % CLASSES, BATCH, seed, 1)[0]]
    centres = generator.standard_normal((CLASSES, WIDTH))
    points = 0.7 * centres[labels] + generator.standard_normal((BATCH, WIDTH))
    return torch.tensor(points, dtype=torch.float32, requires_grad=True), torch.from_numpy(labels)


def ours(points: torch.Tensor, labels: torch.Tensor, beta: torch.Tensor) -> None:
    embeddings = torch.nn.functional.normalize(points, dim=-1)
    mined = MINER(embeddings, labels, uniforms_for(labels))  # type: ignore[misc]
    LOSS(embeddings, labels, mined, {"beta": beta}).backward()


# The loop: anchor by anchor, triplet by triplet, with numpy's generator.


def chances(distances: torch.Tensor, labels: np.ndarray, anchor: int) -> np.ndarray:
    """Return the probability of each row as the anchor's negative."""
    own = np.flatnonzero(labels == labels[anchor])
    rest = torch.log(1.0 - 0.25 * distances[anchor].pow(2))
    logs = (2.0 - WIDTH) * torch.log(distances[anchor]) - (WIDTH - 3) / 2 * rest
    logs[own] = 0
    weights = torch.exp(logs - torch.max(logs))
    weights[own] = 0
    return (weights / weights.sum()).numpy()


def floored(embeddings: torch.Tensor) -> torch.Tensor:
    products = embeddings.detach() @ embeddings.detach().T
    squares = products.diag()[:, None]
    return (squares + squares.T - 2 * products).clamp(min=0).sqrt().clamp(min=FLOOR)


def looped_triplets(embeddings: torch.Tensor, told: torch.Tensor) -> list[tuple[int, int, int]]:
    labels, distances = told.numpy(), floored(embeddings)
    found = []
    for anchor in range(len(labels)):
        negative = int(np.random.choice(len(labels), p=chances(distances, labels, anchor)))
        same = np.flatnonzero((labels == labels[anchor]) & (np.arange(len(labels)) != anchor))
        if len(same):
            found.append((anchor, int(np.random.choice(same)), negative))
    return found


def looped_loss(
    embeddings: torch.Tensor, labels: torch.Tensor, beta: torch.Tensor, triplets: list[tuple[int, int, int]]
) -> torch.Tensor:
    near, far, boundaries = [], [], []
    for anchor, positive, negative in triplets:
        near.append(((embeddings[anchor] - embeddings[positive]).pow(2).sum() + 1e-8).sqrt())
        far.append(((embeddings[anchor] - embeddings[negative]).pow(2).sum() + 1e-8).sqrt())
        boundaries.append(beta[labels[anchor]])
    boundary = torch.stack(boundaries)
    pull = torch.relu(torch.stack(near) - boundary + MARGIN)
    push = torch.relu(boundary - torch.stack(far) + MARGIN)
    active = ((pull > 0) | (push > 0)).sum()
    return (pull + push).sum() / active if active else (pull + push).sum()


def loop(points: torch.Tensor, labels: torch.Tensor, beta: torch.Tensor) -> None:
    embeddings = torch.nn.functional.normalize(points, dim=-1)
    looped_loss(embeddings, labels, beta, looped_triplets(embeddings, labels)).backward()  # type: ignore[no-untyped-call]


def check_that_they_agree() -> None:
    """The loop and we give every negative the same chance, and the same triplets the same loss and gradient."""
    points, labels = batch_of(0)
    embeddings = torch.nn.functional.normalize(points.detach().double(), dim=-1).requires_grad_()
    others = pairs_of(labels)[1]
    weights = integer_weights(MINER.log_weights(squared_distances(embeddings), WIDTH), others).double()  # type: ignore[union-attr]
    distances = floored(embeddings)
    expected = np.stack([chances(distances, labels.numpy(), anchor) for anchor in range(BATCH)])
    assert np.allclose((weights / weights.sum(-1, keepdim=True)).numpy(), expected, atol=1e-9)
    mined = MINER(embeddings, labels, uniforms_for(labels))  # type: ignore[misc]
    beta = torch.full((CLASSES,), 1.2, dtype=torch.float64, requires_grad=True)
    triplets = [row for row, there in zip(zip(*_places(mined), strict=True), mined.mask.tolist(), strict=True) if there]
    values = LOSS(embeddings, labels, mined, {"beta": beta}), looped_loss(embeddings, labels, beta, triplets)
    fast, slow = ((value, *torch.autograd.grad(value, [embeddings, beta])) for value in values)
    assert all(torch.allclose(one, other) for one, other in zip(fast, slow, strict=True))


def _places(mined: MinedTriplets) -> list[list[int]]:
    assert mined.negatives is not None
    return [mined.anchors.tolist(), mined.positives.tolist(), mined.negatives.tolist()]


def library() -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]:
    """Return the same step with pytorch-metric-learning, without its upper cut; it divides by active terms."""
    from pytorch_metric_learning.losses import MarginLoss
    from pytorch_metric_learning.miners import DistanceWeightedMiner

    miner = DistanceWeightedMiner(cutoff=FLOOR, nonzero_loss_cutoff=float("inf"))
    loss = MarginLoss(margin=MARGIN, beta=1.2, learn_beta=True, num_classes=CLASSES)

    def step(points: torch.Tensor, labels: torch.Tensor, beta: torch.Tensor) -> None:
        embeddings = torch.nn.functional.normalize(points, dim=-1)
        loss(embeddings, labels, miner(embeddings, labels)).backward()

    return step


def alike() -> dict[str, Callable[[torch.Tensor, torch.Tensor, MinedTriplets | None], torch.Tensor]]:
    """Return the library's losses of one head that equal ours."""
    from pytorch_metric_learning import distances, losses, miners, reducers

    def euclidean(power: int) -> distances.LpDistance:
        return distances.LpDistance(normalize_embeddings=False, power=power)

    inner = distances.DotProductSimilarity(normalize_embeddings=False)
    mean, kept = reducers.MeanReducer(), reducers.AvgNonZeroReducer()
    triplet = losses.TripletMarginLoss(margin=MARGIN, distance=euclidean(2), reducer=mean)
    contrastive = losses.ContrastiveLoss(distance=euclidean(1), reducer=mean)
    miner = miners.MultiSimilarityMiner(0.1, distance=inner)
    similar = losses.MultiSimilarityLoss(2, 40, 0.5, distance=inner, reducer=kept)
    return {
        "triplet": lambda rows, labels, mined: triplet(rows, labels, _triplets(mined)),
        "contrastive": lambda rows, labels, mined: contrastive(rows, labels, _triplets(mined)),
        "multi_similarity": lambda rows, labels, mined: similar(rows, labels, miner(rows, labels)),
    }


def _triplets(mined: MinedTriplets | None) -> tuple[torch.Tensor, ...]:
    assert mined is not None
    assert mined.negatives is not None
    return mined.anchors, mined.positives, mined.negatives


def stacked(rounds: int, clock: Callable[[], float]) -> None:
    """Time the losses of a stack of heads against the library's, one head after the other."""
    labels = (torch.arange(BATCH) // 2).expand(HEADS, BATCH).contiguous()
    points = torch.nn.functional.normalize(torch.randn(HEADS, BATCH, WIDTH), dim=-1).requires_grad_()
    mined = MINER(points, labels, uniforms_for(labels))  # type: ignore[misc]
    alone = [MinedTriplets(*(places[head] for places in _triplets(mined)), mined.mask[head]) for head in range(HEADS)]
    for name, theirs in alike().items():
        loss, spent = make_loss(name), []
        for _ in range(rounds + 1):
            moments = [clock()]
            whole = loss(points, labels, mined)
            fast = torch.autograd.grad(whole.sum(), points)[0]
            moments.append(clock())
            each = torch.stack([theirs(points[head], labels[head], alone[head]) for head in range(HEADS)])
            slow = torch.autograd.grad(each.sum(), points)[0]
            moments.append(clock())
            spent.append(np.diff(moments))
        assert torch.allclose(whole, each, atol=1e-5)
        assert torch.allclose(fast, slow, atol=1e-5)
        ours_, library_ = np.median(spent[1:], axis=0)
        print(f"{HEADS} heads, {name}: {1e3 * ours_:.1f} ms together, {1e3 * library_:.1f} ms with the library head by "
              f"head, ratio {library_ / ours_:.1f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="3 rounds of a few steps")
    parser.add_argument("--by-the-clock", action="store_true", help="wall-clock time instead of the processor's")
    parser.add_argument("--heads", action="store_true", help="32 heads together against one")
    parser.add_argument("--resnet50", action="store_true", help="the share of miner and loss in a step")
    parser.add_argument("--cub", help="the folder of CUB200: pictures a second")
    parser.add_argument("--head", action="store_true", help="with --cub: a whole head on features")
    parser.add_argument("--rates", action="store_true", help="with --cub: heads of every loss at three rates")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", default="tf32", choices=("tf32", "float32"), help="of networks on pictures")
    parser.add_argument("--epochs", type=int, default=150, help="of --head and --rates")
    asked = parser.parse_args()
    trainings = metric_training.parts(asked)
    for training in trainings:
        training()
    if trainings and not asked.small:
        return
    clock = time.perf_counter if asked.by_the_clock else time.process_time
    torch.set_num_threads(1)
    check_that_they_agree()
    sides: dict[str, Callable[..., None]] = {"ours": ours, "loop": loop}
    steps = {"ours": 10 if asked.small else 100, "loop": 1 if asked.small else 5, "pytorch-metric-learning": 10}
    if importlib.util.find_spec("pytorch_metric_learning") is None:
        print("pytorch-metric-learning is not installed: its part is left out")
    else:
        sides["pytorch-metric-learning"] = library()
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for round_ in range(4 if asked.small else 16):
        points, labels = batch_of(round_)
        beta = torch.full((CLASSES,), 1.2, requires_grad=True)
        for name, step in sides.items():
            began = clock()
            for _ in range(steps[name]):
                points.grad = beta.grad = None
                step(points, labels, beta)
            spent[name].append((clock() - began) / steps[name])
    for name, seconds in spent.items():
        kept = seconds[1:]  # the first round warms up
        print(f"{name}: {1e3 * statistics.median(kept):.2f} ms a step ({1e3 * min(kept):.2f} to {1e3 * max(kept):.2f})")
    if "pytorch-metric-learning" in sides:
        stacked(2 if asked.small else 10, clock)
    for name, claim in CLAIMS.items():
        if name in spent:
            found = [slow / fast for slow, fast in zip(spent[name][1:], spent["ours"][1:], strict=True)]
            print(f"{name} ratio: {statistics.median(found):.1f} (lowest {min(found):.1f}; claim {claim})")


if __name__ == "__main__":
    main()
