"""One run says fair, another unfair: identical runs on both sides of the 20 % rule.

The rule is that of the U.S. agencies for disparate impact (four fifths): a run is within it up to 0.2 and breaks it
above. It says nothing about other biases, so it is applied to disparate impact only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.audits.evidence import RULE
from equipoise.studies.findings.data import TEST, Floats
from equipoise.studies.findings.identical.per_class import IMPACT
from equipoise.studies.findings.identical.sets import IdenticalSet, OfIdenticalRuns, bias_places
from equipoise.studies.findings.measuring import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides(OfIdenticalRuns):
    """Identical runs of which some are within the rule and others break it, as a whole (no class) or on one class.

    ``complete`` is the paper's worst case: one run at 0 and another at 1.
    """

    class_: str | None
    runs: int
    within: int
    broken: int
    min: float
    max: float
    lowest_run: int
    highest_run: int
    complete: bool


def both_sides_of(
    study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]
) -> tuple[BothSides, ...]:
    """Return what lies on both sides: whole techniques first, then classes, those that move furthest first."""
    found = list(_found(study, sets, classes))
    return tuple(sorted(found, key=lambda one: (one.class_ is not None, one.min - one.max)))


def _found(study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]) -> Iterator[BothSides]:
    place = next((one for one in bias_places(study) if study.quantities[one].measure == IMPACT), None)
    if place is None:
        return
    for own in sets:
        values: list[tuple[str | None, Floats]] = [(None, study.values[TEST][:, place])]
        if place in classes:
            values += [(name, classes[place][:, number]) for number, name in enumerate(study.data.layout.classes)]
        for name, every in values:
            one = _judged(study, own, place, name, every[own.places])
            if one is not None:
                yield one


def _judged(study: Measured, own: IdenticalSet, place: int, name: str | None, values: Floats) -> BothSides | None:
    """Return the runs of a technique or class if they fall on both sides; a run where it is undefined is on none."""
    known = np.flatnonzero(~np.isnan(values))
    broken = int((values[known] > RULE).sum())
    if broken in (0, len(known)):
        return None
    quantity = study.quantities[place]
    low, high = known[values[known].argmin()], known[values[known].argmax()]
    return BothSides(
        **own.said, seed=own.seed, environment=own.environment, measure=quantity.measure, alias=quantity.alias,
        attribute=quantity.attribute, class_=name, runs=len(known), within=len(known) - broken, broken=broken,
        min=float(values[low]), max=float(values[high]), lowest_run=own.repeats[low], highest_run=own.repeats[high],
        complete=bool(values[low] == 0 and values[high] == 1),
    )  # fmt: skip
