"""Tests whose unit is a distinct profile (or a cluster), because copies of one profile are not independent people.

Preprocessed as in paper 003, COMPAS has 5,278 people and 72 distinct profiles: a test that counts people counts copies.
Here the units are told; ``dealing`` says what chance does with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

HASHED_BYTES = 32 * 1024**2


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit each row belongs to."""

    codes: Codes
    number: int

    @classmethod
    def of_codes(cls, codes: Codes) -> Units:
        """Number units that were told by any codes."""
        values, places = np.unique(codes, return_inverse=True)
        return cls(places.astype(np.int64).reshape(-1), len(values))

    @cached_property
    def sizes(self) -> Floats:
        """How many rows each unit has."""
        return np.bincount(self.codes, minlength=self.number).astype(np.float64)

    @property
    def effective(self) -> float:
        """How many units of one size would tell as much: (sum of sizes)² / sum of squared sizes."""
        return float(self.sizes.sum() ** 2 / (self.sizes**2).sum())

    def sums(self, values: NDArray[Any]) -> Floats:
        """Return the sum of values over the rows of each unit."""
        return np.bincount(self.codes, weights=values, minlength=self.number).astype(np.float64, copy=False)

    def means(self, values: NDArray[Any]) -> Floats:
        """Return the mean of values over the rows of each unit."""
        return self.sums(values) / np.maximum(self.sizes, 1.0)

    def table(self, groups: Codes, number: int, weights: Floats | None = None) -> Floats:
        """Return how many rows of each unit are in each group (or the sum of their weights), ``[unit, group]``."""
        cells = np.bincount(self.codes * number + groups, weights=weights, minlength=self.number * number)
        return cells.reshape(self.number, number).astype(np.float64)

    def varies(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell of each unit whether its rows have different values."""
        return self.sums(np.abs(values - self.means(values)[self.codes]) > 1e-12) > 0

    def only(self, rows: NDArray[np.bool_]) -> Units:
        """Return the units of some rows."""
        return Units.of_codes(self.codes[rows])


def profiles_of(*arrays: NDArray[Any]) -> Units:
    """Return the distinct profiles: rows that are equal, number by number, in every one of the arrays ``[row, ...]``.

    Rows are told apart by two independent 64-bit hashes, so two profiles of a billion are taken for one with a
    probability below 10^-20.
    """
    hashes = np.zeros((len(arrays[0]), 2), dtype=np.uint64)
    for place, array in enumerate(arrays):
        _mix_in(hashes, array, np.random.default_rng(20_011 + place))
    return Units.of_codes(np.unique(hashes, axis=0, return_inverse=True)[1].reshape(-1))


def _mix_in(hashes: NDArray[np.uint64], array: NDArray[Any], generator: np.random.Generator) -> None:
    """Add sums of the rows' bits, each multiplied by an odd number of its own (in 64 bits, overflowing)."""
    width = array.shape[1]
    odd = generator.integers(0, 2**64, size=(width, 2), dtype=np.uint64) | np.uint64(1)
    step = max(1, HASHED_BYTES // (8 * width))
    for first in range(0, len(array), step):
        # Adding 0 makes -0 equal to 0; as float64 every number has one form.
        bits = (np.asarray(array[first : first + step], dtype=np.float64) + 0.0).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> np.uint64(32)
        for side in range(2):
            hashes[first : first + step, side] += (bits * odd[:, side]).sum(axis=1, dtype=np.uint64)


def clustered_mean_error(units: Units, values: Floats) -> float:
    """Return the standard error of the mean of values when whole units are the sample; NaN with one unit."""
    if units.number < 2:
        return float("nan")
    deviations = units.sums(values - values.mean())
    return float(np.sqrt(units.number / (units.number - 1) * (deviations**2).sum()) / len(values))


def clustered_auc(units: Units, scores: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return P(score of a positive > score of another) + half the ties, and its standard error over units.

    DeLong et al. (1988) with the placements summed by unit (Obuchowski 1997).
    """
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return float("nan"), float("nan")
    placements = np.where(positive, _placed(scores, scores[~positive]), 1.0 - _placed(scores, scores[positive]))
    auc = float(placements[positive].mean())
    weights = np.where(positive, 1.0 / ones, 1.0 / zeros)
    deviations = units.sums((placements - auc) * weights)
    return auc, float(np.sqrt(units.number / max(units.number - 1, 1) * (deviations**2).sum()))


def _placed(scores: Floats, among: Floats) -> Floats:
    """Return the share of the others that lies below each score, ties by half."""
    ordered = np.sort(among)
    below, up_to = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to) / (2.0 * len(ordered)), dtype=np.float64)
