"""Permutation tests that stop early: valid however they came to stop, and equal to the full test where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.evidence.permutation import permutation_p
from equipoise.stats import PermutationTest, Tail


def settled(observed: float, values: np.ndarray, *, signed: bool, enough: int | None) -> PermutationTest:
    test = PermutationTest(observed, signed, enough)
    for value in values:
        if test.settled:
            break
        test.add(float(value))
    return test


@pytest.mark.parametrize("signed", [False, True])
def test_where_nothing_differs_p_is_small_no_more_often_than_it_says(signed: bool) -> None:
    generator, trials = np.random.default_rng(0), 4_000
    values = generator.normal(size=(trials, 200))  # what was seen is a draw like the others
    p = np.array([settled(row[0], row[1:], signed=signed, enough=8).p for row in values])
    for level in (0.01, 0.05, 0.1, 0.3, 0.5, 0.8):
        error = np.sqrt(level * (1 - level) / trials)
        assert (p <= level).mean() < level + 3 * error
    assert (p <= 0.3).mean() > 0.24  # and not much less often


def test_stopping_when_p_happens_to_be_small_would_not_be_valid() -> None:
    generator, trials = np.random.default_rng(1), 2_000
    values = generator.normal(size=(trials, 1_000))
    extreme = np.cumsum(values[:, 1:] >= values[:, :1], axis=1)
    naive = ((1 + extreme) / (2 + np.arange(999))).min(axis=1)
    assert (naive <= 0.05).mean() > 0.05 + 4 * np.sqrt(0.05 * 0.95 / trials)  # so the check above can fail


def test_it_stops_at_the_deal_that_makes_it_enough() -> None:
    tail = Tail(1.0, above=True, enough=2)
    for value in (0.0, 1.0, float("nan"), 0.5, 3.0, 9.0, 9.0):
        tail.add(value)
    assert (tail.settled, tail.dealt, tail.extreme) == (True, 4, 2)
    assert tail.p == 2 / 4
    below = Tail(1.0, above=False, enough=2)
    for value in (0.0, 2.0):
        below.add(value)
    assert (below.settled, below.p) == (False, 2 / 3)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("observed", [-1.5, 0.0, 0.4, 2.5])
def test_without_a_rule_to_stop_it_is_the_full_test(observed: float, signed: bool) -> None:
    null = np.random.default_rng(2).normal(size=300)
    null[::7] = np.nan
    test = settled(observed, null, signed=signed, enough=None)
    above, below = (float(permutation_p(np.asarray(observed), null, above=side)) for side in (True, False))
    assert test.p == pytest.approx(min(1.0, 2 * min(above, below)) if signed else above)
    assert test.dealt == np.isfinite(null).sum()


def test_a_rare_gap_gets_every_deal_and_a_common_one_few() -> None:
    null = np.random.default_rng(3).normal(size=1_000)
    rare, common = (settled(observed, null, signed=False, enough=20) for observed in (4.0, 0.0))
    assert (rare.dealt, rare.p) == (1_000, 1 / 1_001)
    assert common.dealt < 80
    assert common.p == pytest.approx(0.5, abs=0.2)
