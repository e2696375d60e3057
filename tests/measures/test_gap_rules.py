"""The five rules of paper 000 on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.measures import (
    GAP_RULES,
    halves_difference,
)
from equipoise.measures._embeddings import (
    against_worst,
    best_minus_worst,
    each_against_worst,
    largest_and_others,
    sets_difference,
)

VALUES = np.array([0.9, 0.5, 0.7, 0.6])


def test_two_sets_are_compared_by_their_plain_means() -> None:
    first, second = np.array([True, False, True, False]), np.array([False, True, False, False])
    assert sets_difference(VALUES, first, second) == pytest.approx(0.8 - 0.5)
    assert np.isnan(sets_difference(VALUES, first, np.zeros(4, dtype=bool)))


def test_the_largest_group_is_held_against_all_others_and_a_tie_is_undefined() -> None:
    largest, others = largest_and_others(np.array([3.0, 9.0, 2.0]))
    assert largest.tolist() == [False, True, False]
    assert others.tolist() == [True, False, True]
    assert np.isnan(sets_difference(VALUES, *largest_and_others(np.array([5.0, 5.0, 1.0, 1.0]))))


def test_the_rules_that_look_for_the_worst_group() -> None:
    assert best_minus_worst(VALUES) == pytest.approx(0.4)
    assert against_worst(VALUES) == pytest.approx([0.4, 0.0, 0.2, 0.1])
    assert each_against_worst(VALUES) == pytest.approx(0.7 / 3)
    # Two groups that share the worst place: only those that are better are held against it.
    assert each_against_worst(np.array([0.5, 0.5, 0.9])) == pytest.approx(0.4)
    assert each_against_worst(np.array([0.5, 0.5])) == 0.0


def test_a_middle_group_is_in_neither_half() -> None:
    assert halves_difference(VALUES) == pytest.approx(0.8 - 0.55)
    assert halves_difference(np.array([1.0, 0.0, 0.3])) == pytest.approx(1.0)
    assert np.isnan(halves_difference(np.array([1.0])))


@pytest.mark.parametrize("rule", GAP_RULES.values())
def test_a_group_without_a_value_leaves_every_rule_undefined(rule: object) -> None:
    assert np.isnan(rule(np.array([0.2, np.nan, 0.5, 0.6])))  # type: ignore[operator]


@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=8), add=st.floats(-3, 3))
def test_rules_ignore_a_common_shift_and_the_order_of_groups(values: list[float], add: float) -> None:
    for rule in GAP_RULES.values():
        first = float(rule(np.array(values)))
        assert float(rule(np.array(values[::-1]))) == pytest.approx(first)
        assert rule(np.tile(np.array(values), (3, 1))) == pytest.approx([first] * 3)
        if rule is not each_against_worst:  # which counts the groups that are better, and rounding may tie two
            assert float(rule(np.array(values) + add)) == pytest.approx(first, abs=1e-9)
