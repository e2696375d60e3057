"""Downsampling and reweighting against counting by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise import BadInput
from equipoise.training import TrainingRows
from equipoise.treatments import Downsampling, Reweighting
from helpers.cases.treatment import training_rows

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4))
FULL = SHAPES.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(1, 30)))
HOLES = SHAPES.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, 9))).filter(lambda t: t.sum() > 0)
BIOS = np.random.default_rng(3).integers(3, 400, (28, 2))


def chosen_counts(rows: TrainingRows, seed: int = 0) -> tuple[Any, Any]:
    chosen = Downsampling().choose(rows, np.random.default_rng(seed))
    taken = np.zeros((len(rows.classes), len(rows.groups)), dtype=int)
    for place in chosen.tolist():
        taken[rows.cell[place], rows.group[place]] += 1
    return chosen, taken


def kept_by_hand(counts: Any) -> list[list[int]]:
    """Floor(r n_y) of every group, r the least share of a group in a class, in fractions."""
    r = min(Fraction(int(n), int(row.sum())) for row in counts for n in row)
    return [[max(1, math.floor(r * int(row.sum()))) for _ in row] for row in counts]


@given(FULL)
def test_downsampling_keeps_as_many_of_each_cell_as_the_formula_says_and_no_row_twice(counts: Any) -> None:
    chosen, taken = chosen_counts(training_rows(counts))
    assert taken.tolist() == kept_by_hand(counts)
    assert len(set(chosen.tolist())) == len(chosen)
    assert (taken <= counts).all()


def test_downsampling_works_with_28_classes() -> None:
    _, taken = chosen_counts(training_rows(BIOS))
    assert taken.tolist() == kept_by_hand(BIOS)


def test_downsampling_draws_by_its_generator_and_not_by_file_order() -> None:
    rows = training_rows([[50, 20], [30, 60]])
    first, again, other = (chosen_counts(rows, seed)[0].tolist() for seed in (0, 0, 1))
    assert first == again != other
    in_file_order = [np.flatnonzero((rows.cell == 0) & (rows.group == 0))[:20].tolist()]
    assert not set(in_file_order[0]) <= set(first)
    picked = np.zeros(len(rows.cell))
    for seed in range(400):
        picked[chosen_counts(rows, seed)[0]] += 1
    small = (rows.cell == 1) & (rows.group == 0)
    # r = 20/70: of the 30 rows of this cell floor(r 90) = 25 are kept, each as often as any other.
    assert picked[small].mean() == 400 * 25 / 30
    assert np.abs(picked[small] - 400 * 25 / 30).max() < 5 * math.sqrt(400 * (25 / 30) * (5 / 30))


def test_a_class_that_the_floor_would_empty_keeps_one_row_of_each_group() -> None:
    _, taken = chosen_counts(training_rows([[1, 999], [5, 5]]))
    assert taken.tolist() == [[1, 1], [1, 1]]


def test_downsampling_names_the_empty_cells_and_says_what_to_do() -> None:
    with pytest.raises(BadInput, match=r"no training rows of class 0 / group 1, class 1 / group 0") as found:
        Downsampling().choose(training_rows([[3, 0], [0, 4], [2, 2]]), np.random.default_rng(0))
    assert "merge the group or the class" in found.value.help


def test_a_class_that_nobody_has_does_not_stop_downsampling() -> None:
    _, taken = chosen_counts(training_rows([[3, 5], [0, 0]]))
    assert taken.tolist() == [[3, 3], [0, 0]]


def weights_by_hand(rows: TrainingRows, balance: str) -> list[float]:
    found = []
    for c, g in zip(rows.cell, rows.group, strict=True):
        n_yg = sum((rows.cell == c) & (rows.group == g))
        cells = {(a, b) for a, b in zip(rows.cell.tolist(), rows.group.tolist(), strict=True)}
        if balance == "joint":
            found.append(len(rows.cell) / (len(cells) * n_yg))
        else:
            found.append(sum(rows.cell == c) / (len([cell for cell in cells if cell[0] == c]) * n_yg))
    return found


@given(HOLES, st.sampled_from(["joint", "stratified_y"]))
def test_weights_are_the_inverse_of_the_share_and_have_the_mean_1(counts: Any, balance: str) -> None:
    rows = training_rows(counts)
    weights = Reweighting(balance=balance).weigh(rows)
    assert weights.tolist() == pytest.approx(weights_by_hand(rows, balance), rel=1e-12)
    assert weights.mean() == pytest.approx(1, rel=1e-12)


def test_by_default_all_cells_weigh_the_same_and_inside_a_class_only_its_groups_do() -> None:
    rows = training_rows([[40, 10], [5, 45]])

    def totals(treatment: Reweighting) -> list[float]:
        weights = treatment.weigh(rows)
        return [float(weights[(rows.cell == c) & (rows.group == g)].sum()) for c in (0, 1) for g in (0, 1)]

    assert totals(Reweighting()) == pytest.approx([25.0] * 4)
    assert totals(Reweighting(balance="stratified_y")) == pytest.approx([25.0] * 4)
    rows = training_rows([[40, 10], [5, 145]])
    assert totals(Reweighting()) == pytest.approx([50.0] * 4)
    assert totals(Reweighting(balance="stratified_y")) == pytest.approx([25.0, 25.0, 75.0, 75.0])


def test_an_unknown_balance_is_refused() -> None:
    with pytest.raises(BadInput, match="balance is 'inverse'"):
        Reweighting(balance="inverse")
