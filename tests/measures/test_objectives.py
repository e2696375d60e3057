"""What epochs and treatments are chosen by: against registered measures and scikit-learn."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from equipoise import measures
from equipoise.foundation import BadInput
from equipoise.measures import (
    FAIRNESSES,
    PERFORMANCES,
    ClassCounts,
    Fairness,
    Performance,
    PerformanceReason,
    auc_of,
    check_fairness,
    check_performance,
    class_fairness,
    class_performance,
    counts_have_collapsed,
    default_performance,
    has_collapsed,
    r_squared,
)


def drawn(seed: int, classes: int, groups: int, rows: int = 200) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    target, group = generator.integers(0, classes, rows), generator.integers(0, groups, rows)
    said = np.where(generator.random(rows) < 0.6, target, generator.integers(0, classes, rows))
    cells = np.zeros((groups, classes, classes))
    np.add.at(cells, (group, target, said), 1)
    return target, said, group, ClassCounts.of(cells)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 3))
def test_performances_are_those_of_scikit_learn(seed: int, classes: int, groups: int) -> None:
    target, said, _, counts = drawn(seed, classes, groups)
    expected = {
        "accuracy": metrics.accuracy_score(target, said),
        "balanced_accuracy": metrics.balanced_accuracy_score(target, said),
        "f1": metrics.f1_score(target, said, average="macro"),
    }
    for name, value in expected.items():
        assert class_performance(name, counts.overall) == pytest.approx(value)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans())
def test_auc_is_that_of_scikit_learn_with_ties(seed: int, classes: int, coarse: bool) -> None:
    generator = np.random.default_rng(seed)
    target = np.r_[np.arange(classes), generator.integers(0, classes, 80)]
    raw = generator.random((2, len(target), classes)) + 0.5 * np.eye(classes)[target]
    raw = np.round(raw, 1) + 0.05 if coarse else raw
    scores = raw / raw.sum(axis=-1, keepdims=True)
    for index, found in enumerate(auc_of(scores, target)):
        if classes == 2:
            expected = metrics.roc_auc_score(target, scores[index, :, 1])
        else:
            expected = np.mean([metrics.roc_auc_score(target == one, scores[index, :, one]) for one in range(classes)])
        assert found == pytest.approx(expected)
    assert np.isnan(auc_of(scores, np.zeros(len(target)))).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 3))
def test_fairness_is_1_minus_the_registered_gap(seed: int, classes: int, groups: int) -> None:
    target, said, group, counts = drawn(seed, classes, groups)
    for name in ("GAP", "DP", "EO", "EOTP"):
        measure = getattr(measures, str(FAIRNESSES[name].measure))
        if name == "GAP":
            expected = 1 - measure(target, said, sensitive_features=group)
        else:
            expected = 1 - np.mean(
                [measure(target, said, sensitive_features=group, favourable=one) for one in range(classes)]
            )
        assert class_fairness(name, counts, "accuracy") == pytest.approx(expected), name  # type: ignore[arg-type]
    worst = min(metrics.accuracy_score(target[group == one], said[group == one]) for one in range(groups))
    assert class_fairness("worst_group", counts, "accuracy") == pytest.approx(worst)
    worst = min(metrics.balanced_accuracy_score(target[group == one], said[group == one]) for one in range(groups))
    assert class_fairness("worst_group", counts, "balanced_accuracy") == pytest.approx(worst)


def test_a_group_without_rows_leaves_fairness_undefined() -> None:
    cells = np.zeros((2, 2, 2))
    cells[0] = [[3, 1], [1, 3]]
    for name in get_args(Fairness):
        assert np.isnan(class_fairness(name, ClassCounts.of(cells), "accuracy")), name


def test_r2_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    target, said = generator.normal(size=50), generator.normal(size=50)
    assert r_squared(((target - said) ** 2).mean(), target.var()) == pytest.approx(metrics.r2_score(target, said))
    assert np.isnan(r_squared(1.0, 0.0))


def test_skewed_training_classes_ask_for_balanced_accuracy() -> None:
    assert default_performance("class", [400, 100]) == ("accuracy", PerformanceReason.USUAL)
    assert default_performance("class", [401, 100, 0]) == ("balanced_accuracy", PerformanceReason.SKEWED)
    assert default_performance("class", [500, 0]) == ("accuracy", PerformanceReason.USUAL)
    assert default_performance("regression", []) == ("pearson", PerformanceReason.USUAL)


def test_what_a_task_does_not_have_is_refused_with_what_it_has() -> None:
    for task in ("class", "regression"):
        for name in get_args(Performance):
            if task in PERFORMANCES[name].tasks:
                assert check_performance(name, task) == name  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"accuracy, balanced_accuracy, auc.* f1"):
        check_performance("acuracy", "class")
    with pytest.raises(BadInput, match=r"pearson.* r2"):
        check_performance("accuracy", "regression")
    with pytest.raises(BadInput, match=r"GAP.* worst_group"):
        check_fairness("DP", "regression")


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_collapsed_counts_are_collapsed_tables(seed: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 60, (5, classes, classes)).astype(float)
    cells[0, :, 1:] = 0
    own = ClassCounts.of(cells)
    assert counts_have_collapsed(own.actual, own.predicted, own.right).tolist() == has_collapsed(cells).tolist()
