"""What a condition is: a target distribution of the training data, made by its name and applied to a cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cohorts import Cohort
from equipoise.conditions._sampling import (
    Draw,
    Feasibility,
    Rows,
    checked_size,
    draw,
    feasibility_of,
    largest_size,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    listing,
    registry,
    unknown_name,
)
from equipoise.tallies import (
    Coded,
    factorise,
    group_name,
    label_text,
    ordered,
)


@runtime_checkable
class Condition(Protocol):
    """A distribution over classes and groups. ``version`` is raised when the same settings come to mean other shares.

    ``str(condition)`` is the short text that tables and charts show.
    """

    version: ClassVar[int]

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return the shares ``[class, group]`` that the training data shall have, from the counts that they have.

        ``classes`` and ``groups`` name the rows and columns; without names they are called 0, 1, 2 and so on.
        """


@runtime_checkable
class SeededCondition(Condition, Protocol):
    """A condition whose shares hang on the seed of a trial too: each seed draws, say, other classes.

    ``probabilities`` are then those of seed 0.
    """

    def for_seed(self, seed: int) -> Condition:
        """Return the condition of one seed."""

    def hardest(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return shares that ask at least as much of the data as those of any seed; sizes are found by them."""

    def partition(self, classes: Sequence[object], seed: int) -> tuple[str, ...]:
        """Say for every class what a seed makes of it, such as "majoritised"."""


def for_seed(condition: Condition, seed: int) -> Condition:
    """Return what a condition is for one seed: itself, unless the seed has a say in it."""
    return condition.for_seed(seed) if isinstance(condition, SeededCondition) else condition


def sizing_shares(
    condition: Condition, counts: ArrayLike, classes: Sequence[object], groups: Sequence[object]
) -> Floats:
    """Return the shares by which sizes are found: those that ask the most, whatever the seed."""
    find = condition.hardest if isinstance(condition, SeededCondition) else condition.probabilities
    return find(counts, classes, groups)


def partition_of(condition: Condition, classes: Sequence[object], seed: int) -> tuple[str, ...] | None:
    """Say for every class what a seed makes of it; None where the condition parts no classes."""
    return condition.partition(classes, seed) if isinstance(condition, SeededCondition) else None


def by_class(condition: Condition) -> bool:
    """Tell whether rows are made whole class by class, and only then inside each class."""
    return bool(getattr(condition, "whole_classes", False))


def remarks_of(condition: Condition, requirements: Feasibility) -> tuple[str, ...]:
    """Return what a condition itself says of what it asks of the data."""
    remarks = getattr(condition, "remarks", None)
    return () if remarks is None else tuple(remarks(requirements))


def make_condition(name: str, **settings: Any) -> Condition:
    """Return a registered condition by its name, such as ``make_condition("interpolation", mode="CB", alpha=1)``."""
    entry = registry.get("condition", name)
    kind: Any = entry.implementation
    if is_dataclass(kind):
        field_names = [field.name for field in fields(kind) if field.init]
        for setting in settings:
            if setting not in field_names:
                raise unknown_name("setting", setting, field_names, f"the condition {entry.name!r}")
    try:
        condition = kind(**settings)
    except TypeError as error:
        raise BadInput(
            f"The condition {entry.name!r} cannot be made from {settings!r} ({error})",
            help=f"see: equipoise list conditions, and docs/guide/conditions.md for the settings of {entry.name}.",
        ) from error
    if not isinstance(condition, Condition):
        raise BadInput(
            f"The condition {entry.name!r} of {entry.module} cannot be applied",
            available="a class with the method probabilities(counts, classes, groups) and a whole number as version",
        )
    return condition


def settings_of(condition: Condition) -> dict[str, Any]:
    """Return the settings that make a condition again: ``make_condition(name, **settings_of(condition))``."""
    instance: Any = condition
    if is_dataclass(instance):
        return {field.name: getattr(instance, field.name) for field in fields(instance) if field.init}
    return dict(vars(instance))


TRAIN = "train"

Groups = str | Sequence[str] | None


def apply(
    condition: Condition,
    cohort: Cohort,
    seed: int,
    size: int | None = None,
    *,
    group: Groups = None,
    plan: Sequence[Condition] | None = None,
) -> Cohort:
    """Return the cohort with training rows drawn as the condition says; dev and test rows are untouched.

    ``group`` names the group column (several are crossed); it can be left out where the cohort has one. ``size`` is how
    many training rows there shall be: by default the largest at which no row is repeated under any condition of
    ``plan``, the conditions that will be compared, so that all of them get equally many, with any seed. The drawn rows
    come first.
    """
    cells = training_cells(cohort, group)
    sample = _draw_rows(cells, condition, seed, size, plan)
    others = np.delete(np.arange(len(cohort)), cells.rows)
    return cohort.take(np.concatenate([sample.rows, others]))


def draw_training(
    condition: Condition,
    cohort: Cohort,
    seed: int,
    size: int | None = None,
    *,
    group: Groups = None,
    plan: Sequence[Condition] | None = None,
) -> Draw:
    """Return the drawn training rows as positions in the cohort, and what was asked of the data."""
    return _draw_rows(training_cells(cohort, group), condition, seed, size, plan)


def _draw_rows(
    cells: TrainingCells, condition: Condition, seed: int, size: int | None, plan: Sequence[Condition] | None
) -> Draw:
    seeded = for_seed(condition, seed)
    sample = cells.draw(condition, cells.probabilities(seeded), seed, size, cells.largest_size(plan or (condition,)))
    completed = replace(sample.feasibility, remarks=remarks_of(seeded, sample.feasibility))
    return replace(sample, rows=cells.rows[sample.rows], feasibility=completed)


def feasibility(
    condition: Condition,
    cohort: Cohort,
    size: int | None = None,
    *,
    group: Groups = None,
    plan: Sequence[Condition] | None = None,
) -> Feasibility:
    """Say what a condition asks of a cohort's training rows and draw none; an empty cell is stated, not refused.

    Where the seed has a say in the condition, it is told for seed 0; the numbers are nearly those of any other.
    """
    cells = training_cells(cohort, group)
    largest = cells.largest_size(plan or (condition,))
    return cells.feasibility(
        condition, cells.probabilities(condition), largest if size is None else checked_size(size), largest
    )


@dataclass(frozen=True, eq=False)
class TrainingCells:
    """The training rows of a cohort by class and group: positions in the cohort, codes (-1: none), names and counts."""

    rows: Rows
    class_codes: Rows
    group_codes: Rows
    classes: tuple[str, ...]
    groups: tuple[str, ...]

    @cached_property
    def counts(self) -> Rows:
        """How many rows of each class are in each group."""
        is_known = (self.class_codes >= 0) & (self.group_codes >= 0)
        cells = self.class_codes[is_known] * len(self.groups) + self.group_codes[is_known]
        shape = (len(self.classes), len(self.groups))
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def probabilities(self, condition: Condition) -> Floats:
        """Return the shares that a condition wants."""
        return condition.probabilities(self.counts, self.classes, self.groups)

    def largest_size(self, plan: Sequence[Condition]) -> int:
        """Return the largest size at which no row is repeated under any of the conditions, with any seed."""
        counts = self.counts
        return largest_size(counts, [sizing_shares(condition, counts, self.classes, self.groups) for condition in plan])

    def feasibility(self, condition: Condition, shares: Floats, size: int, largest: int) -> Feasibility:
        """Say what so many rows of a condition's shares ask of the rows there are."""
        estimate = feasibility_of(
            self.counts, shares, size, classes=self.classes, groups=self.groups, largest=largest,
            unlabelled=len(self.class_codes) - int(self.counts.sum()), by_class=by_class(condition),
        )  # fmt: skip
        return replace(estimate, remarks=remarks_of(condition, estimate))

    def draw(self, condition: Condition, shares: Floats, seed: int, size: int | None, largest: int) -> Draw:
        """Draw rows of a condition's shares, as positions among the training rows; an empty cell is refused."""
        return draw(
            self.class_codes, self.group_codes, shares, size, seed=seed, classes=self.classes, groups=self.groups,
            largest=largest, by_class=by_class(condition),
        )  # fmt: skip


def training_cells(cohort: Cohort, group: Groups = None) -> TrainingCells:
    """Number the classes and groups of a cohort's training rows, in the order of their names."""
    if cohort.task != "class":
        raise BadInput(
            f"The cohort {cohort.name!r} is a {cohort.task} task",
            available="one class per row",
            help="cut the target into classes, and draw rows with equipoise.conditions.draw.",
        )
    rows = _training_rows(cohort)
    class_codes, classes = _numbered([factorise(cohort[cohort.target][rows])])
    group_codes, groups = _numbered([factorise(cohort[name][rows]) for name in _group_columns(cohort, group)])
    # A class whose rows all lack a group, or the other way round, has no cell.
    is_known = (class_codes >= 0) & (group_codes >= 0)
    if not is_known.any():
        raise BadInput(f"No training row of the cohort {cohort.name!r} has both a class and a group")
    class_codes, classes = _compacted(class_codes, classes, is_known)
    group_codes, groups = _compacted(group_codes, groups, is_known)
    return TrainingCells(rows, class_codes, group_codes, classes, groups)


def _training_rows(cohort: Cohort) -> Rows:
    split = None if cohort.split is None else factorise(cohort[cohort.split])
    if split is None or TRAIN not in split.labels:
        raise BadInput(
            f"The cohort {cohort.name!r} has no training split",
            available=f"a split column in which training rows are called {TRAIN!r}"
            + ("" if split is None else f"; here the splits are {listing(map(label_text, split.labels))}"),
            help="name the split column when the cohort is created: split=. A condition changes training rows only.",
        )
    return np.flatnonzero(split.codes == split.labels.index(TRAIN))


def _group_columns(cohort: Cohort, group: Groups) -> tuple[str, ...]:
    if group is None:
        if len(cohort.groups) > 1:
            raise BadInput(
                f"The cohort {cohort.name!r} has several group columns ({', '.join(cohort.groups)})",
                help=f"name one, such as group={cohort.groups[0]!r}, or several to cross them.",
            )
        return cohort.groups
    names = (group,) if isinstance(group, str) else tuple(group)
    for name in names:
        if name not in cohort.groups:
            raise unknown_name("group column", name, cohort.groups, f"the cohort {cohort.name!r}")
    if not names:
        raise BadInput("No group column is named", available=", ".join(cohort.groups))
    return names


def _numbered(columns: Sequence[Coded]) -> tuple[Rows, tuple[str, ...]]:
    """Number the values of columns, crossed, in the order of their names; -1 where one is missing."""
    shape = tuple(len(column.labels) for column in columns)
    distinct, inverse = np.unique(
        np.ravel_multi_index([column.codes for column in columns], shape), return_inverse=True
    )
    combinations = np.stack(np.unravel_index(distinct, shape), axis=1).tolist()
    labels = [
        [column.labels[code] for column, code in zip(columns, combination, strict=True)] for combination in combinations
    ]
    names = {index: group_name(label) for index, label in enumerate(labels) if None not in label}
    order = ordered(names.values())
    numbers = np.array([order.index(names[index]) if index in names else -1 for index in range(len(labels))])
    return numbers[inverse.reshape(-1)].astype(np.int64), tuple(order)


def _compacted(codes: Rows, names: tuple[str, ...], is_known: np.ndarray) -> tuple[Rows, tuple[str, ...]]:
    """Leave out names that no row with both a class and a group has."""
    present = np.unique(codes[is_known])
    recode = np.full(len(names) + 1, -1, dtype=np.int64)
    recode[present] = np.arange(len(present))
    return recode[codes], tuple(names[code] for code in present.tolist())
