"""What chance gives: the measures of groups that were dealt out anew to what carries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.macro import MEASURES, Pairs, macro_values, pairs_of
from equipoise.audits.downstream.splits import agreeing, constant_in
from equipoise.audits.downstream.table_draws import Units, permuted_rows, permuted_units
from equipoise.audits.downstream.tested import Tested
from equipoise.stats import most_draws, sequential_permutation

Floats = NDArray[np.float64]

PRECISION, RECALL = MEASURES.index("macro_precision"), MEASURES.index("macro_recall")
# Tables are cheap to draw: so many times the draws that were asked for at the most.
CHEAP = 10
NO_DEAL = "it depends on which classes share the group, and dealing classes out changes that: no test"


@dataclass(frozen=True, eq=False)
class Deals:
    """Values as they are, ``[group, measure]``, and a function that draws them under dealt groups.

    ``draw(n)`` returns ``[draw, group, measure]``. ``tests`` says what was permuted; None for a measure that dealing
    does not test.
    """

    seen: Floats
    draw: Callable[[int], Floats]
    tests: tuple[str | None, ...]
    most: int
    needed: int

    def p_values(self, statistic: Callable[[Floats], Floats]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the p of a statistic of the values, one a measure, and whether more draws could make it smaller."""
        observed = np.where([test is None for test in self.tests], np.nan, statistic(self.seen))
        found = sequential_permutation(
            {"": observed},
            lambda number, names: self.draw(number),
            lambda name, drawn: statistic(drawn),
            most=self.most, needed=self.needed,
        )[""]  # fmt: skip
        return np.array([test.p for test in found]), np.array([test.limited for test in found])


def deals_of(tested: Tested, places: list[int]) -> Deals | None:
    """Deal some groups out anew; None where nothing carries them.

    What carries the group is permuted; the few rows that disagree with their unit are left out of both. Recall is
    about the truth, so it is permuted within the true class where classes have several groups.
    """
    if not tested.draws:
        return None
    rows = np.isin(tested.groups, places)
    units = tested.whole(rows)
    if units is not None:
        if not units.carry_the_group:
            return None
        rows[rows] = agreeing(units.of_row, units.groups)
        units = tested.whole(rows)
    code = np.full(len(tested.names), -1)
    code[places] = np.arange(len(places))
    groups, truth, number = code[tested.groups[rows]], tested.truth[rows], len(places)
    pairs = pairs_of(truth, tested.guess[rows], tested.classes)
    table, generator = pairs.table(groups, number), tested.generator
    within = not constant_in(truth, groups)
    if units is not None:
        units = Units(units.of_row, groups, units.number)
        strata = np.zeros(units.number, dtype=np.int64)
        strata[units.of_row] = truth
        within = within and constant_in(units.of_row, truth)

    def tables(draws: int, layered: bool) -> Iterator[Floats]:
        if units is None:
            return permuted_rows(table, pairs.truth if layered else None, draws, generator)
        return permuted_units(units, pairs, number, strata if layered else None, draws, generator)

    def draw(draws: int) -> Floats:
        values = _values(tested, pairs, tables(draws, False))
        if within:
            values[..., RECALL] = _values(tested, pairs, tables(draws, True))[..., RECALL]
        return values

    tests: list[str | None] = [f"permutation of {tested.plural}"] * len(MEASURES)
    if within:
        tests[RECALL] = f"{tests[RECALL]} within true class"
    if units is not None and constant_in(truth, units.of_row):
        for measure in _tied_to_classes(tested):
            tests[measure] = None
    most, needed = most_draws(tested.tests, CHEAP * tested.draws)
    return Deals(macro_values(pairs, table, tested.variant), draw, tuple(tests), most, needed)


def _tied_to_classes(tested: Tested) -> tuple[int, ...]:
    """Return the measures that no deal of whole classes leaves as they are, even where nothing differs.

    A class loses its wrong predictions when the class it is confused with goes to another group, and so do the labels
    of other groups that the paper's means count. Groups as they are then look extreme: where confusions stay inside a
    group, 15 to 23 of 100 tests of precision would reject at 0.05.
    """
    return (PRECISION,) if tested.variant == "default" else (PRECISION, RECALL)


def _values(tested: Tested, pairs: Pairs, tables: Iterator[Floats]) -> Floats:
    return np.concatenate([macro_values(pairs, part, tested.variant) for part in tables])
