"""Several learners in one study: by a list of them, or by a list among the settings of one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from equipoise import Study
from equipoise.foundation import BadInput
from equipoise.studies import check, read_plan
from equipoise.studies.plans import LearnerTexts
from equipoise.studies.plans._design import learners_of
from equipoise.studies.running import cell_labels, pack, unpack
from helpers.cases.plan import PLAN, cohort, write_plan

SMALL = {"name": "mlp", "width": [4, 8], "activation": ["tanh", "relu"], "epochs": 1}


def test_a_list_in_a_setting_is_several_learners_and_each_trial_has_one() -> None:
    study = Study(cohort(), group="sex", learner=SMALL, treatments=["untreated", "reweighting"], seeds=2)
    found = [(learner.named.settings["width"], learner.named.settings["activation"]) for learner in study.learners]
    assert found == [(4, "tanh"), (4, "relu"), (8, "tanh"), (8, "relu")]
    trials = study.trials()
    assert len(trials) == 4 * 2 * 2
    assert len({trial.key for trial in trials}) == len(trials)
    for stack in study.stacks():
        assert len({str(trial.learner) for trial in stack.trials}) == 1
        for job, trial in zip(study.work.jobs(stack.trials), stack.trials, strict=True):
            assert job.learner["width"] == trial.learner.settings["width"]
    assert "4 learners x 2 treatments" in check(study).words[1]
    labels = list(cell_labels(study).values())
    assert len(set(labels)) == 8
    assert all("width=" in label and ("tanh" in label or "relu" in label) for label in labels)


def test_a_list_of_estimators_or_of_their_settings_is_several_learners_too() -> None:
    names = ["sklearn.ensemble.RandomForestClassifier", "sklearn.ensemble.ExtraTreesClassifier"]
    settings = [{"n_estimators": 3}, {"n_estimators": 7}]
    learner = {"name": "scikit_learn", "estimator": names, "settings": settings}
    study = Study(cohort(), group="sex", learner=learner, treatments=["untreated"], seeds=1)
    found = [(learner.named.settings["estimator"], learner.named.settings["settings"]) for learner in study.learners]
    assert found == [(name, values) for name in names for values in settings]


def test_a_list_of_weights_of_labels_is_several_learners() -> None:
    found = learners_of({"name": "mlp", "label_weights": ["balanced", {"cat": 2.0}]}, "multilabel")
    assert [one.named.settings["label_weights"] for one in found] == ["balanced", {"cat": 2.0}]
    with pytest.raises(BadInput, match="label_weights is 'heavy'"):
        learners_of({"name": "mlp", "label_weights": ["balanced", "heavy"]}, "multilabel")


def test_learners_of_several_kinds_stand_in_one_plan(tmp_path: Path) -> None:
    start = PLAN.index("[learner]")
    stop = PLAN.index("[[", start)
    entries = '[[learner]]\nname = "mlp"\nwidth = 4\n\n[[learner]]\nname = "scikit_learn"\nestimator = '
    entries += '"sklearn.linear_model.LogisticRegression"\n\n'
    study = read_plan(write_plan(tmp_path, PLAN[:start] + entries + PLAN[stop:])).study()
    assert [learner.named.name for learner in study.learners] == ["mlp", "scikit_learn"]
    bad = entries.replace("width = 4", "widht = 4")
    with pytest.raises(BadInput) as refused:
        read_plan(write_plan(tmp_path, PLAN[:start] + bad + PLAN[stop:])).study()
    assert re.search(r"line \d+ \(learner 1, widht\).*did you mean 'width'", str(refused.value), flags=re.DOTALL)
    nameless = entries.replace('name = "mlp"\n', "")
    with pytest.raises(BadInput, match=r"\(learner 1\): There is no name"):
        read_plan(write_plan(tmp_path, PLAN[:start] + nameless + PLAN[stop:]))


@pytest.mark.parametrize(
    ("learner", "complaint"),
    [
        ([], "There are no learner"),
        ({"name": "mlp", "width": []}, "width is an empty list"),
        ({"name": "mlp", "width": [4, 0]}, "width is 0"),
        (["mlp", {"name": "mlp", "width": 300}], "is in the plan twice"),
    ],
)
def test_learners_that_cannot_be_are_refused(learner: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        Study(cohort(), group="sex", learner=learner)


def test_a_packed_study_of_several_learners_trains_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    work = Study(cohort(), group="sex", learner=SMALL, seeds=1).work
    again = unpack(pack(work, tmp_path / "packed"))
    for stack, other in zip(work.stacks, again.stacks, strict=True):
        (mine,), (theirs,) = work.outcomes(stack.trials), again.outcomes(other.trials)
        assert mine.test is not None
        assert theirs.test is not None
        assert mine.test.values.tolist() == theirs.test.values.tolist()


def test_reports_part_learners_by_their_choices_and_not_by_their_numbers() -> None:
    learners = [learner.named for learner in Study(cohort(), group="sex", learner=SMALL).learners]
    said = LearnerTexts(learners, numbers=False)
    assert [said[learner] for learner in learners] == ["mlp, tanh", "mlp, relu"] * 2
    alone = LearnerTexts(learners[:1])
    assert alone[learners[0]] == "mlp"


def test_a_study_of_several_losses_compares_treatments_within_each(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    study = Study(
        cohort(), group="sex", learner={"name": "mlp", "width": 4, "activation": ["tanh", "relu"], "epochs": 1},
        treatments=["untreated", "reweighting"], seeds=2,
    )  # fmt: skip
    found = study.run(tmp_path / "s.db")
    assert found is not None
    assert {cell.learner for cell in found.cells} == {"mlp, tanh", "mlp, relu"}
    assert len(found.cells) == 4
