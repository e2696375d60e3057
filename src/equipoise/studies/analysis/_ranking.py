"""Which treatment is best and how sure that is, and the front of performance and fairness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, ratio, stream
from equipoise.stats import (
    MIN_SEEDS,
    Change,
    add_people_variance,
    banerjee_critical_value,
    compare_with_best,
    paired_change,
    share_of_best,
    tie_tolerance,
    winner_if_equal,
)
from equipoise.studies.analysis._cells import Cell, units_of
from equipoise.studies.analysis._data import Codes
from equipoise.studies.analysis._verdicts import Case, change_of, stacked_changes

DRAWS = 1_000
# Draws that the benchmark of equal treatments is made of.
BENCHMARK_DRAWS = 250
# So many treatments are compared all with all.
MOST_COMPARED = 16


@dataclass(frozen=True, eq=False)
class Ranked:
    """Of each cell and quantity ``[cell, quantity]``: its rank (ties share), and how often it is best.

    ``if_equal`` is how often the best would be drawn were all equal, of each quantity.
    """

    rank: Floats
    best: Floats
    best_single: Floats
    if_equal: Floats


def ranked(
    values: Floats, cells: Sequence[Cell], higher: Sequence[bool], moves: Floats | None = None, *, draws: int = DRAWS,
    seed: int = 0,
) -> Ranked:  # fmt: skip
    """Rank cells that were trained under the same condition; ``values`` are ``[trial, quantity]``.

    ``higher`` says of each quantity whether more is better. ``moves`` are how far each cell's numbers move when people
    are drawn again, ``[cell, draw, quantity]``. A quantity that has no spread over people is ranked, but how often it
    is best when people are drawn again is NaN.

    Values of a quantity within ``tie_tolerance`` of the highest are tied: they share their rank, and a draw equally.
    """
    generator = stream(seed, "ranking", *(cell.name for cell in cells))
    seeds = [cell.distinct_seeds for cell in cells]
    shared = len(set(seeds)) == 1
    common = _times_drawn(len(seeds[0]), draws, generator) if shared else None
    means, several, single, deviations = [], [], [], []
    one_seed = generator.integers(0, len(seeds[0]), draws) if shared else None
    for index, cell in enumerate(cells):
        cell_values = values[cell.indices]
        each = np.array([(cell.seeds == distinct).sum() for distinct in seeds[index]])
        times = common if common is not None else _times_drawn(len(seeds[index]), draws, generator)
        weights = _run_weights(cell, seeds[index], times, generator)
        units = len(each) if len(each) > 1 else int(each.sum())
        mean = _weighted(_even(cell, seeds[index])[None], cell_values)[0]
        redrawn_means = mean + np.sqrt(units / max(units - 1, 1)) * (_weighted(weights, cell_values) - mean)
        if moves is not None:
            redrawn_means = redrawn_means + np.nan_to_num(moves[index][np.arange(draws) % moves.shape[1]])
        deviations.append(redrawn_means - mean)
        means.append(mean)
        several.append(redrawn_means)
        single.append(cell_values[_one_run(cell, seeds[index], draws, one_seed, generator)])
    sign = np.where(np.asarray(higher), 1.0, -1.0)
    tied = tie_tolerance(values[np.concatenate([cell.indices for cell in cells])])
    best = share_of_best(np.stack(several) * sign, tied)
    if moves is not None:
        unmoved = (np.isnan(moves).mean(axis=1) >= 0.5) & ~np.isnan(np.stack(means))
        best = np.where(unmoved.any(axis=0), np.nan, best)
    equal = winner_if_equal(np.stack(deviations)[:, :BENCHMARK_DRAWS] * sign, tolerance=tied)
    return Ranked(_ranks(np.stack(means) * sign, tied), best, share_of_best(np.stack(single) * sign, tied), equal)


@dataclass(frozen=True, eq=False)
class RankedUnder:
    """The ranks of the cells at some places of a study, which share a condition, and which of them may be the best.

    ``best`` is of the quantities in ``columns`` alone; None where nothing was tested.
    """

    indices: list[int]
    ranked: Ranked
    best: Best | None
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Best:
    """Hsu's comparisons with the best of one condition, ``[cell, quantity]``; ``level`` is that of all together.

    ``low`` to ``high`` is the interval of how much better a cell is than the best of the others.
    """

    may_be_best: NDArray[np.bool_]
    low: Floats
    high: Floats
    level: float


def with_best(
    values: Floats, cells: Sequence[Cell], higher: Sequence[bool],
    people: Callable[[Codes, Codes, int], Floats] | None, level: float,
) -> Best | None:  # fmt: skip
    """Compare cells of one condition with the best of them, by the test of verdicts; None where there is one only.

    ``people(firsts, seconds, seeds)`` is the variance that people give the differences of couples of the cells.
    """
    number, width = len(cells), len(higher)
    couples = np.array(_couples(values, cells, higher), dtype=np.int64).reshape(-1, 2)
    if not len(couples):
        return None
    changes = _changes(values, cells, couples)
    people_variance = np.zeros_like(changes.change)
    for seeds in np.unique(changes.units.max(axis=1)).astype(int).tolist() if people is not None else ():
        same_seeds = changes.units.max(axis=1) == seeds
        assert people is not None
        people_variance[same_seeds] = people(couples[same_seeds, 0], couples[same_seeds, 1], seeds)
    changes = add_people_variance(changes, people_variance)
    untested = np.isnan(changes.change) | np.isnan(people_variance) | (changes.units < MIN_SEEDS)
    # One-sided at level / (number - 1) is two-sided at twice that.
    half = banerjee_critical_value(changes.variances, changes.degrees, min(2 * level / (number - 1), 1.0))
    differences, halves = np.zeros((number, number, width)), np.full((number, number, width), np.inf)
    first, second = couples.T
    differences[first, second] = np.nan_to_num(changes.change)
    differences[second, first] = -differences[first, second]
    halves[first, second] = halves[second, first] = np.where(untested, np.inf, half)
    sign = np.where(np.asarray(higher), 1.0, -1.0)
    each = [compare_with_best(differences[..., at] * sign[at], halves[..., at]) for at in range(width)]
    may, low, high = (
        np.stack([np.asarray(getattr(intervals, name)) for intervals in each], axis=1) for name in each[0]._fields
    )
    return Best(may, low, high, level)


def _changes(values: Floats, cells: Sequence[Cell], couples: Codes) -> Change:
    """Return the changes of couples of cells, ``[couple, quantity]``: all at once where they share seeds and runs."""
    same_seeds = len({cell.distinct_seeds for cell in cells}) == 1 and len(cells[0].distinct_seeds) > 1
    if same_seeds and len({environment for cell in cells for environment in cell.environments.tolist()}) == 1:
        means = np.stack([units_of(values, cell).values[0] for cell in cells], axis=1)  # [seed, cell, quantity]
        return paired_change(means[:, couples[:, 0]], means[:, couples[:, 1]])
    return stacked_changes([
        change_of(Case(cells[first], cells[second], units_of(values, cells[first], cells[second]), None))
        for first, second in couples.tolist()
    ])  # fmt: skip


def _couples(values: Floats, cells: Sequence[Cell], higher: Sequence[bool]) -> list[tuple[int, int]]:
    """Return which cells are compared: all with all, or of many all with those that come out best on any quantity.

    Fewer comparisons name a larger set and wider intervals: what is said of the best holds all the same.
    """
    number = len(cells)
    all_couples = [(first, second) for first in range(number) for second in range(first)]
    if number <= MOST_COMPARED:
        return all_couples
    means = np.stack([np.nan_to_num(_weighted(_even(cell, cell.distinct_seeds)[None], values[cell.indices])[0])
                      for cell in cells])  # fmt: skip
    best = set((means * np.where(np.asarray(higher), 1.0, -1.0)).argmax(axis=0).tolist())
    return [couple for couple in all_couples if best & set(couple)]


def _times_drawn(number: int, draws: int, generator: np.random.Generator) -> Floats:
    """Return how often each of so many is drawn, ``[draw, unit]``."""
    return generator.multinomial(number, np.full(number, 1.0 / number), size=draws).astype(np.float64)


def _run_weights(cell: Cell, seeds: Sequence[int], times: Floats, generator: np.random.Generator) -> Floats:
    """Return the weight of each run in each draw, ``[draw, run]``: a drawn seed is the mean of its drawn runs."""
    weights = np.zeros((len(times), len(cell.indices)))
    for index, seed in enumerate(seeds):
        runs = cell.runs_of(seed)
        weights[:, runs] = times[:, index, None] * _times_drawn(len(runs), len(times), generator) / len(runs)
    return np.asarray(weights / len(seeds), dtype=np.float64)


def _even(cell: Cell, seeds: Sequence[int]) -> Floats:
    """Return weights under which every seed counts the same."""
    weights = np.zeros(len(cell.indices))
    for seed in seeds:
        runs = cell.runs_of(seed)
        weights[runs] = 1.0 / (len(runs) * len(seeds))
    return weights


def _weighted(weights: Floats, values: Floats) -> Floats:
    """Return weighted means ``[draw, quantity]``; undefined runs do not count."""
    defined = ~np.isnan(values)
    if defined.all():
        return np.asarray(weights @ values, dtype=np.float64)
    return ratio(weights @ np.where(defined, values, 0.0), weights @ defined.astype(np.float64))


def _one_run(
    cell: Cell, seeds: Sequence[int], draws: int, chosen: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """Draw one run for each draw, as positions in the cell; of the chosen seed where seeds are shared."""
    if chosen is None:
        return generator.integers(0, len(cell.indices), draws)
    chosen_runs = np.zeros(draws, dtype=np.int64)
    for index, seed in enumerate(seeds):
        draws_of_seed, runs = np.flatnonzero(chosen == index), cell.runs_of(seed)
        chosen_runs[draws_of_seed] = runs[generator.integers(0, len(runs), len(draws_of_seed))]
    return chosen_runs


def _ranks(values: Floats, tied: Floats) -> Floats:
    """Rank ``[cell, quantity]``, the highest first; ties share the mean of their ranks, undefined has none."""
    defined = ~np.isnan(values)
    above = values[None] > values[:, None] + tied
    equal = ~above & ~above.swapaxes(0, 1) & defined[None]
    return np.where(defined, 1.0 + above.sum(axis=1) + (equal.sum(axis=1) - 1) / 2.0, np.nan)


# Performances this near on dev rows are called equal.
EQUAL_WITHIN = 0.01


def front_of(performance: Floats, fairness: Floats) -> np.ndarray:
    """Tell which points no other beats, at least as good on both and better on one; undefined ones are on none.

    Values within ``tie_tolerance`` of each other are equally good.
    """
    defined = ~(np.isnan(performance) | np.isnan(fairness))
    more = [values[None] > values[:, None] + tie_tolerance(values) for values in (performance, fairness)]
    better, worse = more[0] | more[1], more[0].T | more[1].T
    beaten = (better & ~worse & defined[None]).any(axis=1)
    return np.asarray(defined & ~beaten)


def alternative_to(baseline: int, performance: Floats, fairness: Floats, margin: float = EQUAL_WITHIN) -> int | None:
    """Return the fairest point whose performance is within a margin of the baseline's, or better.

    Performance and fairness are those of dev rows. None where no such point is fairer than the baseline.
    """
    tied = tie_tolerance(fairness)
    near = performance >= performance[baseline] - margin - tie_tolerance(performance)
    fit = near & (fairness > fairness[baseline] + tied)
    if not fit.any():
        return None
    places = np.flatnonzero(fit)
    fairest = places[fairness[places] >= fairness[places].max() - tied]
    return int(fairest[performance[fairest].argmax()])
