"""Measures as scorers: their values are those of Fairlearn and numpy, and greater is better."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equipoise
from equipoise.estimators import MeasureScorer
from equipoise.foundation import BadInput, registry

ROWS = 400


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def people(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], ROWS)
    y = (rng.uniform(size=ROWS) < np.select([group == "a", group == "b"], [0.7, 0.4], 0.2)).astype(int)
    return np.column_stack([y + rng.normal(size=ROWS), (group == "a") + rng.normal(size=ROWS)]), y, group


def fitted(X: Any, y: Any) -> Any:
    return LogisticRegression().fit(X, y)


def test_a_gap_has_its_sign_changed_and_is_fairlearns_number() -> None:
    X, y, group = people()
    model = fitted(X, y)
    found = equipoise.scorer("DP", favourable=1)(model, X, y, sensitive_features=group)
    assert found == pytest.approx(-demographic_parity_difference(y, model.predict(X), sensitive_features=group))
    found = equipoise.scorer("equalized_odds", favourable=1)(model, X, y, sensitive_features=group)
    assert found == pytest.approx(-equalized_odds_difference(y, model.predict(X), sensitive_features=group))


def test_a_measure_that_is_better_high_keeps_its_sign() -> None:
    X, y, _ = people()
    model = fitted(X, y)
    assert equipoise.scorer("accuracy")(model, X, y) == pytest.approx(accuracy_score(y, model.predict(X)))
    auc = roc_auc_score(y, model.predict_proba(X)[:, 1])
    assert equipoise.scorer("AUC")(model, X, y) == pytest.approx(auc)
    assert equipoise.scorer("auc", favourable=0)(model, X, y) == pytest.approx(auc)


def test_scores_of_several_classes_need_the_class() -> None:
    X, y, _ = people()
    y = y + (X[:, 0] > 1.5)
    model = fitted(X, y)
    expected = roc_auc_score(y == 2, model.predict_proba(X)[:, 2])
    assert equipoise.scorer("auc", favourable=2)(model, X, y) == pytest.approx(expected)
    with pytest.raises(BadInput, match="the score of one class"):
        equipoise.scorer("auc")(model, X, y)


def test_residuals_and_embeddings() -> None:
    X, _, group = people()
    y = X[:, 0] + (group == "a")
    model = Ridge().fit(X, y)
    error = np.abs(y - model.predict(X))
    means = [error[group == name].mean() for name in "abc"]
    found = equipoise.scorer("mean_absolute_error_difference")(model, X, y, sensitive_features=group)
    assert found == pytest.approx(min(means) - max(means))
    scaler = StandardScaler().fit(X)
    expected = equipoise.measures.recall_at_k(y > 0, scaler.transform(X), k=1)
    assert equipoise.scorer("recall_at_k")(scaler, X, y > 0) == pytest.approx(expected)


def test_weights_count() -> None:
    X, y, _ = people()
    model, weights = fitted(X, y), np.linspace(0, 1, ROWS)
    expected = accuracy_score(y, model.predict(X), sample_weight=weights)
    assert equipoise.scorer("accuracy")(model, X, y, sample_weight=weights) == pytest.approx(expected)


def test_every_measure_with_a_direction_is_a_scorer_and_others_are_refused() -> None:
    directions = [(entry.name, entry.implementation.better) for entry in registry.entries("measure")]
    assert {better for _, better in directions} == {"high", "low", "none"}
    for name, better in directions:
        if better == "none":
            with pytest.raises(BadInput, match="neither better high nor better low"):
                equipoise.scorer(name)
        else:
            assert name in repr(equipoise.scorer(name))


def test_an_unknown_measure_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'demographic_parity'"):
        equipoise.scorer("demografic_parity")


def test_the_american_spelling() -> None:
    X, y, group = people()
    model = fitted(X, y)
    both = [equipoise.scorer("DP", **{name: 1}) for name in ("favourable", "favorable")]
    assert both[0](model, X, y, sensitive_features=group) == both[1](model, X, y, sensitive_features=group)


def test_a_measure_of_all_classes_takes_no_favourable_class() -> None:
    with pytest.raises(BadInput, match="all classes together"):
        equipoise.scorer("fairness", favourable=1)


def test_undefined_is_nan_with_the_reason() -> None:
    X, y, group = people()
    model = fitted(X, y)
    rows = group == "a"
    with pytest.warns(UndefinedMetricWarning, match="all of one group"):
        assert math.isnan(equipoise.scorer("DP", favourable=1)(model, X[rows], y[rows], sensitive_features=group[rows]))
    # A group without positives has no true positive rate.
    truth = np.where(group == "a", 0, y)
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        found = equipoise.scorer("equalized_odds_true_positive", favourable=1)(
            model, X, truth, sensitive_features=group
        )
    assert math.isnan(found)


def test_a_class_that_a_fold_lacks_is_undefined_and_one_that_nobody_has_is_refused() -> None:
    X, y, group = people()
    model = fitted(X, y)
    rows = (y == 0) & (model.predict(X) == 0)
    with pytest.warns(UndefinedMetricWarning, match="no row is of the class '1'"):
        found = equipoise.scorer("DP", favourable=1)(model, X[rows], y[rows], sensitive_features=group[rows])
    assert math.isnan(found)
    with pytest.raises(BadInput, match="'yes'"):
        equipoise.scorer("DP", favourable="yes")(model, X, y, sensitive_features=group)


def test_groups_that_are_not_passed_are_asked_for() -> None:
    X, y, _ = people()
    with pytest.raises(BadInput, match="enable_metadata_routing"):
        equipoise.scorer("DP", favourable=1)(fitted(X, y), X, y)


@pytest.mark.usefixtures("routing")
def test_cross_validate_routes_the_groups() -> None:
    X, y, group = people()
    folds = KFold(4, shuffle=True, random_state=0)
    scorers = {"DP": equipoise.scorer("DP", favourable=1), "accuracy": get_scorer("accuracy")}
    found = cross_validate(
        make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=folds, scoring=scorers,
        params={"sensitive_features": group}, error_score="raise",
    )  # fmt: skip
    expected, right = [], []
    for train, test in folds.split(X):
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
        said = model.predict(X[test])
        expected.append(-demographic_parity_difference(y[test], said, sensitive_features=group[test]))
        right.append(accuracy_score(y[test], said))
    np.testing.assert_allclose(found["test_DP"], expected)
    np.testing.assert_allclose(found["test_accuracy"], right)
    alone = cross_validate(
        make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=folds, scoring=scorers["DP"],
        params={"sensitive_features": group}, error_score="raise",
    )  # fmt: skip
    np.testing.assert_allclose(alone["test_score"], expected)


@pytest.mark.usefixtures("routing")
def test_a_grid_is_searched_for_the_smallest_gap() -> None:
    X, y, group = people()
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=equipoise.scorer("DP", favourable=1), cv=3,
        error_score="raise",
    )  # fmt: skip
    search.fit(X, y, sensitive_features=group)
    by_c = dict(zip([1e-6, 1.0], search.cv_results_["mean_test_score"], strict=True))
    # The model that regularisation makes constant treats all groups alike.
    assert by_c[1e-6] == 0.0 > by_c[1.0]
    assert search.best_params_ == {"C": 1e-6}


@pytest.mark.usefixtures("routing")
def test_another_request_is_kept_apart() -> None:
    X, y, group = people()
    plain = equipoise.scorer("DP", favourable=1)
    renamed = plain.set_score_request(sensitive_features="sex")
    found = cross_validate(
        LogisticRegression(), X, y, scoring={"plain": plain, "renamed": renamed}, error_score="raise",
        params={"sensitive_features": group, "sex": group[::-1]},
    )  # fmt: skip
    assert not np.allclose(found["test_plain"], found["test_renamed"])
    with pytest.raises(Exception, match="sample_weight"):
        cross_validate(
            LogisticRegression(), X, y, scoring=plain, params={"sensitive_features": group, "sample_weight": y + 1}
        )


@pytest.mark.usefixtures("routing")
def test_the_estimator_gets_the_groups_where_it_asks_for_them() -> None:
    class ByGroup(LogisticRegression):  # type: ignore[misc]
        __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012

        def predict(self, X: Any, sensitive_features: Any = None) -> Any:
            return (np.asarray(sensitive_features) == "a").astype(int)

    X, y, group = people()
    model = ByGroup().fit(X, y)
    assert equipoise.scorer("DP", favourable=1)(model, X, y, sensitive_features=group) == -1.0


@pytest.mark.usefixtures("routing")
def test_it_is_pickled_for_workers_and_equals_make_scorer() -> None:
    X, y, group = people()
    model = fitted(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(equipoise.scorer("DP", favourable=1)))
    assert isinstance(again, MeasureScorer)
    theirs = make_scorer(demographic_parity_difference, greater_is_better=False)
    assert again(model, X, y, sensitive_features=group) == pytest.approx(theirs(model, X, y, sensitive_features=group))
