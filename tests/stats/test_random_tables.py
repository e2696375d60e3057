"""Null distributions on counts against shuffling rows one by one."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measures import get_measure
from equipoise.stats import (
    null_totals,
    permutation_p,
    permuted_tables,
    weighted_null,
)
from equipoise.tallies import (
    ClassTotals,
    Confusion,
    confusion,
)

TABLE = np.array([[[30, 10], [12, 28]], [[14, 9], [20, 40]], [[5, 4], [3, 8]]])


def shuffled_rows(within_class: bool, draws: int) -> np.ndarray:
    """The slow way: a row a person, groups shuffled by hand."""
    rows = np.array([key for key, number in np.ndenumerate(TABLE) for _ in range(number)])
    generator = np.random.default_rng(7)
    out = np.zeros((draws, *TABLE.shape))
    for draw in range(draws):
        groups = rows[:, 0].copy()
        parts = [rows[:, 1] == 0, rows[:, 1] == 1] if within_class else [np.ones(len(rows), dtype=bool)]
        for part in parts:
            groups[part] = generator.permutation(groups[part])
        np.add.at(out[draw], (groups, rows[:, 1], rows[:, 2]), 1)
    return out


@pytest.mark.parametrize("within_class", [False, True])
def test_a_permutation_keeps_what_it_must(within_class: bool) -> None:
    made = permuted_tables(confusion(TABLE).cells, within_class, 200, np.random.default_rng(0))
    assert (made.sum(axis=(2, 3)) == TABLE.sum(axis=(1, 2))).all()
    assert (made.sum(axis=1) == TABLE.sum(axis=0)).all()
    if within_class:
        assert (made.sum(axis=3) == TABLE.sum(axis=2)).all()
    assert (made >= 0).all()


@pytest.mark.parametrize(("alias", "within_class"), [("DP", False), ("DI", False), ("SPSF", False), ("EOTP", True)])
def test_the_null_is_that_of_shuffled_rows(alias: str, within_class: bool) -> None:
    measure = get_measure(alias)
    table = confusion(TABLE)
    drawn = permuted_tables(table.cells, within_class, 4000, np.random.default_rng(3))
    fast = measure.by_class(Confusion(drawn, table.groups, table.classes))
    slow = measure.by_class(Confusion(shuffled_rows(within_class, 3000), table.groups, table.classes))
    for level in (0.25, 0.5, 0.75, 0.95):
        assert np.quantile(fast[:, 1], level) == pytest.approx(np.quantile(slow[:, 1], level), abs=0.025)


def test_many_classes_and_empty_groups_are_permuted_too() -> None:
    table = np.zeros((3, 4, 4))
    table[0] = np.arange(16).reshape(4, 4)
    table[1] = 3
    made = permuted_tables(confusion(table).cells, False, 50, np.random.default_rng(0))
    assert (made.sum(axis=(2, 3)) == table.sum(axis=(1, 2))).all()
    assert (made[:, 2] == 0).all()


@pytest.mark.parametrize("within_class", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_totals_of_many_classes_are_those_of_the_whole_tables(within_class: bool, weighted: bool) -> None:
    cells = np.random.default_rng(1).integers(0, 6, (3, 4, 4)).astype(float)
    heavy = (cells * 2.0, cells * 5.0) if weighted else (None, None)
    totals = null_totals(cells, within_class, 4000, np.random.default_rng(2), *heavy)
    if weighted:
        whole = weighted_null(*heavy, within_class, 4000, np.random.default_rng(3))  # type: ignore[arg-type]
    else:
        whole = permuted_tables(cells, within_class, 4000, np.random.default_rng(3))
    table = Confusion(whole, ("a", "b", "c"), tuple("wxyz"))
    expected = (table.predicted, table.positives, table.true_positives)
    for found, slow in zip(totals, expected, strict=True):
        assert found.mean(axis=0) == pytest.approx(slow.mean(axis=0), rel=0.1, abs=0.5)
        assert found.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.15, abs=0.25)
    assert isinstance(ClassTotals.of(("a", "b", "c"), tuple("wxyz"), *totals), ClassTotals)


def test_weighted_nulls_have_the_mean_of_equal_groups_and_the_spread_of_their_weights() -> None:
    rows = confusion(TABLE)
    weights = Confusion(rows.cells * 2.0, rows.groups, rows.classes)
    squares = Confusion(rows.cells * 4.0, rows.groups, rows.classes)
    made = weighted_null(weights.cells, squares.cells, False, 6000, np.random.default_rng(0))
    share = TABLE.sum(axis=0) / TABLE.sum()
    mean = TABLE.sum(axis=(1, 2))[:, None, None] * 2.0 * share
    assert made.mean(axis=0) == pytest.approx(mean, rel=0.05)
    # As if every row counted once: the variance of a sum of n weights of 2 is 4 n.
    assert made.var(axis=0) == pytest.approx(2.0 * mean, rel=0.15)


def test_p_is_never_0_and_undefined_draws_do_not_count() -> None:
    null = np.array([0.1, 0.2, np.nan, 0.3])
    assert float(permutation_p(np.array(9.0), null)) == pytest.approx(1 / 4)
    assert float(permutation_p(np.array(0.2), null)) == pytest.approx(3 / 4)
    assert float(permutation_p(np.array(-0.2), -null)) == pytest.approx(3 / 4)
    assert np.isnan(permutation_p(np.array(np.nan), null))


def test_equal_groups_are_rejected_as_often_as_promised() -> None:
    generator = np.random.default_rng(5)
    found = []
    for _ in range(150):
        cells = np.stack([generator.multinomial(n, [0.4, 0.1, 0.2, 0.3]).reshape(2, 2) for n in (300, 80, 60, 150)])
        table = confusion(cells)
        null = get_measure("DP").by_class(
            Confusion(permuted_tables(table.cells, False, 200, generator), table.groups, table.classes)
        )
        found.append(float(permutation_p(get_measure("DP").by_class(table), null)[1]))
    assert np.mean(np.array(found) <= 0.05) <= 0.09
    assert np.mean(found) == pytest.approx(0.5, abs=0.1)
