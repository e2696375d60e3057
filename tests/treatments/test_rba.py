"""Reducing bias amplification against a loop over rows, classes and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.treatments.domain_discriminative import MARGIN, ROUNDS, balanced, constraints, replayed

SHAPES = [(2, 2), (10, 2), (4, 3), (3, 5)]


def by_hand(scores: Any, group: Any, groups: int, weights: Any = None) -> tuple[list[list[float]], bool]:
    """The rule of the fact sheet, row by row; with two groups its four numbers are written out."""
    rows, classes = scores.shape
    r, m = 1 / groups, 0.05
    if groups == 2:
        bounds = [(r - 1 - m, r - m), (1 - m - r, -(m + r))]
    else:
        bounds = [tuple(r - m - (g == d) for g in range(groups)) for d in range(groups)]
        bounds += [tuple((g == d) - (r + m) for g in range(groups)) for d in range(groups)]
    lambdas = [[0.0] * len(bounds) for _ in range(classes)]
    now = [list(row) for row in scores]
    for _ in range(100):
        said = [max(range(classes), key=lambda y, row=row: (row[y], -y)) for row in now]
        violated = False
        for y in range(classes):
            for c in bounds:
                total = 0.0
                for i in range(rows):
                    if said[i] == y and group[i] >= 0:
                        total += (1.0 if weights is None else weights[i]) * c[group[i]]
                violated = violated or total > 1e-9
        if not violated:
            return now, True
        for y in range(classes):
            for k, c in enumerate(bounds):
                total = 0.0
                for i in range(rows):
                    if said[i] == y and group[i] >= 0:
                        total += (1.0 if weights is None else weights[i]) * c[group[i]]
                lambdas[y][k] = max(0.0, lambdas[y][k] + 3 * total)
        for i in range(rows):
            if group[i] >= 0:
                y = said[i]
                now[i][y] = scores[i][y] - sum(lam * c[group[i]] for lam, c in zip(lambdas[y], bounds, strict=True))
    return now, False


def biased(rows: int, classes: int, groups: int, seed: int, scale: float = 3.0) -> tuple[Any, Any]:
    """Scores as exp(logit), which prefer class g in group g."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, groups, rows)
    logits = generator.normal(size=(rows, classes)) * scale
    logits[np.arange(rows), group % classes] += 2.0
    return np.exp(logits), group


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_the_scores_of_every_row_are_those_of_a_loop(classes: int, groups: int, seed: int) -> None:
    scores, group = biased(60, classes, groups, seed)
    weights = None if seed % 2 else np.random.default_rng(seed).random(60)
    found = balanced(scores, group, groups, weights)
    expected, met = by_hand(scores, group, groups, weights)
    assert found.met is met
    np.testing.assert_allclose(found.scores, expected, rtol=1e-9, atol=1e-9)
    assert found.multipliers.shape == (len(found.multipliers), classes, len(constraints(groups)))
    assert len(found.multipliers) <= ROUNDS


def test_with_two_groups_the_constraints_are_the_papers_four_numbers() -> None:
    np.testing.assert_allclose(constraints(2), [[0.5 - 1 - 0.05, 0.5 - 0.05], [1 - 0.05 - 0.5, -(0.05 + 0.5)]])


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_where_every_constraint_is_met_the_shares_are_within_the_margin(classes: int, groups: int) -> None:
    done = 0
    for seed in range(20):
        scores, group = biased(200 * classes, classes, groups, seed)
        found = balanced(scores, group, groups)
        if not found.met:
            continue
        done += 1
        said = found.scores.argmax(axis=1)
        for y in range(classes):
            numbers = np.bincount(group[said == y], minlength=groups)
            if numbers.sum():
                shares = numbers / numbers.sum()
                assert np.abs(shares - 1 / groups).max() <= MARGIN + 1e-9
    assert done >= 5, "the bounds were met too seldom for this to say anything"


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_residuals_say_how_far_each_share_is_beyond_its_bound(classes: int, groups: int) -> None:
    """By hand: the share of a held group among the rows of a class, less the bound, of both bounds."""
    scores, group = biased(50 * classes, classes, groups, seed=5)
    found = balanced(scores, group, groups)
    said = found.scores.argmax(axis=1)
    held = 1 if groups == 2 else groups
    for y in range(classes):
        for d in range(held):
            share = float(np.mean(group[said == y] == d))
            low, high = 1 / groups - MARGIN - share, share - 1 / groups - MARGIN
            np.testing.assert_allclose(found.residuals[y, [d, held + d]], [low, high], atol=1e-12)
    assert found.met == bool((found.residuals <= 0).all())


def test_predictions_that_are_in_balance_already_stay_as_they_are() -> None:
    scores = np.array([[5.0, 1.0], [5.0, 1.0], [1.0, 5.0], [1.0, 5.0]])
    found = balanced(scores, np.array([0, 1, 0, 1]), 2)
    assert found.met
    assert len(found.multipliers) == 0
    assert np.array_equal(found.scores, scores)


def test_a_row_without_a_group_counts_nowhere_and_stays_as_it_is() -> None:
    scores, group = biased(80, 3, 2, seed=1)
    unknown = group.copy()
    unknown[::4] = -1
    found = balanced(scores, unknown, 2)
    known = unknown >= 0
    alone = balanced(scores[known], group[known], 2)
    assert np.array_equal(found.scores[known], alone.scores)
    assert np.array_equal(found.scores[~known], scores[~known])


def test_the_rounds_replayed_on_the_same_rows_give_the_same_and_each_row_by_itself() -> None:
    scores, group = biased(80, 4, 3, seed=2)
    found = balanced(scores, group, 3)
    assert len(found.multipliers)
    assert np.array_equal(replayed(scores, group, 3, found.multipliers), found.scores)
    others, other_group = biased(50, 4, 3, seed=3)
    whole = replayed(others, other_group, 3, found.multipliers)
    for row in range(50):
        one = slice(row, row + 1)
        assert np.array_equal(replayed(others[one], other_group[one], 3, found.multipliers), whole[one])


def test_a_balance_that_cannot_be_met_ends_and_says_so() -> None:
    found = balanced(np.array([[9.0, 1.0]]), np.array([0]), 2)
    assert not found.met
    assert len(found.multipliers) == ROUNDS
    # One row of the first group is all that its class has: a share of 1, or none and nothing to miss.
    assert found.residuals.max() == pytest.approx(1 - 0.5 - MARGIN)
