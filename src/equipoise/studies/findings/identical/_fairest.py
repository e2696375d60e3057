"""The fairest of n identical runs: what choosing it seems to gain, and what is left of that on fresh people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, stream
from equipoise.studies.analysis import (
    DEV,
    TEST,
    Attribute,
    Codes,
    Counted,
    Measured,
    TestRows,
    batched,
)
from equipoise.studies.findings.identical._runs import (
    IMPACT,
    IdenticalSet,
    bias_indices,
    both_sides_of,
    by_cell,
    class_values,
    classes_of,
    experiments_of,
    failures_of,
    listed_sets,
    performance_index,
    runs_of,
    sets_of,
)

if TYPE_CHECKING:
    from equipoise.studies.findings._result import StudyResult


HALVES, FEWEST_HALVES = 200, 20
# So many numbers at the most: counts of the runs of a set in all halves, and rows by halves.
MOST_COUNTS, MOST_WEIGHTS = 20_000_000, 60_000_000
# So many tables, a run's two for each cut, before a large study takes fewer cuts.
MOST_TABLES = 48_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class FairestRecord:
    """Choosing the fairest of ``n`` identical runs of a technique by one bias; gains are above 0 where it is lower.

    ``survives`` is honest / apparent. ``performance`` is how much performance the chosen run has over the mean of the n
    on the fresh half. ``dev_apparent`` and ``dev_honest`` are the same gains where the fairest of all runs is chosen on
    dev rows and read on the whole test set, the mean over seeds; None for fewer runs.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    measure: str
    alias: str | None
    attribute: Attribute
    n: int
    runs: int
    seeds: int
    halves: int
    clusters: int
    mean: float
    apparent: float
    apparent_low: float
    apparent_high: float
    honest: float
    honest_low: float
    honest_high: float
    survives: float
    performance: float
    dev_apparent: float | None
    dev_honest: float | None


def fairest_of(
    study: Measured, sets: Sequence[IdenticalSet], *, halves: int = HALVES, seed: int = 0
) -> Iterator[FairestRecord]:
    """Yield what choosing the fairest of 2, 4, 8, ... and of all identical runs is worth, for each cell and bias."""
    data, rows = study.data, study.data.rows
    if rows is None or data.predictions is None or data.layout.task != "class" or not len(rows):
        return
    clusters = clusters_of(rows)
    cells = by_cell(sets)
    runs = sum(len(member.indices) for members in cells for member in members)
    largest = max((len(member.indices) for members in cells for member in members), default=1)
    number = _halves(study, len(rows), largest, min(halves, max(MOST_TABLES // max(2 * runs, 1), FEWEST_HALVES)))
    is_first_half = first_halves(clusters, number, stream(seed, "halves"))
    counted = Counted(rows, data.layout)
    weights = counted.ordered(is_first_half.astype(np.float32))
    for members in cells:
        values = [_values(study, member, counted, weights) for member in members]
        defined = [value for value in values if value is not None]
        if len(defined) == len(members):
            yield from _records(study, members, defined, int(clusters.max()) + 1, seed)


def clusters_of(rows: TestRows) -> Codes:
    """Return the number of each row's cluster; rows that belong to none are their own."""
    cluster = getattr(rows, "cluster", None)
    if cluster is None:
        return np.arange(len(rows), dtype=np.int64)
    return np.unique(np.asarray(cluster), return_inverse=True)[1].reshape(-1).astype(np.int64)


def first_halves(clusters: Codes, number: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are in the first half, ``[half, row]``: half of the clusters, drawn at random."""
    total = int(clusters.max()) + 1
    chosen = np.zeros((number, total), dtype=bool)
    for place in range(number):
        chosen[place, generator.permutation(total)[: total // 2]] = True
    return np.asarray(chosen[:, clusters])


def _halves(study: Measured, rows: int, runs: int, requested: int) -> int:
    """Return how many halves there is room for, of so many runs at once."""
    counts = runs * int(np.prod(study.data.tables[TEST].shape[1:]))
    room = min(MOST_COUNTS // max(counts, 1), MOST_WEIGHTS // max(rows, 1))
    return max(min(requested, room), min(FEWEST_HALVES, requested))


def _values(
    study: Measured, identical: IdenticalSet, counted: Counted, weights: NDArray[np.float32]
) -> tuple[Floats, Floats] | None:
    """Return the biases and the performance (last) of every run on both halves, ``[run, half, quantity]`` each."""
    assert study.data.predictions is not None
    predicted = study.data.predictions(identical.indices.tolist())
    if predicted is None:
        return None
    quantities = [study.quantities[place] for place in (*bias_indices(study), performance_index(study))]
    first = np.stack(
        [counted.tables(counted.row_sums(run_predictions[None]), weights) for run_predictions in predicted]
    )
    second = study.data.tables[TEST][identical.indices][:, None] - first

    def computed(tables: Floats) -> Floats:
        flat = batched(quantities, tables.reshape(-1, *tables.shape[2:]), study.data.layout)
        return flat.reshape(*tables.shape[:2], len(quantities))

    return computed(first), computed(second)


def _records(
    study: Measured, members: Sequence[IdenticalSet], values: Sequence[tuple[Floats, Floats]], clusters: int, seed: int
) -> Iterator[FairestRecord]:
    runs = min(len(member.indices) for member in members)
    for at, column in enumerate(bias_indices(study)):
        quantity = study.quantities[column]
        for n in numbers_of(runs):
            generator = stream(seed, "fairest", n)
            parts = [
                gains(first[:, :, at], second[:, :, at], second[:, :, -1], n, generator) for first, second in values
            ]
            mean, apparent, honest, better = (np.concatenate(part) for part in zip(*parts, strict=True))
            (gain, low, high), (honest_gain, honest_low, honest_high) = (
                _mean_and_range(apparent),
                _mean_and_range(honest),
            )
            on_dev = _on_dev(study, members, column) if n == runs else (None, None)
            yield FairestRecord(
                **members[0].record_fields, measure=quantity.measure, alias=quantity.alias,
                attribute=quantity.attribute, n=n,
                runs=runs, seeds=len(members), halves=values[0][0].shape[1], clusters=clusters,
                mean=_mean(mean), apparent=gain, apparent_low=low, apparent_high=high, honest=honest_gain,
                honest_low=honest_low, honest_high=honest_high, survives=honest_gain / gain if gain > 0 else math.nan,
                performance=_mean(better), dev_apparent=on_dev[0], dev_honest=on_dev[1],
            )  # fmt: skip


def numbers_of(runs: int) -> list[int]:
    """Return of how many runs the fairest is chosen: powers of two, and all."""
    return sorted({*(2**power for power in range(1, runs.bit_length()) if 2**power <= runs), runs})


def gains(
    first: Floats, second: Floats, performance: Floats, n: int, generator: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return of each half: the mean of n runs on fresh rows, both gains, and the chosen run's lead in performance.

    Values are ``[run, half]``. In each half n of the runs are drawn; a run that is undefined on the first half is not
    chosen, and a half in which nothing can be chosen is NaN.
    """
    runs, halves = first.shape
    sampled = generator.random((halves, runs)).argsort(axis=1)[:, :n].T  # [n, half]
    across = np.arange(halves)
    first_half, fresh, performed = first[sampled, across], second[sampled, across], performance[sampled, across]
    undefined = np.isnan(first_half).all(axis=0)
    chosen = np.where(np.isnan(first_half), np.inf, first_half).argmin(axis=0)
    apparent = _over_runs(first_half) - first_half[chosen, across]
    mean = _over_runs(fresh)
    honest = mean - fresh[chosen, across]
    better = performed[chosen, across] - _over_runs(performed)
    return tuple(np.where(undefined, np.nan, numbers) for numbers in (mean, apparent, honest, better))  # type: ignore[return-value]


def _over_runs(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    number = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _mean_and_range(values: Floats) -> tuple[float, float, float]:
    """Return the mean over halves and the range of the middle ones."""
    defined = np.sort(values[~np.isnan(values)])
    if not len(defined):
        return math.nan, math.nan, math.nan
    return float(defined.mean()), _between(defined, (1 - LEVEL) / 2), _between(defined, (1 + LEVEL) / 2)


def _between(ordered: Floats, share: float) -> float:
    """Return a quantile of ordered values, as numpy's own does: thousands of small ones are asked for."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _on_dev(study: Measured, members: Sequence[IdenticalSet], column: int) -> tuple[float, float]:
    """Return both gains where the fairest of all runs is chosen on dev rows and read on all test rows."""
    gains_by_seed = []
    for member in members:
        dev, test = (study.values[split][member.indices, column] for split in (DEV, TEST))
        if np.isnan(dev).all():
            continue
        chosen = int(np.where(np.isnan(dev), np.inf, dev).argmin())
        gains_by_seed.append((_mean(dev) - dev[chosen], _mean(test) - test[chosen]))
    if not gains_by_seed:
        return math.nan, math.nan
    apparent, honest = np.array(gains_by_seed).T
    return _mean(apparent), _mean(honest)


def chosen_fairest(result: StudyResult) -> list[FairestRecord]:
    """Return the records that the words and the page speak of: all runs, by disparate impact or else the first bias."""
    measures = dict.fromkeys(record.measure for record in result.fairest_of_n)
    if not measures:
        return []
    measure = IMPACT if IMPACT in measures else next(iter(measures))
    return [
        record
        for record in result.fairest_of_n
        if record.measure == measure
        and record.n == record.runs
        and not math.isnan(record.apparent)
        and not math.isnan(record.honest)
    ]


def identical_parts(study: Measured, *, seed: int = 0) -> dict[str, Any]:
    """Return the fields of a ``StudyResult`` that are about identical runs."""
    sets = listed_sets(sets_of(study))
    classes = class_values(study)
    return {
        "identical_runs": tuple(runs_of(study, sets, classes)),
        "identical_classes": tuple(classes_of(study, sets, classes)),
        "both_sides": both_sides_of(study, sets, classes),
        "class_failures": tuple(failures_of(study, sets, classes)),
        "fairest_of_n": tuple(fairest_of(study, sets, seed=seed)),
        "experiments": tuple(experiments_of(study, sets)),
    }
