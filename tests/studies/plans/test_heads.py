"""A treatment that fits a classifier afterwards has its penalty as a hyper-parameter; the control has the same one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise.studies import Study
from equipoise.studies.plans import make_treatment
from equipoise.treatments._linear_head import Heads, NullSpace
from helpers.cases.plan import cohort

MLP = {"name": "mlp", "layers": 1, "width": 4, "epochs": 1}


def study_of(**changes: Any) -> Study:
    return Study(cohort(), group="sex", learner=MLP, seeds=1, **changes)


@pytest.mark.parametrize("name", ["inlp", "leace"])
def test_the_control_has_the_classifier_of_its_treatment(name: str) -> None:
    study = study_of(treatments=[{"name": name, "head_c": 0.5}])
    treated, control = (trial.treatments[0] for trial in study.trials())
    assert treated.settings["head_c"] == control.settings["head_c"] == 0.5
    assert make_treatment(control).values["head_c"] == 0.5
    grid = study_of(treatments=[{"name": name, "head_c": [0.5, 2]}])
    assert [trial.treatments[0].settings["head_c"] for trial in grid.trials()] == [0.5, 0.5, 2, 2]


@pytest.mark.parametrize("name", ["inlp", "leace"])
def test_a_default_classifier_is_not_named_so_that_earlier_trials_keep_their_keys(name: str) -> None:
    plain, given = (study_of(treatments=[{"name": name, **more}]) for more in ({}, {"head_c": 1.0}))
    assert [trial.key for trial in plain.trials()] == [trial.key for trial in given.trials()]
    assert all("head_c" not in trial.treatments[0].settings for trial in plain.trials())
    assert make_treatment(plain.trials()[0].treatments[0]).values["head_c"] == 1.0


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
def test_the_classifier_is_that_of_scikit_learn_with_this_penalty(strength: float) -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(200, 5))
    target = (rows[:, 0] + generator.normal(size=200) > 0).astype(np.int64)
    head = Heads(target, 2, False, strength=strength).fitted(rows, NullSpace(5))
    expected = LogisticRegression(C=strength).fit(rows, target)
    np.testing.assert_allclose(head.weights[1] - head.weights[0], expected.coef_[0], atol=1e-3)


def test_a_search_has_the_classifier_of_treatment_and_control() -> None:
    study = study_of(treatments=["untreated", "inlp", "leace"], search={"trials": 2})
    labels = {arm.arm.name: arm.labels for arm in study.searched_arms.values()}
    with_head = ("head_c", "learning_rate")
    assert labels == {
        "untreated": ("learning_rate",), "inlp": with_head, "inlp: refitted head alone": with_head,
        "leace": with_head, "leace: refitted head alone": with_head,
    }  # fmt: skip
    inlp = next(arm for arm in study.searched_arms.values() if arm.arm.name == "inlp")
    assert inlp.with_values((1.0, 0.003))[1][0].settings == inlp.arm.treatments[0].settings
    assert inlp.with_values((0.2, 0.003))[1][0].settings["head_c"] == 0.2
    fixed = study_of(treatments=[{"name": "inlp", "head_c": 0.5}], search={"trials": 2})
    assert {arm.labels for arm in fixed.searched_arms.values()} == {("learning_rate",)}
