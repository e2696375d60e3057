"""Drawing rows: whole numbers that follow the shares, seeded rows, sizes without repetition, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise import BadInput
from equipoise.conditions import apportion, draw, feasibility_of, interpolate, largest_size

ALPHAS = st.lists(st.sampled_from(np.arange(0, 2.25, 0.25).tolist()), min_size=1, max_size=4)
MODE_NAMES = st.sampled_from(["JB", "CB", "y_cond_g", "y", "g"])


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Counts in which every cell has rows."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    return draw(arrays(np.int64, shape, elements=st.integers(1, 300)))


def rows_of(counts: Any, seed: int = 0) -> tuple[Any, Any]:
    """Return class and group codes of rows in random order."""
    codes = [np.repeat(code.reshape(-1), np.asarray(counts).reshape(-1)) for code in np.indices(np.shape(counts))]
    order = np.random.default_rng(seed).permutation(len(codes[0]))
    return codes[0][order], codes[1][order]


def counted(codes: tuple[Any, Any], rows: Any, shape: tuple[int, ...]) -> Any:
    found = np.zeros(shape, dtype=int)
    np.add.at(found, (codes[0][rows], codes[1][rows]), 1)
    return found


def slow_apportion(counts: list[int], size: int) -> list[int]:
    """Largest remainders of exact shares; of equal ones the first."""
    exact = [Fraction(n, sum(counts)) * size for n in counts]
    whole = [int(part) for part in exact]
    order = sorted(range(len(counts)), key=lambda place: (whole[place] - exact[place], place))
    for place in order[: size - sum(whole)]:
        whole[place] += 1
    return whole


@settings(deadline=None, max_examples=150)
@given(counts=st.lists(st.integers(0, 500), min_size=1, max_size=9).filter(any), size=st.integers(1, 40_000))
def test_rows_are_apportioned_by_largest_remainder(counts: list[int], size: int) -> None:
    found = apportion(np.array([counts]) / sum(counts), size)
    assert found.sum() == size
    assert found.reshape(-1).tolist() == slow_apportion(counts, size)


@settings(deadline=None, max_examples=60)
@given(counts=tables(), mode=MODE_NAMES, alphas=ALPHAS, seed=st.integers(0, 10_000))
def test_at_the_default_size_of_a_plan_no_row_is_repeated_at_any_alpha_and_sizes_are_equal(
    counts: Any, mode: str, alphas: list[float], seed: int
) -> None:
    plan = [interpolate(counts, mode, alpha) for alpha in alphas]
    largest = largest_size(counts, plan)
    assert largest >= 1
    codes = rows_of(counts)
    for shares in plan:
        drawn = draw(*codes, shares, seed=seed, largest=largest)
        assert len(drawn.rows) == len(set(drawn.rows.tolist())) == largest == drawn.feasibility.size
        assert np.array_equal(counted(codes, drawn.rows, counts.shape), apportion(shares, largest))
        assert not drawn.feasibility.repeated
    # One more row would ask some cell for more than it has.
    assert any(((largest + 1) * shares > counts).any() for shares in plan)


@settings(deadline=None, max_examples=40)
@given(counts=tables(), mode=MODE_NAMES, alpha=st.floats(0, 2), size=st.integers(1, 2000))
def test_at_any_size_each_row_of_a_cell_is_taken_equally_often_give_or_take_one(
    counts: Any, mode: str, alpha: float, size: int
) -> None:
    codes, shares = rows_of(counts), interpolate(counts, mode, alpha)
    drawn = draw(*codes, shares, size, seed=3)
    assert np.array_equal(counted(codes, drawn.rows, counts.shape), apportion(shares, size))
    times = np.bincount(drawn.rows, minlength=len(codes[0]))
    for cell in np.ndindex(counts.shape):
        of_cell = times[(codes[0] == cell[0]) & (codes[1] == cell[1])]
        assert of_cell.max() - of_cell.min() <= 1
    assert {(c.class_name, c.group) for c in drawn.feasibility.repeated} == {
        (str(c), str(g)) for c, g in np.ndindex(counts.shape) if apportion(shares, size)[c, g] > counts[c, g]
    }


COUNTS = np.array([[60, 40], [30, 70]])


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    codes, shares = rows_of(COUNTS), interpolate(COUNTS, "JB", 1)
    first, again, other = (draw(*codes, shares, 100, seed=seed).rows for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert set(first.tolist()) != set(other.tolist())
    assert np.array_equal(first, draw(*codes, shares, 100, seed=np.int64(1)).rows)  # type: ignore[arg-type]


def test_rows_are_not_taken_in_file_order() -> None:
    codes = rows_of(COUNTS)
    drawn = draw(*codes, COUNTS / COUNTS.sum(), 100, seed=0).rows
    assert not np.array_equal(drawn, np.sort(drawn))
    prefixes = {row for c, g in np.ndindex(2, 2) for row in np.flatnonzero((codes[0] == c) & (codes[1] == g))[:25]}
    assert set(drawn.tolist()) != prefixes
    # Over many seeds every row has the same chance.
    times = Counter(
        row for seed in range(200) for row in draw(*codes, COUNTS / COUNTS.sum(), 100, seed=seed).rows.tolist()
    )
    assert len(times) == COUNTS.sum()
    assert min(times.values()) > 60
    assert max(times.values()) < 140


def test_two_conditions_of_one_seed_share_as_many_rows_as_they_can() -> None:
    codes = rows_of(COUNTS)
    tables_ = [interpolate(COUNTS, "CB", alpha) for alpha in (0, 2)]
    one, other = (draw(*codes, shares, 100, seed=5).rows for shares in tables_)
    common = np.minimum(*(apportion(shares, 100) for shares in tables_)).sum()
    assert len(set(one.tolist()) & set(other.tolist())) == common


def test_rows_without_a_class_or_a_group_are_never_drawn_and_counted() -> None:
    classes, groups = np.array([0, 0, 1, 1, -1, 0]), np.array([0, 1, 0, 1, 0, -1])
    drawn = draw(classes, groups, np.full((2, 2), 0.25), seed=0)
    assert sorted(drawn.rows.tolist()) == [0, 1, 2, 3]
    assert drawn.feasibility.unlabelled == 2
    assert "2 training rows have no class or no group and are left out." in drawn.feasibility.words
    assert drawn.feasibility.warnings == ("2 training rows have no class or no group and are left out.",)


def test_a_cell_without_rows_is_refused_with_what_to_do() -> None:
    counts = np.array([[5, 3], [4, 0]])
    shares = interpolate(counts, "JB", 1)
    assert largest_size(counts, [shares]) == 0
    for size in (None, 8):
        with pytest.raises(BadInput, match=r"no rows of poor / b \(share 0.25\)[^$]*merge the group") as caught:
            draw(*rows_of(counts), shares, size, seed=0, classes=["rich", "poor"], groups=["a", "b"])
        assert "as_given" in str(caught.value)
    # Where the empty cell gets no share there is nothing to refuse, and other conditions keep their size.
    assert len(draw(*rows_of(counts), interpolate(counts, "JB", 0), seed=0).rows) == 12
    assert largest_size(counts, [shares, counts / 12]) == 12


def test_feasibility_says_in_words_what_is_repeated_what_is_empty_and_what_is_left_out() -> None:
    counts = np.array([[100, 5], [20, 0]])
    said = feasibility_of(counts, [[0.0, 0.5], [0.25, 0.25]], 80, classes=["no", "yes"], groups=["a", "b"])
    assert not said.feasible
    assert [cell.name for cell in said.empty] == ["yes / b"]
    assert [(cell.name, cell.times) for cell in said.repeated] == [("no / b", 8.0)]
    assert [cell.name for cell in said.unused] == ["no / a"]
    assert np.isnan(said.empty[0].times)
    assert said.words == (
        "80 training rows are drawn from 125.",
        "It is not possible: there are no rows of yes / b (share 0.25). Fix: merge the group or the class with "
        "another, leave it out of the cohort, or choose a condition that gives the cell no share (as_given does).",
        "Rows are repeated: no / b 8.0 times (40 from 5). No row is repeated up to a size of 0.",
        "No row is drawn from no / a.",
    )
    assert said.warnings == said.words[1:3]
    fine = feasibility_of(counts[:, :1], [[0.5], [0.5]], 40)
    assert fine.feasible
    assert fine.warnings == ()
    assert fine.words == ("40 training rows are drawn from 120.", "No row is repeated.")


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", True, float("nan")])
def test_a_size_that_is_no_size_is_refused(size: Any) -> None:
    with pytest.raises(BadInput, match=r"(?s)size is .*whole number of at least 1"):
        draw([0, 1], [0, 0], [[0.5], [0.5]], size, seed=0)


@pytest.mark.parametrize(
    ("classes", "groups", "shares", "complaint"),
    [
        ([0, 1], [0, 0], [[0.5], [0.6]], "sum to 1.1"),
        ([0, 1], [0, 0], [[1.5], [-0.5]], "the least is -0.5"),
        ([0, 1], [0, 0], [[np.nan], [1]], "sum to nan"),
        ([0, 1], [0, 0], [0.5, 0.5], "the shape"),
        ([0, 2], [0, 0], [[0.5], [0.5]], "class code 2"),
        ([0, 1], [0, 1], [[0.5], [0.5]], "group code 1"),
        ([0.0, 1.0], [0, 0], [[0.5], [0.5]], "class codes have the shape"),
        ([0, 1, 1], [0, 0], [[0.5], [0.5]], "3 class codes and 2 group codes"),
    ],
)
def test_rows_and_shares_that_do_not_fit_are_refused(classes: Any, groups: Any, shares: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        draw(classes, groups, shares, seed=0)
