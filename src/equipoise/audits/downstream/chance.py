"""What chance gives: the measures of groups that were dealt out anew to what carries them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.macro import MEASURES, Pairs, macro_values, pairs_of
from equipoise.audits.downstream.splits import agreeing, constant_in
from equipoise.audits.downstream.table_draws import Units, permuted_rows, permuted_units
from equipoise.audits.downstream.tested import Tested

Floats = NDArray[np.float64]

PRECISION, RECALL = MEASURES.index("macro_precision"), MEASURES.index("macro_recall")
NO_DEAL = "it depends on which classes share the group, and dealing classes out changes that: no test"


@dataclass(frozen=True, eq=False)
class Null:
    """Values as they are, ``[group, measure]``, and under dealt groups, ``[draw, group, measure]``.

    ``tests`` says what was permuted; None for a measure that dealing does not test.
    """

    seen: Floats
    dealt: Floats
    tests: tuple[str | None, ...]


def null_of(tested: Tested, places: list[int]) -> Null | None:
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
    within = not constant_in(truth, groups)
    table, draws, generator = pairs.table(groups, number), tested.draws, tested.generator
    if units is None:
        across = _values(tested, pairs, permuted_rows(table, None, draws, generator))
        layered = permuted_rows(table, pairs.truth, draws, generator) if within else None
    else:
        units = Units(units.of_row, groups, units.number)
        across = _values(tested, pairs, permuted_units(units, pairs, number, None, draws, generator))
        strata = np.zeros(units.number, dtype=np.int64)
        strata[units.of_row] = truth
        within = within and constant_in(units.of_row, truth)
        layered = permuted_units(units, pairs, number, strata, draws, generator) if within else None
    tests: list[str | None] = [f"permutation of {tested.plural}"] * len(MEASURES)
    if layered is not None:
        across[..., RECALL] = _values(tested, pairs, layered)[..., RECALL]
        tests[RECALL] = f"{tests[RECALL]} within true class"
    if units is not None and constant_in(truth, units.of_row):
        for measure in _tied_to_classes(tested):
            tests[measure] = None
    return Null(macro_values(pairs, table, tested.variant), across, tuple(tests))


def _tied_to_classes(tested: Tested) -> tuple[int, ...]:
    """Return the measures that no deal of whole classes leaves as they are, even where nothing differs.

    A class loses its wrong predictions when the class it is confused with goes to another group, and so do the labels
    of other groups that the paper's means count. Groups as they are then look extreme: where confusions stay inside a
    group, 15 to 23 of 100 tests of precision would reject at 0.05.
    """
    return (PRECISION,) if tested.variant == "default" else (PRECISION, RECALL)


def _values(tested: Tested, pairs: Pairs, tables: Iterator[Floats]) -> Floats:
    return np.concatenate([macro_values(pairs, part, tested.variant) for part in tables])
