"""Claim: PARADE grows with the number of sensitive attributes and not with that of their crossings. A step with 6
attributes of 4 values takes at most 6 times as long as with 1 of them (what PARADE adds, backward included; batch 128,
D = 128, 1,280 features), where their crossing has 4,096 groups. Beside it, without a claim: one head for the crossing
itself. It takes no longer, for its groups cost a row of proxies each; but of its anchors hardly any has a positive.

Run it as: python benchmarks/parade.py [--small] [--by-the-clock]
All sizes take turns on one thread; counted is the time of the processor (--by-the-clock counts by the clock).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from equipoise.training import Batch, Settings, TrainingCallback, TrainingContext, linear_layers
from equipoise.training.metric import MetricRecipe, UniformNumbers, pairs_of
from equipoise.treatments import Parade

FEATURES, WIDTH, BATCH, VALUES, ROWS, HEADS = 1280, 128, 128, 4, 4096, 4
CLAIM = 6.0


def context_of(codes: np.ndarray, groups: int, loss: str, miner: str | None) -> TrainingContext:
    """Return a stack of heads whose rows have these codes ``[attribute, row]``, of so many values each."""
    seeds, settings = tuple(range(HEADS)), Settings()
    nothing, draws = torch.zeros(HEADS, ROWS, dtype=torch.long), UniformNumbers(seeds, "cpu")
    draws.begin(1, 1, BATCH)
    return TrainingContext(
        seeds=seeds, width=WIDTH, classes=("all",), groups=("all",), target=nothing, cell=nothing, group=nothing,
        batch_size=BATCH, settings=settings, linear=linear_layers(seeds, settings), layer=lambda name: (WIDTH,),
        features=FEATURES, draws=draws,
        metric=MetricRecipe(loss, miner, WIDTH, 1, BATCH, 2, (1e-3,) * HEADS, (0.0,) * HEADS),
        attributes=tuple(f"attribute {place}" for place in range(len(codes))),
        values=tuple(tuple(map(str, range(groups))) for _ in codes),
        codes=torch.from_numpy(np.repeat(codes[:, None], HEADS, axis=1)),
    )  # fmt: skip


def batch_of(generator: torch.Generator) -> Batch:
    features = torch.randn(HEADS, BATCH, FEATURES, generator=generator)
    embedding = torch.nn.functional.normalize(torch.randn(HEADS, BATCH, WIDTH, generator=generator), dim=-1)
    embedding.requires_grad_()
    places = torch.randint(ROWS, (HEADS, BATCH), generator=generator)
    nothing = torch.zeros_like(places)
    return Batch(places, nothing, nothing, nothing, None, embedding, embedding, None, features)


def leaves_of(callback: TrainingCallback) -> list[torch.Tensor]:
    """Return the tensors that learn beside the heads."""
    return [tensor for part in callback.parts().values() for tensor in part.tensors]


def parameters_of(callback: TrainingCallback) -> int:
    """Return how many numbers of one trial learn."""
    return sum(leaf[0].numel() for leaf in leaves_of(callback))


def with_positive(context: TrainingContext, batch: Batch) -> float:
    """Return the share of anchors that have another row of their group in the batch."""
    same, _ = pairs_of(context.codes[0].gather(1, batch.positions))
    return float(same.any(-1).float().mean())


def step(callback: TrainingCallback, batch: Batch) -> None:
    torch.autograd.grad(callback.penalty(batch).sum(), [batch.output, *leaves_of(callback)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="3 rounds")
    parser.add_argument("--by-the-clock", action="store_true", help="wall-clock time instead of the processor's")
    asked = parser.parse_args()
    clock: Callable[[], float] = time.perf_counter if asked.by_the_clock else time.process_time
    torch.set_num_threads(1)
    codes = np.random.default_rng(0).integers(VALUES, size=(6, ROWS))
    sides: dict[str, TrainingContext] = {}
    for number in (1, 2, 4, 6):
        crossed = np.ravel_multi_index(tuple(codes[:number]), (VALUES,) * number)[None]
        sides[f"{number} attributes"] = context_of(codes[:number], VALUES, "margin", "distance_weighted")
        sides[f"{number} crossed"] = context_of(crossed, VALUES**number, "margin", "distance_weighted")
    parts = {name: Parade.during([Parade()] * HEADS, context) for name, context in sides.items()}
    spent: dict[str, list[float]] = {name: [] for name in parts}
    for round_ in range(4 if asked.small else 31):
        batch = batch_of(torch.Generator().manual_seed(round_))
        for name, part in parts.items():
            began = clock()
            step(part, batch)
            spent[name].append((clock() - began) / HEADS)
    for name, context in sides.items():
        proxies = Parade.during([Parade()] * HEADS, context_of(context.codes[:, 0].numpy(), len(context.values[0]),
                                                               "proxy_nca", None))  # fmt: skip
        print(f"{name} ({len(context.attributes)} x {len(context.values[0]):,} groups): "
              f"{1e3 * np.median(spent[name][1:]):.2f} ms a head and step, {parameters_of(parts[name]):,} parameters "
              f"({parameters_of(proxies):,} with proxies), {with_positive(context, batch):.0%} of anchors of the first "
              "with a positive")  # fmt: skip
    ratios = [six / one for one, six in zip(spent["1 attributes"][1:], spent["6 attributes"][1:], strict=True)]
    print(
        f"6 attributes against 1: ratio {np.median(ratios):.2f} (highest {max(ratios):.2f}; claim at most {CLAIM:.0f})"
    )


if __name__ == "__main__":
    main()
