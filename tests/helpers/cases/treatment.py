"""Stacks, batches and representations for tests of treatments, made without a trainer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.networks import stacked_mlp
from equipoise.training import Batch, Part, Representations, Rows, Settings, TrainingContext, TrainingRows
from equipoise.training._stack import StackedLinear

FLOAT64 = Settings(precision="float64")


def names(prefix: str, number: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{place}" for place in range(number))


def training_rows(counts: Any, *, shuffled: int | None = 0) -> TrainingRows:
    """Rows that have these counts ``[class, group]``, in random order."""
    table = np.asarray(counts)
    cell, group = (np.repeat(codes.reshape(-1), table.reshape(-1)) for codes in np.indices(table.shape))
    order = np.arange(len(cell)) if shuffled is None else np.random.default_rng(shuffled).permutation(len(cell))
    classes, groups = names("class ", table.shape[0]), names("group ", table.shape[1])
    return TrainingRows(cell[order], cell[order], group[order], classes, groups)


def context(
    seeds: tuple[int, ...],
    *,
    rows: int = 40,
    classes: int = 3,
    groups: int = 2,
    width: int = 5,
    batch_size: int = 16,
    seed: int = 0,
) -> TrainingContext:
    """A stack of float64 trials with random classes and groups."""
    import torch

    def linear(name: str, inputs: int, outputs: int) -> Part:
        layers = stacked_mlp((inputs, outputs), seeds, part=name, dtype=torch.float64)
        return Part(layers.parameters, layer=StackedLinear(layers))

    generator = torch.Generator().manual_seed(seed)
    cell = torch.randint(0, classes, (len(seeds), rows), generator=generator)
    group = torch.randint(0, groups, (len(seeds), rows), generator=generator)
    return TrainingContext(
        seeds,
        width,
        names("class ", classes),
        names("group ", groups),
        cell,
        cell,
        group,
        batch_size,
        FLOAT64,
        linear,
        lambda name: (width,),
    )


def batch(stack: TrainingContext, seed: int = 0, rows: int | None = None) -> Batch:
    """A batch of random rows, with a hidden layer and losses that want gradients."""
    import torch

    generator = torch.Generator().manual_seed(100 + seed)
    trials, number = stack.cell.shape
    size = rows or stack.batch_size
    places = torch.stack([torch.randperm(number, generator=generator)[:size] for _ in range(trials)])

    def drawn(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    cell, group = stack.cell.gather(1, places), stack.group.gather(1, places)
    hidden = (2 * drawn(trials, size, stack.width) - 1).requires_grad_()
    loss = drawn(trials, size).requires_grad_()
    return Batch(places, cell, cell, group, torch.ones_like(loss), hidden, drawn(trials, size, 3), loss)


def one_of(given: Any, trial: int) -> Any:
    """The same batch or stack with one trial only."""
    import torch

    values = vars(given)
    cut = {
        name: value[trial : trial + 1].detach().clone().requires_grad_(value.requires_grad)
        for name, value in values.items()
        if isinstance(value, torch.Tensor)
    }
    if isinstance(given, TrainingContext):
        cut["seeds"] = given.seeds[trial : trial + 1]
    return replace(given, **cut)


def representations(
    *,
    rows: int = 600,
    classes: int = 2,
    groups: int = 2,
    width: int = 8,
    seed: int = 0,
    task: str = "class",
    selection: Any = "dto",
    bias: float = 0.7,
    strength: float = 2.0,
) -> Representations:
    """A hidden layer that tells the class in its first columns and the group in the next; group and class correlate."""
    generator = np.random.default_rng(seed)

    def split(name: str, size: int) -> Rows:
        cell = generator.integers(0, classes, size)
        group = np.where(generator.random(size) < bias, cell % groups, generator.integers(0, groups, size))
        inputs = generator.normal(size=(size, width))
        inputs[:, 0] += strength * cell
        inputs[np.arange(size), 1 + group % 2] += strength
        inputs[:, 3] += strength * group
        target = inputs[:, 0].astype(np.float32) if task == "regression" else cell
        seen = name != "test"
        return Rows(
            inputs.astype(np.float32), np.arange(size), target if seen else None, group if seen else None,
            cell if seen else None,
        )  # fmt: skip

    return Representations(
        split("train", rows), split("dev", rows // 2), split("test", rows // 2), names("class ", classes),
        names("group ", groups), task, seed, selection,
    )  # fmt: skip
