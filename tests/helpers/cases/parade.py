"""Stacks and batches for tests of treatments of metric learning, made without a trainer; and PARADE, slow and plain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.training import Batch, Settings, TrainingContext, linear_layers
from equipoise.training.metric import MetricRecipe, UniformNumbers
from helpers.oracles.metric import MINER_ORACLES

FEATURES, WIDTH, ROWS, SAMPLES = 7, 6, 40, 16


def metric_context(
    seeds: Sequence[int] = (3, 4, 5),
    *,
    groups: Sequence[int] = (3,),
    unknown: float = 0.0,
    loss: str = "margin",
    miner: str | None = "distance_weighted",
    codes: Any = None,
) -> TrainingContext:
    """A stack of float64 heads with random attributes of so many values, of which a share is unknown."""
    import torch

    if codes is None:
        codes = np.stack([[own_codes(seed, index, number, unknown) for seed in seeds]
                          for index, number in enumerate(groups)])  # fmt: skip
    nothing = torch.zeros(len(seeds), ROWS, dtype=torch.long)
    settings = Settings(precision="float64")
    return TrainingContext(
        seeds=tuple(seeds), width=WIDTH, classes=("all",), groups=("all",), target=nothing, cell=nothing, group=nothing,
        batch_size=SAMPLES, settings=settings, linear=linear_layers(seeds, settings), layer=lambda name: (WIDTH,),
        features=FEATURES, draws=DrawnByName(seeds),
        metric=MetricRecipe(loss, miner, WIDTH, 1, ROWS, 2, (1e-3,) * len(seeds), (4e-4,) * len(seeds)),
        attributes=tuple(f"attribute {place}" for place in range(len(groups))),
        values=tuple(tuple(f"value {code}" for code in range(number)) for number in groups),
        codes=torch.from_numpy(np.asarray(codes)),
    )  # fmt: skip


class DrawnByName(UniformNumbers):
    """Numbers to mine by: those of a name are the same in every step, whichever seeds stand beside."""

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__(seeds, "cpu")
        self.seeds = seeds

    def __call__(self, name: str | None, step: Any, rows: int) -> Any:
        import torch

        drawn = [np.random.default_rng([seed, 9, *(name or "").encode()]).random((2, SAMPLES)) for seed in self.seeds]
        return torch.from_numpy(np.stack(drawn))[..., :rows]


def own_codes(seed: int, place: int, number: int, unknown: float) -> Any:
    generator = np.random.default_rng([seed, place])
    codes = generator.integers(number, size=ROWS)
    return np.where(generator.random(ROWS) < unknown, -1, codes)


def metric_batch(seeds: Sequence[int] = (3, 4, 5), *, places: Any = None) -> Batch:
    """One batch of random features and embeddings of length 1, each trial's from its own seed."""
    import torch

    def drawn(name: int, *shape: int) -> Any:
        return torch.from_numpy(
            np.stack([np.random.default_rng([seed, name]).standard_normal(shape) for seed in seeds])
        )

    if places is None:
        places = np.stack([np.random.default_rng([seed, 7]).integers(ROWS, size=SAMPLES) for seed in seeds])
    embedding = torch.nn.functional.normalize(drawn(1, SAMPLES, WIDTH), dim=-1).requires_grad_()
    nothing = torch.zeros(len(seeds), SAMPLES, dtype=torch.long)
    return Batch(
        positions=torch.from_numpy(np.asarray(places)), target=nothing, cell=nothing, group=nothing, weight=None,
        hidden=embedding, output=embedding, loss=None, features=drawn(0, SAMPLES, FEATURES).requires_grad_(),
    )  # fmt: skip


class SlowParade:
    """PARADE of one trial and one attribute with margin loss and distance-weighted mining: row by row, no reversal.

    What the reversal does is said by hand: ``towards`` is c, which xi raises and everything else lowers.
    """

    def __init__(self, head: Any, trial: int) -> None:
        import torch

        self.torch = torch
        self.head = [parameter[trial].detach().clone().requires_grad_() for parameter in head.head.parameters]
        self.xi = [parameter[trial].detach().clone().requires_grad_() for parameter in head.separation.parameters]
        self.beta = head.loss_tensors["beta"][trial].detach().clone().requires_grad_()

    def of_length_one(self, row: Any) -> Any:
        return row / sum(x**2 for x in row) ** 0.5

    def points(self, features: Any) -> list[Any]:
        weight, bias = self.head
        return [self.of_length_one(row @ weight + bias[0]) for row in features]

    def own_loss(self, features: Any, codes: Sequence[int], numbers: Any) -> Any:
        """L_SA of the rows whose value is known."""
        known = [index for index, code in enumerate(codes) if code >= 0]
        points = [point for index, point in enumerate(self.points(features)) if index in known]
        labels = [codes[place] for place in known]
        first, second = ([float(numbers[row][place]) for place in known] for row in (0, 1))
        plain = [point.detach().tolist() for point in points]
        total, active = self.torch.zeros((), dtype=self.torch.float64), 0
        for a, p, n in MINER_ORACLES["distance_weighted"](plain, labels, first, second):
            assert n is not None
            beta = self.beta[labels[a]]
            pull = (self.distance(points[a], points[p]) - beta + 0.2).relu()
            push = (beta - self.distance(points[a], points[n]) + 0.2).relu()
            total = total + pull + push
            active += bool(pull > 0 or push > 0)
        return total / max(active, 1)

    def distance(self, one: Any, other: Any) -> Any:
        return (sum((x - y) ** 2 for x, y in zip(one, other, strict=True)) + 1e-8) ** 0.5

    def towards(self, features: Any, embedding: Any, codes: Sequence[int]) -> Any:
        """The mean over known rows of |target * xi(sensitive)|^2, summed over the dimensions."""
        first, second, first_bias, second_bias = self.xi
        terms = []
        for target, point, code in zip(embedding, self.points(features), codes, strict=True):
            if code >= 0:
                hidden = (self.of_length_one(point) @ first + first_bias[0]).relu()
                met = self.of_length_one(hidden @ second + second_bias[0])
                terms.append(sum((x * y) ** 2 for x, y in zip(self.of_length_one(target), met, strict=True)))
        return sum(terms) / len(terms)


def close(one: Any, other: Any, within: float = 1e-10) -> bool:
    """Tell whether two tensors agree; None is a tensor of zeros."""
    if one is None or other is None:
        left = other if one is None else one
        return left is None or float(left.detach().abs().max()) <= within
    return bool((one - other).abs().max() <= within * max(1.0, float(other.detach().abs().max())))


def finite(values: Any) -> bool:
    return all(math.isfinite(value) for value in values.detach().flatten().tolist())
