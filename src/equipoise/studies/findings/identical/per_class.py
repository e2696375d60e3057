"""Class by class: the spread of identical runs, and classes that fail alone while the mean over classes hides it.

Paper 004 (section 3.1) calls it a single-class fairness failure when one class is treated far worse than the rest in
one of several identical runs. Here a class **fails** in a run when its disparate impact lies at least 20 points above
the mean over classes of the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.audits.evidence import RULE, Series
from equipoise.measures.measure import get_measure
from equipoise.studies.findings.data import TEST, Floats
from equipoise.studies.findings.identical.sets import IdenticalSet, OfIdenticalRuns, bias_places
from equipoise.studies.findings.measuring import Measured
from equipoise.tallies.confusion import Confusion

IMPACT = "disparate_impact"
# So far above the mean over classes of its run a class must lie to have failed: as much as the rule allows in all.
FAR = RULE


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRecord(OfIdenticalRuns):
    """One class on one bias over identical runs: the lowest and the highest run, and which runs these are."""

    class_: str
    runs: int
    mean: float
    min: float
    max: float
    maxdiff: float
    stdev: float
    lowest_run: int | None
    highest_run: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFailure(OfIdenticalRuns):
    """A class that is treated far worse than the others: in its worst run, and in how many of the identical runs.

    ``overall`` is the mean over classes of the worst run, ``lowest`` the class's value in its best run.
    """

    class_: str
    run: int
    value: float
    overall: float
    lowest: float
    failed: int
    runs: int


def class_values(study: Measured) -> dict[int, Floats]:
    """Return every bias that is a mean over classes, class by class: ``[trial, class]`` by the quantity's place."""
    layout = study.data.layout
    places = [place for place in bias_places(study) if _is_mean(study, place)]
    if layout.task != "class" or not places:
        return {}
    cells, groups = layout.folded(study.data.tables[TEST], study.attribute)
    if len(groups) < 2:
        return {}
    tally = Confusion(cells, groups, layout.classes)
    return {place: get_measure(study.quantities[place].measure).by_class(tally) for place in places}


def _is_mean(study: Measured, place: int) -> bool:
    own = study.quantities[place]
    return own.class_ is None and study.data.layout.task == "class" and get_measure(own.measure).classwise


def classes_of(study: Measured, sets: Sequence[IdenticalSet], values: Mapping[int, Floats]) -> Iterator[ClassRecord]:
    """Yield what each class does over identical runs, on each bias; a class that is never defined is left out."""
    for own in sets:
        for place, every in values.items():
            quantity = study.quantities[place]
            for number, name in enumerate(study.data.layout.classes):
                series, repeats = known_series(every[own.places, number], own.repeats)
                if not len(series):
                    continue
                yield ClassRecord(
                    **own.said, seed=own.seed, environment=own.environment, measure=quantity.measure,
                    alias=quantity.alias, attribute=quantity.attribute, class_=name, runs=len(series),
                    mean=series.mean, min=series.min, max=series.max, maxdiff=series.maxdiff, stdev=series.stdev,
                    lowest_run=repeats[int(series.values.argmin())], highest_run=repeats[int(series.values.argmax())],
                )  # fmt: skip


def known_series(values: Floats, repeats: Sequence[int]) -> tuple[Series, list[int]]:
    """Return the runs that are defined as a series, and which they are."""
    kept = np.flatnonzero(~np.isnan(values))
    runs = [repeats[place] for place in kept.tolist()]
    return Series("", "", tuple(map(str, runs)), values[kept]), runs


def failures_of(study: Measured, sets: Sequence[IdenticalSet], values: Mapping[int, Floats]) -> Iterator[ClassFailure]:
    """Yield the classes that fail alone on disparate impact, the furthest above the mean first."""
    place = next((one for one in values if study.quantities[one].measure == IMPACT), None)
    if place is None:
        return
    quantity, found = study.quantities[place], []
    for own in sets:
        by_class, overall = values[place][own.places], study.values[TEST][own.places, place]
        with np.errstate(invalid="ignore"):
            # A rounding in the last digit does not decide.
            far = by_class - overall[:, None] >= FAR - 1e-12
        for number in np.flatnonzero(far.any(axis=0)).tolist():
            above = np.where(np.isnan(by_class[:, number]), -np.inf, by_class[:, number] - overall)
            worst = int(above.argmax())
            found.append((float(above[worst]), ClassFailure(
                **own.said, seed=own.seed, environment=own.environment, measure=quantity.measure,
                alias=quantity.alias, attribute=quantity.attribute, class_=study.data.layout.classes[number],
                run=own.repeats[worst], value=float(by_class[worst, number]), overall=float(overall[worst]),
                lowest=float(np.nanmin(by_class[:, number])), failed=int(far[:, number].sum()),
                runs=len(own.places),
            )))  # fmt: skip
    yield from (failure for _, failure in sorted(found, key=lambda one: -one[0]))
