"""Comparisons with the best: against loops over all of them, and by counting how often the best is left out."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from scipy import stats

from equipoise.stats import _multiple_comparisons as module
from equipoise.stats import compare_with_best, share_of_best, tie_tolerance, winner_if_equal


def test_the_set_and_the_intervals_are_those_of_a_loop_over_pairs() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        number = int(generator.integers(2, 7))
        means, half = generator.normal(size=number), generator.uniform(0.2, 2.0, (number, number))
        half = (half + half.T) / 2
        found = compare_with_best(means[:, None] - means[None], half)
        others = [[j for j in range(number) if j != i] for i in range(number)]
        may = [all(means[i] - means[j] + half[i, j] > 0 for j in others[i]) for i in range(number)]
        assert found.may_be_best.tolist() == may
        assert any(may), "the best that was observed is always among them"
        for i in range(number):
            high = max(0.0, min(means[i] - means[j] + half[i, j] for j in others[i]))
            rivals = [j for j in others[i] if may[j]]
            low = min(0.0, *(means[i] - means[j] - half[i, j] for j in rivals)) if rivals else 0.0
            assert found.high[i] == pytest.approx(high)
            assert found.low[i] == pytest.approx(low)


def test_the_best_is_left_out_and_intervals_miss_at_most_as_often_as_stated() -> None:
    """k means of n values each, with the best by a little: Hsu's set contains it, and all intervals hold together."""
    generator = np.random.default_rng(8)
    number, runs, level, times = 5, 6, 0.05, 4_000
    true = np.array([0.3, 0.25, 0.2, 0.0, -0.5])
    t = stats.t.isf(level / (number - 1), runs - 1)
    kept = covered = 0
    for _ in range(times):
        values = true[:, None] + generator.normal(size=(number, runs))
        differences = values[:, None] - values[None]
        half = t * differences.std(axis=-1, ddof=1) / math.sqrt(runs)
        found = compare_with_best(differences.mean(axis=-1), half)
        best_of_others = np.array([np.delete(true, i).max() for i in range(number)])
        kept += bool(found.may_be_best[0])
        covered += bool(((found.low <= true - best_of_others) & (true - best_of_others <= found.high)).all())
    error = math.sqrt(level * (1 - level) / times)
    assert 1 - kept / times <= level + 3 * error
    assert 1 - covered / times <= level + 3 * error


def test_what_was_not_compared_is_not_left_out() -> None:
    differences = np.array([[0.0, 5.0], [-5.0, 0.0]])
    found = compare_with_best(differences, np.full((2, 2), np.inf))
    assert found.may_be_best.all()
    assert np.isinf(found.high).all()


def test_a_single_one_is_the_best_of_one() -> None:
    found = compare_with_best(np.zeros((1, 1)), np.zeros((1, 1)))
    assert (found.may_be_best.tolist(), found.low.tolist(), found.high.tolist()) == ([True], [0.0], [0.0])


def test_the_winner_of_four_equal_means_is_drawn_in_60_of_100() -> None:
    """By whole studies: means drawn, then drawn again about them, and the winner's share counted."""
    generator = np.random.default_rng(1)
    winners = []
    for _ in range(400):
        means = generator.normal(size=4)
        again = means[:, None] + generator.normal(size=(4, 300))
        winners.append(np.bincount(again.argmax(axis=0), minlength=4).max() / 300)
    slow = float(np.median(winners))
    assert slow == pytest.approx(0.6, abs=0.05)
    assert float(winner_if_equal(generator.normal(size=(4, 500)))) == pytest.approx(slow, abs=0.06)
    assert float(winner_if_equal(np.zeros((4, 10)))) == pytest.approx(0.25)
    assert winner_if_equal(generator.normal(size=(3, 50, 2))).shape == (2,)


def test_how_sums_were_rounded_does_not_change_who_wins_among_equals() -> None:
    generator = np.random.default_rng(5)
    # Draws of few values, as seeds drawn again are: many sums are equal but for rounding.
    deviations = generator.choice([-0.3, -0.1, 0.1, 0.2], size=(2, 250, 4))
    rounded_otherwise = deviations * (1 + 1e-15 * generator.normal(size=deviations.shape))
    assert (winner_if_equal(deviations) == winner_if_equal(rounded_otherwise)).all()


def test_deviations_that_hardly_move_are_tied_as_the_means_are() -> None:
    """All at 0.7 in every draw: what is left of them is rounding alone, and no one of four is the best."""
    deviations = np.random.default_rng(6).choice([-1.1e-16, 0.0, 1.1e-16], size=(4, 250))
    assert float(winner_if_equal(deviations, tolerance=tie_tolerance(np.array([0.7])))) == pytest.approx(0.25)


def test_ties_share_the_best_equally_and_undefined_is_never_the_best() -> None:
    generator = np.random.default_rng(7)
    values = generator.integers(0, 4, size=(5, 60)) / 10
    values[4, :20] = np.nan
    values[3] = np.nan
    expected = np.zeros(5)
    for draw in values.T:
        highest = [place for place in range(5) if draw[place] == np.nanmax(draw)]
        expected[highest] += 1 / len(highest) / 60
    expected[3] = np.nan
    found = share_of_best(values, tie_tolerance(values, (0, 1)))
    assert found == pytest.approx(expected, nan_ok=True)
    assert np.nansum(found) == pytest.approx(1)
    rounded_otherwise = values * (1 + 1e-15 * generator.normal(size=values.shape))
    assert share_of_best(rounded_otherwise, tie_tolerance(values, (0, 1))) == pytest.approx(found, abs=0, nan_ok=True)


def test_the_tolerance_of_ties_leaves_out_what_is_infinite_or_undefined() -> None:
    assert tie_tolerance(np.array([np.inf, np.nan, -0.5])) == 0.5e-12
    assert tie_tolerance(np.array([np.nan])) == 0
    assert tie_tolerance(np.zeros(0)) == 0
    assert tie_tolerance(np.array([[1.0, 2.0], [3.0, -4.0]])).tolist() == [3e-12, 4e-12]


def test_examples_run() -> None:
    assert doctest.testmod(module).failed == 0
