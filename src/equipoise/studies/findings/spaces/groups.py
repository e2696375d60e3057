"""Who is compared in a trial's space: the classes that its condition minoritised, else the study's group columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.conditions import make_condition
from equipoise.foundation.errors import EquipoiseError
from equipoise.studies.findings.data import Attribute, Codes, Layout, TestRows
from equipoise.studies.trial import Named, Trial

CLASSES = "classes"
MAJORITISED_CLASSES, MINORITISED_CLASSES = "majoritised", "minoritised"


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of every test row; -1 is none. ``majoritised`` is the side that others are held against, if named."""

    attribute: str
    codes: Codes
    groups: tuple[str, ...]
    majoritised: str | None = None

    @property
    def sizes(self) -> Codes:
        """How many rows each group has."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))


def groupings_of(
    trial: Trial, layout: Layout, rows: TestRows, attributes: Sequence[Attribute], classes: Sequence[str]
) -> list[Grouping]:
    """Return the groups of a trial; ``classes`` are those that were trained on."""
    sides = partition_of(trial.condition, classes, trial.seed)
    if sides is not None:
        return [classes_grouping(sides, len(layout.classes), rows)]
    return [columns_grouping(layout, rows, attribute) for attribute in attributes]


def partition_of(condition: Named, classes: Sequence[str], seed: int) -> tuple[str, ...] | None:
    """Return the side of each class where a condition has sides; None where it has none, or is not known here."""
    try:
        made = make_condition(condition.name, **condition.settings)
        partition = getattr(made, "partition", None)
        return None if partition is None else tuple(partition(tuple(classes), seed))
    except EquipoiseError:  # one of a plug-in that is not here
        return None


def degree_of(condition: Named) -> float | None:
    """Return how far a condition's sides lie apart; None where it has none."""
    found = condition.settings.get("degree")
    return float(found) if isinstance(found, int | float) and condition.name == "minoritised" else None


def classes_grouping(sides: tuple[str, ...], number: int, rows: TestRows) -> Grouping:
    """Group rows by the side of their class; a class that nobody trained on has none."""
    names = (MAJORITISED_CLASSES, MINORITISED_CLASSES)
    # The last place is for rows whose class is not known (-1).
    place = np.full(number + 1, -1, dtype=np.int64)
    place[: len(sides)] = [names.index(side) for side in sides]
    return Grouping(CLASSES, place[rows.target], names, MAJORITISED_CLASSES)


def columns_grouping(layout: Layout, rows: TestRows, attribute: Attribute) -> Grouping:
    """Group rows by the values of one column or several crossed; a missing value is in no group."""
    matrix, names = layout.folding(attribute)
    inside = matrix.sum(axis=0) > 0
    place = np.where(inside, matrix.argmax(axis=0), -1) if len(names) else np.full(len(layout.groups), -1)
    return Grouping(" & ".join(attribute), place[rows.group].astype(np.int64), names)
