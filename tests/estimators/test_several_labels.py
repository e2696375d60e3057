"""Estimators of rows with several labels: what they predict, what scikit-learn makes of them, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputClassifier

import equipoise
from equipoise import BadInput
from equipoise.estimators import TreatedClassifier, TreatedRegressor
from helpers.cases.label import LABELS, label_columns

pytest.importorskip("torch", reason="needs equipoise[train]")

SMALL = {"width": 8, "layers": 1, "epochs": 6, "batch_size": 32, "learning_rate": 0.02}


def rows(number: int = 300) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Features, labels as a frame, and groups."""
    columns = label_columns(number)
    features = pd.DataFrame({name: columns[name] for name in ("x0", "x1", "x2", "x3")})
    labels = pd.DataFrame({"cat": columns["cat"], "dog": columns["dog"], "bird": columns["bird"]})
    return features, labels, columns["sex"]


def test_several_labels_are_predicted_by_a_network() -> None:
    features, labels, group = rows()
    estimator = TreatedClassifier("adversarial", learner_settings={**SMALL, "label_weights": "balanced"})
    estimator.fit(features, labels, sensitive_features=group)
    assert estimator.task_ == "multilabel"
    assert tuple(estimator.classes_) == LABELS
    said, chances = estimator.predict(features), estimator.predict_proba(features)
    assert said.shape == chances.shape == (300, 3)
    assert np.array_equal(said, chances >= 0.5)
    truth = np.stack([labels["cat"], labels["dog"] == "yes", labels["bird"]], axis=1).astype(int)
    assert (said == truth).mean() > 0.7
    assert estimator.score(features, truth) == pytest.approx(accuracy_score(truth, said))
    assert estimator.transform(features).shape == (300, 8)


def test_an_array_has_numbered_labels_and_cross_validation_scores_it() -> None:
    features, labels, _ = rows()
    truth = np.stack([labels["cat"], labels["dog"] == "yes", labels["bird"]], axis=1).astype(int)
    estimator = TreatedClassifier("untreated", MultiOutputClassifier(LogisticRegression()))
    assert estimator.fit(features.to_numpy(), truth).classes_.tolist() == ["label 0", "label 1", "label 2"]
    plain = MultiOutputClassifier(LogisticRegression()).fit(estimator.encoder_.encode_columns(
        {f"x{index}": column for index, column in enumerate(features.to_numpy().T)}
    ), truth)  # fmt: skip
    found = plain.predict_proba(estimator.encoder_.encode_columns(
        {f"x{index}": column for index, column in enumerate(features.to_numpy().T)}
    ))  # fmt: skip
    assert np.allclose(estimator.predict_proba(features.to_numpy()), np.stack([one[:, 1] for one in found], axis=1))
    assert cross_val_score(estimator, features.to_numpy(), truth, cv=3).shape == (3,)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (lambda labels: labels.assign(bird=0), "Never present in the 300 rows of y: the label 'bird'"),
        (lambda labels: labels.assign(bird=["a", "b", "c"] * 100), "'bird' of y holds"),
        (lambda labels: labels.assign(cat=[None, *[0.0, 1.0] * 149, 1.0]), "contains NaN or None in 1 row"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(y: Any, words: str) -> None:
    features, labels, _ = rows()
    with pytest.raises(BadInput, match=words):
        TreatedClassifier("untreated", learner_settings=SMALL).fit(features, y(labels))


def test_what_takes_no_several_labels_says_so() -> None:
    features, labels, group = rows()
    with pytest.raises(BadInput, match="exclusive classes"):
        TreatedClassifier("domain_independent").fit(features, labels, sensitive_features=group)
    with pytest.raises(BadInput, match="one class per row"):
        TreatedClassifier("untreated", LogisticRegression()).fit(features, labels)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        TreatedRegressor("untreated", learner_settings=SMALL).fit(features, np.zeros((300, 2)))


def test_a_table_of_labels_is_fitted_audited_saved_and_loaded(tmp_path: Path) -> None:
    columns = label_columns(300)
    frame = {name: column for name, column in columns.items() if name != "split"}
    model = equipoise.fit(
        frame, target=list(LABELS), sensitive_features="sex", treatment="reweighting", learner_settings=SMALL
    )
    said = model.predict(frame)
    assert said.shape == (300, 3)
    assert model.features == ("x0", "x1", "x2", "x3")
    found = model.audit(frame, draws=0)
    rates = {
        record.group: record.value for record in found.records
        if (record.measure, record.kind, record.label) == ("true_positive_rate", "rate", "dog")
        and record.group is not None
    }  # fmt: skip
    for group in ("f", "m"):
        chosen = (columns["sex"] == group) & (columns["dog"] == "yes")
        assert rates[group] == pytest.approx(said[chosen, 1].mean())
    again = equipoise.load_model(model.save(tmp_path / "model"))
    assert again.classes == LABELS
    assert np.array_equal(again.predict(frame), said)
    assert np.allclose(again.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(BadInput, match="2 target columns are named"):
        equipoise.fit(frame, target=["cat", "dog"], task="regression")
    with pytest.raises(BadInput, match="1 target columns are named"):
        equipoise.fit(frame, target="cat", task="multilabel")
