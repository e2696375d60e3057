"""The runs of one technique on one metric, and what they are by themselves: mean, STDEV and MaxDiff (paper 004, 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise.audits.evidence._runs import Runs
from equipoise.foundation.errors import BadInput
from equipoise.tallies.arrays import Floats
from equipoise.tallies.labels import ordered


@dataclass(frozen=True)
class Series:
    """Values in the order of the runs' names, whatever the order of the file."""

    technique: str
    metric: str
    runs: tuple[str, ...]
    values: Floats
    pairs: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ranked(self) -> Floats:
        """The values in rising order: what is computed from them is the same to the last digit in any order of runs."""
        return np.sort(self.values)

    @cached_property
    def min(self) -> float:
        """The lowest run."""
        return float(self.values.min()) if len(self) else math.nan

    @cached_property
    def max(self) -> float:
        """The highest run."""
        return float(self.values.max()) if len(self) else math.nan

    @property
    def maxdiff(self) -> float:
        """The range of the runs: highest minus lowest."""
        return self.max - self.min

    @property
    def constant(self) -> bool:
        """Tell whether there are several runs and all gave the same value."""
        return len(self) > 1 and self.min == self.max

    @cached_property
    def mean(self) -> float:
        """The mean, exactly rounded: the same in any order, and of equal values exactly that value."""
        if len(self) == 0 or self.min == self.max:
            return self.min
        return math.fsum(self.values.tolist()) / len(self)

    @cached_property
    def stdev(self) -> float:
        """The sample standard deviation (divided by n - 1); one run has none."""
        if len(self) < 2:
            return math.nan
        return 0.0 if self.min == self.max else float(self.ranked.std(ddof=1))

    @cached_property
    def relative(self) -> Floats | None:
        """The values divided by their mean; none where the mean is 0 or nearer to it than its standard error.

        Values of one sign have a mean of at least one standard error, so only values on both sides of 0 are refused.
        """
        if len(self) == 0 or self.mean == 0:
            return None
        if len(self) > 1 and abs(self.mean) * math.sqrt(len(self)) < self.stdev * (1 - 1e-9):
            return None
        return np.ones(len(self)) if self.min == self.max else self.ranked / self.mean

    @cached_property
    def relative_spread(self) -> float:
        """How far the runs lie from their median on average, in parts of their mean."""
        return math.nan if self.relative is None else _from_median(self.relative)

    @cached_property
    def spread(self) -> float:
        """How far the runs lie from their median on average: what Levene's test compares."""
        return _from_median(self.ranked) if len(self) else math.nan


def _from_median(ranked: Floats) -> float:
    middle = (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
    return float(np.abs(ranked - middle).mean())


def series_of(runs: Runs, cells: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Series]:
    """Gather the rows of each technique and metric; a cell without rows has a series without values."""
    found = {(technique, metric): Series(technique, metric, (), np.empty(0)) for technique, metric in cells}
    technique, metric, run = (runs.labels[role] for role in ("technique", "metric", "run"))
    place = {label: number for number, label in enumerate(ordered(label for label in run.labels if label is not None))}
    rank = np.array([place[label or ""] for label in run.labels], dtype=np.int64)[run.codes]
    order = np.lexsort((rank, metric.codes, technique.codes))
    cell = technique.codes[order] * len(metric.labels) + metric.codes[order]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    pair = runs.labels.get("pair")
    for rows in np.split(order, starts[1:]) if len(order) else ():
        name = (str(technique.labels[technique.codes[rows[0]]]), str(metric.labels[metric.codes[rows[0]]]))
        names = tuple(str(run.labels[code]) for code in run.codes[rows])
        partners = () if pair is None else tuple(pair.labels[code] for code in pair.codes[rows])
        found[name] = Series(*name, names, runs.values[rows], partners)
    return found


def paired(technique: Series, baseline: Series, column: str) -> tuple[Floats, Floats]:
    """Return the values of both sides where they share a value of the pairing column, in the same order."""
    places = []
    for series in (technique, baseline):
        found = {label: place for place, label in enumerate(series.pairs) if label is not None}
        known = [label for label in series.pairs if label is not None]
        if len(found) < len(known):
            twice = next(label for place, label in enumerate(known) if label in known[:place])
            raise BadInput(
                f"{series.technique!r} has several runs on {series.metric!r} with {column} {twice!r}",
                available="one run of each technique for each value of the pairing column",
                help="pair by a column that tells the runs apart, or average the runs of each value first.",
            )
        places.append(found)
    common = [label for label in places[0] if label in places[1]]
    rows = [[found[label] for label in common] for found in places]
    return technique.values[rows[0]], baseline.values[rows[1]]
