"""Runs class by class (``--by``): the run's own number from its classes, and classes that flip between runs.

Qian et al. (2021, section 3.1) find classes that are perfectly fair in one of several identical runs and completely
unfair in another, while the mean over classes hardly moves. A class **straddles the 20% rule** on a metric when some of
its runs are at most 0.2 and others above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.evidence._runs import Runs
from equipoise.foundation import BadInput, listing
from equipoise.tallies import (
    Coded,
    ordered,
)

RULE = 0.2

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Straddle:
    """A class whose runs fall on both sides of the 20% rule."""

    technique: str
    metric: str
    by: str
    runs: int
    within: int
    broken: int
    min: float
    max: float
    complete: bool


def worst_first(straddling: Iterable[Straddle]) -> list[Straddle]:
    """Sort the classes that change sides: from 0% to 100% first, then by how far they move."""
    return sorted(straddling, key=lambda straddle: (not straddle.complete, straddle.min - straddle.max))


def straddling(runs: Runs, performance: Collection[str]) -> tuple[list[Straddle], list[str]]:
    """Return the classes that straddle the rule, and notes about metrics it cannot be applied to."""
    by_class = runs.where(_of_one_class(runs.labels["by"]))
    metrics = runs.labels["metric"].labels
    notes, fit = [], np.ones(len(metrics), dtype=bool)
    for code, name in enumerate(metrics):
        values = by_class.values[by_class.labels["metric"].codes == code]
        if name in performance:
            fit[code] = False
        elif len(values) and (values.max() > 1 or values.min() < 0):
            fit[code] = False
            notes.append(
                f"The 20% rule is not applied to {name}: its values range from {values.min():g} to {values.max():g}, "
                "and the rule is for shares between 0 and 1."
            )
    by_class = by_class.where(fit[by_class.labels["metric"].codes])
    groups = (_straddle(by_class, rows) for rows in _groups(by_class, ("technique", "metric", "by")))
    straddles = [straddle for straddle in groups if straddle is not None]
    rank_of = {name: number for number, name in enumerate(ordered({straddle.by for straddle in straddles}))}
    return sorted(straddles, key=lambda straddle: (straddle.technique, straddle.metric, rank_of[straddle.by])), notes


def _straddle(runs: Runs, rows: Integers) -> Straddle | None:
    """Return what the runs of one class do, if they fall on both sides of the rule."""
    values = runs.values[rows]
    broken = int((values > RULE).sum())
    if broken in (0, len(values)):
        return None
    technique, metric, by = (runs.label(role, rows[0]) for role in ("technique", "metric", "by"))
    low, high = float(values.min()), float(values.max())
    return Straddle(
        technique, metric, by, len(values), len(values) - broken, broken, low, high, complete=low == 0 and high == 1
    )


def _of_one_class(by: Coded) -> NDArray[np.bool_]:
    """Tell which rows are about one class; the others are about the whole run."""
    is_named = np.array([label is not None for label in by.labels], dtype=bool)
    return np.asarray(is_named[by.codes], dtype=bool)


def _key(runs: Runs, roles: tuple[str, ...]) -> Integers:
    """Number the combinations of names that occur."""
    key = np.zeros(len(runs), dtype=np.int64)
    for role in roles:
        coded = runs.labels[role]
        key = np.unique(key * len(coded.labels) + coded.codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return key


def _groups(runs: Runs, roles: tuple[str, ...]) -> Iterator[Integers]:
    """Yield the rows of each combination of names."""
    if len(runs) == 0:
        return
    key = _key(runs, roles)
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def run_values(runs: Runs, families: Mapping[str, str]) -> tuple[Runs, list[str]]:
    """Return one value a technique, metric and run, and notes on how it was made.

    Rows without a class are the run's own numbers. A metric that has none gets the unweighted mean over classes, as in
    the paper: over the classes that every run of the family has, so that all are means of the same.
    """
    of_class = _of_one_class(runs.labels["by"])
    _check_unmixed(runs, of_class)
    overall, parts = runs.where(~of_class), runs.where(of_class)
    has_whole = np.zeros(len(runs.labels["metric"].labels), dtype=bool)
    has_whole[overall.labels["metric"].codes] = True
    parts = parts.where(~has_whole[parts.labels["metric"].codes])
    if len(parts) == 0:
        return overall, []
    selection, notes = _common(parts, families)
    mean = _means(parts.where(selection))
    both = {
        role: Coded(np.concatenate([coded.codes, mean.labels[role].codes]), coded.labels)
        for role, coded in overall.labels.items()
    }
    values = np.concatenate([overall.values, mean.values])
    return Runs(name=runs.name, columns=runs.columns, labels=both, values=values), notes


def _check_unmixed(runs: Runs, of_class: NDArray[np.bool_]) -> None:
    """Refuse a metric that some techniques tell for the whole run and others only by class."""
    overall, parts = set(runs.where(~of_class).cells()), set(runs.where(of_class).cells())
    metrics = {metric for _, metric in overall}
    for technique, metric in sorted(parts - overall):
        if metric in metrics:
            raise BadInput(
                f"{technique!r} has {metric!r} by class only, while other techniques have it for the whole run too",
                available="for each metric, whole runs (an empty class) of all techniques or of none",
                help=f"add the rows of {technique!r} with an empty {runs.columns['by']!r}, or drop the others'.",
            )


def _common(parts: Runs, families: Mapping[str, str]) -> tuple[NDArray[np.bool_], list[str]]:
    """Keep the classes that have a value in every run of the family on that metric."""
    roots = list(dict.fromkeys(families.values()))
    family = np.array([roots.index(families[str(label)]) for label in parts.labels["technique"].labels], dtype=np.int64)
    grouped = Runs(
        name=parts.name,
        columns=parts.columns,
        labels={**parts.labels, "family": Coded(family[parts.labels["technique"].codes], tuple(roots))},
        values=parts.values,
    )
    selection, notes = np.ones(len(parts), dtype=bool), []
    for rows in _groups(grouped, ("family", "metric")):
        part = grouped.where(rows)
        runs = int(_key(part, ("technique", "run")).max()) + 1
        times = np.bincount(part.labels["by"].codes, minlength=len(part.labels["by"].labels))
        lost = (times > 0) & (times < runs)
        selection[rows] = ~lost[part.labels["by"].codes]
        if lost.any():
            names = ordered(str(part.labels["by"].labels[code]) for code in np.flatnonzero(lost))
            metric = part.labels["metric"].labels[part.labels["metric"].codes[0]]
            root = roots[part.labels["family"].codes[0]]
            notes.append(
                f"{metric} of {root} and its baseline is a mean over classes without {listing(names)}: "
                "not every run has a value there."
            )
    return selection, notes


def _means(parts: Runs) -> Runs:
    """Return the mean over classes of each run."""
    if len(parts) == 0:
        return parts
    key = _key(parts, ("technique", "metric", "run"))
    sums, times = np.bincount(key, weights=parts.values), np.bincount(key)
    first = np.unique(key, return_index=True)[1]
    labels = {role: Coded(coded.codes[first], coded.labels) for role, coded in parts.labels.items()}
    return Runs(name=parts.name, columns=parts.columns, labels=labels, values=sums / times)
