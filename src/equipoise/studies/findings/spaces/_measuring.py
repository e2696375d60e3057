"""The numbers of all trials that kept their space, as one array: groups first, then worst groups and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.long_work import Progress
from equipoise.measures.embeddings import halves_difference
from equipoise.studies.findings._data import Codes, Floats, StudyData
from equipoise.studies.findings._measuring import Measured
from equipoise.studies.findings.spaces._result import HALVES, LARGEST, MAJORITISED, Kind
from equipoise.studies.findings.spaces._values import (
    TEST_EMBEDDING,
    Grouping,
    KeptArrays,
    Key,
    Values,
    better_of,
    groupings_of,
    nearest,
    sources_of,
    values_of,
)


@dataclass(frozen=True)
class SpaceQuantity:
    """One number of a trial's space: ``kind`` says of whom; of a gap, ``group`` is compared with ``against``."""

    attribute: str
    kind: Kind
    source: str
    training: str | None
    measure: str
    group: str | None = None
    against: str | None = None
    rule: str | None = None

    @property
    def name(self) -> str:
        """What tells it from all others, for tools that know a metric by its name alone."""
        read = self.source if self.training is None else f"{self.source} ({self.training})"
        of = {"overall": "everyone", "group": str(self.group), "worst": "worst group"}.get(self.kind)
        gap = "gap of halves" if self.rule == HALVES else f"gap {self.against} - {self.group}"
        return f"{self.measure}, {read}, {self.attribute}: {of or gap}"

    @property
    def main(self) -> bool:
        """Whether it is tested: everyone, the worst group, and one gap of an attribute."""
        return self.kind in ("overall", "worst") or self.rule in (HALVES, MAJORITISED)


@dataclass(frozen=True, eq=False)
class Spaces:
    """Every number of every trial, ``values [trial, quantity]``: NaN where it is undefined or the trial has no space.

    ``places`` are the trials that have one, by their positions in the study.
    """

    study: Measured
    places: tuple[int, ...]
    quantities: tuple[SpaceQuantity, ...]
    values: Floats

    def place(self, **fields: object) -> int | None:
        """Return where the quantity with these fields stands."""
        for number, own in enumerate(self.quantities):
            if all(getattr(own, name) == value for name, value in fields.items()):
                return number
        return None


def training_classes(data: StudyData) -> tuple[str, ...]:
    """Return the classes that were trained on, as far as it is known; they come first among those of the layout."""
    for composition in data.compositions.values():
        return composition.classes
    return data.layout.classes


def groupings(study: Measured, place: int) -> list[Grouping]:
    """Return the groups of a trial's test rows."""
    data = study.data
    assert data.rows is not None
    return groupings_of(data.trials[place], data.layout, data.rows, study.attributes, training_classes(data))


def spaces_of(study: Measured, progress: Progress | None = None) -> Spaces | None:
    """Compute (or remember) the numbers of every trial that kept its space; None where none did."""
    data, kept = study.data, study.data.kept
    if kept is None or not kept.has_spaces or data.rows is None or data.layout.task != "class":
        return None
    found = _found(study, kept, progress)
    first = {grouping.attribute: grouping for place in reversed(found) for grouping in groupings(study, place)}
    columns = _columns(found, first)
    values = np.full((len(data), len(columns)), np.nan)
    for place, own in found.items():
        values[place] = [_value(own, column, first[column.attribute].groups) for column in columns]
    return Spaces(study, tuple(found), tuple(columns), values)


def _found(study: Measured, kept: KeptArrays, progress: Progress | None) -> dict[int, Values]:
    """Return the numbers of every trial that kept its space, by its place."""
    found: dict[int, Values] = {}
    trials, new = study.data.trials, False
    try:
        for place, trial in enumerate(trials):
            own = kept.remembered.get(trial.key)
            if own is None:
                if progress is not None:
                    progress(f"spaces of {len(trials):,} trials", place / len(trials))
                points = kept.read(TEST_EMBEDDING, place)
                if points is None:
                    continue
                own, new = _trial_values(study, kept, place, points), True
                kept.remembered.add(trial.key, own)
            found[place] = own
    finally:
        # What was computed before an interruption is not computed again.
        if new:
            kept.remembered.save()
    return found


def _trial_values(study: Measured, kept: KeptArrays, place: int, points: NDArray[Any]) -> Values:
    data = study.data
    assert data.rows is not None
    guesses: dict[tuple[str, str], Codes] = {}
    told = data.predictions([place]) if data.predictions is not None else None
    if told is not None:
        guesses |= nearest(told[0].astype(np.int64))
    for source, name in sources_of(kept.names).items():
        array = kept.read(name, place)
        if array is not None:
            guesses[source] = array.astype(np.int64)
    return values_of(
        points, data.rows.target, groupings(study, place), guesses,
        classes=len(data.layout.classes), clusters=len(training_classes(data)),
    )  # fmt: skip


def _columns(found: dict[int, Values], first: dict[str, Grouping]) -> list[SpaceQuantity]:
    """Return the quantities, in the order of attributes and measures: everyone, groups, worst group, gaps."""
    seen = dict.fromkeys((k.attribute, k.source, k.training, k.measure) for own in found.values() for k in own)
    made: list[SpaceQuantity] = []
    for attribute, source, training, measure in seen:
        grouping, whole = first[attribute], SpaceQuantity(attribute, "overall", source, training, measure)
        made.append(whole)
        made += [replace(whole, kind="group", group=group) for group in grouping.groups]
        if better_of(measure) != "none" and len(grouping.groups) > 1:
            made.append(replace(whole, kind="worst"))
            made += _gaps(grouping, replace(whole, kind="gap"))
    return made


def _gaps(grouping: Grouping, gap: SpaceQuantity) -> list[SpaceQuantity]:
    largest = grouping.majoritised or grouping.groups[int(grouping.sizes.argmax())]
    rule = MAJORITISED if len(grouping.groups) == 2 else LARGEST
    others = [group for group in grouping.groups if group != largest]
    made = [replace(gap, group=group, against=largest, rule=rule) for group in others]
    return [*made, replace(gap, rule=HALVES)] if rule == LARGEST else made


def _value(own: Values, column: SpaceQuantity, groups: Sequence[str]) -> float:
    """Return one quantity of one trial; a gap is oriented: above 0 the group is worse off, whatever is better."""

    def of(group: str | None) -> float:
        return own.get(Key(column.attribute, group, column.source, column.training, column.measure), np.nan)

    if column.kind in ("overall", "group"):
        return of(column.group)
    sign = -1.0 if better_of(column.measure) == "low" else 1.0
    if column.kind == "gap" and column.rule != HALVES:
        return sign * (of(column.against) - of(column.group))
    oriented = sign * np.array([of(group) for group in groups])
    # A group without rows has no value, and is in no half.
    known = oriented[~np.isnan(oriented)]
    if column.rule == HALVES:
        return float(halves_difference(known))
    return sign * float(known.min()) if len(known) else np.nan
