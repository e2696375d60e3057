"""Groups of rows and the units that carry them, against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.audits._units import Attribute, GroupedUnits, carried_by, constant_in, most_common

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    units, values = np.array(rows, dtype=np.int64).T
    return units, values


@given(ROWS)
def test_the_most_common_value_of_a_unit_is_counted_and_of_equals_the_lowest(rows: list[tuple[int, int]]) -> None:
    units, values = columns(rows)
    common = most_common(units, values, 6)
    for unit in range(6):
        counts = Counter(value for own, value in rows if own == unit)
        expected = min(counts, key=lambda value: (-counts[value], value)) if counts else -1
        assert common[unit] == expected
    alone = all(len({value for own, value in rows if own == unit}) <= 1 for unit in range(6))
    assert constant_in(units, values) == alone
    assert not alone or carried_by(units, values)


def test_rows_without_a_group_say_nothing_about_their_unit() -> None:
    units = GroupedUnits.of(np.array([7, 7, 9, 9, 9, 2]), np.array([0, -1, 1, 1, -1, -1]))
    assert units.of_row.tolist() == [1, 1, 2, 2, 2, 0]
    assert units.group is not None
    assert (units.group.tolist(), units.mixed) == ([-1, 0, 1], False)
    assert units.by_group(2).tolist() == [1, 1]


@pytest.mark.parametrize(("wrong", "carried"), [(0, True), (10, True), (11, False)])
def test_a_tenth_of_the_rows_may_disagree_with_their_unit(wrong: int, carried: bool) -> None:
    codes, groups = np.arange(100) // 10, np.arange(100) // 10 % 2
    groups[10 * (np.arange(wrong) % 10) + np.arange(wrong) // 10] ^= 1
    units = GroupedUnits.of(codes, groups)
    assert ((units.group is not None), units.mixed) == (carried, wrong > 0)
    assert units.by_group(2).tolist() == ([5, 5] if carried else [10, 10])


def test_a_rare_group_that_is_spread_over_all_units_is_not_carried() -> None:
    groups = (np.arange(200) % 20 == 0).astype(np.int64)
    assert not carried_by(np.arange(200) // 20, groups)


def test_groups_stand_in_natural_order_with_the_missing_one_last() -> None:
    attribute = Attribute.of("age", np.array([3, 0, 1, 4, 0]), ["20", "9", "unused", None, "(missing)"])
    assert attribute.groups == ("9", "20", "(missing) as text", "(missing)")
    assert [attribute.groups[code] for code in attribute.codes] == ["(missing)", "20", "9", "(missing) as text", "20"]
    assert (attribute.tested(), attribute.tested(include_missing=True)) == ([0, 1, 2], [0, 1, 2, 3])
