"""The scores that select an epoch are the registered measures, for all trials at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, r2_score, roc_auc_score

from equipoise import measures
from equipoise.foundation import BadInput
from equipoise.training import Rows, Scores, scores_of
from equipoise.training._selection import BEHIND, FAR_BEHIND


def rows_of(target: np.ndarray, group: np.ndarray) -> Rows:
    return Rows(np.zeros((len(target), 1), dtype=np.float32), np.arange(len(target)), target, group, None)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 3), st.integers(1, 40))
def test_class_scores_are_accuracy_fairness_and_distance(seed: int, classes: int, groups: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    target, group = generator.integers(0, classes, rows), generator.integers(0, groups, rows)
    target[:classes], group[:groups] = np.arange(classes)[:rows], np.arange(groups)[:rows]
    values = generator.integers(0, classes, (3, rows))
    found = scores_of(values, rows_of(target, group), classes, groups, "class")
    # What collapsed (few rows can be all of one class) stands so much further behind.
    losses = found.losses("dto") - FAR_BEHIND * found.has_collapsed
    if len(np.unique(group)) < groups:
        assert np.isnan(found.fairness).all()  # a group without dev rows: no class is defined in all groups
        assert losses == pytest.approx(BEHIND + 1 - found.performance)
        return
    for trial, said in enumerate(values):
        assert found.performance[trial] == pytest.approx((said == target).mean())
        fair = measures.fairness(target, said, sensitive_features=group)
        assert found.fairness[trial] == pytest.approx(fair, nan_ok=True)
        distance = measures.distance_to_optimum(target, said, sensitive_features=group)
        expected = BEHIND + 1 - found.performance[trial] if np.isnan(distance) else distance
        assert losses[trial] == pytest.approx(expected)
    losses = found.losses("performance") - FAR_BEHIND * found.has_collapsed
    assert losses == pytest.approx(1 - found.performance)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(8, 60))
def test_regression_scores_are_pearson_fairness_and_distance(seed: int, groups: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    group = np.arange(rows) % groups
    target = generator.normal(100, 10, rows).astype(np.float32)
    values = np.stack([target + generator.normal(0, 5, rows), generator.normal(size=rows), np.full(rows, 3.25)])
    found = scores_of(values, rows_of(target, group), 4, groups, "regression")
    for trial in range(2):
        asked = (target, values[trial])
        distance = measures.regression_distance_to_optimum(*asked, sensitive_features=group)
        behind = FAR_BEHIND * (r2_score(target, values[trial]) <= 0)
        assert found.losses("dto")[trial] == pytest.approx(behind + distance, rel=1e-5)
        assert found.fairness[trial] == pytest.approx(
            measures.regression_fairness(*asked, sensitive_features=group), rel=1e-5
        )
    assert np.isnan(found.performance[2])
    assert found.losses("dto")[2] == np.inf


def test_rows_without_a_class_or_a_group_are_left_out() -> None:
    target, group = np.array([0, 1, 0, 1, -1, 1]), np.array([0, 0, 1, 1, 0, -1])
    found = scores_of(np.array([[0, 1, 0, 0, 1, 1]]), rows_of(target, group), 2, 2, "class")
    assert found.performance[0] == pytest.approx(4 / 5)
    assert found.fairness[0] == pytest.approx(1 - np.sqrt(1 / 2))


def test_an_epoch_without_fairness_never_wins_over_one_that_has_it() -> None:
    worst = Scores(np.array([-1.0, 0.999, 1.0, np.nan]), np.array([-1.0, np.nan, np.nan, np.nan])).losses("dto")
    assert worst.argmin() == 0  # the largest distance there is
    assert worst[2] < worst[1] < np.inf == worst[3]
    assert Scores(np.array([0.5, 0.9]), np.array([0.95, np.nan])).losses("performance").argmin() == 1


def test_of_candidates_in_order_the_best_is_taken_or_the_last() -> None:
    found = Scores(np.array([0.9, 0.95, 0.2]), np.array([0.9, 0.1, 0.2]))
    assert [found.best(how) for how in ("dto", "performance", "last")] == [0, 1, 2]  # type: ignore[arg-type]


def test_what_collapsed_is_taken_only_where_nothing_else_is_there() -> None:
    performance, fairness = np.array([0.94, 0.7, 0.6]), np.array([1.0, 0.8, np.nan])
    found = Scores(performance, fairness, np.array([True, False, False]))
    assert [found.best(how) for how in ("dto", "performance")] == [1, 1]  # type: ignore[arg-type]
    found = Scores(performance, fairness, np.array([True, True, False]))
    assert [found.best(how) for how in ("dto", "performance")] == [2, 2]  # type: ignore[arg-type]
    found = Scores(performance, fairness, np.array([True, True, True]))
    assert [found.best(how) for how in ("dto", "performance")] == [0, 0]  # type: ignore[arg-type]


def test_a_constant_prediction_has_collapsed_and_an_r2_of_0_as_well() -> None:
    target, group = np.repeat([0, 1], [94, 6]), np.tile([0, 1], 50)
    found = scores_of(np.stack([np.zeros(100, dtype=int), target]), rows_of(target, group), 2, 2, "class")
    assert found.has_collapsed.tolist() == [True, False]
    numbers = np.linspace(0, 1, 100)
    values = np.stack([np.full(100, 0.5), numbers, 1 - numbers])
    found = scores_of(values, rows_of(numbers, group), 4, 2, "regression", performance="r2")
    assert found.has_collapsed.tolist() == [True, False, True]
    assert found.performance == pytest.approx([r2_score(numbers, value) for value in values])


def test_chosen_performances_and_the_worst_group_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    target, group = generator.integers(0, 3, 300), generator.integers(-1, 2, 300)
    scores = generator.dirichlet(np.ones(3), (2, 300)) + 0.3 * np.eye(3)[target]
    scores /= scores.sum(axis=-1, keepdims=True)
    values = scores.argmax(axis=-1)

    def auc(truth: np.ndarray, said: np.ndarray) -> float:
        return float(roc_auc_score(truth, said, multi_class="ovr"))

    for name, value in {
        "balanced_accuracy": lambda rows, trial: balanced_accuracy_score(target[rows], values[trial][rows]),
        "f1": lambda rows, trial: f1_score(target[rows], values[trial][rows], average="macro"),
        "auc": lambda rows, trial: auc(target[rows], scores[trial][rows]),
    }.items():
        found = scores_of(
            values, rows_of(target, group), 3, 2, "class",
            performance=name, fairness="worst_group", scores=scores,  # type: ignore[arg-type]
        )  # fmt: skip
        for trial in range(2):
            assert found.performance[trial] == pytest.approx(value(group > -2, trial)), name
            assert found.fairness[trial] == pytest.approx(min(value(group == one, trial) for one in (0, 1))), name


def test_auc_without_scores_is_refused_with_what_needs_none() -> None:
    target = np.array([0, 1, 0, 1])
    with pytest.raises(BadInput, match="balanced_accuracy"):
        scores_of(target[None], rows_of(target, target), 2, 2, "class", performance="auc")
