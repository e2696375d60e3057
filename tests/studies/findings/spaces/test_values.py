"""The numbers of one trial's space, against loops over rows and against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, normalized_mutual_info_score, precision_score, recall_score

import equipoise
from equipoise.studies.analysis import Layout, TestRows
from equipoise.studies.findings.spaces._result import EMBEDDING, NEAREST, OWN_ROWS
from equipoise.studies.findings.spaces._values import (
    AMI,
    NMI,
    RECALL,
    UNIFORMITY,
    Grouping,
    Key,
    better_of,
    classes_grouping,
    columns_grouping,
    downstream,
    groupings_of,
    partition_of,
    sources_of,
    values_of,
)
from equipoise.studies.plans import Named
from equipoise.tallies import (
    Coded,
    EmbeddingOptions,
    EmbeddingSpace,
)
from helpers.cases.study_space import Method, minoritised, study

GROUPS = ("many", "few")


def drawn(rows: int = 60, classes: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    target = generator.integers(0, classes, rows)
    points = generator.normal(size=(classes, 4))[target] + 0.8 * generator.normal(size=(rows, 4))
    return points.astype(np.float16), target, generator.integers(-1, 2, rows)


def recall_by_loop(points: np.ndarray, target: np.ndarray, codes: np.ndarray, group: int) -> float:
    """Ask of every row of the group whether its nearest other row of all is of its class."""
    right = asked = 0
    exact = points.astype(np.float64)
    for query in range(len(exact)):
        if codes[query] != group or (target == target[query]).sum() < 2:
            continue
        best, found = math.inf, -1
        for other in range(len(exact)):
            distance = math.dist(exact[query], exact[other])
            if other != query and distance < best:
                best, found = distance, other
        right, asked = right + int(target[found] == target[query]), asked + 1
    return right / asked if asked else math.nan


@given(st.integers(0, 10_000), st.integers(8, 40), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_recall_of_a_group_is_that_of_a_loop_over_all_rows(seed: int, rows: int, classes: int) -> None:
    points, target, codes = drawn(rows, classes, seed)
    found = values_of(points, target, [Grouping("g", codes, GROUPS)], {}, classes=classes)
    for index, group in enumerate(GROUPS):
        expected = recall_by_loop(points, target, codes, index)
        assert found[Key("g", group, EMBEDDING, None, RECALL)] == pytest.approx(expected, nan_ok=True)
    everyone = recall_by_loop(points, target, np.zeros(rows, dtype=int), 0)
    assert found[Key("g", None, EMBEDDING, None, RECALL)] == pytest.approx(everyone, nan_ok=True)


def test_nmi_of_a_group_is_read_from_one_clustering_with_a_cluster_for_every_training_class() -> None:
    points, target, codes = drawn(200, 5)
    found = values_of(points, target, [Grouping("g", codes, GROUPS)], {}, classes=5, clusters=7)
    clusters = EmbeddingSpace(points, Coded(target, tuple("abcde")), EmbeddingOptions(clusters=7)).clusters
    assert len(np.unique(clusters)) == 7
    for index, group in enumerate(GROUPS):
        own = codes == index
        expected = normalized_mutual_info_score(target[own], clusters[own])
        assert found[Key("g", group, EMBEDDING, None, NMI)] == pytest.approx(expected)
    assert found[Key("g", None, EMBEDDING, None, NMI)] == pytest.approx(normalized_mutual_info_score(target, clusters))


def test_more_training_classes_than_test_rows_are_as_many_clusters_as_rows() -> None:
    points, target, codes = drawn(6, 3)
    found = values_of(points, target, [Grouping("g", codes, GROUPS)], {}, classes=3, clusters=500)
    assert not math.isnan(found[Key("g", None, EMBEDDING, None, NMI)])


@given(st.integers(0, 10_000), st.integers(5, 80))
@settings(max_examples=40, deadline=None)
def test_macro_values_of_a_group_are_scikit_learns_over_the_classes_it_has(seed: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    truth, guess, codes = (generator.integers(low, high, rows) for low, high in ((0, 6), (0, 6), (-1, 3)))
    found = downstream(truth, guess, codes, 3, 6)
    for group in range(3):
        own = codes == group
        if not own.any():
            assert np.isnan(found[group]).all()
            continue
        y, said = truth[own], guess[own]
        told = [label for label in np.unique(y) if label in said]
        precision = precision_score(y, said, labels=told, average="macro") if told else math.nan
        recall = recall_score(y, said, labels=np.unique(y), average="macro")
        assert found[group] == pytest.approx([precision, recall, accuracy_score(y, said)], nan_ok=True)


def test_uniformity_of_groups_is_taken_at_the_size_of_the_smallest() -> None:
    generator = np.random.default_rng(1)
    points, target = generator.normal(size=(300, 6)), generator.integers(0, 3, 300)
    codes = (np.arange(300) >= 270).astype(np.int64)
    found = values_of(points, target, [Grouping("g", codes, GROUPS)], {}, classes=3)
    small = np.linalg.svd(points[270:], compute_uv=False)
    shares = small / small.sum()
    expected = float((1 / 6 * np.log(1 / 6 / shares)).sum())
    assert found[Key("g", "few", EMBEDDING, None, UNIFORMITY)] == pytest.approx(expected)
    # Both are random directions alike: at its own size the large group would look far more even.
    assert abs(found[Key("g", "many", EMBEDDING, None, UNIFORMITY)] - expected) < 0.1


def test_rows_without_a_class_take_no_part_and_lone_groups_are_undefined() -> None:
    points, target, codes = drawn(40, 3)
    target = np.where(np.arange(40) < 5, -1, target)
    codes = np.where(target == 0, 1, 0)
    guesses = {(NEAREST, OWN_ROWS): np.where(target < 0, 0, target)}
    found = values_of(points, target, [Grouping("g", codes, GROUPS)], guesses, classes=3)
    assert found[Key("g", None, NEAREST, OWN_ROWS, "accuracy")] == 1.0
    assert math.isnan(found[Key("g", "few", EMBEDDING, None, NMI)])
    assert math.isnan(found[Key("g", "few", EMBEDDING, None, AMI)])
    assert values_of(points, np.full(40, -1), [Grouping("g", codes, GROUPS)], {}, classes=3) == {}


def test_arrays_of_other_rows_or_classes_are_refused() -> None:
    points, target, codes = drawn(40, 3)
    with pytest.raises(equipoise.BadInput, match="39 rows"):
        values_of(points[:39], target, [Grouping("g", codes, GROUPS)], {}, classes=3)
    with pytest.raises(equipoise.BadInput, match="go from"):
        values_of(points, target, [Grouping("g", codes, GROUPS)], {("svm", OWN_ROWS): target + 1}, classes=3)


def test_kept_arrays_of_classifiers_are_found_by_their_names() -> None:
    names = ["embedding.test", "downstream.svm.own.test", "downstream.svm.balanced.test", "downstream.svm.own.dev",
             "leakage.embedding"]  # fmt: skip
    assert sources_of(names) == {
        ("svm", "own"): "downstream.svm.own.test", ("svm", "balanced"): "downstream.svm.balanced.test",
    }  # fmt: skip
    assert (better_of(UNIFORMITY), better_of(RECALL), better_of("accuracy")) == ("low", "high", "high")


def test_groups_are_the_sides_of_the_condition_where_it_has_some_else_the_columns() -> None:
    data, _ = study([Method("margin")], [minoritised(0.9), Named("as_given", 1, {})], seeds=1)
    assert data.rows is not None
    first, second = data.trials[0], data.trials[-1]
    [sides] = groupings_of(first, data.layout, data.rows, [("colour",)], data.layout.classes)
    assert (sides.attribute, sides.groups, sides.majoritised) == (
        "classes", ("majoritised", "minoritised"), "majoritised",
    )  # fmt: skip
    told = partition_of(first.condition, data.layout.classes, first.seed)
    assert told is not None
    for row, code in enumerate(sides.codes):
        assert sides.groups[code] == told[int(data.rows.target[row])]
    [colours] = groupings_of(second, data.layout, data.rows, [("colour",)], data.layout.classes)
    assert colours.groups == tuple(str(labels[0]) for labels in data.layout.groups)
    assert (colours.codes == data.rows.group).all()
    assert colours.sizes.sum() == len(data.rows)


def test_a_missing_value_is_in_no_group_and_an_unseen_class_on_no_side() -> None:
    layout = Layout(("colour",), (("red",), (None,)), ("a", "b", "c", "new"))
    rows = TestRows(np.arange(4), np.array([0, 1, 0, 1]), np.array([0, 1, 3, -1]))
    assert columns_grouping(layout, rows, ("colour",)).codes.tolist() == [0, -1, 0, -1]
    assert classes_grouping(("majoritised", "minoritised", "majoritised"), 4, rows).codes.tolist() == [0, 1, -1, -1]
    assert partition_of(Named("gone_plugin", 1, {}), ("a", "b"), 0) is None
    assert partition_of(Named("minoritised", 1, {"degree": 0.9, "classes": 9}), ("a", "b"), 0) is None
