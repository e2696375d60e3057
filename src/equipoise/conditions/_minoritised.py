"""Classes that are minoritised by hand, others with every seed, against a balanced control (paper 000, 3.3 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from equipoise.conditions._sampling import (
    Feasibility,
    checked_share,
    names_of,
    shares_of,
)
from equipoise.foundation import BadInput, Floats, condition, stream

MAJORITISED, MINORITISED = "majoritised", "minoritised"
BALANCED = 0.5


@condition("minoritised", paper="000")
@dataclass(frozen=True)
class Minoritised:
    """P'(y) : P'(y') = degree : 1 - degree of each majoritised y and minoritised y'; inside a class groups as given.

    ``classes`` is how many classes are minoritised. Which, the seed of a trial draws, whatever the degree; without a
    seed they are those of seed 0. Degree 0.5 is the balanced control of the same partition: every class gets as much.
    """

    degree: float = 0.9
    classes: int = 50
    version: ClassVar[int] = 1
    # Every class gets the same number of rows, give or take one, however many groups are in it.
    whole_classes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        degree = checked_share(self.degree, "degree")
        if not BALANCED <= degree < 1.0:
            raise BadInput(
                f"degree is {self.degree!r}",
                available="from 0.5 (balanced) up to 0.99: rows of a majoritised class beside 1 - degree of another",
                help="the paper's are 0.5, 0.6, 0.7, 0.8 and 0.9. A class without rows cannot be learned.",
            )
        object.__setattr__(self, "degree", degree)
        if isinstance(self.classes, bool) or not isinstance(self.classes, int) or self.classes < 1:
            raise BadInput(f"classes is {self.classes!r}", available="how many classes are minoritised, such as 50")

    def partition(self, classes: Sequence[object], seed: int) -> tuple[str, ...]:
        """Say of every class whether the seed makes it "majoritised" or "minoritised"; the order does not matter."""
        names = names_of(classes, len(classes), "classes")
        self._check(len(names))
        shuffled = stream(seed, "minoritised classes").permutation(sorted(names))[: self.classes]
        few = set(shuffled.tolist())
        return tuple(MINORITISED if name in few else MAJORITISED for name in names)

    def for_seed(self, seed: int) -> MinoritisedBySeed:
        """Return the condition with the classes that a seed draws."""
        return MinoritisedBySeed(self, int(seed))

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return the shares with the classes that seed 0 draws."""
        return self.for_seed(0).probabilities(counts, classes, groups)

    def hardest(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return the shares that ask the most of the data: the largest classes are minoritised, no small one is.

        A size that these allow no seed has to repeat rows for. So sizes do not hang on which seeds a plan has, and a
        plan that gets more seeds keeps its trials.
        """
        P = shares_of(counts)
        self._check(len(P))
        few = np.zeros(len(P), dtype=bool)
        few[np.argsort(P.sum(axis=1), kind="stable")[len(P) - self.classes :]] = True
        return self.shares(P, few)

    def shares(self, P: Floats, few: np.ndarray) -> Floats:  # noqa: N803 - the letter of the other conditions
        """Return the shares where ``few`` says which classes are minoritised."""
        weight = np.where(few, 1.0 - self.degree, self.degree)
        inside = P / P.sum(axis=1, keepdims=True)
        values: Floats = (weight / weight.sum())[:, None] * inside
        return values

    def remarks(self, requirements: Feasibility, seed: int = 0) -> tuple[str, ...]:
        """Say how many rows a class of either kind gets, and how many it has in the control."""
        requested, available = _by_class(requirements, "requested"), _by_class(requirements, "available")
        kinds = dict(zip(requested, self.partition(list(requested), seed), strict=True))
        many, few = ([name for name in requested if kinds[name] == kind] for kind in (MAJORITISED, MINORITISED))
        control, has = requirements.size / len(requested), _span(list(available.values()))
        balanced = _span([int(control), int(np.ceil(control))])
        head = f"Of {len(requested):,} classes {len(few):,} are minoritised, others with every seed"
        tail = f"In all these are {requirements.size:,} of {requirements.available:,} rows, as many at every degree."
        if self.degree == BALANCED:
            sentences = [
                f"{head}; in this balanced control each class gets {balanced} rows, of {has} that it has. {tail}"
            ]
        else:
            sentences = [
                f"{head}. Each gets {_span([requested[name] for name in few])} rows and each majoritised class "
                f"{_span([requested[name] for name in many])}, of {has} that a class has; in the balanced control it "
                f"would be {balanced}. {tail}"
            ]
        scarce = sum(requested[name] < 2 for name in few)
        if scarce and requirements.size:
            sentences.append(f"{scarce:,} minoritised classes get fewer than 2 rows: they have no pair to learn from.")
        return tuple(sentences)

    def _check(self, classes: int) -> None:
        if self.classes >= classes:
            raise BadInput(
                f"classes is {self.classes}, and the training rows have {classes:,} classes",
                available=f"fewer than {classes:,}: at least one class must be majoritised",
                help=f"classes = {max(classes // 4, 1)} is a quarter of them, as 50 is of CUB200's.",
            )

    def __str__(self) -> str:
        majoritised = round(100 * self.degree, 6)
        return f"{majoritised:g}-{100 - majoritised:g}, {self.classes} classes minoritised"


@dataclass(frozen=True)
class MinoritisedBySeed:
    """The classes that one seed draws are minoritised."""

    condition: Minoritised
    seed: int
    version: ClassVar[int] = Minoritised.version
    whole_classes: ClassVar[bool] = True

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return the shares."""
        P = shares_of(counts)
        kinds = self.condition.partition(names_of(classes, len(P), "classes"), self.seed)
        return self.condition.shares(P, np.array(kinds) == MINORITISED)

    def remarks(self, requirements: Feasibility) -> tuple[str, ...]:
        """Say how many rows a class of either kind gets."""
        return self.condition.remarks(requirements, self.seed)

    def __str__(self) -> str:
        return str(self.condition)


def _by_class(feasibility: Feasibility, what: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    for cell in feasibility.cells:
        totals[cell.class_name] = totals.get(cell.class_name, 0) + int(getattr(cell, what))
    return totals


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} {'or' if most == least + 1 else 'to'} {most:,}"
