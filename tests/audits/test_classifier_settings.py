"""Settings of downstream classifiers: read, refused, named for stores, and acting as scikit-learn's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from equipoise.audits.downstream import (
    C_GRID,
    CLASSIFIER_SETTINGS,
    Classifier,
    classifier_from_source,
    classifiers_of,
    downstream,
    estimator,
    stored_classifier,
)
from equipoise.foundation import BadInput
from equipoise.studies.storage import array_name
from equipoise.training.metric._downstream import TRAININGS, stored_name


def drawn(rows: int = 240, classes: int = 5, columns: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    codes = np.arange(rows) % classes
    group = np.array(["few", "many"])[(np.arange(rows) // classes % 3 > 0).astype(int)]
    noise = np.where(group == "few", 1.6, 0.9)[:, None]
    points = generator.normal(size=(classes, columns))[codes] + noise * generator.normal(size=(rows, columns))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), codes, group


def test_logistic_regression_is_that_of_scikit_learn_as_it_comes() -> None:
    points, codes, _ = drawn()
    made = estimator(classifiers_of(["logistic_regression"])[0], 0)
    assert isinstance(made, LogisticRegression)
    plain = LogisticRegression()
    assert {name: value for name, value in made.get_params().items() if plain.get_params()[name] != value} == {
        "max_iter": 1_000, "random_state": 0,
    }  # fmt: skip
    np.testing.assert_array_equal(
        made.fit(points, codes).coef_, LogisticRegression(max_iter=1_000).fit(points, codes).coef_
    )


BY_HAND: list[tuple[Any, Any]] = [
    ("logistic_regression:C=0.01", LogisticRegression(C=0.01, max_iter=1_000)),
    ({"name": "logistic_regression", "C": 100}, LogisticRegression(C=100, max_iter=1_000)),
    ("logistic_regression:standardise=true", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))),
    ("logistic_regression:tolerance=1e-8", LogisticRegression(tol=1e-8, max_iter=1_000)),
    ("svm:C=0.1", make_pipeline(StandardScaler(), LinearSVC(C=0.1, max_iter=5_000, random_state=0))),
    ("svm:standardise=false", LinearSVC(max_iter=5_000, random_state=0)),
    ("random_forest:trees=7", RandomForestClassifier(7, random_state=0)),
]


@pytest.mark.parametrize(("asked", "by_hand"), BY_HAND)
def test_settings_act_as_in_scikit_learn(asked: Any, by_hand: Any) -> None:
    points, codes, group = drawn()
    train = np.arange(len(codes)) < 120
    result = downstream(points, codes, {"g": group}, learners=[asked], train=train, draws=0)
    guesses = by_hand.fit(points[train], codes[train]).predict(points[~train])
    right = (guesses == codes[~train]).astype(float)
    [overall] = result.find(kind="overall", measure="accuracy")
    assert overall.value == pytest.approx(right.mean(), abs=1e-12)
    [gap] = result.find(kind="gap", measure="accuracy")
    few, many = (right[group[~train] == name].mean() for name in ("few", "many"))
    assert gap.value == pytest.approx(many - few, abs=1e-12)
    assert gap.settings == classifiers_of([asked])[0].settings


def test_the_starts_of_k_means_are_those_of_scikit_learn() -> None:
    points, codes, _ = drawn()
    made = estimator(classifiers_of(["k_means:starts=1"])[0], 3).fit(points, codes)
    np.testing.assert_array_equal(made.clusters.labels_, KMeans(5, n_init=1, random_state=3).fit(points).labels_)


def test_c_is_chosen_by_accuracy_on_dev_rows_and_the_smallest_of_equals() -> None:
    points, codes, group = drawn(rows=360)
    roles = np.array(["train", "dev", "test"])[np.arange(360) // 5 % 3]
    result = downstream(points, codes, {"g": group}, learners="logistic_regression:C=dev", train=roles, draws=0)
    parts = {role: roles == role for role in ("train", "dev", "test")}
    scores, guesses = [], []
    for value in C_GRID:
        made = LogisticRegression(C=value, max_iter=1_000).fit(points[parts["train"]], codes[parts["train"]])
        scores.append((made.predict(points[parts["dev"]]) == codes[parts["dev"]]).mean())
        guesses.append(made.predict(points[parts["test"]]))
    best = next(index for index, score in enumerate(scores) if score == max(scores))
    [overall] = result.find(kind="overall", measure="accuracy")
    assert overall.value == pytest.approx((guesses[best] == codes[parts["test"]]).mean(), abs=1e-12)
    assert any(f"C = {C_GRID[best]:g} has the highest accuracy on dev rows" in note for note in result.notes)
    assert (overall.people, result.split) == (120, "as given: 120 rows to train on, 120 to test on, 120 dev rows")


def test_a_list_of_values_is_one_classifier_each() -> None:
    points, codes, group = drawn()
    line = downstream(points, codes, {"g": group}, learners="logistic_regression:C=0.1,1,10", folds=2, draws=0)
    table = downstream(
        points, codes, {"g": group}, learners={"name": "logistic_regression", "C": [0.1, 1, 10]}, folds=2, draws=0
    )
    assert line.learners == ("logistic_regression:C=0.1", "logistic_regression", "logistic_regression:C=10")
    assert line.records == table.records
    named = downstream(points, codes, {"g": group}, learners={"mine": "svm:C=0.1,1"}, folds=2, draws=0)
    assert named.learners == ("mine (svm:C=0.1)", "mine (svm)")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("logistic_regression:C=0", "C of logistic_regression is '0'.*a number above 0"),
        ("logistic_regression:C=-1", "above 0"),
        ("logistic_regression:C=inf", "above 0"),
        ("logistic_regression:C=best", "'best'"),
        ({"name": "logistic_regression", "C": True}, "is True"),
        ({"name": "logistic_regression", "C": []}, "empty list"),
        ({"C": 1}, "a table with a name"),
        ("logistic_regression:penalty=l1", "no setting 'penalty'.*C: a number above 0"),
        ("logistic_regression:standardise=maybe", "true or false"),
        ("logistic_regression:10", "'10' without a setting"),
        ("svm:tolerance=1", "no setting 'tolerance'"),
        ("random_forest:trees=0", "whole number of 1 or more"),
        ("random_forest:trees=2.5", "whole number"),
        ("random_forest:C=dev", "no setting 'C'"),
        ("k_means:starts=dev", "whole number"),
        ("logistic_regresion:C=1", "logistic_regression"),
        ("logistic_regression:C=dev", "dev rows, and there are none.*train, dev and test"),
    ],
)
def test_bad_settings_are_refused_with_what_is_allowed(asked: Any, words: str) -> None:
    points, codes, group = drawn(rows=60)
    with pytest.raises(BadInput, match=f"(?s){words}"):
        downstream(points, codes, {"g": group}, learners=[asked], draws=0)


VALUES = {
    "C": st.one_of(st.just("dev"), st.floats(1e-9, 1e9)), "standardise": st.booleans(),
    "tolerance": st.floats(1e-12, 1.0), "trees": st.integers(1, 10_000), "starts": st.integers(1, 100),
}  # fmt: skip


@given(st.data())
def test_what_a_store_calls_a_classifier_says_all_its_settings(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(CLASSIFIER_SETTINGS)))
    one = Classifier(name, tuple((own, data.draw(VALUES[own])) for own in CLASSIFIER_SETTINGS[name]))
    assert stored_classifier(name, one.code) == one
    assert classifiers_of([one.plain]) == [one], "what names a trial asks for the same classifier again"
    assert all(part in "abcdefghijklmnopqrstuvwxyz0123456789_" for part in one.code)


def test_stored_names_are_plain_short_and_mean_what_they_meant() -> None:
    for how in TRAININGS:
        array_name(stored_name(classifiers_of(["logistic_regression:C=0.01,tolerance=1e-6"])[0], how))
    before = stored_classifier("logistic_regression")
    assert before.settings == {"C": 1.0, "standardise": True, "tolerance": 1e-4}
    assert stored_name(before, "own") == "downstream.logistic_regression.own.test"
    assert (before.source, classifier_from_source("logistic_regression")) == ("logistic_regression", before)
    plain = classifiers_of(["logistic_regression"])[0]
    assert stored_name(plain, "own") == "downstream.logistic_regression.own.std_no.test"
    assert (plain.source, classifier_from_source("logistic_regression:C=1")) == ("logistic_regression:C=1", plain)
    for name in ("svm", "random_forest", "k_means"):
        [one] = classifiers_of([name])
        assert (one.plain, one.code, one.source) == (name, "", name)


@given(st.sampled_from(["C=0.5", "C=dev,standardise=true", "C=2,tolerance=1e-06", "standardise=true"]))
def test_the_name_in_findings_can_be_typed(line: str) -> None:
    [one] = classifiers_of([f"logistic_regression:{line}"])
    if one.values != stored_classifier("logistic_regression").values:
        assert classifiers_of([one.source]) == [one]
        assert classifier_from_source(one.source) == one
    assert classifiers_of([one.label]) == [one]
