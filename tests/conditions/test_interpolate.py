"""Interpolation: what each mode keeps and moves, the papers' numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise import BadInput
from equipoise.conditions import ALIASES, interpolate
from equipoise.conditions._interpolation import MODES
from helpers.oracles.condition import interpolation as slowly

# Paper 001, Table 2: men and women of each profession in the Bios training data.
BIOS = np.array([
    [183, 2384], [1127, 11189], [173, 973], [166, 910], [840, 4027], [182, 767], [4530, 7415], [4188, 6343],
    [6545, 6415], [13492, 13156], [2323, 2235], [2727, 2298], [505, 423], [42130, 34618], [13064, 8105], [2317, 1343],
    [10141, 5632], [6133, 3346], [3048, 1497], [1271, 454], [1245, 393], [5014, 1554], [1439, 385], [3042, 595],
    [3783, 709], [7521, 1308], [828, 136], [823, 88],
])  # fmt: skip
NURSE = 1
ADULT_BY_RACE = np.array([[275, 763, 2737, 246, 20699], [36, 276, 387, 25, 7117]])

ALPHAS = st.floats(0, 2, allow_subnormal=False)
MODE_NAMES = st.sampled_from([*MODES, *ALIASES])


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> Any:
    """Counts of one to five classes in one to five groups, none of them without any row."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    counts = draw(arrays(np.int64, shape, elements=st.integers(least, 5000)))
    counts[counts.sum(axis=1) == 0, 0] = 1
    counts[0, counts.sum(axis=0) == 0] = 1
    return counts


@settings(deadline=None, max_examples=150)
@given(counts=tables(), mode=MODE_NAMES, alpha=ALPHAS)
def test_what_comes_out_are_shares_and_those_of_exact_fractions(counts: Any, mode: str, alpha: float) -> None:
    found = interpolate(counts, mode, alpha)
    assert found.shape == counts.shape
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found == pytest.approx(np.array(slowly(counts, (), (), mode=mode, alpha=alpha), dtype=float), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(counts=tables(), mode=MODE_NAMES)
def test_alpha_0_is_the_data(counts: Any, mode: str) -> None:
    assert interpolate(counts, mode, 0) == pytest.approx(counts / counts.sum(), abs=1e-14)


@settings(deadline=None, max_examples=60)
@given(counts=tables())
def test_alpha_1_is_balance(counts: Any) -> None:
    classes, groups = counts.shape
    P = counts / counts.sum()
    assert interpolate(counts, "JB", 1) == pytest.approx(np.full(P.shape, 1 / P.size), abs=1e-14)
    assert interpolate(counts, "CB", 1) == pytest.approx(P.sum(axis=1, keepdims=True).repeat(groups, 1) / groups)
    assert interpolate(counts, "y_cond_g", 1) == pytest.approx(
        P.sum(axis=0, keepdims=True).repeat(classes, 0) / classes
    )
    assert interpolate(counts, "y", 1) == pytest.approx(P / P.sum(axis=1, keepdims=True) / classes)
    assert interpolate(counts, "g", 1) == pytest.approx(P / P.sum(axis=0) / groups)


@settings(deadline=None, max_examples=150)
@given(counts=tables(), alpha=ALPHAS)
def test_what_a_mode_keeps_stays_with_any_number_of_groups_at_any_alpha(counts: Any, alpha: float) -> None:
    P = counts / counts.sum()
    assert interpolate(counts, "CB", alpha).sum(axis=1) == pytest.approx(P.sum(axis=1), abs=1e-12)
    assert interpolate(counts, "y_cond_g", alpha).sum(axis=0) == pytest.approx(P.sum(axis=0), abs=1e-12)
    by_class = interpolate(counts, "y", alpha)
    some = by_class.sum(axis=1) > 0
    inside = P / P.sum(axis=1, keepdims=True)
    assert (by_class[some] / by_class[some].sum(axis=1, keepdims=True)) == pytest.approx(inside[some], abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("alpha", np.arange(0, 2.25, 0.25).tolist())
def test_every_alpha_of_the_paper_works_on_the_counts_of_bios(mode: str, alpha: float) -> None:
    found = interpolate(BIOS, mode, alpha)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)


def test_negative_mass_of_bios_is_cut_and_renormalised_over_the_table() -> None:
    P = BIOS / BIOS.sum()
    for alpha in (1.25, 1.5, 1.75, 2):  # where the authors' code stops
        assert ((1 - alpha) * P + alpha / BIOS.size < 0).any()
    raw = -P + 2 / BIOS.size
    assert interpolate(BIOS, "JB", 2) == pytest.approx(np.maximum(raw, 0) / np.maximum(raw, 0).sum())


@pytest.mark.parametrize(("alpha", "share"), [(0, 0.908), (1, 0.5), (2, 0.092)])
def test_the_share_of_women_among_nurses_is_the_papers(alpha: float, share: float) -> None:
    found = interpolate(BIOS, "CB", alpha)[NURSE]
    assert found[1] / found.sum() == pytest.approx(share, abs=5e-4)


def test_classes_keep_their_share_by_race_where_one_renormalisation_for_all_would_move_them() -> None:
    kept = ADULT_BY_RACE.sum(axis=1) / ADULT_BY_RACE.sum()
    assert kept[0] == pytest.approx(0.759, abs=5e-4)
    found = interpolate(ADULT_BY_RACE, "CB", 2)
    assert found.sum(axis=1) == pytest.approx(kept, abs=1e-15)
    P = ADULT_BY_RACE / ADULT_BY_RACE.sum()
    cut = np.maximum(-P + 2 * kept[:, None] / 5, 0)
    assert (cut / cut.sum()).sum(axis=1)[0] == pytest.approx(0.750, abs=5e-4)


def test_a_mode_is_known_by_every_name_in_any_case() -> None:
    for alias, mode in ALIASES.items():
        assert np.array_equal(interpolate(BIOS, alias, 0.5), interpolate(BIOS, mode, 0.5))
        assert np.array_equal(interpolate(BIOS, alias.swapcase(), 0.5), interpolate(BIOS, mode, 0.5))


@pytest.mark.parametrize(
    ("counts", "mode", "alpha", "complaint"),
    [
        ([[1, -1], [2, 3]], "JB", 1, "class 0, group 1 is -1, which is negative"),
        ([[1, 2], [np.nan, 3]], "JB", 1, "class 1, group 0 is nan, which is missing"),
        ([[1, 2], [np.inf, 3]], "JB", 1, "infinite"),
        ([[1, 2], [0, 0]], "CB", 1, "no rows of class 1"),
        ([[1, 0], [2, 0]], "CB", 1, "no rows of group 1"),
        ([[0, 0], [0, 0]], "JB", 0, "no rows of class 0, 1"),
        ([1, 2], "JB", 1, r"shape \(2,\)"),
        (np.zeros((0, 2)), "JB", 1, "shape"),
        ([["many", 1]], "JB", 1, "not numbers"),
        ([[1, 2], [3, 4]], "JB", 2.01, "alpha is 2.01"),
        ([[1, 2], [3, 4]], "JB", -0.1, "alpha is -0.1"),
        ([[1, 2], [3, 4]], "JB", float("nan"), "alpha is nan"),
        ([[1, 2], [3, 4]], "JB", "1", "alpha is '1'"),
        ([[1, 2], [3, 4]], "JB", True, "alpha is True"),
        ([[1, 2], [3, 4]], "jiont", 1, "did you mean 'joint'"),
        ([[1, 2], [3, 4]], "group_given_clas", 1, "did you mean 'group_given_class'"),
    ],
)
def test_what_cannot_be_interpolated_is_refused(counts: Any, mode: str, alpha: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        interpolate(counts, mode, alpha)
