"""A tree's paths as rules that a person can read: "sex is Female and age under 30"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.compare.rows import Attribute, Quantity
from equipoise.tallies.arrays import Floats


@dataclass(frozen=True, eq=False)
class Feature:
    """A column as a tree sees it: a number a row, or whether the row is of one group of an attribute."""

    column: str
    values: Floats
    group: str | None = None
    others: tuple[str, ...] = ()
    whole: bool = False


def features_of(columns: Sequence[Attribute | Quantity]) -> list[Feature]:
    """Return what the tree may ask about."""
    made: list[Feature] = []
    for column in columns:
        if isinstance(column, Attribute):
            for place, group in enumerate(column.groups):
                others = tuple(name for name in column.groups if name != group)
                made.append(Feature(column.name, (column.codes == place).astype(np.float64), group, others))
            continue
        known = ~np.isnan(column.values)
        whole = bool((column.values[known] == np.rint(column.values[known])).all())
        middle = float(np.median(column.values[known])) if known.any() else 0.0
        made.append(Feature(column.name, np.where(known, column.values, middle), whole=whole))
        if not known.all():
            made.append(Feature(column.name, (~known).astype(np.float64), "(missing)", ("known",)))
    return made


@dataclass(frozen=True)
class Step:
    """One question on a path, and the answer."""

    feature: int
    threshold: float
    above: bool


@dataclass(frozen=True, eq=False)
class Rule:
    """A node of the tree: the path to it, how many people were there, and how many of them were most changed."""

    steps: tuple[Step, ...]
    weight: float
    rate: float
    features: Sequence[Feature]

    def apart_from(self, other: Rule) -> bool:
        """Tell whether nobody can fit both: neither path is the beginning of the other."""
        shorter = min(len(self.steps), len(other.steps))
        return self.steps[:shorter] != other.steps[:shorter]

    def holds(self) -> NDArray[np.bool_]:
        """Tell of every row whether it fits."""
        fits = np.ones(len(self.features[0].values), dtype=bool)
        for step in self.steps:
            # The tree compares in single precision.
            above = self.features[step.feature].values.astype(np.float32) > step.threshold
            fits &= above if step.above else ~above
        return fits

    @property
    def conditions(self) -> tuple[str, ...]:
        """The path in words, one condition a column."""
        columns = dict.fromkeys(self.features[step.feature].column for step in self.steps)
        return tuple(words for column in columns for words in self._of(column))

    @property
    def words(self) -> str:
        """The whole rule in words."""
        return " and ".join(self.conditions)

    def _of(self, column: str) -> list[str]:
        steps = [(step, self.features[step.feature]) for step in self.steps]
        own = [(step, feature) for step, feature in steps if feature.column == column]
        named = [(step, feature) for step, feature in own if feature.group is not None]
        return [*_of_groups(column, named), *_of_numbers(column, [pair for pair in own if pair[1].group is None])]


def _of_groups(column: str, steps: Sequence[tuple[Step, Feature]]) -> list[str]:
    for step, feature in steps:
        if step.above:
            return [f"{column} is {feature.group}"]
    if not steps:
        return []
    no = {str(feature.group) for _, feature in steps}
    left = [name for name in (*steps[0][1].others, str(steps[0][1].group)) if name not in no]
    if len(left) == 1:
        return [f"{column} is {left[0]}"]
    return [f"{column} is not {' or '.join(sorted(no))}"]


def _of_numbers(column: str, steps: Sequence[tuple[Step, Feature]]) -> list[str]:
    """Join the steps on one number into one range."""
    if not steps:
        return []
    whole = steps[0][1].whole
    low = max((step.threshold for step, _ in steps if step.above), default=-math.inf)
    high = min((step.threshold for step, _ in steps if not step.above), default=math.inf)
    if whole:  # above 29.5 is 30 and over
        low, high = _next_whole(low), _next_whole(high)
        return [f"{column} {_range(low, high, 'under', 'and over', 'to under')}"]
    return [f"{column} {_range(low, high, 'up to', 'and more', 'to')}"]


def _next_whole(edge: float) -> float:
    return math.floor(edge) + 1 if math.isfinite(edge) else edge


def _range(low: float, high: float, below: str, above: str, between: str) -> str:
    if not math.isfinite(low):
        return f"{below} {high:g}"
    return f"{low:g} {above}" if not math.isfinite(high) else f"{low:g} {between} {high:g}"


def rules_of(tree: Any, features: Sequence[Feature]) -> list[Rule]:
    """Return every node of a fitted scikit-learn tree except its root, as a rule."""
    rules: list[Rule] = []

    def walk(node: int, steps: tuple[Step, ...]) -> None:
        if steps:
            shares = tree.value[node][0]
            rate = float(shares[1] / shares.sum())
            rules.append(Rule(steps, float(tree.weighted_n_node_samples[node]), rate, features))
        if tree.children_left[node] >= 0:
            feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
            walk(int(tree.children_left[node]), (*steps, Step(feature, threshold, above=False)))
            walk(int(tree.children_right[node]), (*steps, Step(feature, threshold, above=True)))

    walk(0, ())
    return rules
