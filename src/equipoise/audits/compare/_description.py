"""Who the most changed are, in words: a shallow tree finds rules on one half of the units, the other half judges them.

A tree always finds something. So a rule is said only of people it was not made from: its share, its lift and its test
are those of the held-out half, and copies of one profile never lie on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._reasons import AuditReason
from equipoise.audits.compare._groups import Cut
from equipoise.audits.compare._result import CompareReason, Description
from equipoise.audits.compare._spec import Attribute, Quantity
from equipoise.foundation import Floats, fitting
from equipoise.results import Reason, Status, because
from equipoise.stats import Units, compare_with_null, shares_of_groups

DEPTH = 3
MOST_RULES = 3
# With fewer units, or fewer among the most changed, there is nothing to hold out.
LEAST_UNITS, LEAST_CHANGED = 40, 4
LEAST_IN_LEAF = 10
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Feature:
    """A column as a tree sees it: a number a row, or whether the row is of one group of an attribute."""

    column: str
    values: Floats
    group: str | None = None
    other_groups: tuple[str, ...] = ()
    is_integer: bool = False


def features_of(columns: Sequence[Attribute | Quantity]) -> list[Feature]:
    """Return what the tree may ask about."""
    features: list[Feature] = []
    for column in columns:
        if isinstance(column, Attribute):
            for index, group in enumerate(column.groups):
                others = tuple(name for name in column.groups if name != group)
                features.append(Feature(column.name, (column.codes == index).astype(np.float64), group, others))
            continue
        is_known = ~np.isnan(column.values)
        is_whole = bool((column.values[is_known] == np.rint(column.values[is_known])).all())
        middle = float(np.median(column.values[is_known])) if is_known.any() else 0.0
        features.append(Feature(column.name, np.where(is_known, column.values, middle), is_integer=is_whole))
        if not is_known.all():
            features.append(Feature(column.name, (~is_known).astype(np.float64), "(missing)", ("known",)))
    return features


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

    def is_disjoint_from(self, other: Rule) -> bool:
        """Tell whether nobody can fit both: neither path is the beginning of the other."""
        shorter = min(len(self.steps), len(other.steps))
        return self.steps[:shorter] != other.steps[:shorter]

    def matches(self) -> NDArray[np.bool_]:
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
        of_column = [(step, feature) for step, feature in steps if feature.column == column]
        named = [(step, feature) for step, feature in of_column if feature.group is not None]
        return [*_of_groups(column, named), *_of_numbers(column, [pair for pair in of_column if pair[1].group is None])]


def _of_groups(column: str, steps: Sequence[tuple[Step, Feature]]) -> list[str]:
    for step, feature in steps:
        if step.above:
            return [f"{column} is {feature.group}"]
    if not steps:
        return []
    no = {str(feature.group) for _, feature in steps}
    left = [name for name in (*steps[0][1].other_groups, str(steps[0][1].group)) if name not in no]
    if len(left) == 1:
        return [f"{column} is {left[0]}"]
    return [f"{column} is not {' or '.join(sorted(no))}"]


def _of_numbers(column: str, steps: Sequence[tuple[Step, Feature]]) -> list[str]:
    """Join the steps on one number into one range."""
    if not steps:
        return []
    is_whole = steps[0][1].is_integer
    low = max((step.threshold for step, _ in steps if step.above), default=-math.inf)
    high = min((step.threshold for step, _ in steps if not step.above), default=math.inf)
    if is_whole:  # above 29.5 is 30 and over
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


@dataclass(frozen=True, eq=False)
class Halves:
    """Rows to find rules on, and rows to judge them by; a unit is on one side."""

    search: Mask
    evaluation: Mask


def describe(
    columns: Sequence[Attribute | Quantity], cut: Cut, units: Units, *, least: int, draws: int,
    generator: np.random.Generator,
) -> tuple[list[Description], Reason | None]:  # fmt: skip
    """Return rules about the most changed as they hold on the held-out half, or why there are none."""
    if not cut.separates:
        return [], because(CompareReason.NOBODY_TO_DESCRIBE)
    if units.number < LEAST_UNITS:
        are = fitting(units.number, "is", "are")
        return [], because(CompareReason.FEW_UNITS_TO_DESCRIBE, units=units.number, are=are, least=LEAST_UNITS)
    changed = int((units.means(cut.weights) > 0).sum())
    if changed < LEAST_CHANGED:
        are = fitting(changed, "is", "are")
        return [], because(CompareReason.FEW_CHANGED_TO_DESCRIBE, units=changed, are=are, least=LEAST_CHANGED)
    halves = _halves(cut, units, generator)
    features = features_of(columns)
    rules = list(_rules_of_tree(features, cut.weights, halves.search, generator))
    judged = [_evaluated(rule, cut, units, halves.evaluation, least, draws, generator) for rule in rules]
    return judged, None if judged else because(CompareReason.NO_RULE)


def _halves(cut: Cut, units: Units, generator: np.random.Generator) -> Halves:
    """Deal units out in pairs that changed alike, so that both halves have as many of the most changed."""
    order = np.lexsort((generator.random(units.number), units.means(cut.weights)))
    side = np.zeros(units.number, dtype=bool)
    first = generator.random((units.number + 1) // 2) < 0.5
    pairs = np.repeat(first, 2)[: units.number]
    side[order] = pairs ^ (np.arange(units.number) % 2 == 1)
    return Halves(side[units.codes], ~side[units.codes])


def _rules_of_tree(
    features: Sequence[Feature], weights: Floats, rows: Mask, generator: np.random.Generator
) -> Iterator[Rule]:
    """Yield the rules of a shallow tree that single out the most changed, the best first, none inside another."""
    from sklearn.tree import DecisionTreeClassifier

    matrix = np.stack([feature.values[rows] for feature in features], axis=1)
    inside = weights[rows]
    # Somebody who counts by a fraction stands on both sides, by that fraction and the rest.
    partly = np.flatnonzero((inside > 0) & (inside < 1))
    changed = np.concatenate([inside > 0, np.zeros(len(partly), dtype=bool)])
    counted = np.concatenate([np.where(inside > 0, inside, 1.0), 1.0 - inside[partly]])
    if not changed.any() or changed.all():
        return
    tree = DecisionTreeClassifier(
        max_depth=DEPTH,
        min_samples_leaf=max(LEAST_IN_LEAF, len(inside) // 200),
        random_state=int(generator.integers(2**31)),
    )
    tree.fit(np.concatenate([matrix, matrix[partly]]), changed, sample_weight=counted)
    yield from _best(rules_of(tree.tree_, features), float(inside.mean()))


def _best(rules: Sequence[Rule], base: float) -> Iterator[Rule]:
    """Choose by how far above everyone's rate theirs is, times the root of how many they are."""
    worth = sorted(rules, key=lambda rule: -math.sqrt(rule.weight) * (rule.rate - base))
    chosen: list[Rule] = []
    for rule in worth:
        if len(chosen) == MOST_RULES or rule.rate <= base:
            return
        if all(rule.is_disjoint_from(other) for other in chosen):
            chosen.append(rule)
            yield rule


def _evaluated(
    rule: Rule, cut: Cut, units: Units, rows: Mask, least: int, draws: int, generator: np.random.Generator
) -> Description:
    held = units.only(rows)
    weights, inside = cut.weights[rows], rule.matches()[rows]
    people = int(inside.sum())
    words: dict[str, Any] = {"words": rule.words, "conditions": rule.conditions}
    nothing: dict[str, Any] = dict.fromkeys(("share_population", "changed_within", "covered", "lift"), float("nan"))
    if people == 0:
        return Description(
            **words, **nothing, people=0, profiles=0, status=Status.UNDEFINED, reason=because(CompareReason.FITS_NOBODY)
        )
    if people < least:
        hidden = because(AuditReason.SUPPRESSED, least=least)
        return Description(**words, **nothing, people=None, profiles=None, status=Status.TOO_SMALL, reason=hidden)
    population, total = people / len(inside), float(weights.sum())
    covered = float(weights[inside].sum()) / total
    members = held.sums(inside)
    shares = shares_of_groups(held, weights, inside.astype(np.int64), 2, draws, generator)
    tested = compare_with_null(shares.observed[1:], shares.null[:, 1:])
    return Description(
        **words,
        people=people,
        profiles=int((members > 0).sum()),
        share_population=population,
        changed_within=float(weights[inside].mean()),
        covered=covered,
        lift=covered / population,
        p=float(tested.p[0]) if draws else None,
    )
