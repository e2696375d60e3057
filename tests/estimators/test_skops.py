"""Estimators as files: which types are made from one, and what of a hostile file is refused."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skops")

import skops.io as sio
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from equipoise.estimators._skops import TRUSTED, estimator_bytes, estimator_from
from equipoise.foundation import BadInput

ROWS = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
CLASSES = (ROWS[:, 0] > 0).astype(np.int64)
ESTIMATORS = [
    LogisticRegression(), SGDClassifier(), SVC(), GaussianNB(), DecisionTreeClassifier(),
    RandomForestClassifier(5), GradientBoostingClassifier(n_estimators=5), HistGradientBoostingClassifier(max_iter=5),
    MLPClassifier((4,), max_iter=2000), GaussianProcessClassifier(), CalibratedClassifierCV(LogisticRegression(), cv=2),
    StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], cv=2),
    make_pipeline(StandardScaler(), LogisticRegression()), KNeighborsClassifier(algorithm="brute"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_an_estimator_of_scikit_learn_predicts_the_same_again(estimator: Any) -> None:
    estimator.fit(ROWS, CLASSES)
    again = estimator_from(estimator_bytes(estimator))
    np.testing.assert_array_equal(again.predict(ROWS), estimator.predict(ROWS))
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(ROWS), estimator.predict_proba(ROWS))


def test_trusted_types_are_of_scikit_learn_alone() -> None:
    assert list(TRUSTED) == sorted(set(TRUSTED))
    assert all(name.startswith("sklearn.") for name in TRUSTED)


class Mine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator of one's own."""

    def fit(self, X: Any, y: Any) -> Mine:  # noqa: N803
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return np.zeros(len(X), dtype=np.int64)


def test_code_that_is_not_scikit_learns_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match=r"Mine.*not made from a file"):
        estimator_bytes(Mine().fit(ROWS, CLASSES))
    own = make_pipeline(FunctionTransformer(Mine), LogisticRegression())
    own.steps[1][1].fit(ROWS, CLASSES)
    with pytest.raises(BadInput, match="not made from a file"):
        estimator_bytes(own)


def test_a_tree_of_neighbours_is_refused_with_the_way_out() -> None:
    with pytest.raises(BadInput, match="KDTree") as error:
        estimator_bytes(KNeighborsClassifier().fit(ROWS, CLASSES))
    assert 'algorithm="brute"' in error.value.help


def rewritten(content: bytes, change: Any) -> bytes:
    """A file with another description, as an attacker would write it."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "schema.json":
                said = json.loads(data)
                change(said)
                data = json.dumps(said).encode()
            new.writestr(entry.filename, data)
    return made.getvalue()


def test_a_file_that_names_code_to_run_is_refused() -> None:
    content = estimator_bytes(LogisticRegression().fit(ROWS, CLASSES))

    def command(said: dict[str, Any]) -> None:
        said.update(__class__="system", __module__="os", __loader__="FunctionNode", content="os.system")

    for change in (command, lambda said: said.update(__class__="Popen", __module__="subprocess")):
        with pytest.raises(BadInput):
            estimator_from(rewritten(content, change))


@pytest.mark.parametrize("cut", [0, 10, 500, -1])
def test_a_torn_file_is_refused(cut: int) -> None:
    content = estimator_bytes(LogisticRegression().fit(ROWS, CLASSES))
    with pytest.raises(BadInput, match="not whole"):
        estimator_from(content[:cut] if cut >= 0 else b"PK\x03\x04" + b"\0" * 100)


def test_a_file_of_something_else_is_refused() -> None:
    for thing in ([1, 2], {"a": 1}, StandardScaler().fit(ROWS)):
        with pytest.raises(BadInput, match="The file holds a"):
            estimator_from(sio.dumps(thing))


def test_a_file_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = estimator_bytes(LogisticRegression().fit(ROWS, CLASSES))
    monkeypatch.setattr("equipoise.estimators._skops.MOST_BYTES", 100)
    with pytest.raises(BadInput, match="unpacks to"):
        estimator_from(content)


def with_nodes(estimator: Any, change: Any) -> Any:
    """A fitted tree whose nodes were changed."""
    tree = estimator.tree_
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    change(nodes)
    state["nodes"] = nodes
    tree.__setstate__(state)
    return estimator


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 10**6), ("right_child", 0), ("feature", 10**6), ("left_child", -7)]
)
def test_trees_that_lead_outside_of_themselves_are_refused(field: str, value: int) -> None:
    def change(nodes: Any) -> None:
        nodes[field][0] = value

    hostile = with_nodes(DecisionTreeClassifier().fit(ROWS, CLASSES), change)
    with pytest.raises(BadInput, match="leads outside"):
        estimator_bytes(hostile)
    inside = make_pipeline("passthrough", hostile)
    with pytest.raises(BadInput, match="leads outside"):
        estimator_bytes(inside)


def test_boosted_trees_that_lead_outside_of_themselves_are_refused() -> None:
    boosted = HistGradientBoostingClassifier(max_iter=2).fit(ROWS, CLASSES)
    boosted._predictors[0][0].nodes["left"][0] = 10_000
    with pytest.raises(BadInput, match="leads outside"):
        estimator_bytes(boosted)
