"""Estimators pass scikit-learn's own checks; those that fail are listed with the reason."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import _num_samples

from equipoise.estimators import TreatedClassifier, TreatedEmbedding, TreatedRegressor

WEIGHTED = "check_sample_weight_equivalence_on_dense_data"
SCALE = "a row that is repeated moves the mean and deviation that numbers are standardised by; its weight does not"
EPOCHS = "a network holds rows out and shuffles batches: a row that is repeated is another training than its weight"
UNWEIGHED = "of nearest rows there is no loss that a row could weigh in: sample_weight is refused"
WEIGHTS = (
    WEIGHTED, "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
    "check_sample_weights_shape", "check_sample_weights_not_overwritten",
    "check_classifiers_one_label_sample_weights",
)  # fmt: skip
SETTINGS = {"width": 8, "epochs": 20, "batch_size": 16, "learning_rate": 0.03}
METRIC = {"epochs": 2, "embedding_size": 4, "batch_size": 8}


class WithGroups(TreatedClassifier):
    """The checks know of no groups: every second row is of another one."""

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Any:
        groups = np.arange(_num_samples(X)) % 2
        return super().fit(X, y, sensitive_features=groups, sample_weight=sample_weight)


CASES = {
    "untreated logistic regression": (TreatedClassifier("untreated", LogisticRegression()), {WEIGHTED: SCALE}),
    "inputs as they are": (
        TreatedClassifier("untreated", LogisticRegression(), standardise=False, precision="float64"),
        {},
    ),
    "untreated ridge": (TreatedRegressor("untreated", Ridge(), standardise=False, precision="float64"), {}),
    "reweighted logistic regression": (
        WithGroups("reweighting", LogisticRegression()),
        {WEIGHTED: "repeated rows are in other groups here, so that they are reweighted otherwise"},
    ),
    "inlp on logistic regression": (
        WithGroups("inlp", LogisticRegression()),
        {WEIGHTED: "the rows that INLP selects on are held out, and a repeated one may be among them"},
    ),
    "untreated mlp": (TreatedClassifier("untreated", learner_settings=SETTINGS), {WEIGHTED: EPOCHS}),
    "untreated mlp of a regression": (TreatedRegressor("untreated", learner_settings=SETTINGS), {WEIGHTED: EPOCHS}),
    "hidden layer": (TreatedEmbedding("untreated", "mlp", learner_settings=SETTINGS), {}),
    "features as they are": (TreatedEmbedding("untreated", "raw_features"), {}),
    "nearest row of the features": (TreatedClassifier("untreated", "raw_features"), dict.fromkeys(WEIGHTS, UNWEIGHED)),
    "nearest row of an embedding": (
        TreatedClassifier("untreated", "metric_learner", learner_settings={**METRIC, "epochs": 8}),
        {WEIGHTED: EPOCHS},
    ),
    "metric embedding": (TreatedEmbedding("untreated", learner_settings=METRIC), {}),
}
SLOW = {
    "untreated forest": (TreatedClassifier("untreated", RandomForestClassifier(n_estimators=20)), {WEIGHTED: SCALE}),
    "reweighted mlp": (WithGroups("reweighting", learner_settings=SETTINGS), {WEIGHTED: EPOCHS}),
    "adversarial mlp": (WithGroups("adversarial", learner_settings=SETTINGS), {WEIGHTED: EPOCHS}),
    "domain-independent mlp": (WithGroups("domain_independent", learner_settings=SETTINGS), {WEIGHTED: EPOCHS}),
}  # fmt: skip


def check(estimator: Any, expected: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what scikit-learn's checks do on purpose
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert failed == {}
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(expected)
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.mark.parametrize("name", CASES)
def test_checks_of_scikit_learn(name: str) -> None:
    if "logistic" not in name and name not in ("inputs as they are", "untreated ridge"):
        pytest.importorskip("torch")
    check(*CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_more_checks_of_scikit_learn(name: str) -> None:
    if "forest" not in name:
        pytest.importorskip("torch")
    check(*SLOW[name])
