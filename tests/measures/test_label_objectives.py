"""Performance and fairness of several labels against scikit-learn and plain loops, and when a model has collapsed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
    roc_auc_score,
)

from equipoise.measures import (
    ClassCounts,
    all_labels_have_collapsed,
    check_performance,
    class_fairness,
    class_performance,
    default_performance,
    label_scores,
    labels_have_collapsed,
)
from equipoise.training import Rows, scores_of


def drawn(seed: int, rows: int = 150, labels: int = 4, groups: int = 3) -> tuple[Any, Any, Any, Any]:
    generator = np.random.default_rng(seed)
    present = generator.random((rows, labels)) < generator.uniform(0.15, 0.7, labels)
    scores = np.clip(0.35 * present + 0.6 * generator.random((rows, labels)), 0, 1).round(2)
    return present.astype(int), scores, (scores >= 0.5).astype(int), generator.integers(0, groups, rows)


def counts_of(present: Any, said: Any, group: Any, groups: int) -> ClassCounts:
    """Counted cell by cell."""
    cells = np.zeros((groups, present.shape[1], 4))
    for row in range(len(present)):
        for label in range(present.shape[1]):
            cells[group[row], label, 2 * present[row, label] + said[row, label]] += 1
    return ClassCounts.of_labels(cells)


@pytest.mark.parametrize("seed", range(5))
def test_performances_are_means_over_labels_of_scikit_learns(seed: int) -> None:
    present, scores, said, group = drawn(seed)
    counts = counts_of(present, said, group, 3)
    columns = range(present.shape[1])
    expected = {
        "accuracy": np.mean([accuracy_score(present[:, column], said[:, column]) for column in columns]),
        "balanced_accuracy": np.mean(
            [balanced_accuracy_score(present[:, column], said[:, column]) for column in columns]
        ),
        "f1": f1_score(present, said, average="macro"),
    }
    for name, value in expected.items():
        assert class_performance(name, counts.overall) == pytest.approx(value)  # type: ignore[arg-type]
    assert label_scores("auc", scores, present) == pytest.approx(roc_auc_score(present, scores, average="macro"))
    expected_precision = average_precision_score(present, scores, average="macro")
    assert label_scores("average_precision", scores, present) == pytest.approx(expected_precision)


@pytest.mark.parametrize("seed", range(5))
def test_fairness_is_that_of_gaps_of_each_label(seed: int) -> None:
    present, _, said, group = drawn(seed)
    counts = counts_of(present, said, group, 3)
    gaps: dict[str, list[float]] = {"tpr": [], "fpr": [], "dp": []}
    for label in range(present.shape[1]):
        rates = [
            (
                recall_score(present[group == one, label], said[group == one, label]),
                recall_score(1 - present[group == one, label], said[group == one, label] == 0),
                said[group == one, label].mean(),
            )
            for one in range(3)
        ]
        for name, place in (("tpr", 0), ("fpr", 1), ("dp", 2)):
            values = [rate[place] for rate in rates]
            gaps[name].append(max(values) - min(values))
    expected = {
        "GAP": 1 - np.sqrt(np.mean(np.square(gaps["tpr"]))), "DP": 1 - np.mean(gaps["dp"]),
        "EOTP": 1 - np.mean(gaps["tpr"]), "EO": 1 - np.mean(np.maximum(gaps["tpr"], gaps["fpr"])),
        "worst_group": min(f1_score(present[group == one], said[group == one], average="macro") for one in range(3)),
    }  # fmt: skip
    for name, value in expected.items():
        assert class_fairness(name, counts, "f1") == pytest.approx(value), name  # type: ignore[arg-type]


@pytest.mark.parametrize("performance", ["accuracy", "balanced_accuracy", "f1", "auc", "average_precision"])
def test_selection_counts_what_objectives_count_and_leaves_unknown_rows_out(performance: Any) -> None:
    present, scores, said, group = drawn(9)
    known = counts_of(present[5:], said[5:], group[5:], 3)
    target = present.copy()
    target[:5, 1] = -1
    rows = Rows(np.zeros((len(said), 1)), np.arange(len(said)), target.astype(np.int8), group)
    found = scores_of(said[None], rows, 1, 3, "multilabel", performance=performance, fairness="DP", scores=scores[None])
    if performance in ("auc", "average_precision"):
        expected = label_scores(performance, scores[5:], present[5:])
    else:
        expected = class_performance(performance, known.overall)
    assert found.performance[0] == pytest.approx(float(expected))
    assert found.fairness[0] == pytest.approx(float(class_fairness("DP", known, "f1")))
    worst = scores_of(
        said[None], rows, 1, 3, "multilabel", performance=performance, fairness="worst_group", scores=scores[None]
    ).fairness[0]
    own = [np.flatnonzero(group[5:] == one) + 5 for one in range(3)]
    each = [
        float(label_scores(performance, scores[chosen], present[chosen])) if performance in ("auc", "average_precision")
        else float(class_performance(performance, counts_of(present[chosen], said[chosen], group[chosen], 3).overall))
        for chosen in own
    ]  # fmt: skip
    assert worst == pytest.approx(min(each))


def test_a_label_that_a_group_lacks_is_left_out_and_never_zero() -> None:
    present, _, said, group = drawn(3)
    present[group == 1, 2] = 0
    counts = counts_of(present, said, group, 3)
    kept = [0, 1, 3]
    others = counts_of(present[:, kept], said[:, kept], group, 3)
    assert class_fairness("EOTP", counts, "f1") == pytest.approx(float(class_fairness("EOTP", others, "f1")))
    silent = counts_of(0 * present, said, group, 3)
    assert np.isnan(class_fairness("GAP", silent, "f1"))
    assert np.isnan(label_scores("auc", said, 0 * present))
    assert np.isnan(label_scores("average_precision", said, 0 * present))
    assert np.isnan(class_performance("f1", counts_of(0 * present, 0 * said, group, 3).overall))


def test_a_constant_has_collapsed_and_a_rare_label_that_is_found_has_not() -> None:
    rows = 1_000
    present = np.zeros((rows, 2), dtype=int)
    present[:5, 0], present[:400, 1] = 1, 1
    group = np.arange(rows) % 2
    perfect = counts_of(present, present, group, 2).overall
    assert not labels_have_collapsed(perfect).any()
    assert not all_labels_have_collapsed(perfect)
    nothing = counts_of(present, 0 * present, group, 2).overall
    assert labels_have_collapsed(nothing).all()
    assert all_labels_have_collapsed(nothing)
    half = present.copy()
    half[:, 0] = 0
    one = counts_of(present, half, group, 2).overall
    assert labels_have_collapsed(one).tolist() == [True, False]
    assert not all_labels_have_collapsed(one)
    # A coin for each row is no better than a constant.
    coin = np.random.default_rng(0).integers(0, 2, (rows * 20, 1))
    truth = np.random.default_rng(1).integers(0, 2, (rows * 20, 1))
    assert all_labels_have_collapsed(counts_of(truth, coin, np.zeros(rows * 20, dtype=int), 1).overall)
    # Nothing can be said where every row has a label.
    assert not all_labels_have_collapsed(counts_of(truth * 0 + 1, coin, np.zeros(rows * 20, dtype=int), 1).overall)


def test_macro_f1_is_the_usual_performance_and_numbers_have_none() -> None:
    assert default_performance("multilabel", [100])[0] == "f1"
    assert check_performance("average_precision", "multilabel") == "average_precision"
    with pytest.raises(ValueError, match="several labels a row"):
        check_performance("pearson", "multilabel")
