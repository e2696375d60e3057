"""What chance does with units: it deals out groups (or whatever is asked about) to whole units, never to single copies.

Tested is a group's share of an amount minus its share of all rows. Every unit keeps its size and its amount, so cloning
every profile changes no p-value, and one large profile is one profile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.stats._units import Units
from equipoise.tallies.arrays import Floats
from equipoise.tallies.factorise import Codes

LEVEL = 0.95
# A permutation of few values over few kinds of units is drawn as a table; of more it is gone through unit by unit.
MOST_VALUES, MOST_KINDS = 8, 2_000
# Beyond so many units that is the normal distribution with the permutation's own mean and variance.
MANY_UNITS = 20_000


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
        return Shares(observed, dealt_out(_pull(units, amounts), table / units.sizes[:, None], draws, generator))
    pull = amounts / amounts.sum() - 1.0 / len(amounts)
    null = _dealt(pull, np.eye(number), groups, draws, generator)
    joint, mean = units.table(groups, number, pull), table.mean(axis=0) / units.sizes.mean()
    clustered = ((joint - np.outer(units.sums(pull), mean)) ** 2).sum(axis=0)
    squared = np.bincount(groups, weights=pull**2, minlength=number)
    single = squared * (1 - mean) ** 2 + (squared.sum() - squared) * mean**2
    return Shares(observed, null * _widening(clustered, single))


def mean_of_values(units: Units, amounts: Floats, values: Floats, draws: int, generator: np.random.Generator) -> Shares:
    """Return the mean of values weighted by the amounts, minus their plain mean."""
    observed = np.array([amounts @ values / amounts.sum() - values.mean()])
    if not (units.varies(values) & units.varies(amounts)).any():
        return Shares(observed, dealt_out(_pull(units, amounts), units.means(values)[:, None], draws, generator))
    pull = amounts / amounts.sum() - 1.0 / len(amounts)
    parts = pull * (values - values.mean())
    null = dealt_out(pull, values[:, None], draws, generator)
    return Shares(observed, null * _widening(np.array([(units.sums(parts) ** 2).sum()]), np.array([(parts**2).sum()])))


def _pull(units: Units, amounts: Floats) -> Floats:
    """Return how much more of the amounts each unit has than of rows; this sums to 0."""
    sums = units.sums(amounts)
    return np.asarray(sums / sums.sum() - units.sizes / units.sizes.sum(), dtype=np.float64)


def _widening(clustered: Floats, single: Floats) -> Floats:
    """Return by how much the spread over units exceeds that over rows, at least 1.

    Where both the amount and the group differ inside a unit, dealing out whole units would miss what happens inside; so
    rows are dealt out, and what comes of it is widened by this.
    """
    ratio = np.divide(clustered, single, out=np.ones_like(single), where=single > 0)
    return np.asarray(np.sqrt(np.maximum(ratio, 1.0)))


def dealt_out(values: Floats, weights: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Return sum_u values_u weights_ug, ``[draw, column]``, with the values dealt out to the units at random."""
    kinds, kind_of = np.unique(weights, axis=0, return_inverse=True)
    return _dealt(values, kinds, kind_of.reshape(-1), draws, generator)


def _dealt(values: Floats, kinds: Floats, kind_of: Codes, draws: int, generator: np.random.Generator) -> Floats:
    """Deal out values to units of known kinds, each of which has a row of weights."""
    if not draws:
        return np.empty((0, kinds.shape[1]))
    levels, level_of = np.unique(values, return_inverse=True)
    if len(levels) <= MOST_VALUES and len(kinds) <= MOST_KINDS:
        sizes = np.bincount(kind_of, minlength=len(kinds))
        return _dealt_as_tables(levels, np.bincount(level_of), kinds, sizes, draws, generator)
    if len(values) > MANY_UNITS:
        return _dealt_normally(values, kinds[kind_of], draws, generator)
    made, weights = np.empty((draws, kinds.shape[1])), kinds[kind_of]
    for draw in range(draws):
        made[draw] = generator.permutation(values) @ weights
    return made


def _dealt_normally(values: Floats, weights: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Draw from the limit of Hoeffding's combinatorial central limit theorem."""
    spread = np.sqrt(len(values) ** 2 / (len(values) - 1) * values.var() * weights.var(axis=0))
    middle: Floats = values.mean() * weights.sum(axis=0)
    return np.asarray(middle + spread * generator.standard_normal((draws, weights.shape[1])))


def _dealt_as_tables(
    levels: Floats, level_sizes: Codes, kinds: Floats, kind_sizes: Codes, draws: int, generator: np.random.Generator
) -> Floats:
    """Deal out as a random table of value by kind of unit with fixed margins: no unit is touched."""
    made = np.zeros((draws, kinds.shape[1]))
    # The commonest value need not be dealt: it goes to whoever is left, and everything is measured from it.
    common = int(np.argmax(level_sizes))
    made += levels[common] * (kind_sizes @ kinds)
    left = np.broadcast_to(kind_sizes, (draws, len(kind_sizes)))
    others = [place for place in range(len(levels)) if place != common]
    for number, place in enumerate(others):
        taken = _drawn_kinds(left, int(level_sizes[place]), generator, same=number == 0)
        made += (levels[place] - levels[common]) * (taken @ kinds)
        left = left - taken
    return made


def _drawn_kinds(left: Codes, size: int, generator: np.random.Generator, *, same: bool) -> Codes:
    if same:
        return generator.multivariate_hypergeometric(left[0], size, size=len(left), method="marginals")
    return np.stack([generator.multivariate_hypergeometric(row, size, method="marginals") for row in left])


@dataclass(frozen=True)
class Tested:
    """Differences held against their null: two-sided p, and the half width of the interval that agrees with it."""

    p: Floats
    half: Floats


def held_against(observed: Floats, null: Floats, level: float = LEVEL) -> Tested:
    """Test differences that are 0 on average under the null, ``null[draw, column]``.

    The interval ``observed - half to observed + half`` leaves out 0 exactly where p is at most 1 - level.
    """
    draws = len(null)
    if not draws:
        return Tested(np.full(observed.shape, np.nan), np.full(observed.shape, np.nan))
    size = np.abs(null)
    extreme = (size >= np.abs(observed) - 1e-12).sum(axis=0)
    spare = int(np.floor((1 - level) * (draws + 1) + 1e-9)) - 1
    if spare < 0:  # too few draws to tell anything at this level
        return Tested((1.0 + extreme) / (1.0 + draws), np.full(observed.shape, np.nan))
    half = -np.partition(-size, spare, axis=0)[spare]
    return Tested((1.0 + extreme) / (1.0 + draws), np.asarray(half, dtype=np.float64))


def share_interval(difference: float, population: float, half: float) -> tuple[float, float]:
    """Return the interval of a share minus the population's, from the half width that chance gives at no difference.

    As Wilson's interval does, it takes the spread x (1 - x) of every share x it asks about: those shares x are in it
    with (share - x)² <= half² x (1 - x) / (P (1 - P)). At x = P that is the test: 0 is left out where it rejects.
    """
    share, k = population + difference, half**2 / (population * (1 - population))
    middle, root = 2 * share + k, np.sqrt(max(k * (k + 4 * share * (1 - share)), 0.0))
    low, high = (middle - root) / (2 * (1 + k)), (middle + root) / (2 * (1 + k))
    return float(low - population), float(high - population)
