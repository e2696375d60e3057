"""Cluster permutation: tests whose unit is a distinct profile or a cluster, since copies are not independent people.

Preprocessed as in paper 003, COMPAS has 5,278 people and 72 distinct profiles: a test that counts people counts copies.
So groups (or whatever is asked about) are permuted over whole units, never over single copies. Tested is a group's
share of an amount minus its share of all rows. Every unit keeps its size and its amount, so cloning every profile
changes no p-value, and one large profile is one profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats
from equipoise.stats._permutation import permutation_p

Codes = NDArray[np.int64]

LEVEL = 0.95
# A permutation of few values over few kinds of units is drawn as a table; of more it is gone through unit by unit.
MOST_VALUES, MOST_KINDS = 8, 2_000
# Beyond so many units that is the normal distribution with the permutation's own mean and variance.
MANY_UNITS = 20_000
HASHED_BYTES = 32 * 1024**2


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit each row belongs to."""

    codes: Codes
    number: int

    @classmethod
    def of_codes(cls, codes: Codes) -> Units:
        """Number units that were told by any codes."""
        values, unit_codes = np.unique(codes, return_inverse=True)
        return cls(unit_codes.astype(np.int64).reshape(-1), len(values))

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


def unit_profiles(*arrays: NDArray[Any]) -> Units:
    """Return the distinct profiles: rows that are equal, number by number, in every one of the arrays ``[row, ...]``.

    Rows are told apart by two independent 64-bit hashes, so two profiles of a billion are taken for one with a
    probability below 10^-20.
    """
    hashes = np.zeros((len(arrays[0]), 2), dtype=np.uint64)
    for index, array in enumerate(arrays):
        _mix_in(hashes, array, np.random.default_rng(20_011 + index))
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


def clustered_mean_standard_error(units: Units, values: Floats) -> float:
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
    placements = np.where(positive, _placements(scores, scores[~positive]), 1.0 - _placements(scores, scores[positive]))
    auc = float(placements[positive].mean())
    weights = np.where(positive, 1.0 / ones, 1.0 / zeros)
    deviations = units.sums((placements - auc) * weights)
    return auc, float(np.sqrt(units.number / max(units.number - 1, 1) * (deviations**2).sum()))


def _placements(scores: Floats, among: Floats) -> Floats:
    """Return the share of the others that lies below each score, ties by half."""
    ordered = np.sort(among)
    below, up_to = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to) / (2.0 * len(ordered)), dtype=np.float64)


@dataclass(frozen=True)
class Shares:
    """Shares of an amount minus shares of all rows, a column a group, with draws of what chance makes of them."""

    observed: Floats
    null: Floats


def shares_of_groups(
    units: Units, amounts: Floats, groups: Codes, number: int, draws: int, generator: np.random.Generator
) -> Shares:
    """Return each group's share of the amounts (of 0 or more, one a row) minus its share of rows."""
    table = units.table(groups, number)
    observed = np.bincount(groups, weights=amounts, minlength=number) / amounts.sum() - table.sum(axis=0) / len(groups)
    if not ((np.count_nonzero(table, axis=1) > 1) & units.varies(amounts)).any():
        return Shares(observed, permuted_sums(_pull(units, amounts), table / units.sizes[:, None], draws, generator))
    pull = amounts / amounts.sum() - 1.0 / len(amounts)
    null = _permuted_totals(pull, np.eye(number), groups, draws, generator)
    joint, mean = units.table(groups, number, pull), table.mean(axis=0) / units.sizes.mean()
    clustered = ((joint - np.outer(units.sums(pull), mean)) ** 2).sum(axis=0)
    squared = np.bincount(groups, weights=pull**2, minlength=number)
    single = squared * (1 - mean) ** 2 + (squared.sum() - squared) * mean**2
    return Shares(observed, null * _widening(clustered, single))


def weighted_mean_shift(
    units: Units, amounts: Floats, values: Floats, draws: int, generator: np.random.Generator
) -> Shares:
    """Return the mean of values weighted by the amounts, minus their plain mean."""
    observed = np.array([amounts @ values / amounts.sum() - values.mean()])
    if not (units.varies(values) & units.varies(amounts)).any():
        return Shares(observed, permuted_sums(_pull(units, amounts), units.means(values)[:, None], draws, generator))
    pull = amounts / amounts.sum() - 1.0 / len(amounts)
    parts = pull * (values - values.mean())
    null = permuted_sums(pull, values[:, None], draws, generator)
    return Shares(observed, null * _widening(np.array([(units.sums(parts) ** 2).sum()]), np.array([(parts**2).sum()])))


def _pull(units: Units, amounts: Floats) -> Floats:
    """Return how much more of the amounts each unit has than of rows; this sums to 0."""
    sums = units.sums(amounts)
    return np.asarray(sums / sums.sum() - units.sizes / units.sizes.sum(), dtype=np.float64)


def _widening(clustered: Floats, single: Floats) -> Floats:
    """Return by how much the spread over units exceeds that over rows, at least 1.

    Where both the amount and the group differ inside a unit, dealing out whole units would miss what happens inside; so
    rows are permuted, and what comes of it is widened by this.
    """
    ratio = np.divide(clustered, single, out=np.ones_like(single), where=single > 0)
    return np.asarray(np.sqrt(np.maximum(ratio, 1.0)))


def permuted_sums(values: Floats, weights: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Return sum_u values_u weights_ug, ``[draw, column]``, with the values permuted over the units."""
    kinds, kind_of = np.unique(weights, axis=0, return_inverse=True)
    return _permuted_totals(values, kinds, kind_of.reshape(-1), draws, generator)


def _permuted_totals(
    values: Floats, kinds: Floats, kind_of: Codes, draws: int, generator: np.random.Generator
) -> Floats:
    """Deal out values to units of known kinds, each of which has a row of weights."""
    if not draws:
        return np.empty((0, kinds.shape[1]))
    levels, level_of = np.unique(values, return_inverse=True)
    if len(levels) <= MOST_VALUES and len(kinds) <= MOST_KINDS:
        sizes = np.bincount(kind_of, minlength=len(kinds))
        return _permuted_totals_of_tables(levels, np.bincount(level_of), kinds, sizes, draws, generator)
    if len(values) > MANY_UNITS:
        return _normal_sums(values, kinds[kind_of], draws, generator)
    totals, weights = np.empty((draws, kinds.shape[1])), kinds[kind_of]
    for draw in range(draws):
        totals[draw] = generator.permutation(values) @ weights
    return totals


def _normal_sums(values: Floats, weights: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Draw from the limit of Hoeffding's combinatorial central limit theorem."""
    spread = np.sqrt(len(values) ** 2 / (len(values) - 1) * values.var() * weights.var(axis=0))
    middle: Floats = values.mean() * weights.sum(axis=0)
    return np.asarray(middle + spread * generator.standard_normal((draws, weights.shape[1])))


def _permuted_totals_of_tables(
    levels: Floats, level_sizes: Codes, kinds: Floats, kind_sizes: Codes, draws: int, generator: np.random.Generator
) -> Floats:
    """Deal out as a random table of value by kind of unit with fixed margins: no unit is touched."""
    totals = np.zeros((draws, kinds.shape[1]))
    # The commonest value need not be dealt: it goes to whoever is left, and everything is measured from it.
    common = int(np.argmax(level_sizes))
    totals += levels[common] * (kind_sizes @ kinds)
    left = np.broadcast_to(kind_sizes, (draws, len(kind_sizes)))
    others = [level for level in range(len(levels)) if level != common]
    for number, level in enumerate(others):
        taken = _drawn_kinds(left, int(level_sizes[level]), generator, same=number == 0)
        totals += (levels[level] - levels[common]) * (taken @ kinds)
        left = left - taken
    return totals


def _drawn_kinds(left: Codes, size: int, generator: np.random.Generator, *, same: bool) -> Codes:
    if same:
        return generator.multivariate_hypergeometric(left[0], size, size=len(left), method="marginals")
    return np.stack([generator.multivariate_hypergeometric(row, size, method="marginals") for row in left])


@dataclass(frozen=True)
class Tested:
    """Differences compared with their null: two-sided p, and the half width of the interval that agrees with it."""

    p: Floats
    half: Floats


def compare_with_null(observed: Floats, null: Floats, level: float = LEVEL) -> Tested:
    """Test differences that are 0 on average under the null, ``null[draw, column]``.

    The interval ``observed - half to observed + half`` leaves out 0 exactly where p is at most 1 - level.
    """
    draws, size, unknown = len(null), np.abs(null), np.full(observed.shape, np.nan)
    if not draws:
        return Tested(unknown, unknown)
    p = permutation_p(np.abs(observed), size)
    spare = int(np.floor((1 - level) * (draws + 1) + 1e-9)) - 1
    if spare < 0:  # too few draws to tell anything at this level
        return Tested(p, unknown)
    half = -np.partition(-size, spare, axis=0)[spare]
    return Tested(p, np.asarray(half, dtype=np.float64))


def share_interval(difference: float, population: float, half: float) -> tuple[float, float]:
    """Return the interval of a share minus the population's, from the half width that chance gives at no difference.

    As Wilson's interval does, it takes the spread x (1 - x) of every share x it asks about: those shares x are in it
    with (share - x)² <= half² x (1 - x) / (P (1 - P)). At x = P that is the test: 0 is left out where it rejects.
    """
    share, k = population + difference, half**2 / (population * (1 - population))
    middle, root = 2 * share + k, np.sqrt(max(k * (k + 4 * share * (1 - share)), 0.0))
    low, high = (middle - root) / (2 * (1 + k)), (middle + root) / (2 * (1 + k))
    return float(low - population), float(high - population)
