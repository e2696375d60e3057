"""Slow, obvious references for losses and miners of metric learning: plain loops over samples, in Python's numbers.

A loss is ``reference(points, labels, triplets, learnt)`` for one head: ``points`` and what is learnt are nested lists,
``triplets`` are (anchor, positive, negative). A miner is ``reference(points, labels, first, second)`` with the two
uniform numbers of each sample, and returns triplets (negative None where every sample of another class is one).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

Points = Sequence[Sequence[float]]
Found = list[tuple[int, int, int | None]]


def squared(one: Sequence[float], other: Sequence[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    return math.sqrt(squared(one, other) + 1e-8)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def of_length(point: Sequence[float], length: float) -> list[float]:
    norm = math.sqrt(dot(point, point))
    return [length * x / norm for x in point]


def hinge(value: float) -> float:
    return max(value, 0.0)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def positives_of(labels: Sequence[int], anchor: int) -> list[int]:
    return [index for index, label in enumerate(labels) if label == labels[anchor] and index != anchor]


def negatives_of(labels: Sequence[int], anchor: int) -> list[int]:
    return [index for index, label in enumerate(labels) if label != labels[anchor]]


# Losses.


def margin(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    total, active = 0.0, 0
    for a, p, n in triplets:
        assert n is not None
        beta = learnt["beta"][labels[a]]
        pull = hinge(distance(points[a], points[p]) - beta + 0.2)
        push = hinge(beta - distance(points[a], points[n]) + 0.2)
        total += pull + push
        active += pull > 0 or push > 0
    return total / active if active else total


def triplet(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    return mean([hinge(squared(points[a], points[p]) - squared(points[a], points[n]) + 0.2) for a, p, n in triplets])


def contrastive(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    pulls = [hinge(distance(points[a], points[p])) for a, p, _ in triplets]
    pushes = [hinge(1 - distance(points[a], points[n])) for a, _, n in triplets]
    return mean(pulls) + mean(pushes)


def n_pair(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    terms = []
    for a, p, _ in triplets:
        inner = sum(math.exp(dot(points[a], points[n]) - dot(points[a], points[p])) for n in negatives_of(labels, a))
        terms.append(math.log(1 + inner))
    if not terms:
        return 0.0
    return mean(terms) + 0.005 * mean([math.sqrt(dot(point, point)) for point in points])


def multi_similarity(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    terms = []
    for a in range(len(labels)):
        near = [dot(points[a], points[p]) for p in positives_of(labels, a)]
        far = [dot(points[a], points[n]) for n in negatives_of(labels, a)]
        if not near or not far:
            continue
        hard_far = [s for s in far if s + 0.1 > min(near)]
        hard_near = [s for s in near if s - 0.1 < max(far)]
        if not hard_far or not hard_near:
            continue
        pull = math.log(1 + sum(math.exp(-2 * (s - 0.5)) for s in hard_near)) / 2
        push = math.log(1 + sum(math.exp(40 * (s - 0.5)) for s in hard_far)) / 40
        terms.append(pull + push)
    return mean(terms)


def arcface(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    vectors = [of_length(vector, 1) for vector in learnt["vectors"]]
    terms = []
    for point, label in zip(points, labels, strict=True):
        cosines = [min(max(dot(point, vector), 1e-10), 1 - 1e-10) for vector in vectors]
        logits = [16 * cosine for cosine in cosines]
        logits[label] = 16 * math.cos(math.acos(cosines[label]) + 0.5)
        terms.append(math.log(sum(math.exp(logit) for logit in logits)) - logits[label])
    return mean(terms)


def proxy_nca(points: Points, labels: Sequence[int], triplets: Found, learnt: Any) -> float:
    proxies = [of_length(proxy, 3) for proxy in learnt["proxies"]]
    terms = []
    for point, label in zip(points, labels, strict=True):
        squares = [squared(of_length(point, 3), proxy) for proxy in proxies]
        others = sum(math.exp(-square) for index, square in enumerate(squares) if index != label)
        terms.append(squares[label] + math.log(others))
    return mean(terms)


# Miners.


def pick(choices: Sequence[int], uniform: float) -> int:
    return choices[int(uniform * len(choices))]


def plain_distance(points: Points, one: int, other: int) -> float:
    return math.sqrt(squared(points[one], points[other]))


def anchors_of(labels: Sequence[int]) -> list[int]:
    return [a for a in range(len(labels)) if positives_of(labels, a) and negatives_of(labels, a)]


def distance_weights(points: Points, labels: Sequence[int], anchor: int, cut: float | None = None) -> dict[int, float]:
    width, logs = len(points[0]), {}
    for n in negatives_of(labels, anchor):
        d = plain_distance(points, anchor, n)
        if cut is None or d <= cut:
            d = max(d, 0.5)
            logs[n] = (2 - width) * math.log(d) - (width - 3) / 2 * math.log(1 - d * d / 4)
    highest = max(logs.values(), default=0.0)
    weights = {n: math.exp(value - highest) for n, value in logs.items()}
    total = sum(weights.values())
    return {n: weight / total for n, weight in weights.items()}


def distance_weighted(
    points: Points, labels: Sequence[int], first: Sequence[float], second: Sequence[float], cut: float | None = None
) -> Found:
    found: Found = []
    for a in anchors_of(labels):
        passed, chosen = 0.0, None
        for n, weight in distance_weights(points, labels, a, cut).items():
            passed += weight
            if chosen is None and passed > second[a]:
                chosen = n
        if chosen is not None:
            found.append((a, pick(positives_of(labels, a), first[a]), chosen))
    return found


def semi_hard(points: Points, labels: Sequence[int], first: Sequence[float], second: Sequence[float]) -> Found:
    found: Found = []
    for a in anchors_of(labels):
        p = pick(positives_of(labels, a), first[a])
        near, negatives = plain_distance(points, a, p), negatives_of(labels, a)
        window = [n for n in negatives if near < plain_distance(points, a, n) < near + 0.2]
        found.append((a, p, pick(window or negatives, second[a])))
    return found


def soft_hard(points: Points, labels: Sequence[int], first: Sequence[float], second: Sequence[float]) -> Found:
    found: Found = []
    for a in anchors_of(labels):
        near, far = positives_of(labels, a), negatives_of(labels, a)
        farthest = max(plain_distance(points, a, p) for p in near)
        nearest = min(plain_distance(points, a, n) for n in far)
        hard_near = [p for p in near if plain_distance(points, a, p) > nearest]
        hard_far = [n for n in far if plain_distance(points, a, n) < farthest]
        found.append((a, pick(hard_near or near, first[a]), pick(hard_far or far, second[a])))
    return found


def n_pairs(points: Points, labels: Sequence[int], first: Sequence[float], second: Sequence[float]) -> Found:
    return [(a, pick(positives_of(labels, a), first[a]), None) for a in anchors_of(labels)]


def random_triplets(points: Points, labels: Sequence[int], first: Sequence[float], second: Sequence[float]) -> Found:
    """List every triplet and take as many as there are samples, by Floyd's algorithm with a set."""
    every = [
        (a, p, n) for a, p, n in sorted(permutations(range(len(labels)), 3))
        if labels[a] == labels[p] and labels[a] != labels[n]
    ]  # fmt: skip
    taken: list[int] = []
    begin = max(len(every) - len(labels), 0)
    for uniform, k in zip(first, range(begin, len(every)), strict=False):
        tried = int(uniform * (k + 1))
        taken.append(k if tried in taken else tried)
    return [every[number] for number in taken]


LOSS_ORACLES: dict[str, Callable[..., float]] = {
    "margin": margin, "triplet": triplet, "contrastive": contrastive, "n_pair": n_pair,
    "multi_similarity": multi_similarity, "arcface": arcface, "proxy_nca": proxy_nca,
}  # fmt: skip
MINER_ORACLES: dict[str, Callable[..., Found]] = {
    "distance_weighted": distance_weighted, "semi_hard": semi_hard, "soft_hard": soft_hard, "n_pair": n_pairs,
    "random": random_triplets,
}  # fmt: skip
