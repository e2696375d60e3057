"""What the dev rows say of a trial: performance, fairness and their distance to the best (paper 001, section 4.2).

The formulas are those of the measures ``distance_to_optimum`` and ``regression_distance_to_optimum`` (tests hold them
equal), over all trials at once and with numpy alone, so that a compute node needs nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.material import Rows, Selection

Floats = NDArray[np.float64]

UNDEFINED = {
    "class": "Fairness on the dev rows is not defined (no class has rows in every group), so performance alone chose.",
    "regression": "Fairness on the dev rows is not defined (predictions or targets of a group do not vary, or it has "
    "fewer than two rows), so performance alone chose.",
}
# More than any distance to (1, 1), which is at most sqrt(8): what has no fairness comes after all that has one.
BEHIND = 4.0


@dataclass(frozen=True, eq=False)
class Scores:
    """For each trial: accuracy (Pearson's r of a regression) and fairness = 1 - GAP, NaN where it is not defined."""

    performance: Floats
    fairness: Floats

    def best(self, selection: Selection) -> int:
        """Return which of candidates in order is taken: the one with the least loss, or the last."""
        return len(self.performance) - 1 if selection == "last" else int(np.argmin(self.losses(selection)))

    def losses(self, selection: Selection) -> Floats:
        """Return what the best epoch has least of: the distance to (1, 1), or 1 - performance.

        Where fairness is not defined the loss is ``BEHIND`` + 1 - performance: such an epoch never wins over one with a
        distance, and where no epoch has one performance decides. Where performance is not defined nothing is better.
        """
        losses = 1.0 - self.performance
        if selection == "dto":
            losses = np.where(np.isnan(self.fairness), BEHIND + losses, np.hypot(losses, 1.0 - self.fairness))
        return np.where(np.isnan(losses), np.inf, losses)


def scores_of(values: NDArray[Any], rows: Rows, classes: int, groups: int, task: str) -> Scores:
    """Return the scores of predictions ``[trial, row]`` (class codes or numbers) for rows with targets and groups."""
    assert rows.target is not None
    assert rows.group is not None
    if task == "regression":
        known = np.isfinite(rows.target)
        return _of_numbers(values[:, known], rows.target[known], rows.group[known], groups)
    known = rows.target >= 0
    return _of_classes(values[:, known], rows.target[known], rows.group[known], classes, groups)


def _of_classes(values: NDArray[Any], target: NDArray[Any], group: NDArray[Any], classes: int, groups: int) -> Scores:
    """Accuracy is over all rows; GAP = sqrt(mean_y (max_g TPR_yg - min_g TPR_yg)^2) over rows that have a group."""
    right = values == target
    cell = np.where(group >= 0, group * classes + target, groups * classes)
    size = groups * classes + 1
    people = np.bincount(cell, minlength=size)[:-1].reshape(groups, classes)
    places = np.arange(len(values))[:, None] * size + cell
    correct = np.bincount(places[right], minlength=len(values) * size).reshape(-1, size)
    with np.errstate(invalid="ignore"):
        rates = correct[:, :-1].reshape(-1, groups, classes) / people
    gaps = rates.max(axis=1) - rates.min(axis=1)  # NaN where a group has nobody of the class
    defined = (people > 0).all(axis=0)
    nothing = np.full(len(values), np.nan)
    gap = np.sqrt((gaps[:, defined] ** 2).mean(axis=1)) if defined.any() else nothing
    return Scores(right.mean(axis=1) if right.size else nothing, 1.0 - gap)


def _of_numbers(values: NDArray[Any], target: NDArray[Any], group: NDArray[Any], groups: int) -> Scores:
    """Fairness = 1 - (max_g Pearson_g - min_g Pearson_g)."""
    by_group = np.stack([_pearson(values[:, group == one], target[group == one]) for one in range(groups)])
    return Scores(_pearson(values, target), 1.0 - (by_group.max(axis=0) - by_group.min(axis=0)))


def _pearson(values: NDArray[Any], target: NDArray[Any]) -> Floats:
    """Return Pearson's r of each trial; NaN where target or prediction is constant."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    y = target.astype(np.float64) - target.mean(dtype=np.float64)
    p = values.astype(np.float64)
    p = p - p.mean(axis=1, keepdims=True)
    spread = np.sqrt((y**2).sum() * (p**2).sum(axis=1))
    # What rounding leaves of a constant prediction is no spread.
    constant = spread <= 1e-12 * len(y) * np.maximum(np.abs(values).max(axis=1), 1e-300) * max(np.abs(y).max(), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.clip((p @ y) / spread, -1.0, 1.0)
    return np.asarray(np.where(constant | ~np.isfinite(spread), np.nan, found), dtype=np.float64)
