"""``equipoise.fit``: columns of a table in, a model that predicts, is audited, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import equipoise
from equipoise.estimators import TableModel, TreatedClassifier
from equipoise.foundation import BadInput, installed

ROWS = 240
QUICK = {"width": 8, "layers": 1, "epochs": 4, "batch_size": 32, "learning_rate": 0.03}
needs_torch = pytest.mark.skipif(not installed("torch"), reason="needs torch (extra train)")
needs_skops = pytest.mark.skipif(not installed("skops"), reason="needs skops (extra train)")


def people(rows: int = ROWS, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], rows), rng.choice(["x", "y"], rows)
    hours = rng.normal(40, 10, rows) + 5 * (sex == "m")
    job = np.where(rng.uniform(size=rows) < 0.5, "cook", "clerk")
    pay = hours + 10 * (job == "clerk") + rng.normal(0, 5, rows)
    income = np.where(pay > 48, "high", "low")
    return {"hours": hours, "job": job, "sex": sex, "race": race, "income": income, "pay": pay}


def fitted(data: Any = None, **given: Any) -> TableModel:
    data = people() if data is None else data
    return equipoise.fit(
        data, **{"target": "income", "sensitive_features": "sex", "learner": LogisticRegression(),
                 "features": ["hours", "job"], "favourable": "high", **given}
    )  # fmt: skip


def test_columns_are_found_by_name_whatever_their_order() -> None:
    data, other = people(), people(50, seed=1)
    model = fitted(data)
    expected = model.predict(other)
    assert expected.shape == (50,)
    assert set(expected) == {"high", "low"}
    np.testing.assert_array_equal(model.predict(dict(reversed(other.items()))), expected)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(other)[["sex", "job", "hours"]]), expected)
    np.testing.assert_array_equal(model.predict(pl.DataFrame(other)), expected)
    assert fitted(pd.DataFrame(data)).predict(other).tolist() == expected.tolist()
    assert fitted(pl.DataFrame(data)).predict(other).tolist() == expected.tolist()


def test_it_is_the_estimator_of_the_same_columns() -> None:
    data = people()
    model = fitted(treatment="reweighting")
    frame = pd.DataFrame({"hours": data["hours"], "job": data["job"]})
    own = TreatedClassifier("reweighting", LogisticRegression())
    own.fit(frame, data["income"], sensitive_features=data["sex"])
    np.testing.assert_allclose(model.predict_proba(data), own.predict_proba(frame), atol=1e-6)
    np.testing.assert_array_equal(model.estimator.predict(frame), own.predict(frame))


def test_sensitive_features_are_no_inputs_unless_asked_for() -> None:
    data = people()
    left_out = fitted(data, features=None, sensitive_features=["sex", "race"])
    assert left_out.features == ("hours", "job", "pay")
    assert left_out.left_out == ("sex", "race")
    assert "sex is not among the inputs." in left_out.notes
    assert repr(left_out) == (
        "TableModel(income from hours, job, pay: untreated LogisticRegression; sex, race are no inputs)"
    )
    other = {**data, "sex": np.full(ROWS, "f"), "race": data["race"][::-1]}
    np.testing.assert_array_equal(left_out.predict(other), left_out.predict(data))
    included = fitted(data, include_sensitive=True)
    assert included.features == ("hours", "job", "sex")
    assert included.left_out == ()
    assert "no input" not in repr(included)


def test_the_audit_is_that_of_its_predictions() -> None:
    data, other = people(), people(400, seed=1)
    model = fitted(data)
    result = model.audit(other, draws=0)
    expected = equipoise.audit(
        target=other["income"], prediction=model.predict(other), sensitive_features={"sex": other["sex"]},
        favourable="high", draws=0,
    )  # fmt: skip
    assert result.records == expected.records
    assert result.favourable == "high"
    crossed = model.audit(other, sensitive_features=["sex", "race"], intersections=True, draws=0)
    assert {("sex",), ("race",), ("sex", "race")} <= {record.attribute for record in crossed.records}
    without = fitted(data, sensitive_features=())
    with pytest.raises(BadInput, match="knows no sensitive features"):
        without.audit(other)
    assert without.audit(other, sensitive_features="sex", draws=0).records == expected.records


def test_a_regression() -> None:
    data = people()
    model = fitted(data, target="pay", task="regression", learner=Ridge(), favourable=None, treatment="reweighting")
    assert np.corrcoef(model.predict(data), data["pay"])[0, 1] > 0.8
    result = model.audit(data, draws=0)
    assert any(record.measure == "mean_absolute_error" for record in result.records)
    with pytest.raises(BadInput, match="the target is a number"):
        fitted(data, target="pay", task="regression", learner=Ridge(), favourable=30)


@needs_skops
@pytest.mark.parametrize("treatment", ["untreated", "reweighting", "inlp"])
def test_an_estimator_is_saved_and_read_back_equal(tmp_path: Path, treatment: str) -> None:
    model, other = fitted(treatment=treatment), people(50, seed=1)
    folder = model.save(tmp_path / "model", model.audit(other, draws=0))
    read = equipoise.load_model(folder)
    np.testing.assert_array_equal(read.predict(other), model.predict(other))
    np.testing.assert_array_equal(read.predict_proba(other), model.predict_proba(other))
    assert read.favourable == "high"
    assert read.groups.columns == ("sex",)
    assert read.about["treatments"] == [treatment]
    assert read.audit is not None


@needs_torch
@pytest.mark.parametrize(
    ("treatment", "settings"),
    [("untreated", {}), ("adversarial", {"strength": 1.0}), ("domain_independent", {"readout": "known_domain"})],
)
def test_a_network_is_saved_and_read_back_equal(tmp_path: Path, treatment: str, settings: dict[str, Any]) -> None:
    model = fitted(
        treatment=treatment, treatment_settings=settings, learner="mlp", learner_settings=QUICK,
        sensitive_features=["sex", "race"],
    )  # fmt: skip
    other = people(50, seed=1)
    model.save(tmp_path / "model")
    read = equipoise.load_model(tmp_path / "model")
    np.testing.assert_array_equal(read.predict(other), model.predict(other))
    np.testing.assert_array_equal(read.predict_proba(other), model.predict_proba(other))
    np.testing.assert_array_equal(read.transform(other), model.transform(other))
    groups = {name: other[name] for name in ("sex", "race")}
    frame = pd.DataFrame({"hours": other["hours"], "job": other["job"]})
    own = model.estimator.predict(frame, sensitive_features=groups)
    np.testing.assert_array_equal(read.predict(other), own)
    assert read.provenance["fingerprint"].startswith("sha256:")


@needs_torch
def test_a_model_that_predicts_by_group_reads_the_columns_of_groups() -> None:
    data = people()
    model = fitted(
        data, treatment="domain_independent", treatment_settings={"readout": "known_domain"}, learner="mlp",
        learner_settings=QUICK,
    )  # fmt: skip
    swapped = {**data, "sex": np.where(data["sex"] == "f", "m", "f")}
    assert not np.allclose(model.predict_proba(data), model.predict_proba(swapped))
    with pytest.raises(BadInput, match="'sex'"):
        model.predict({name: data[name] for name in ("hours", "job")})


@needs_torch
def test_the_seed_decides() -> None:
    said = [fitted(learner="mlp", learner_settings=QUICK, seed=seed).predict_proba(people()) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(said[0], said[1])
    assert not np.allclose(said[0], said[2])


def test_classes_that_are_numbers_and_both_spellings() -> None:
    data = people()
    data["income"] = np.where(data["income"] == "high", 1, 0)
    model = fitted(data, favourable=1)
    assert model.predict(data).dtype.kind == "i"
    assert model.favourable == "1"
    american = equipoise.fit(
        data, target="income", sensitive_features="sex", learner=LogisticRegression(), favorable="1"
    )
    assert american.favourable == "1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "incme"}, "did you mean 'income'"),
        ({"sensitive_features": "gender"}, "column 'gender' not found"),
        ({"features": ["hours", "jobs"]}, "did you mean 'job'"),
        ({"features": ["hours", "income"]}, "is among the features"),
        ({"sensitive_features": ["sex", "income"]}, "is among the sensitive features"),
        ({"favourable": "rich"}, "no training row is of that class"),
        ({"task": "multilabel"}, "task is 'multilabel'"),
        ({"learner_setings": {}}, "learner_settings"),
        ({"standardise": False}, "standardise"),
        ({"treatment": "reweighting", "sensitive_features": ()}, "reweighting acts on groups"),
    ],
)
def test_bad_input_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(**given)


def test_nothing_to_learn_from_and_missing_columns() -> None:
    data = people()
    with pytest.raises(BadInput, match="No column is left"):
        equipoise.fit({"sex": data["sex"], "income": data["income"]}, target="income", sensitive_features="sex")
    with pytest.raises(BadInput, match="'job'"):
        fitted(data).predict({"hours": data["hours"]})
    missing = {**data, "sex": np.where(np.arange(ROWS) < 2, None, data["sex"])}
    with pytest.raises(BadInput, match="in 2 rows, the first in row 0"):
        fitted(missing)
