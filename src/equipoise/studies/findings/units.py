"""What is tested of a cell: seeds, each the mean of its identical runs, or the identical runs of one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.audits.evidence import Series
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Floats
from equipoise.studies.findings.quantities import Quantity
from equipoise.tallies.confusion import ratio
from equipoise.training.rounding import is_jittered

SEEDS, RERUNS = "seeds", "identical runs"


@dataclass(frozen=True, eq=False)
class Units:
    """What is tested of one cell against another: names and values ``[unit, quantity]`` of both, and how."""

    unit: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[Floats, Floats]
    pairs: bool
    notes: tuple[str, ...] = ()


def units_of(values: Floats, cell: Cell, baseline: Cell | None = None) -> Units:
    """Return the units of a cell and of its baseline (or of itself alone); ``values`` are ``[trial, quantity]``."""
    other = cell if baseline is None else baseline
    kept, notes = (None, ()) if baseline is None else _same_environment(cell, other)
    sides = (_by_seed(values, cell, kept), _by_seed(values, other, kept))
    common = set(sides[0]) & set(sides[1])
    if len(common) == 1 or max(len(side) for side in sides) == 1:
        jittered = all(is_jittered(str(one.described.get("rounding", ""))) for one in (cell, other))
        return _reruns(sides, common, values.shape[1], notes, jittered=jittered)
    # With seeds in common, a seed that only one side has is left out: it would be compared with nothing.
    chosen = [[seed for seed in side if not common or seed in common] for side in sides]
    means = [
        _stacked([mean_over(side[seed]) for seed in own], values.shape[1])
        for side, own in zip(sides, chosen, strict=True)
    ]
    names = tuple(tuple(map(str, own)) for own in chosen)
    lost = len(sides[0]) + len(sides[1]) - len(chosen[0]) - len(chosen[1])
    if lost:
        notes = (*notes, f"{lost} seeds that only one side has are not compared")
    return Units(SEEDS, (names[0], names[1]), (means[0], means[1]), pairs=bool(common), notes=notes)


def _reruns(
    sides: tuple[dict[int, Floats], dict[int, Floats]], common: set[int], width: int, notes: tuple[str, ...],
    *, jittered: bool = False,
) -> Units:  # fmt: skip
    """Return the identical runs of the one seed that both sides have."""
    if not common and all(sides):
        notes = (*notes, "the two sides were run with different seeds, so their difference may be that of the seeds")
    runs = [
        _stacked([run for seed, own in side.items() if not common or seed in common for run in own], width)
        for side in sides
    ]
    if all(len(own) > 1 and np.array_equal(own, np.broadcast_to(own[:1], own.shape), equal_nan=True) for own in runs):
        # A machine that repeats itself to the last digit has made one run of each, however often it was asked.
        runs = [own[:1] for own in runs]
        advice = "more seeds" if jittered else 'rounding = "jitter" or "deterministic jitter", or for more seeds'
        notes = (*notes, "identical runs came out the same to the last digit, so they count as one run of each: ask "
                 f"for {advice}")  # fmt: skip
    names = [tuple(str(place) for place in range(len(own))) for own in runs]
    return Units(RERUNS, (names[0], names[1]), (runs[0], runs[1]), pairs=False, notes=notes)


def _same_environment(cell: Cell, other: Cell) -> tuple[dict[int, int] | None, tuple[str, ...]]:
    """Return which environment is taken of each seed (None: there is only one), and a word about what is left out."""
    if len({*cell.environments.tolist(), *other.environments.tolist()}) < 2:
        return None, ()
    kept: dict[int, int] = {}
    for seed in sorted({*cell.seeds.tolist()} | {*other.seeds.tolist()}):
        numbers = {
            environment: (min(len(cell.runs_of(seed, environment)), len(other.runs_of(seed, environment))),
                          -environment)
            for environment in {*cell.environments.tolist(), *other.environments.tolist()}
        }  # fmt: skip
        kept[seed] = max(numbers, key=lambda environment: numbers[environment])
    lost = sum(
        int(side.environments[place] != kept[int(seed)])
        for side in ((cell, other) if cell is not other else (cell,))
        for place, seed in enumerate(side.seeds)
    )
    return kept, (f"{lost} runs of another environment are not compared",) if lost else ()


def _by_seed(values: Floats, cell: Cell, kept: Mapping[int, int] | None) -> dict[int, Floats]:
    found = {}
    for seed in cell.distinct_seeds:
        own = cell.runs_of(seed, None if kept is None else kept[seed])
        if len(own):
            found[seed] = values[cell.places[own]]
    return found


def mean_over(runs: Floats) -> Floats:
    """Return the mean over runs; undefined runs do not count, and without any it is undefined."""
    known = ~np.isnan(runs)
    number = known.sum(axis=0)
    total = np.where(known, runs, 0.0).sum(axis=0)
    return ratio(total, number.astype(np.float64))


def _stacked(rows: Sequence[Floats], width: int) -> Floats:
    return np.stack(rows) if rows else np.empty((0, width))


def series_of(units: Units, side: int, name: str, quantity: Quantity, place: int) -> Series:
    """Return one side's values of one quantity, without those that are undefined."""
    values = units.values[side][:, place]
    known = ~np.isnan(values)
    labels = tuple(label for label, there in zip(units.names[side], known.tolist(), strict=True) if there)
    return Series(name, quantity.name, labels, values[known], labels if units.pairs else ())
