"""Every treatment is reachable from an estimator with every learner that it fits, and refused with the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from equipoise import treatment
from equipoise.estimators import TreatedClassifier, TreatedEmbedding, TreatedRegressor
from equipoise.foundation import BadInput, registry
from equipoise.training import Treatment, all_learners, incompatibility

torch = pytest.importorskip("torch")

ROWS = 160
NETWORK = {"epochs": 2, "batch_size": 32, "learning_rate": 0.02}
# What is given as the learner, and its settings, for each that gives a model.
GIVEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "mlp": ("mlp", {**NETWORK, "width": 8, "layers": 1}),
    "module": (lambda features, classes: torch.nn.Sequential(torch.nn.Linear(features, classes)), NETWORK),
    "scikit_learn": (LogisticRegression(), {}),
    "metric_learner": ("metric_learner", {"embedding_size": 4, "epochs": 2, "batch_size": 16}),
    "raw_features": ("raw_features", {}),
    "image_network": ("image_network", {"network": "small", "epochs": 1, "batch_size": 32}),
}
EMBEDDINGS = ("metric_learner", "raw_features")
TREATMENTS = {
    one.name: one.implementation
    for one in registry.entries("treatment")
    if isinstance(one.implementation, type) and issubclass(one.implementation, Treatment)
}


def people() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 2, ROWS), rng.integers(0, 2, ROWS)
    return np.column_stack([2 * y + rng.normal(size=ROWS), group + rng.normal(size=ROWS)]), y, group


def pictures() -> tuple[Any, Any, Any]:
    """Pictures of 8 x 8 whose class is told by their brightness and whose group by their colour."""
    _, y, group = people()
    rng = np.random.default_rng(1)
    found = rng.integers(0, 90, (ROWS, 8, 8, 3)) + 90 * y[:, None, None, None]
    found[..., 0] += 60 * group[:, None, None]
    return found.astype(np.uint8), y, group


def rows_for(learner: str) -> tuple[Any, Any, Any]:
    return pictures() if learner == "image_network" else people()


def estimator(treatment: str, learner: str) -> Any:
    given, settings = GIVEN[learner]
    kind = TreatedEmbedding if learner in EMBEDDINGS else TreatedClassifier
    return kind(treatment, given, learner_settings=settings)


def test_every_learner_gives_a_model_and_is_tried() -> None:
    assert (
        {name for name, kind in all_learners().items() if kind.model is not None} == set(GIVEN) == set(all_learners())
    )


def test_a_learner_without_models_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, group = people()
    monkeypatch.setattr(all_learners()["mlp"], "model", None)
    with pytest.raises(BadInput, match="gives no model of its own yet"):
        TreatedClassifier("untreated", "mlp").fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("learner", GIVEN)
@pytest.mark.parametrize("treatment", TREATMENTS)
def test_each_treatment_with_each_learner(treatment: str, learner: str) -> None:
    X, y, group = rows_for(learner)
    model = estimator(treatment, learner)
    reason = incompatibility(all_learners()[learner], TREATMENTS[treatment], "class")
    if reason is not None:
        with pytest.raises(BadInput) as refused:
            model.fit(X, y, sensitive_features=group)
        assert str(reason) in str(refused.value)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few epochs need not learn anything
        model.fit(X, y, sensitive_features=group)
    if learner in EMBEDDINGS:
        assert model.transform(X).shape == (ROWS, 4 if learner == "metric_learner" else 2)
        return
    assert set(model.predict(X, sensitive_features=group)) <= {0, 1}
    sums = model.predict_proba(X, sensitive_features=group).sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=1e-4)
    assert model.groups_ == ("0", "1")


@pytest.mark.parametrize("learner", ["mlp", "scikit_learn"])
@pytest.mark.parametrize("treatment", TREATMENTS)
def test_each_treatment_of_a_regression(treatment: str, learner: str) -> None:
    X, _, group = people()
    given, settings = ("mlp", GIVEN["mlp"][1]) if learner == "mlp" else (Ridge(), {})
    model = TreatedRegressor(treatment, given, learner_settings=settings)
    if incompatibility(all_learners()[learner], TREATMENTS[treatment], "regression") is not None:
        with pytest.raises(BadInput, match="does not fit the learner"):
            model.fit(X, X[:, 0], sensitive_features=group)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X[:, 0], sensitive_features=group)
    assert np.isfinite(model.predict(X, sensitive_features=group)).all()


@pytest.mark.parametrize("treatment", sorted(set(TREATMENTS) - {"untreated"}))
def test_each_treatment_asks_for_groups(treatment: str) -> None:
    learner = next(name for name in GIVEN if incompatibility(all_learners()[name], TREATMENTS[treatment]) is None)
    X, y, _ = rows_for(learner)
    with pytest.raises(BadInput, match=f"{treatment} acts on groups"):
        estimator(treatment, learner).fit(X, y)


def test_an_embedding_is_erased_from_for_every_row_that_is_read() -> None:
    """LEACE of two groups takes one dimension away: of rows of the fit, and of others."""
    X, y, group = people()
    others = X[::-1] + 0.1
    ranks = {}
    for name in ("untreated", "leace"):
        model = TreatedEmbedding(name, learner_settings=GIVEN["metric_learner"][1])
        model.fit(X, y, sensitive_features=group)
        read = [model.transform(rows).astype(np.float64) for rows in (X, others)]
        ranks[name] = [int(np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-4)) for rows in read]
    # The head is linear in two columns, and its rows have the length 1.
    assert ranks["leace"] == [rank - 1 for rank in ranks["untreated"]]
    refitted = model.set_params(treatment="untreated").fit(X, y, sensitive_features=group)
    assert np.linalg.matrix_rank(refitted.transform(X), tol=1e-4) >= ranks["untreated"][0]


def test_what_is_no_treatment_of_a_learner_says_why() -> None:
    X, y, group = people()

    @treatment("estimator_alone", stage="pre", paper="none")
    class Alone:
        """Fits by itself."""

        outside_studies = "it is an estimator of its own"

    try:
        with pytest.raises(BadInput, match="does not train a learner"):
            TreatedClassifier("estimator_alone", LogisticRegression()).fit(X, y, sensitive_features=group)
    finally:
        del registry._entries["treatment"]["estimator_alone"]
