"""A model out of a study: it predicts what the store holds, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sqlalchemy")
pytest.importorskip("skops")

import equipoise
from equipoise.estimators import load_model
from equipoise.foundation import BadInput
from equipoise.studies import Study, read_plan, refit
from equipoise.studies.plans import rows_of
from equipoise.studies.running import MODEL
from equipoise.studies.storage import open_store
from helpers.cases.plan import cohort
from helpers.running import Program

LEARNER = {"name": "mlp", "layers": 1, "width": 8, "epochs": 3, "batch_size": 32}
TREATMENTS: tuple[Any, ...] = (
    "untreated", "reweighting", {"name": "adversarial", "strength": [0.5, 2.0], "width": 8},
    {"name": "inlp", "iterations": 2}, {"name": "domain_independent", "readout": ["sum", "known_domain"]},
)  # fmt: skip
ADULT = """
schema = "equipoise.study-plan/1"
group = "sex"
seeds = 2
rounding = "ROUNDING"
size = 2000

[cohort]
name = "adult"
dev = 0.2

[[conditions]]
name = "interpolation"
mode = "CB"
alpha = [0, 1]

[learner]
name = "mlp"
width = 16
epochs = 3
batch_size = 256

[[treatments]]
name = "untreated"

[[treatments]]
name = "adversarial"
strength = 1.0
width = 16
"""


def study(**changes: Any) -> Study:
    given: dict[str, Any] = {
        "treatments": TREATMENTS, "learner": LEARNER, "group": "sex", "seeds": 2, "rounding": "deterministic",
    }  # fmt: skip
    return Study(cohort(), **{**given, **changes})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    store = tmp_path_factory.mktemp("study") / "study.db"
    made = study()
    made.run(store)
    return made, store


def stored(made: Study, store: Path, key: str) -> Any:
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        return opened.predictions(key, "test")


@pytest.mark.parametrize(
    "treatment",
    ["untreated", "reweighting", "adversarial(strength=2)", "inlp", "domain_independent(readout=known_domain)"],
)
def test_a_refitted_model_predicts_what_the_store_holds(
    treatment: str, ran: tuple[Study, Path], tmp_path: Path
) -> None:
    made, store = ran
    done = refit(made, store, treatment=treatment, to=tmp_path / "model")
    assert done.equal
    assert not done.from_store
    assert done.alone == 1.0
    assert [(agreement.split, agreement.rows, agreement.share) for agreement in done.agreements] == [
        ("dev", 100, 1.0),
        ("test", 100, 1.0),
    ]
    loaded = load_model(tmp_path / "model")
    test = {name: column[rows_of(made.cohort, "test")] for name, column in made.cohort.columns.items()}
    expected = stored(made, store, done.trial.key)
    np.testing.assert_array_equal(loaded.predict(test), np.array(made.dataset.classes)[expected.values])
    np.testing.assert_allclose(loaded.predict_proba(test), expected.scores, atol=1e-6)
    assert loaded.about["agreement"] == {"dev": 1.0, "test": 1.0}
    assert loaded.provenance["fingerprint"] == made.fingerprint


def test_the_audit_is_that_of_the_test_rows(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    done = made.refit("reweighting", tmp_path / "m", store, seed=1)
    rows = rows_of(made.cohort, "test")
    predicted = np.array(made.dataset.classes)[stored(made, store, done.trial.key).values]
    sex, hired = made.cohort["sex"][rows], made.cohort["hired"][rows]
    values = {
        record.value
        for record in done.audit.records
        if (record.measure, record.kind, record.group, record.class_) == ("true_positive_rate", "rate", "F", "yes")
    }
    positives = (sex == "F") & (hired == "yes")
    (value,) = values
    assert value == pytest.approx(float((predicted[positives] == "yes").mean()))
    assert load_model(tmp_path / "m").audit == json.loads(done.audit.to_json())
    assert done.trial.seed == 1


def test_of_several_cells_they_are_listed(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    with pytest.raises(BadInput, match="2 cells of the study fit") as error:
        refit(made, store, treatment="adversarial", to=tmp_path / "m")
    assert "strength=0.5" in str(error.value)
    assert "strength=2" in str(error.value)
    assert not (tmp_path / "m").exists()
    assert refit(made, store, treatment="ADV(strength=0.5)", to=tmp_path / "m").equal


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"treatment": "reweghting"}, "did you mean 'reweighting'"),
        ({"treatment": "adversarial(strength=7)"}, "No treatment of the study"),
        ({"treatment": "untreated", "seed": 9}, "no seed 9"),
        ({"treatment": "untreated", "condition": "nonsense"}, "condition 'nonsense' not found"),
        ({"treatment": "untreated", "learner": "resnet"}, "learner 'resnet' not found"),
        ({"treatment": "untreated", "selection": "last"}, "selection 'last' not found"),
        ({"treatment": "untreated", "rounding": "downward"}, "rounding 'downward' not found"),
    ],
)
def test_what_the_study_does_not_have_is_refused(
    how: dict[str, Any], says: str, ran: tuple[Study, Path], tmp_path: Path
) -> None:
    made, store = ran
    with pytest.raises(BadInput, match=says):
        refit(made, store, to=tmp_path / "m", **how)


def test_a_folder_that_is_taken_is_refused_before_anything_is_trained(
    ran: tuple[Study, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, store = ran
    (tmp_path / "thesis").touch()
    monkeypatch.setattr("equipoise.studies.running.Work.outcomes", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(BadInput, match="something else"):
        refit(made, store, treatment="untreated", to=tmp_path)


def test_without_a_store_nothing_is_compared_and_it_says_so(tmp_path: Path) -> None:
    done = study().refit("untreated", tmp_path / "m", tmp_path / "none.db")
    assert done.agreements == ()
    assert not done.equal
    assert "nothing was compared" in " ".join(done.words)
    assert not (tmp_path / "none.db").exists()


def test_another_rounding_is_compared_with_the_plans_trial(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    done = refit(made, store, treatment="untreated", to=tmp_path / "m", rounding="native")
    assert done.trial.rounding == "native"
    assert all(agreement.share > 0.95 for agreement in done.agreements)


def test_a_prediction_that_differs_is_counted(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    first = refit(made, store, treatment="untreated", to=tmp_path / "m")
    other = refit(made, store, treatment="untreated", to=tmp_path / "m", seed=1)
    from equipoise.studies._refitting import _agreement
    from equipoise.training import Outcome

    one, two = (stored(made, store, done.trial.key) for done in (first, other))
    counted = _agreement("test", Outcome(test=one), two)
    assert counted.same == int((one.values == two.values).sum()) < counted.rows
    assert counted.largest == pytest.approx(float(np.abs(one.scores - two.scores).max()))


def test_kept_weights_need_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, store = study(rounding="native"), tmp_path / "study.db"
    result = made.run(store, keep_models=True)
    assert result is not None
    with open_store(store, plan=made.plan_key, read_only=True) as opened:
        assert opened.stored_array_names() == {MODEL: len(made.trials())}
    monkeypatch.setattr("equipoise.studies.running.Work.outcomes", lambda *_: pytest.fail("it was trained"))
    for treatment in ("inlp", "adversarial(strength=2)", "domain_independent(readout=known_domain)"):
        done = refit(made, store, treatment=treatment, to=tmp_path / "m")
        assert done.from_store
        assert done.equal
        assert "its weights were in the store" in done.words[0]


def test_keeping_models_changes_no_trial(ran: tuple[Study, Path], tmp_path: Path) -> None:
    made, store = ran
    again = study()
    again.run(tmp_path / "study.db", keep_models=True)
    assert [trial.key for trial in again.trials()] == [trial.key for trial in made.trials()]
    for key in [trial.key for trial in made.trials()]:
        np.testing.assert_array_equal(stored(again, tmp_path / "study.db", key).scores, stored(made, store, key).scores)


def test_a_network_that_is_too_large_is_not_kept_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.studies.running._kept_models.MOST_BYTES", 100)
    made = study(treatments=["untreated"], seeds=1)
    result = made.run(tmp_path / "study.db", keep_models=True)
    assert result is not None
    with open_store(tmp_path / "study.db", plan=made.plan_key, read_only=True) as opened:
        assert opened.stored_array_names() == {}
        assert any("was not kept" in note for trial in opened.trials() for note in trial.notes)


def test_damaged_weights_of_the_store_are_refused() -> None:
    from equipoise.studies.running import model_of

    for content in (b"", b"nonsense" * 20):
        with pytest.raises(BadInput, match="damaged"):
            model_of(np.frombuffer(content, dtype=np.uint8))


def test_an_estimator_of_scikit_learn_becomes_a_model(tmp_path: Path) -> None:
    made = study(learner={"name": "scikit_learn"}, treatments=["untreated", "reweighting"])
    made.run(tmp_path / "study.db", keep_models=True)
    done = made.refit("reweighting", tmp_path / "m", tmp_path / "study.db")
    assert done.equal
    assert (tmp_path / "m" / "estimator.skops").is_file()
    assert not (tmp_path / "m" / "weights.safetensors").exists()


def test_a_function_of_ones_own_and_a_readout_of_all_rows_have_no_model(tmp_path: Path) -> None:
    def constant(data: Any, seed: int) -> Any:
        return ["no"] * 100, ["no"] * 100

    own = Study(cohort(), train=constant, version=1, group="sex", seeds=1)
    with pytest.raises(BadInput, match="a function of your own"):
        own.refit("constant", tmp_path / "m", tmp_path / "none.db")
    balanced = study(treatments=["untreated", {"name": "domain_discriminative", "readout": "rba"}])
    with pytest.raises(BadInput, match="depends on the other rows"):
        balanced.refit("domain_discriminative", tmp_path / "m", tmp_path / "none.db")


@pytest.mark.parametrize(("rounding", "keep"), [("deterministic", False), ("native", True)])
def test_the_small_adult_plan_from_the_command_line(
    rounding: str, keep: bool, equipoise_: Program, tmp_path: Path
) -> None:
    plan, model = tmp_path / "plan.toml", tmp_path / "model"
    plan.write_text(ADULT.replace("ROUNDING", rounding))
    assert equipoise_("study", "run", plan, "--quiet", *(["--keep-models"] if keep else [])).code == 0
    ended = equipoise_("study", "refit", plan, "--treatment", "ADV", "--condition", "alpha 1", "--to", model)
    assert ended.code == 0, ended.err
    assert "It predicts what the store holds for all 6,512 dev rows and 16,281 test rows." in ended.out
    assert ("its weights were in the store" if keep else "trained again") in ended.out
    loaded = equipoise.load_model(model)
    made = read_plan(plan).study()
    test = {name: column[rows_of(made.cohort, "test")] for name, column in made.cohort.columns.items()}
    assert len(loaded.predict(test)) == 16_281
    several = equipoise_("study", "refit", plan, "--treatment", "ADV", "--to", model)
    assert several.code == 2
    assert "2 cells of the study fit" in several.err
    assert "--condition" in several.err


@pytest.fixture
def equipoise_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)
