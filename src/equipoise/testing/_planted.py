"""A small cohort with a planted signal and a planted bias, as a trainer sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.training import Codes, EncodedDataset, Rows

# The first column tells the class and the second the group; classes stand so far apart, in standard deviations.
SEPARATION = 3.0


@dataclass(frozen=True, eq=False)
class Planted:
    """What trials may see, and the truth about the test rows, which they may not."""

    dataset: EncodedDataset
    test_target: NDArray[Any]
    test_group: Codes

    @property
    def everything(self) -> Codes:
        """All training rows."""
        return np.arange(len(self.dataset.train))

    def without_cell(self, class_code: int, group_code: int) -> Codes:
        """The training rows but for those of one class in one group."""
        train = self.dataset.train
        assert train.cell is not None
        return np.flatnonzero((train.cell != class_code) | (train.group != group_code))

    def correct(self, values: NDArray[Any], among: Codes | None = None) -> float:
        """Return how well predictions of the test rows (or of some) do: accuracy, or Pearson's r of a regression."""
        rows = np.arange(len(self.test_target)) if among is None else among
        if self.dataset.task == "regression":
            return float(np.corrcoef(values[rows], self.test_target[rows])[0, 1])
        return float((values == self.test_target)[rows].mean())

    def with_test_labels(self, *, target: bool, group: bool) -> EncodedDataset:
        """The dataset with what is true of the test rows: their targets, their groups, or both."""
        target_shown = self.test_target if target else None
        test = replace(
            self.dataset.test, target=target_shown, cell=target_shown, group=self.test_group if group else None
        )
        return replace(self.dataset, test=test)

    def first_half_of_test(self, *, group: bool) -> EncodedDataset:
        """The dataset with fewer test rows."""
        dataset = self.with_test_labels(target=False, group=group)
        half = len(dataset.test) // 2
        fields = vars(dataset.test).items()
        cut: dict[str, Any] = {name: None if value is None else value[:half] for name, value in fields}
        return replace(dataset, test=Rows(**cut))


def planted(
    classes: int = 2,
    groups: int = 2,
    *,
    task: Literal["class", "regression"] = "class",
    rows: int = 400,
    bias: float = 0.6,
    columns: int = 4,
    seed: int = 0,
) -> Planted:
    """Return rows whose class can be learnt, and in which class c and group c (modulo their number) come together."""
    generator = np.random.default_rng(seed)
    splits: dict[str, Rows] = {}
    first = 0
    for name, size in (("train", rows), ("dev", rows // 2), ("test", rows // 2)):
        cell = generator.permutation(np.arange(size) % classes)
        group = np.where(generator.random(size) < bias, cell % groups, generator.integers(0, groups, size))
        inputs = generator.normal(size=(size, columns)).astype(np.float32)
        inputs[:, 0] += SEPARATION * cell
        inputs[:, 1] += group
        target: NDArray[Any] = cell
        if task == "regression":
            target = (inputs[:, 0] + 0.3 * generator.normal(size=size)).astype(np.float32)
        splits[name] = Rows(inputs, np.arange(first, first + size), target, group, cell)
        first += size
    test = splits["test"]
    assert test.target is not None
    assert test.group is not None
    dataset = EncodedDataset(
        splits["train"], splits["dev"], replace(test, target=None, group=None, cell=None),
        tuple(f"class {index}" for index in range(classes)), tuple(f"group {index}" for index in range(groups)), task,
    )  # fmt: skip
    return Planted(dataset, test.target, test.group)
