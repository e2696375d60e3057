"""Models out of studies of pictures: they predict what the store holds, and lie beside their audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sqlalchemy")

from equipoise.estimators import load_model
from equipoise.studies import Study, refit
from equipoise.studies.plans import rows_of
from equipoise.studies.running import MODEL
from equipoise.studies.storage import open_store
from helpers.picture_cohorts import picture_cohort

LEARNER = {"name": "image_network", "network": "small", "epochs": 2, "batch_size": 16, "schedule": "triangle"}
TREATMENTS: tuple[Any, ...] = (
    "untreated", "reweighting", {"name": "inlp", "iterations": 2}, "leace",
    {"name": "domain_independent", "readout": ["sum", "known_domain"]},
)  # fmt: skip
CELLS = ["untreated", "reweighting", "inlp", "leace(erase=True)", "domain_independent(readout=sum)",
         "domain_independent(readout=known_domain)"]  # fmt: skip


def study(**changes: Any) -> Study:
    given: dict[str, Any] = {
        "treatments": TREATMENTS, "learner": LEARNER, "group": "group", "seeds": 2, "rounding": "deterministic",
    }  # fmt: skip
    return Study(picture_cohort(), **{**given, **changes})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    store = tmp_path_factory.mktemp("study") / "study.db"
    made = study()
    made.run(store)
    return made, store


def stored(made: Study, store: Path, key: str) -> Any:
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        return opened.predictions(key, "test")


@pytest.mark.parametrize("treatment", CELLS)
def test_a_refitted_network_predicts_what_the_store_holds(
    treatment: str, ran: tuple[Study, Path], tmp_path: Path
) -> None:
    made, store = ran
    done = refit(made, store, treatment=treatment, to=tmp_path / "model")
    assert done.equal, done.words
    assert not done.from_store
    assert done.alone == 1.0
    loaded, test = load_model(tmp_path / "model"), made.cohort.where("test")
    expected = stored(made, store, done.trial.key)
    rows = rows_of(made.cohort, "test")
    np.testing.assert_array_equal(loaded.predict(test, ids=rows), np.array(made.dataset.classes)[expected.values])
    np.testing.assert_allclose(loaded.predict_proba(test, ids=rows), expected.scores, atol=1e-6)
    assert loaded.audit is not None
    assert loaded.audit["schema"] == "equipoise.audit/1"
    assert sorted(one.name for one in (tmp_path / "model").iterdir()) == [
        "audit.html", "audit.json", "model.json", "weights.safetensors",
    ]  # fmt: skip


def test_the_audit_is_that_of_the_test_pictures(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    done = refit(made, store, treatment="reweighting", to=tmp_path / "m", seed=1)
    test, classes = made.cohort.where("test"), np.array(made.dataset.classes)
    predicted = classes[stored(made, store, done.trial.key).values]
    rows = (test["group"] == "grey") & (test["label"] == "up")
    (value,) = {
        record.value
        for record in done.audit.records
        if (record.measure, record.kind, record.group, record.class_) == ("true_positive_rate", "rate", "grey", "up")
    }
    assert rows.any()
    assert value == pytest.approx(float((predicted[rows] == "up").mean()))


def test_kept_weights_of_small_networks_need_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, store = study(rounding="native"), tmp_path / "study.db"
    made.run(store, keep_models=True)
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        assert opened.stored_array_names()[MODEL] == len(made.trials())
    monkeypatch.setattr("equipoise.studies.running.Work.outcomes", lambda *_: pytest.fail("it was trained"))
    for treatment in CELLS:
        done = refit(made, store, treatment=treatment, to=tmp_path / "m")
        assert done.from_store
        assert done.equal, done.words


def test_a_large_network_is_not_kept_and_says_so(tmp_path: Path) -> None:
    learner = {**LEARNER, "network": "resnet18", "epochs": 1, "batch_size": 48}
    made = study(treatments=["untreated"], seeds=1, learner=learner)
    made.run(tmp_path / "study.db", keep_models=True)
    with open_store(tmp_path / "study.db", plan=made.plan_key, read_only=True) as opened:
        assert MODEL not in opened.stored_array_names()
        assert any("and was not kept: up to 4,194,304 are" in note for trial in opened.trials() for note in trial.notes)


def own_network(channels: int, width: int = 6) -> Any:
    import torch

    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, width, 3), torch.nn.BatchNorm2d(width), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["image_network", "metric_learner"])
def test_a_network_of_ones_own_is_refitted_and_loaded_with_its_code(name: str, tmp_path: Path) -> None:
    learner = {**LEARNER, "network": own_network}
    if name == "metric_learner":
        learner = {"name": name, "backbone": own_network, "embedding_size": 4, "epochs": 2, "batch_size": 16}
    made = study(treatments=["untreated", "reweighting"], seeds=1, learner=learner)
    made.run(tmp_path / "study.db", keep_models=True)
    with open_store(tmp_path / "study.db", plan=made.plan_key, read_only=True) as opened:
        assert MODEL not in opened.stored_array_names(), "weights without the code are of no use in a store"
    done = refit(made, tmp_path / "study.db", treatment="reweighting", to=tmp_path / "m")
    assert done.equal, done.words
    assert done.words[-1] == f"Load it: equipoise.load_model({str(tmp_path / 'm')!r}, module=MyNet)"
    loaded, test = load_model(tmp_path / "m", module=own_network), made.cohort.where("test")
    expected = stored(made, tmp_path / "study.db", done.trial.key)
    np.testing.assert_array_equal(loaded.predict(test), np.array(made.dataset.classes)[expected.values])
