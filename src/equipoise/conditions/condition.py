"""What a condition is: a target distribution of the training data, made by its registered name from plain settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from equipoise.conditions.feasible import Feasibility
from equipoise.conditions.shares import Floats
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.registry import registry


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


def remarks_of(condition: Condition, asked: Feasibility) -> tuple[str, ...]:
    """Return what a condition itself says of what it asks of the data."""
    told = getattr(condition, "remarks", None)
    return () if told is None else tuple(told(asked))


def make_condition(name: str, **settings: Any) -> Condition:
    """Return a registered condition by its name, such as ``make_condition("interpolation", mode="CB", alpha=1)``."""
    entry = registry.get("condition", name)
    kind: Any = entry.thing
    if is_dataclass(kind):
        known = [field.name for field in fields(kind) if field.init]
        for given in settings:
            if given not in known:
                raise unknown_name("setting", given, known, f"the condition {entry.name!r}")
    try:
        made = kind(**settings)
    except TypeError as error:
        raise BadInput(
            f"The condition {entry.name!r} cannot be made from {settings!r} ({error})",
            help=f"see: equipoise list conditions, and docs/conditions.md for the settings of {entry.name}.",
        ) from error
    if not isinstance(made, Condition):
        raise BadInput(
            f"The condition {entry.name!r} of {entry.module} cannot be applied",
            available="a class with the method probabilities(counts, classes, groups) and a whole number as version",
        )
    return made


def settings_of(condition: Condition) -> dict[str, Any]:
    """Return the settings that make a condition again: ``make_condition(name, **settings_of(condition))``."""
    made: Any = condition
    if is_dataclass(made):
        return {field.name: getattr(made, field.name) for field in fields(made) if field.init}
    return dict(vars(made))
