"""Classifiers on a frozen embedding: their numbers per group, their splits, and what they say about bad input."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, precision_score, recall_score

from equipoise.audits._units import carried_by
from equipoise.audits.downstream import (
    Downstream,
    DownstreamReason,
    KMeansClassifier,
    class_pairs,
    downstream,
    macro_values,
    propagation,
    rebalanced,
    stratified_folds,
)
from equipoise.audits.downstream._downstream import read_rows, split_rows
from equipoise.audits.downstream._macro import resampled_rows
from equipoise.foundation import BadInput
from equipoise.results import because
from equipoise.stats import standard_deviation_of_draws

MEASURES = ("macro_precision", "macro_recall", "accuracy")


class Oracle:
    """Predicts what stands in the first column: the points carry the answer, so every number is known by hand."""

    def fit(self, points: NDArray[np.float64], classes: NDArray[np.int64]) -> Oracle:
        return self

    def predict(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        return points[:, 0].astype(np.int64)


def planted(rows: int = 600, harm: float = 0.7, seed: int = 0) -> tuple[NDArray[np.float64], ...]:
    """Three classes that stand apart, except that in group b they stand closer by ``harm``."""
    generator = np.random.default_rng(seed)
    group = generator.choice(["a", "b"], rows, p=[0.6, 0.4])
    target = generator.integers(0, 3, rows)
    points = generator.normal(size=(rows, 6))
    for place in (1, 2):
        points[:, place] += 3.0 * (target == place) * np.where(group == "b", 1 - harm, 1.0)
    return points, target, group


def answered(truth: list[int], guess: list[int], groups: list[str], **options: object) -> Downstream:
    """Test given predictions: a training row for each class stands in front."""
    classes = sorted({*truth, *guess})
    points = np.array([*classes, *guess], dtype=float)[:, None]
    train = [True] * len(classes) + [False] * len(truth)
    return downstream(
        points, [*classes, *truth], {"g": [groups[0]] * len(classes) + groups}, learners={"oracle": Oracle()},
        train=train, **{"least": 1, "draws": 50} | options,
    )  # fmt: skip


def value(result: Downstream, measure: str, **fields: object) -> float:
    [record] = result.find(measure=measure, **fields)
    return record.value


def test_the_default_and_the_papers_label_set_on_a_worked_example() -> None:
    # Group a: truth 0 0 1, guesses 0 2 2. It has the classes 0 and 1; 2 occurs in its predictions only.
    # TP / T: class 0 1/1, class 1 0/0, class 2 0/2.  TP / P: class 0 1/2, class 1 0/1, class 2 0/0.
    truth, guess, groups = [0, 0, 1, 0, 1, 2], [0, 2, 2, 0, 1, 2], ["a"] * 3 + ["b"] * 3
    own = answered(truth, guess, groups)
    assert value(own, "macro_precision", group="a", kind="group") == 1.0  # class 1 is never predicted: left out
    assert value(own, "macro_recall", group="a", kind="group") == 0.25  # (1/2 + 0) / 2
    [precision] = own.find(measure="macro_precision", group="a", kind="group")
    assert (precision.classes, precision.left_out) == (1, 1)
    paper = answered(truth, guess, groups, variant="paper")
    assert value(paper, "macro_precision", group="a", kind="group") == pytest.approx(1 / 3)
    assert value(paper, "macro_recall", group="a", kind="group") == pytest.approx(1 / 6)
    for result in (own, paper):
        assert value(result, "accuracy", group="a", kind="group") == pytest.approx(1 / 3)
        assert value(result, "accuracy", group="b", kind="group") == 1.0


def test_a_gap_is_positive_where_the_group_is_worse_off_than_the_reference() -> None:
    result = answered([0, 1] * 6, [0, 1] * 4 + [0, 0] * 2, ["a"] * 8 + ["b"] * 4)
    [gap] = result.find(kind="gap", measure="accuracy")
    assert (gap.group, gap.against, gap.value) == ("b", "a", 0.5)
    turned = answered([0, 1] * 6, [0, 1] * 4 + [0, 0] * 2, ["a"] * 8 + ["b"] * 4, reference="b")
    [gap] = turned.find(kind="gap", measure="accuracy")
    assert (gap.group, gap.against, gap.value) == ("a", "b", -0.5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=30))
def test_values_agree_with_scikit_learn_group_by_group(rows: list[tuple[int, int, str]]) -> None:
    truth, guess = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    group = np.array([row[2] for row in rows])
    pairs = class_pairs(truth, guess, 4)
    for code, name in enumerate("ab"):
        y, z = truth[group == name], guess[group == name]
        table = pairs.table((group == "b").astype(np.int64), 2)[code]
        if not len(y):
            assert np.isnan(macro_values(pairs, table)).all()
            continue
        paper = [f(y, z, average="macro", zero_division=0) for f in (precision_score, recall_score)]
        np.testing.assert_allclose(macro_values(pairs, table, "paper"), [*paper, accuracy_score(y, z)])
        has = np.unique(y)
        recall = recall_score(y, z, labels=has, average="macro", zero_division=0)
        told = [label for label in has if label in z]
        precision = precision_score(y, z, labels=told, average="macro", zero_division=0) if told else np.nan
        np.testing.assert_allclose(macro_values(pairs, table), [precision, recall, accuracy_score(y, z)])


def test_a_planted_gap_is_found_by_every_learner_and_re_balancing_does_not_hide_it() -> None:
    points, target, group = planted()
    for rebalance in (False, True):
        seen: list[tuple[str, float]] = []
        result = downstream(
            points, target, {"g": group}, rebalance=rebalance, draws=200, folds=3,
            progress=lambda *step, seen=seen: seen.append(step),
        )  # fmt: skip
        assert result.learners == ("logistic_regression", "svm", "random_forest", "k_means")
        assert seen[-1] == ("training k_means", 1.0)
        for learner in ("logistic_regression", "svm", "random_forest"):
            for measure in MEASURES:
                [gap] = result.find(learner=learner, measure=measure, kind="gap")
                assert (gap.group, gap.against) == ("b", "a")
                assert gap.value > 0.1
                assert gap.low is not None
                assert gap.low > 0
                assert gap.p is not None
                assert gap.p < 0.01
                assert gap.p_adjusted is not None
                assert gap.p_adjusted >= gap.p
        assert ("re-balanced by up-sampling" in result.training) == rebalance


def test_without_a_gap_few_tests_reject() -> None:
    p = []
    for seed in range(60):
        points, target, group = planted(rows=150, harm=0.0, seed=seed)
        result = downstream(points, target, group, learners="logistic_regression", folds=2, draws=99, seed=seed)
        p.append([record.p for record in result.find(kind="gap")])
    rejected = (np.array(p, dtype=float) <= 0.05).mean(axis=0)
    assert (rejected <= 0.15).all()  # 9 of 60 at a true rate of 0.05 is 1 in 500
    assert np.mean(np.array(p, dtype=float)) > 0.35


def test_intervals_of_macro_values_cover() -> None:
    generator = np.random.default_rng(3)
    right = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    covered = 0
    for _ in range(150):
        truth = generator.integers(0, 5, 120)
        wrong = (truth + generator.integers(1, 5, 120)) % 5
        pairs = class_pairs(truth, np.where(generator.random(120) < right[truth], truth, wrong), 5)
        table = pairs.table(np.zeros(120, dtype=np.int64), 1)
        draws = np.concatenate([macro_values(pairs, part) for part in resampled_rows(table, 200, generator)])
        covered += (
            abs(macro_values(pairs, table)[0, 1] - right.mean()) <= 1.96 * standard_deviation_of_draws(draws)[0, 1]
        )
    assert 0.88 <= covered / 150 <= 0.99


def test_classes_drawn_whole_count_as_often_as_they_are_drawn() -> None:
    """With classes of one size macro recall is the accuracy, so drawing classes must give both the same interval."""
    generator = np.random.default_rng(1)
    truth = np.repeat(np.arange(40), 5)
    guess = np.where(generator.random(200) < generator.random(40)[truth], truth, (truth + 1) % 40)
    groups = np.where(truth % 2 == 0, "a", "b").tolist()
    result = answered(truth.tolist(), guess.tolist(), groups, cluster=np.r_[np.arange(40), truth], draws=100)
    for kind in ("group", "gap"):
        accuracy, recall = (result.find(kind=kind, measure=name)[0] for name in ("accuracy", "macro_recall"))
        assert (recall.value, recall.low, recall.high) == pytest.approx((accuracy.value, accuracy.low, accuracy.high))


def test_nobody_is_on_both_sides_unless_the_target_says_who_it_is() -> None:
    generator = np.random.default_rng(0)
    person = generator.permutation(np.arange(300) % 40)
    points, target = generator.normal(size=(300, 2)), generator.integers(0, 2, 300)
    parts, words = split_rows(read_rows(points, target, person % 2, person, None), 5, 0)
    assert "no cluster on both sides" in words
    for own, test in parts:
        assert not set(person[own]) & set(person[test])
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(300))
    parts, words = split_rows(read_rows(points, person, person % 2, person, None), 5, 0)
    assert "cluster" not in words
    for own, test in parts:
        assert set(person[test]) <= set(person[own])


def test_folds_spread_classes_evenly() -> None:
    classes = np.repeat([0, 1, 2], [50, 20, 3])
    fold = stratified_folds(classes, None, 5, np.random.default_rng(1))
    assert np.bincount(fold).tolist() == [15, 15, 15, 14, 14]
    for code, most in ((0, 10), (1, 4), (2, 1)):
        assert np.bincount(fold[classes == code]).max() == most


def test_the_unit_that_carries_the_group_is_permuted() -> None:
    points, target, group = planted(rows=240)
    person = np.repeat(np.arange(80), 3)
    carried = np.where(person % 2 == 0, "x", "y")
    options = {"learners": "logistic_regression", "folds": 2, "draws": 60}
    rows = downstream(points, target, carried, **options)
    assert {r.test for r in rows.find(kind="gap")} == {"permutation of rows", "permutation of rows within true class"}
    people = downstream(points, target, carried, cluster=person, **options)
    assert {r.test for r in people.find(kind="gap")} == {"permutation of clusters"}
    mixed = downstream(points, target, group, cluster=person, **options)
    assert {r.test for r in mixed.find(kind="gap")} == {"normal, clusters resampled"}
    assert all(record.interval == "bootstrap" for record in mixed.find(kind="gap"))
    # Six classes, three in each group: the class carries the group, and 20 permutations cannot go below 0.1.
    classes = np.arange(240) % 6
    by_class = downstream(points, classes, classes % 2, **options)
    assert [r.test for r in by_class.find(kind="gap")] == [None, "permutation of classes", "permutation of classes"]


def by_class(seed: int, classes: int = 30, own: int = 14, flip: int = 0) -> Downstream:
    """Classes that differ in how hard they are, and not by group: the last ``own`` of them are of group b."""
    generator = np.random.default_rng(seed)
    truth = np.repeat(np.arange(classes), 20)
    ease = generator.beta(2, 1, classes)[truth]
    guess = np.where(generator.random(len(truth)) < ease, truth, (truth + 1) % classes)
    groups = np.where(truth >= classes - own, "b", "a")
    groups[:flip] = "b"
    return answered(truth.tolist(), guess.tolist(), groups.tolist(), draws=99, seed=seed)


def test_a_wrong_label_leaves_classes_the_units() -> None:
    rejected, widths = np.zeros(2), np.zeros(2)
    for seed in range(50):
        for place in range(2):
            [gap] = by_class(seed, flip=place).find(kind="gap", measure="accuracy")
            assert gap.test == "permutation of classes"
            assert gap.p is not None
            assert gap.low is not None
            assert gap.high is not None
            rejected[place] += gap.p <= 0.05
            widths[place] += gap.high - gap.low
    assert (rejected / 50 <= 0.14).all()
    assert widths[1] / widths[0] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_precision_is_not_tested_where_classes_are_permuted_whole_and_says_why(variant: str) -> None:
    """Where confusions stay inside a group, permutations that part its classes have fewer of them."""
    untested = {"macro_precision"} if variant == "default" else {"macro_precision", "macro_recall"}
    rejected = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        truth = np.repeat(np.arange(30), 20)
        own, start = np.where(truth < 16, 16, 14), np.where(truth < 16, 0, 16)
        inside = start + (truth - start + 1) % own
        guess = np.where(generator.random(600) < generator.beta(2, 1, 30)[truth], truth, inside)
        groups = np.where(truth < 16, "a", "b").tolist()
        result = answered(truth.tolist(), guess.tolist(), groups, draws=99, seed=seed, variant=variant)
        for gap in result.find(kind="gap"):
            assert (gap.p is None) == (gap.test is None) == (gap.measure in untested)
            assert (gap.reason == because(DownstreamReason.NOT_PERMUTABLE)) == (gap.measure in untested)
            assert gap.interval == "bootstrap"
            rejected += [] if gap.p is None else [gap.p <= 0.05]
    assert np.mean(rejected) <= 0.14
    three = np.where(truth < 10, "a", np.where(truth < 20, "b", "c")).tolist()
    largest = answered(truth.tolist(), guess.tolist(), three, variant=variant).find(kind="largest gap")
    assert {record.measure for record in largest if record.p is None} == untested
    assert {record.reason for record in largest} == {because(DownstreamReason.NOT_PERMUTABLE), None}


def test_clusters_inside_classes_that_carry_the_group_are_no_witnesses_of_their_own() -> None:
    generator, rejected = np.random.default_rng(0), []
    truth = np.repeat(np.arange(20), 20)
    session = np.r_[np.arange(20) * 4, np.arange(400) // 5]  # four in each class
    groups = np.where(truth < 12, "a", "b").tolist()
    for seed in range(40):
        guess = np.where(generator.random(400) < generator.beta(2, 1, 20)[truth], truth, (truth + 1) % 20)
        result = answered(truth.tolist(), guess.tolist(), groups, cluster=session, draws=99, seed=seed)
        [gap] = result.find(kind="gap", measure="macro_recall")
        assert gap.test == "permutation of classes"
        assert gap.p is not None
        rejected.append(gap.p <= 0.05)
    assert np.mean(rejected) <= 0.15  # sessions as units reject in 40 of 100


def test_a_group_of_one_class_has_no_test_and_says_why() -> None:
    result = by_class(0, own=1)
    for gap in result.find(kind="gap"):
        assert (gap.status, gap.p, gap.low) == ("ok", None, None)
        assert str(gap.reason) == "'b' has 1 class of its own: no interval and no test"
    [group] = result.find(kind="group", group="b", measure="accuracy")
    assert (group.low, group.reason) == (None, because(DownstreamReason.FEW_CLASSES, group="b", classes=1))
    [other] = result.find(kind="group", group="a", measure="accuracy")
    assert other.low is not None


def test_classes_carry_a_group_but_for_few_rows_and_none_that_is_rare_everywhere() -> None:
    classes = np.repeat(np.arange(10), 10)
    groups = classes % 2
    assert carried_by(classes, groups)
    assert carried_by(classes, np.where(np.arange(100) < 4, 1 - groups, groups))
    assert not carried_by(classes, np.where(np.arange(100) % 8 == 0, 1 - groups, groups))
    assert not carried_by(classes, (np.arange(100) % 11 == 0).astype(np.int64))


def test_three_groups_have_a_largest_gap_with_a_test_and_without_an_interval() -> None:
    points, target, _ = planted(rows=400)
    group = np.arange(400) % 3
    result = downstream(points, target, group, learners="logistic_regression", folds=2, draws=60)
    [largest] = result.find(kind="largest gap", measure="accuracy")
    values = [record.value for record in result.find(kind="group", measure="accuracy")]
    assert largest.value == pytest.approx(max(values) - min(values))
    assert largest.low is None
    assert largest.p is not None


def test_re_balanced_rows_have_equal_cells() -> None:
    cells = np.repeat([3, 5, 9], [10, 4, 1])
    generator = np.random.default_rng(0)
    up, weights = rebalanced(cells, "up", generator)
    assert weights is None
    assert np.unique(cells[up], return_counts=True)[1].tolist() == [10, 10, 10]
    assert set(up) == set(range(15))
    down, _ = rebalanced(cells, "down", generator)
    assert cells[down].tolist() == [3, 5, 9]
    rows, weights = rebalanced(cells, "weights", generator)
    assert weights is not None
    np.testing.assert_allclose(np.bincount(cells[rows], weights=weights)[[3, 5, 9]], 5.0)


@pytest.mark.parametrize("way", ["up", "down", "weights"])
def test_re_balancing_says_what_it_did(way: str) -> None:
    points, target, group = planted(rows=200)
    result = downstream(
        points, target, {"g": group}, learners=["logistic_regression", "k_means"], rebalance=way, folds=2, draws=20
    )
    assert any("training cells of class x g had" in note for note in result.notes)
    assert all(record.training.endswith("by g") for record in result.records)


def test_the_same_seed_gives_the_same_result_and_the_learner_given_stays_untrained() -> None:
    points, target, group = planted(rows=150)
    mine = KMeansClassifier(7)
    first, second = (downstream(points, target, group, learners=[mine], draws=20, seed=4) for _ in range(2))
    assert first == second
    assert not hasattr(mine, "names")
    other = downstream(points, target, group, learners=[mine], draws=20, seed=5)
    assert [record.low for record in other.records] != [record.low for record in first.records]


def test_a_missing_group_is_shown_and_left_out_of_gaps_and_a_missing_target_is_left_out() -> None:
    points, target, group = planted(rows=200)
    groups = [None if row < 30 else name for row, name in enumerate(group.tolist())]
    targets = [None if row == 199 else int(name) for row, name in enumerate(target)]
    result = downstream(points, targets, {"g": groups}, learners="logistic_regression", folds=2, draws=20)
    assert result.tested == 199
    assert "1 row without a target was left out" in result.notes
    [missing] = result.find(group="(missing)", measure="accuracy")
    assert missing.kind == "group"
    assert missing.people == 30


def test_a_small_group_and_an_empty_one_say_so() -> None:
    points, target, _ = planted(rows=100)
    group = ["few"] * 5 + ["many"] * 95
    result = downstream(points, target, group, learners="logistic_regression", folds=2, draws=20)
    [gap] = result.find(kind="gap", measure="accuracy")
    assert (gap.status, gap.p, gap.low) == ("too small", None, None)
    train = np.arange(100) < 20
    result = downstream(points, target, group, learners="logistic_regression", train=train, draws=20)
    [gap] = result.find(kind="gap", measure="accuracy")
    assert math.isnan(gap.value)
    assert str(gap.reason) == "'few' has no test rows"


def test_a_class_missing_from_training_is_named_and_a_class_of_one_row_left_out() -> None:
    points, target, group = planted(rows=120)
    train = target != 2
    train[np.flatnonzero(train)[:20]] = False
    result = downstream(points, target, group, learners="logistic_regression", train=train, draws=20)
    assert any("missing from a training part" in note and "'2'" in note for note in result.notes)
    target[0] = 9
    result = downstream(points, target, group, learners="logistic_regression", folds=2, draws=20)
    assert any("1 class with one row was left out" in note for note in result.notes)
    assert "9" not in result.classes


def test_results_turn_into_a_frame_and_into_json() -> None:
    points, target, group = planted(rows=100)
    result = downstream(points, target, group, learners="logistic_regression", folds=2, draws=20)
    assert len(result.to_frame("pandas")) == len(result.records)
    assert len(json.loads(json.dumps(result.as_json(), allow_nan=False))["records"]) == len(result.records)


def test_upstream_gaps_are_paired_with_downstream_gaps() -> None:
    points, target, group = planted(rows=150)
    result = downstream(points, target, {"g": group}, learners=["logistic_regression", "k_means"], folds=2, draws=20)
    pairs = propagation({"g": 0.2}, result)
    assert len(pairs) == 6
    assert {point.upstream for point in pairs} == {0.2}
    [gap] = result.find(learner="k_means", measure="accuracy", kind="gap")
    [point] = [point for point in pairs if point.learner == "k_means" and point.measure == "accuracy"]
    assert (point.downstream, point.p) == (gap.value, gap.p)
    assert propagation({("g", "b"): 0.2}, result)[0].group == "b"
    assert {point.status for point in propagation({"g": float("nan")}, result)} == {"undefined"}
    with pytest.raises(BadInput, match="no downstream gap for 'h'"):
        propagation({"h": 0.1}, result)


class Halfway:
    def fit(self, points: object, classes: object) -> None:
        """Learn nothing."""


class Talker(Oracle):
    def predict(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(points), 77)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": ["a", "b"] * 10}, "different lengths"),
        ({"groups": ["a"] * 60}, "has 1 group"),
        ({"target": [1] * 60}, "has 1 class"),
        ({"learners": []}, "No learner"),
        ({"learners": ["nobody"]}, "learner 'nobody' not found"),
        ({"learners": [Halfway()]}, "no fit and predict"),
        ({"learners": [Oracle]}, "not the class"),
        ({"learners": [Talker()]}, "not a class it was trained on"),
        ({"learners": [Oracle(), Oracle()]}, "Two learners"),
        ({"learners": [Oracle()], "rebalance": "weights"}, "takes no weights"),
        ({"rebalance": "sideways"}, "rebalance was"),
        ({"train": [True] * 60}, "0 to test on"),
        ({"train": ["yes"] * 60}, "train column has the value 'yes'"),
        ({"train": [True] + [False] * 59}, "holds 1 class"),
        ({"folds": 1}, "folds is 1 and there are 60 rows"),
        ({"variant": "other"}, "There is no variant 'other'"),
        ({"reference": "c"}, "group 'c' not found"),
        ({"points": np.ones(60)}, "1 axis"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], words: str) -> None:
    points, target, group = planted(rows=60)
    given = {"points": points, "target": target, "groups": group, "learners": "logistic_regression"} | change
    with pytest.raises(BadInput, match=words):
        downstream(**given)


def test_a_number_that_is_not_finite_is_counted_and_placed() -> None:
    points, target, group = planted(rows=60)
    points[7, 2], points[9, 0] = np.nan, np.inf
    with pytest.raises(BadInput, match=r"2 numbers.*row 7, column 2"):
        downstream(points, target, group)


@pytest.mark.skipif("EQUIPOISE_DATA" not in os.environ, reason="EQUIPOISE_DATA is not set")
def test_faces_are_read_person_by_person() -> None:
    folder = Path(os.environ["EQUIPOISE_DATA"]) / "lfw"
    labels = np.load(folder / "lfw_labels.npz")
    rows = np.flatnonzero(labels["gender_male"] != 255)[::4]
    points = np.load(folder / "lfw_dlib128_f16.npz")["embedding"][rows]
    person, sex = labels["identity"][rows], np.where(labels["gender_male"][rows] == 1, "male", "female")
    half = np.where(labels["image_num"][rows] > 1, "later", "first")
    result = downstream(points, sex, half, learners="logistic_regression", cluster=person, draws=100)
    assert "no cluster on both sides" in result.split
    assert value(result, "accuracy", kind="overall") > 0.97
    [gap] = result.find(kind="gap", measure="accuracy")
    assert abs(gap.value) < 0.03
