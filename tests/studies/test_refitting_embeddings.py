"""Embeddings out of studies: they are those of the trial, and are audited as classes and as a space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sqlalchemy")

from equipoise.audits.embedding import audit_embedding
from equipoise.estimators import load_model
from equipoise.studies import Study, refit
from equipoise.studies.running import MODEL
from equipoise.studies.storage import open_store
from helpers.picture_cohorts import embedding_cohort, picture_cohort

HEAD = {"name": "metric_learner", "embedding_size": 4, "epochs": 3, "batch_size": 16}
NETWORK = {**HEAD, "backbone": "small", "epochs": 2}
RAW = {"name": "raw_features"}
TREATMENTS: tuple[Any, ...] = ("untreated", "parade", "leace", {"name": "inlp", "iterations": 2})
CELLS = ["untreated", "parade", "leace(erase=True)", "inlp"]


def study(learner: dict[str, Any], **changes: Any) -> Study:
    data = picture_cohort() if "backbone" in learner else embedding_cohort()
    given: dict[str, Any] = {
        "treatments": TREATMENTS, "learner": learner, "group": "group", "seeds": 2, "rounding": "deterministic",
    }  # fmt: skip
    return Study(data, **{**given, **changes})


def stored(made: Study, store: Path, key: str) -> tuple[Any, Any]:
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        return opened.predictions(key, "test"), opened.stored_arrays([key], "embedding.test")[key]


@pytest.mark.parametrize("learner", [HEAD, NETWORK, RAW], ids=["head", "network", "raw"])
def test_a_refitted_embedding_is_what_the_store_holds(learner: dict[str, Any], tmp_path: Path) -> None:
    raw = learner is RAW
    made, store = study(learner, treatments=["untreated", "leace"]) if raw else study(learner), tmp_path / "study.db"
    made.run(store)
    for number, treatment in enumerate(("untreated", "leace(erase=True)") if raw else CELLS):
        done = refit(made, store, treatment=treatment, to=tmp_path / str(number), seed=1)
        assert done.equal, done.words
        predicted, embedding = stored(made, store, done.trial.key)
        loaded, test = load_model(tmp_path / str(number)), made.cohort.where("test")
        np.testing.assert_array_equal(loaded.predict(test), np.array(made.dataset.classes)[predicted.values])
        np.testing.assert_allclose(loaded.transform(test), embedding.astype(np.float32), atol=2e-3)


def test_both_audits_lie_beside_the_model(tmp_path: Path) -> None:
    made = study(HEAD, treatments=["parade"], seeds=1)
    done = refit(made, tmp_path / "none.db", treatment="parade", to=tmp_path / "m")
    loaded, test = load_model(tmp_path / "m"), made.cohort.where("test")
    assert sorted(one.name for one in (tmp_path / "m").iterdir()) == [
        "audit.html", "audit.json", "embedding_audit.html", "embedding_audit.json", "model.json", "weights.safetensors",
    ]  # fmt: skip
    assert loaded.audit is not None
    assert done.unaudited is None
    assert done.embedding_audit is not None
    assert loaded.embedding_audit == json.loads(done.embedding_audit.to_json())
    expected = audit_embedding(
        loaded.transform(test), target=test["label"], sensitive_features={"group": test["group"]}
    )
    found = [(record.measure, record.group, record.value) for record in done.embedding_audit.records]
    assert len(found) > 10
    np.testing.assert_array_equal([value for *_, value in found], [record.value for record in expected.records])
    assert [one[:2] for one in found] == [(record.measure, record.group) for record in expected.records]


def test_an_embedding_that_cannot_be_audited_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.foundation import BadInput
    from equipoise.studies import _refitting as refitting

    def refused(*_: Any, **__: Any) -> None:
        raise BadInput("All points are the same")

    monkeypatch.setattr(refitting, "audit_embedding", refused)
    done = refit(study(HEAD, seeds=1), tmp_path / "none.db", treatment="untreated", to=tmp_path / "m")
    assert "Its embedding could not be audited: All points are the same" in done.words
    assert load_model(tmp_path / "m").embedding_audit is None


def test_kept_embeddings_need_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, store = study(HEAD, rounding="native"), tmp_path / "study.db"
    made.run(store, keep_models=True)
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        assert opened.stored_array_names()[MODEL] == len(made.trials())
    monkeypatch.setattr("equipoise.studies.running.Work.outcomes", lambda *_: pytest.fail("it was trained"))
    for treatment in CELLS:
        done = refit(made, store, treatment=treatment, to=tmp_path / "m")
        assert done.from_store
        assert done.equal, done.words
