"""The reduction: Fairlearn called directly, the constraint on the training rows, and draws from the mixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import BadInput, Study
from equipoise.foundation import registry
from equipoise.studies.plans import Named
from equipoise.testing import planted
from equipoise.training import Job, Outcome, Predicted, TrainingRows, copies_of, part_of_kind, sample_uniforms, train
from equipoise.treatments import ExponentiatedGradient, Reweighting
from equipoise.treatments.exponentiated_gradient import CONSTRAINTS, ClassifierMixture, DrawnClasses
from helpers.cases.plan import cohort

reductions = pytest.importorskip("fairlearn.reductions")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

BIASED = planted(bias=0.4)


def trained(*treatments: Any, estimator: Any = None, seed: int = 0, **settings: Any) -> Outcome:
    given = {} if estimator is None else {"estimator": estimator}
    job = Job(BIASED.everything, seed, treatments=treatments)
    learner = Named("scikit_learn", 1, {**given, **settings})
    (ended,) = train(BIASED.with_test_labels(target=False, group=False), learner, [job])
    return ended


def by_fairlearn(constraint: str, estimator: Any = None, eps: float = 0.02, option: str = "sample_weight") -> Any:
    train_rows = BIASED.dataset.train
    moment = getattr(reductions, CONSTRAINTS[constraint])(difference_bound=eps)
    direct = reductions.ExponentiatedGradient(
        LogisticRegression() if estimator is None else estimator, moment, eps=eps, sample_weight_name=option
    )
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="fairlearn")
        direct.fit(train_rows.inputs, train_rows.target, sensitive_features=train_rows.group)
    return direct


@pytest.mark.long
@pytest.mark.parametrize("constraint", list(CONSTRAINTS))
def test_scores_are_the_chances_of_fairlearns_mixture(constraint: str) -> None:
    ended = trained(ExponentiatedGradient(constraint=constraint, eps=0.02))
    assert ended.failure is None
    direct = by_fairlearn(constraint)
    for said, rows in ((ended.dev, BIASED.dataset.dev), (ended.test, BIASED.dataset.test)):
        assert said.scores == pytest.approx(direct._pmf_predict(rows.inputs), abs=1e-6)
        drawn = sample_uniforms(0, 0, rows.ids, copies_of(rows.ids), "exponentiated_gradient")
        assert said.values.tolist() == (drawn < said.scores[:, 1]).astype(int).tolist()


def test_the_last_step_of_a_pipeline_gets_the_weights() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    ended = trained(ExponentiatedGradient(eps=0.02), estimator=pipeline)
    direct = by_fairlearn("demographic_parity", pipeline, option="logisticregression__sample_weight")
    assert ended.test.scores == pytest.approx(direct._pmf_predict(BIASED.dataset.test.inputs), abs=1e-6)


def test_the_constraint_holds_on_the_training_rows() -> None:
    rows = BIASED.dataset.train
    treatment = ExponentiatedGradient(eps=0.02)
    seen = TrainingRows(rows.target, rows.cell, rows.group, BIASED.dataset.classes, BIASED.dataset.groups)
    mixture = treatment.wrap(LogisticRegression(), seen, "sample_weight").fit(rows.inputs, rows.target)
    chance = mixture.predict_proba(rows.inputs)[:, 1]
    plain = LogisticRegression().fit(rows.inputs, rows.target).predict(rows.inputs)
    for said, low, high in ((plain, 0.2, 1.0), (chance, 0.0, 0.05)):
        gaps = [abs(said[rows.group == code].mean() - said.mean()) for code in (0, 1)]
        assert low <= max(gaps) <= high
    assert mixture.weights.sum() == pytest.approx(1)
    assert (mixture.weights > 0).all()
    assert mixture.predict(rows.inputs).tolist() == (chance > 0.5).astype(int).tolist()


def test_a_mixture_by_hand() -> None:
    class Says:
        def __init__(self, code: int) -> None:
            self.code = code

        def predict(self, inputs: Any) -> Any:
            return np.full(len(inputs), self.code)

    mixture = ClassifierMixture(None, np.zeros(0, dtype=np.int64))
    mixture.classifiers, mixture.weights = [Says(1), Says(0), Says(1)], np.array([0.2, 0.7, 0.1])
    assert mixture.predict_proba(np.zeros((2, 1))) == pytest.approx(np.array([[0.7, 0.3], [0.7, 0.3]]))
    assert mixture.predict(np.zeros((2, 1))).tolist() == [0, 0]


def test_draws_belong_to_rows_and_seeds() -> None:
    chance = np.full(20_000, 0.25, dtype=np.float32)
    said = Predicted(np.zeros(20_000, dtype=np.int64), np.stack([1 - chance, chance], axis=1))
    ids = np.arange(20_000)
    drawn = part_of_kind("exponentiated_gradient").restore(DrawnClasses(1).state())(said, None, ids)
    assert drawn.values.mean() == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / 20_000) ** 0.5)
    again = DrawnClasses(1)(Predicted(said.values[5:9], said.scores[5:9]), None, ids[5:9])
    assert again.values.tolist() == drawn.values[5:9].tolist()
    assert DrawnClasses(2)(said, None, ids).values.tolist() != drawn.values.tolist()


def test_a_reduction_that_was_cut_short_says_so() -> None:
    (note, missed) = trained(ExponentiatedGradient(eps=1e-3, max_iter=1)).notes[:2]
    assert note.startswith("Exponentiated gradient: a mixture of 1 classifier,")
    assert "not converged after 1 iteration" in missed
    assert not any("not converged" in note for note in trained(ExponentiatedGradient(eps=0.1)).notes)


@pytest.mark.parametrize(
    ("treatments", "options", "words"),
    [
        ((Reweighting(), ExponentiatedGradient()), {}, "weighs rows, and ExponentiatedGradient refits"),
        ((ExponentiatedGradient(), ExponentiatedGradient(eps=0.1)), {}, "Two treatments refit the estimator"),
        ((ExponentiatedGradient(),), {"estimator": "sklearn.neighbors.KNeighborsClassifier"}, "takes no sample_weight"),
    ],
)
def test_what_cannot_be_refitted_is_refused(treatments: Any, options: Any, words: str) -> None:
    ended = trained(*treatments, **options)
    assert words in str(ended.failure)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.flatnonzero(BIASED.dataset.train.group == 0), "only one group"),
        (np.flatnonzero(BIASED.dataset.train.target == 0), "All training rows have the same class"),
    ],
)
def test_rows_of_one_group_or_class_are_refused(rows: Any, words: str) -> None:
    job = Job(rows, 0, treatments=(ExponentiatedGradient(),))
    (ended,) = train(BIASED.with_test_labels(target=False, group=False), Named("scikit_learn", 1), [job])
    assert words in str(ended.failure)


def test_a_network_and_three_classes_are_refused_in_words() -> None:
    job = Job(BIASED.everything, 0, treatments=(ExponentiatedGradient(),))
    (ended,) = train(BIASED.with_test_labels(target=False, group=False), Named("mlp", 1), [job])
    assert "it is no estimator that a reduction can refit" in str(ended.failure)
    assert "scikit_learn" in str(ended.failure)
    several = planted(3)
    job = Job(several.everything, 0, treatments=(ExponentiatedGradient(),))
    (ended,) = train(several.with_test_labels(target=False, group=False), Named("scikit_learn", 1), [job])
    assert "the target has 3 classes" in str(ended.failure)
    with pytest.raises(BadInput, match="max_iter is 0"):
        ExponentiatedGradient(max_iter=0)
    assert registry.get("treatment", "exponentiated_gradient").paper == "Agarwal et al. 2018"


def test_a_study_lowers_the_difference_of_selection_rates(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    study = Study(
        cohort(1200), group="sex", learner="scikit_learn", seeds=3,
        treatments=["untreated", {"name": "exponentiated_gradient", "eps": 0.01}],
    )  # fmt: skip
    result = study.run(tmp_path / "study.db")
    assert result is not None
    status = study.status(tmp_path / "study.db")
    assert status.done == status.total == 6
    group = np.unique(study.cohort.where("test")["sex"], return_inverse=True)[1]
    gaps: dict[str, list[float]] = {}
    for trial in study.trials():
        (ended,) = study.work.outcomes([trial])
        rates = [ended.test.scores[group == code, 1].mean() for code in (0, 1)]
        if trial.treatment == "untreated":
            rates = [ended.test.values[group == code].mean() for code in (0, 1)]
        gaps.setdefault(trial.treatment, []).append(abs(rates[0] - rates[1]))
    assert np.mean(gaps["untreated"]) > 0.15
    assert np.mean(gaps["exponentiated_gradient"]) < 0.5 * np.mean(gaps["untreated"])
