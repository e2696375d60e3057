"""What a study chooses by: performance and fairness of a plan, the default of skewed classes, and INLP's control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput, Cohort, Study
from equipoise.measures import PerformanceReason
from equipoise.studies import read_plan
from equipoise.studies.findings import write_table
from equipoise.studies.plans import CHOICE
from equipoise.studies.running import run_in_store, settings_of
from equipoise.studies.storage import open_store
from helpers.cases.plan import PLAN, cohort, columns, write_people

LEARNER = {"name": "mlp", "width": 4, "epochs": 1}


def skewed(share: float, rows: int = 800) -> Cohort:
    """Return people of whom such a share are hired."""
    data = columns(rows)
    generator = np.random.default_rng(1)
    hired = generator.permutation(rows) < share * rows
    data["hired"] = np.where(hired, "yes", "no").astype(object)
    data["a"] = hired + generator.normal(0, 0.5, rows)
    return Cohort("skewed", data, "hired", ("sex",), ("a", "b"), split="split", favourable="yes")


def study(**given: Any) -> Study:
    return Study(cohort(), **{"group": "sex", "seeds": 1, "learner": LEARNER, **given})


def test_a_plan_says_what_epochs_and_treatments_are_chosen_by(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    file = tmp_path / "plan.toml"
    file.write_text('performance = "balanced_accuracy"\nfairness = "DP"\n' + PLAN, encoding="utf-8")
    made = read_plan(file).study()
    assert (made.performance, made.fairness, made.performance_reason) == (
        "balanced_accuracy",
        "DP",
        PerformanceReason.GIVEN,
    )
    trial = made.trials()[0]
    assert (trial.performance, trial.fairness, trial.choice) == ("balanced_accuracy", "DP", CHOICE)
    settings = settings_of(trial)
    assert (settings.performance, settings.fairness) == ("balanced_accuracy", "DP")


def test_trials_chosen_by_something_else_are_other_trials() -> None:
    keys = {study(performance=p, fairness=f).trials()[0].key for p in ("accuracy", "f1") for f in ("GAP", "DP")}
    assert len(keys) == 4
    assert study().trials()[0].key == study(performance="accuracy", fairness="GAP").trials()[0].key


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"performance": "balanced"}, "accuracy, balanced_accuracy, auc.*did you mean 'balanced_accuracy'"),
        ({"performance": "r2"}, "accuracy, balanced_accuracy, auc"),
        ({"fairness": "dp"}, "GAP, DP, EO, EOTP.*worst_group"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused_with_what_can(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=f"(?s){words}"):
        study(**given)


def test_a_plan_that_chooses_by_something_unknown_says_the_line_and_what_is_allowed(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    file = tmp_path / "plan.toml"
    file.write_text('fairness = "equity"\n' + PLAN, encoding="utf-8")
    with pytest.raises(BadInput, match=r"(?s)plan.toml, line 1 .*GAP.*worst_group"):
        read_plan(file)
    file.write_text('performance = "pearson"\n' + PLAN, encoding="utf-8")
    with pytest.raises(BadInput, match=r"(?s)plan.toml, line 1 .*balanced_accuracy"):
        read_plan(file).study()


def test_auc_is_refused_of_learners_without_scores() -> None:
    svm = {"name": "scikit_learn", "estimator": "sklearn.svm.LinearSVC"}
    for learner in ("raw_features", svm):
        with pytest.raises(BadInput, match=r'(?s)gives classes without scores.*performance = "balanced_accuracy"'):
            study(performance="auc", learner=learner).check()
    assert study(performance="auc", learner="scikit_learn").performance == "auc"


@pytest.mark.parametrize(
    ("share", "expected"), [(0.06, "balanced_accuracy"), (0.19, "balanced_accuracy"), (0.3, "accuracy")]
)
def test_skewed_classes_are_chosen_by_balanced_accuracy_and_check_says_so(share: float, expected: str) -> None:
    balanced = {"name": "interpolation", "mode": "JB", "alpha": 1}
    made = Study(skewed(share), group="sex", conditions=["as_given", balanced], learner=LEARNER, seeds=1)
    assert made.performance == expected
    assert {trial.performance for trial in made.trials()} == {expected}  # once for all conditions
    said = [words for words in made.check().words if "balanced accuracy" in words]
    if expected == "accuracy":
        assert not said
        return
    assert made.performance_reason is PerformanceReason.SKEWED
    assert said[0].startswith("The largest training class has ")
    asked = Study(skewed(share), group="sex", performance="accuracy", learner=LEARNER, seeds=1)
    assert (asked.performance, asked.performance_reason) == ("accuracy", PerformanceReason.GIVEN)
    assert not [words for words in asked.check().words if "balanced accuracy" in words]


def test_a_regression_is_chosen_by_pearson_or_r2() -> None:
    data = {**columns(), "hired": columns()["a"] * 2 + columns()["b"]}
    people = Cohort("n", data, "hired", ("sex",), ("a", "b"), split="split", task="regression")
    assert Study(people, learner=LEARNER).performance == "pearson"
    assert Study(people, learner=LEARNER, performance="r2", fairness="worst_group").performance == "r2"
    with pytest.raises(BadInput, match="pearson"):
        Study(people, learner=LEARNER, performance="accuracy")


# INLP's control.


def test_inlp_is_run_beside_its_refitted_head_and_check_names_the_added_trials() -> None:
    made = study(treatments=["untreated", "inlp", "reweighting"], seeds=3)
    assert [arm.name for arm in made.arms] == ["untreated", "inlp", "inlp: refitted head alone", "reweighting"]
    control = [trial for trial in made.trials() if trial.treatment == "inlp: refitted head alone"]
    assert [trial.seed for trial in control] == [0, 1, 2]
    assert control[0].treatments[0].settings["iterations"] == 0
    found = made.check()
    assert (found.trials, found.added_trials) == (12, 3)
    expected = "3 trials of these are controls that the plan does not name: inlp: refitted head alone."
    assert expected in found.words
    assert not study(treatments=["untreated", "reweighting"]).check().added


def test_the_control_of_a_grid_is_one_and_is_not_added_where_the_plan_has_it() -> None:
    grid = {"name": "inlp", "iterations": [5, 300], "classifier": ["svm", "logistic"]}
    made = study(treatments=["untreated", grid])
    assert [arm.name for arm in made.arms].count("inlp: refitted head alone") == 1
    own = study(treatments=["untreated", {**grid, "iterations": [0, 300]}])
    assert [arm.name for arm in own.arms] == ["untreated", "inlp: refitted head alone", "inlp", "inlp"]
    assert not any(arm.added for arm in own.arms)
    both = study(treatments=["untreated", ["reweighting", "inlp"]])
    assert [arm.name for arm in both.arms][1:] == ["reweighting + inlp", "reweighting + inlp: refitted head alone"]


def test_the_control_of_inlp_is_a_cell_of_its_own_and_no_setting_among_which_dev_rows_choose(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    made = study(treatments=["untreated", {"name": "inlp", "iterations": [1, 4]}], seeds=2)
    result = made.run(tmp_path / "s.db")
    assert result is not None
    chosen = {cell.treatment: cell.setting for cell in result.cells if cell.chosen}
    assert set(chosen) == {"untreated", "inlp", "inlp: refitted head alone"}
    assert chosen["inlp: refitted head alone"] == ""
    assert chosen["inlp"] in ("iterations=1", "iterations=4")


# Stores of earlier versions.


def test_a_store_of_an_earlier_version_opens_reports_and_is_not_mixed_with_new_trials(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    made = study(treatments=["untreated", "reweighting"], seeds=2)
    earlier = study(treatments=["untreated", "reweighting"], seeds=2)
    vars(earlier)["_trials"] = tuple(trial.as_earlier() for trial in made.trials())
    store = tmp_path / "s.db"
    run_in_store(earlier, store)
    result = made.result(store)
    assert any("run by an earlier version" in note for note in result.notes)
    assert write_table(made, store, tmp_path / "earlier.csv") > 0
    assert made.status(store).done == made.check(store).done == 0  # they do not fit the plan any more
    assert any("how epochs are chosen, version 1 -> 2" in words for words in made.check(store).words)
    run_in_store(made, store, on_change=lambda change: None)
    assert made.status(store).done == 4
    with open_store(str(store), create=False, read_only=True, plan=made.plan_key) as opened:
        assert {trial.trial.choice for trial in opened.trials()} == {CHOICE}
    assert not any("run by an earlier version" in note for note in made.result(store).notes)


def run_by_an_earlier_version(store: Path, **given: Any) -> None:
    earlier = study(**given)
    vars(earlier)["_trials"] = tuple(trial.as_earlier() for trial in earlier.trials())
    run_in_store(earlier, store)


@pytest.mark.parametrize("chosen", [{"performance": "f1"}, {"fairness": "DP"}])
def test_a_plan_that_chooses_otherwise_does_not_report_trials_of_an_earlier_version(
    tmp_path: Path, chosen: dict[str, str]
) -> None:
    pytest.importorskip("torch")
    store = tmp_path / "s.db"
    run_by_an_earlier_version(store)
    with pytest.raises(BadInput, match=r'(?s)not run in .* as it is now.*performance = "accuracy", fairness = "GAP"'):
        study(**chosen).result(store)
    assert any("chose epochs by accuracy and 1 - GAP" in note for note in study().result(store).notes)


def test_trials_of_this_version_are_not_passed_over_for_those_of_an_earlier_one(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    store = tmp_path / "s.db"
    run_by_an_earlier_version(store)
    run_in_store(study(performance="f1"), store, on_change=lambda change: None)
    with pytest.raises(BadInput, match=r"not run in .* as it is now"):
        study(performance="accuracy").result(store)


def test_a_learner_without_epochs_has_no_note_of_how_an_earlier_version_chose_them(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    run_by_an_earlier_version(store, learner="scikit_learn")
    result = study(learner="scikit_learn").result(store)
    assert result.cells
    assert not any("earlier version" in note for note in result.notes)
