"""Tables 2 and 4 of paper 004: each technique on each bias and on performance, over identical runs.

MaxDiff is the highest run minus the lowest, STDEV the sample standard deviation (n - 1), and relative MaxDiff the
MaxDiff in parts of the mean. ``class_`` is the class whose MaxDiff is the largest, as in the paper's rows "per-class".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.measures.measure import Better
from equipoise.studies.findings.data import TEST, Floats
from equipoise.studies.findings.identical.per_class import known_series
from equipoise.studies.findings.identical.sets import IdenticalSet, OfIdenticalRuns, bias_places, performance_place
from equipoise.studies.findings.measuring import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRecord(OfIdenticalRuns):
    """One technique on one number over identical runs. What is undefined is NaN; without classes there is no class."""

    better: Better
    runs: int
    mean: float
    min: float
    max: float
    maxdiff: float
    relative_maxdiff: float
    stdev: float
    class_: str | None
    class_maxdiff: float | None
    class_stdev: float | None
    repeats: tuple[int, ...]
    values: tuple[float, ...]


def runs_of(study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]) -> Iterator[RunsRecord]:
    """Yield a record for each set of identical runs, on each bias and on performance."""
    for own in sets:
        for place in (*bias_places(study), performance_place(study)):
            quantity = study.quantities[place]
            values = study.values[TEST][own.places, place]
            series, _ = known_series(values, own.repeats)
            relative = series.maxdiff / series.mean if len(series) and series.mean != 0 else math.nan
            name, spread, stdev = _most_varied(study, own, classes.get(place))
            yield RunsRecord(
                **own.said, seed=own.seed, environment=own.environment, measure=quantity.measure,
                alias=quantity.alias, better=quantity.better, attribute=quantity.attribute, runs=len(series),
                mean=series.mean, min=series.min, max=series.max, maxdiff=series.maxdiff, relative_maxdiff=relative,
                stdev=series.stdev, class_=name, class_maxdiff=spread, class_stdev=stdev, repeats=own.repeats,
                values=tuple(values.tolist()),
            )  # fmt: skip


def _most_varied(
    study: Measured, own: IdenticalSet, every: Floats | None
) -> tuple[str | None, float | None, float | None]:
    """Return the class that moves furthest between identical runs, its MaxDiff and its STDEV."""
    if every is None:
        return None, None, None
    found = [known_series(every[own.places, number], own.repeats)[0] for number in range(every.shape[1])]
    spreads = np.array([one.maxdiff if len(one) > 1 else -1.0 for one in found])
    most = int(spreads.argmax())
    if spreads[most] < 0:
        return None, None, None
    return study.data.layout.classes[most], found[most].maxdiff, found[most].stdev


def told_of_one_seed(records: tuple[RunsRecord, ...]) -> list[RunsRecord]:
    """Return of each technique and measure the records of one seed: the first that has the most runs."""
    best: dict[tuple[str, str, str, str], RunsRecord] = {}
    for one in records:
        key = (one.condition, one.learner, one.treatment, one.measure)
        if key not in best or one.runs > best[key].runs:
            best[key] = one
    return list(best.values())
