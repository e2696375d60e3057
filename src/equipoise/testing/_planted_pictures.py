"""The planted cohort as pictures, for treatments that teach or read one network by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.testing._planted import (
    Planted,
    planted,
)
from equipoise.training import Codes, Rows

# The side of a picture, and how much brighter the square that tells the class and the colour that tells the group are.
SIDE = 8
SQUARE, COLOUR = 110, 40


def planted_pictures(
    classes: int = 2,
    groups: int = 2,
    *,
    task: Literal["class", "regression"] = "class",
    rows: int = 200,
    bias: float = 0.6,
    seed: int = 0,
) -> Planted:
    """Return pictures whose class is told by where a bright square is, and whose group is told by a colour.

    Classes and groups come together in train and dev rows; of the test rows every group has as many of each class, for
    some readouts rely on that.
    """
    plain = planted(classes, groups, rows=rows, bias=bias, seed=seed)
    generator = np.random.default_rng([seed, 1])
    order = generator.permutation(len(plain.test_target))
    target, group = order % classes, order // classes % groups
    dataset = plain.dataset

    def shown(rows: Rows, cell: Codes | None, group: Codes | None) -> Rows:
        assert cell is not None
        assert group is not None
        target = cell.astype(np.float32) if task == "regression" and rows.target is not None else rows.target
        return replace(rows, inputs=_pictures(cell, group, generator), target=target)

    train, dev = (shown(rows, rows.cell, rows.group) for rows in (dataset.train, dataset.dev))
    test = shown(dataset.test, target, group)
    return Planted(replace(dataset, train=train, dev=dev, test=test, task=task), target, group)


def _pictures(cell: Codes, group: Codes, generator: np.random.Generator) -> NDArray[np.uint8]:
    pictures = generator.integers(0, 80, (len(cell), SIDE, SIDE, 3))
    for row, (c, g) in enumerate(zip(cell.tolist(), group.tolist(), strict=True)):
        top, left = 4 * (c % 2), 4 * (c // 2 % 2)
        pictures[row, top : top + 4, left : left + 4] += SQUARE
        pictures[row, :, :, g % 3] += COLOUR * (1 + g // 3)
    return pictures.clip(0, 255).astype(np.uint8)
