"""Thresholds of groups: Fairlearn called directly, the rates that are to be equal, and draws that belong to rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import BadInput, Study
from equipoise.cohorts import Cohort
from equipoise.studies.plans import Named
from equipoise.testing import planted
from equipoise.training import Job, Predicted, Scored, incompatibility, learner_of, part_of_kind, train
from equipoise.treatments import ThresholdOptimizer
from equipoise.treatments.threshold_optimizer import CONSTRAINTS, OBJECTIVES, GroupThresholds
from helpers.cases.plan import cohort, columns

postprocessing = pytest.importorskip("fairlearn.postprocessing")

PAIRS = [(constraint, objective) for constraint in CONSTRAINTS for objective in OBJECTIVES]
OF_BOTH = ("accuracy_score", "balanced_accuracy_score")


def people(groups: int = 2, rows: int = 600, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return inputs, class and group: the groups differ in how many are of class 1 and in how well that is told."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, groups, rows)
    target = (generator.random(rows) < 0.3 + 0.4 * group / groups).astype(np.int64)
    inputs = np.stack([target + generator.normal(0, 0.6 + 0.5 * group, rows), group + 0.0], axis=1)
    return inputs, target, group


def scored(groups: int = 2, seed: int = 0) -> tuple[Scored, Any, Any]:
    """Return scores of dev rows, and the inputs and model behind them."""
    inputs, target, group = people(groups, seed=seed)
    model = LogisticRegression().fit(inputs, target)
    scores = model.predict_proba(inputs).astype(np.float32)
    names = tuple(f"group {code}" for code in range(groups))
    return Scored(scores, target, group, ("no", "yes"), names, 5), inputs, model


@pytest.mark.long
@pytest.mark.parametrize(("constraint", "objective"), PAIRS)
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
def test_chances_are_fairlearns(constraint: str, objective: str, flip: bool, groups: int) -> None:
    if constraint == "equalized_odds" and objective not in OF_BOTH:
        with pytest.raises(BadInput, match="objective is"):
            ThresholdOptimizer(constraint=constraint, objective=objective)
        return
    given, inputs, model = scored(groups)
    treatment = ThresholdOptimizer(constraint=constraint, objective=objective, flip=flip, grid_size=200)
    thresholds = treatment.adjust(given)
    direct = postprocessing.ThresholdOptimizer(
        estimator=model, prefit=True, predict_method="predict_proba", constraints=constraint, objective=objective,
        flip=flip, grid_size=200,
    ).fit(inputs, given.target, sensitive_features=given.group)  # fmt: skip
    new, _, group = people(groups, seed=1)
    scores = model.predict_proba(new).astype(np.float32)
    expected = direct._pmf_predict(new, sensitive_features=group)[:, 1]
    assert thresholds.chances(scores[:, 1].astype(np.float64), group) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("constraint", "of"),
    [
        ("demographic_parity", (0, 1)),
        ("equalized_odds", (0,)),
        ("equalized_odds", (1,)),
        ("true_positive_rate_parity", (1,)),
        ("false_positive_rate_parity", (0,)),
        ("true_negative_rate_parity", (0,)),
        ("false_negative_rate_parity", (1,)),
    ],
)
def test_the_rate_that_is_to_be_equal_is_on_the_dev_rows(constraint: str, of: tuple[int, ...]) -> None:
    given, _, _ = scored(3)
    thresholds = ThresholdOptimizer(constraint=constraint).adjust(given)
    chances = thresholds.chances(given.scores[:, 1].astype(np.float64), given.group)
    before, after = (
        [rate[(given.group == code) & np.isin(given.target, of)].mean() for code in range(3)]
        for rate in (given.scores[:, 1] > 0.5, chances)
    )
    assert np.ptp(before) > 0.05
    assert np.ptp(after) < 1e-9


def test_two_thresholds_by_hand() -> None:
    # Scores tell the class in each group, at another place: 0.6 in the first, 0.3 in the second.
    scores = np.array([0.5, 0.55, 0.65, 0.7, 0.2, 0.25, 0.35, 0.4])
    target, group = np.array([0, 0, 1, 1] * 2), np.repeat([0, 1], 4)
    given = Scored(np.stack([1 - scores, scores], axis=1).astype(np.float32), target, group, ("n", "y"), ("a", "b"), 0)
    thresholds = ThresholdOptimizer().adjust(given)
    assert thresholds.chances(scores, group).tolist() == target.tolist()
    assert thresholds.chances(np.array([0.58, 0.62, 0.28, 0.32]), np.array([0, 0, 1, 1])).tolist() == [0, 1, 0, 1]
    assert "equalized_odds, positive: y" in thresholds.notes[0]
    assert "drawn by the seed" in thresholds.notes[0]


def test_what_is_drawn_for_a_row_depends_on_its_id_and_the_seed_alone() -> None:
    thresholds = GroupThresholds(np.array([0, 1]), np.array([[1.0, 0.3, 0, 0, 1, 0, 0, 1], [1.0, 0.8] + [0] * 6]), 3)
    ids = np.arange(10_000)
    group = ids % 2
    said = Predicted(np.zeros(len(ids), dtype=np.int64), np.full((len(ids), 2), 0.5, dtype=np.float32))
    drawn = thresholds(said, group, ids)
    for code, chance in ((0, 0.3), (1, 0.8)):
        # Four standard deviations of a share of 5,000 rows.
        assert drawn.values[group == code].mean() == pytest.approx(
            chance, abs=4 * (chance * (1 - chance) / 5000) ** 0.5
        )
        assert drawn.scores[group == code, 1] == pytest.approx(chance)
    order = np.random.default_rng(0).permutation(len(ids))[:100]
    some = thresholds(Predicted(said.values[order], said.scores[order]), group[order], ids[order])
    assert some.values.tolist() == drawn.values[order].tolist()
    other = GroupThresholds(thresholds.codes, thresholds.rules, 4)(said, group, ids)
    assert 0.1 < (other.values != drawn.values).mean() < 0.6


def test_rows_of_an_unknown_group_keep_the_prediction_of_the_model() -> None:
    given, _, _ = scored(2)
    thresholds = ThresholdOptimizer().adjust(given)
    said = Predicted(np.array([1, 0, 1]), np.array([[0.3, 0.7], [0.8, 0.2], [0.4, 0.6]], dtype=np.float32))
    group = np.array([-1, 7, 0])
    found = thresholds(said, group, np.arange(3))
    assert found.values[:2].tolist() == [1, 0]
    assert found.scores[:2].tolist() == said.scores[:2].tolist()
    assert thresholds.notes_on(group)[0].startswith("2 test rows of a group without dev rows")
    assert thresholds.notes_on(np.array([0, 1])) == ()
    with pytest.raises(BadInput, match="need the group"):
        thresholds(said, None, np.arange(3))


def test_it_is_made_again_from_its_state() -> None:
    given, _, _ = scored(2)
    thresholds = ThresholdOptimizer(constraint="demographic_parity").adjust(given)
    again = part_of_kind("threshold_optimizer").restore(thresholds.state())
    said, ids = Predicted(given.target, given.scores), np.arange(len(given.target))
    assert again(said, given.group, ids).values.tolist() == thresholds(said, given.group, ids).values.tolist()
    with pytest.raises(BadInput, match="'rules' of threshold_optimizer"):
        GroupThresholds.restore({**thresholds.state(), "rules": np.zeros((2, 3))})


def test_dev_rows_without_a_class_or_with_one_group_are_refused_by_name() -> None:
    given, _, _ = scored(2)
    lone = Scored(given.scores, given.target, np.zeros_like(given.group), given.classes, given.groups, 0)
    with pytest.raises(BadInput, match="dev rows have only one group"):
        ThresholdOptimizer().adjust(lone)
    target = np.where(given.group == 1, 0, given.target)
    without = Scored(given.scores, target, given.group, given.classes, given.groups, 0)
    with pytest.raises(BadInput, match="No dev row of group 1 has the class yes") as refused:
        ThresholdOptimizer(constraint="demographic_parity").adjust(without)
    assert "merge groups" in str(refused.value)
    # Dev rows of no class or no group have no part.
    unknown = Scored(
        given.scores,
        np.where(np.arange(len(target)) < 5, -1, given.target),
        given.group,
        given.classes,
        given.groups,
        0,
    )
    assert len(ThresholdOptimizer().adjust(unknown).codes) == 2


@pytest.mark.parametrize(
    ("dataset", "learner", "words"),
    [
        (planted(3, 2), Named("scikit_learn", 1), "defined for two classes, and the target has 3 classes"),
        (planted(2, 2, task="regression"), Named("scikit_learn", 1), "the target is a number"),
        (
            planted(2, 2),
            Named("scikit_learn", 1, {"estimator": "sklearn.linear_model.RidgeClassifier"}),
            "gives classes without scores",
        ),
    ],
)
def test_what_it_is_not_defined_for_is_refused_in_words(dataset: Any, learner: Named, words: str) -> None:
    job = Job(dataset.everything, 0, treatments=(ThresholdOptimizer(),))
    (ended,) = train(dataset.with_test_labels(target=False, group=True), learner, [job])
    assert ended.failure is not None
    assert words in ended.failure
    assert ended.test is None


def test_it_fits_every_learner_with_scores_and_no_embedding() -> None:
    for name in ("mlp", "module", "scikit_learn", "image_network"):
        assert incompatibility(learner_of(name), ThresholdOptimizer) is None
    assert "no scores" in str(incompatibility(learner_of("raw_features"), ThresholdOptimizer))
    assert ThresholdOptimizer().needs_group_at_prediction


def test_without_groups_of_test_rows_a_trial_fails_and_says_so() -> None:
    cohort_ = planted()
    job = Job(cohort_.everything, 0, treatments=(ThresholdOptimizer(),))
    (ended,) = train(cohort_.with_test_labels(target=False, group=False), Named("scikit_learn", 1), [job])
    assert "need the group" in str(ended.failure)


@pytest.mark.parametrize("learner", ["scikit_learn", {"name": "mlp", "width": 8, "layers": 1, "epochs": 3}])
def test_a_study_adjusts_the_scores_of_the_untreated_model(learner: Any, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("torch")
    both = ["equalized_odds", "demographic_parity"]
    study = Study(
        cohort(800), group="sex", learner=learner, seeds=1, rounding="deterministic",
        treatments=["untreated", {"name": "threshold_optimizer", "constraint": both}, ["leace", "threshold_optimizer"]],
    )  # fmt: skip
    assert study.run(tmp_path / "study.db") is not None
    status = study.status(tmp_path / "study.db")
    assert status.done == status.total == 5
    dataset = study.dataset
    (plain,) = (trial for trial in study.trials() if trial.treatment == "untreated")
    (before,) = study.work.outcomes([plain])
    for trial in study.trials():
        if len(trial.treatments) > 1 or trial is plain:
            continue
        (after,) = study.work.outcomes([trial])
        constraint = trial.treatments[0].settings["constraint"]
        direct = ThresholdOptimizer(constraint=constraint).adjust(
            Scored(before.dev.scores, dataset.dev.target, dataset.dev.group, ("no", "yes"), dataset.groups, trial.seed)
        )
        expected = direct(before.test, dataset.test.group, dataset.test.ids)
        assert after.test.values.tolist() == expected.values.tolist()
        assert after.test.scores == pytest.approx(expected.scores, abs=1e-6)
        assert any("randomised predictions are drawn by the seed" in note for note in after.notes)


def test_a_study_of_three_classes_says_beforehand_that_every_trial_will_fail() -> None:
    data = columns()
    data["hired"] = np.array(["no", "maybe", "yes"])[np.arange(len(data["hired"])) % 3].astype(object)
    people_ = Cohort(
        columns=data, name="people", target="hired", groups=("sex",), features=("a", "b"), split="split"
    )  # fmt: skip
    study = Study(
        people_, group="sex", learner="scikit_learn", treatments=["untreated", "threshold_optimizer"], seeds=1
    )
    (problem,) = study.check().problems
    assert "every trial of threshold_optimizer will fail" in problem
    assert "two classes" in problem
