"""Treatments that transform inputs: fitted on training rows, applied to all, in order; LFR among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import BadInput, Study
from equipoise.foundation import stream
from equipoise.studies.plans import Named
from equipoise.testing import planted, planted_pictures
from equipoise.training import (
    Adjustment,
    FittedModel,
    Job,
    Outcome,
    Parameter,
    Predicted,
    Scored,
    Settings,
    Table,
    TrainingInputs,
    Transformation,
    Treatment,
    incompatibility,
    learner_of,
    part_of_kind,
    prepare_job,
    train,
    transformed,
)
from equipoise.training._prediction import adjusted
from equipoise.training.learners.mlp import MultilayerPerceptron
from equipoise.training.learners.raw_features import RawFeatures
from equipoise.treatments import Downsampling, LearnedFairRepresentations, PrototypeRepresentation, Reweighting
from equipoise.treatments.leace import fit_eraser
from equipoise.treatments.threshold_optimizer import GroupThresholds
from helpers.cases.plan import cohort

COHORT = planted()
MATERIAL = COHORT.with_test_labels(target=False, group=False)
SMALL = {"width": 8, "layers": 1, "batch_size": 64, "epochs": 3}


class Affine(Transformation):
    """Inputs times a factor, and the mean of the training rows taken away."""

    kind = "affine"

    def __init__(self, mean: Any, factor: float) -> None:
        self.mean, self.factor = mean, factor

    def __call__(self, inputs: Any) -> Any:
        return self.factor * (inputs - self.mean)

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean, "factor": self.factor}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Affine:
        return cls(state["mean"], state["factor"])


class Centred(Treatment):
    """Inputs are centred and scaled."""

    parameters: ClassVar[Table] = {"factor": Parameter("by how much", 2.0, 0.0, 0.1, 10.0)}
    seen: ClassVar[list[TrainingInputs]] = []

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> Affine:
        self.seen.append(rows)
        return Affine(rows.inputs.mean(axis=0, dtype=np.float64), float(self.values["factor"]))


class Random(Treatment):
    """Inputs are shifted by what the generator draws."""

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> Affine:
        return Affine(generator.normal(size=rows.inputs.shape[1]), 1.0)


class Nothing(Treatment):
    """It finds nothing to transform."""

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> None:
        return None


def job(*treatments: Treatment, seed: int = 0) -> Job:
    return Job(COHORT.everything, seed, treatments=treatments)


def test_each_is_fitted_on_the_training_rows_that_those_before_it_left() -> None:
    Centred.seen.clear()
    trial = prepare_job(job(Reweighting(), Downsampling(), Centred(factor=3.0), Centred(factor=0.5)), MATERIAL, {})
    first, second = Centred.seen
    assert len(first.inputs) == len(trial.rows) < len(MATERIAL.train)
    assert first.inputs.tolist() == MATERIAL.train.inputs[trial.rows].tolist()
    assert first.group.tolist() == MATERIAL.train.group[trial.rows].tolist()
    assert first.weights.tolist() == trial.weights.tolist()
    assert np.abs(second.inputs.mean(axis=0)).max() < 1e-6
    assert second.inputs == pytest.approx(3.0 * (first.inputs - first.inputs.mean(axis=0)), abs=1e-5)
    mean = MATERIAL.train.inputs[trial.rows].mean(axis=0)
    made = transformed(MATERIAL, trial.transformations)
    for split in ("train", "dev", "test"):
        before, after = getattr(MATERIAL, split), getattr(made, split)
        assert after.inputs == pytest.approx(1.5 * (before.inputs - mean), abs=1e-5)
        assert after.inputs.dtype == np.float32
        assert after.target is before.target
    assert transformed(MATERIAL, ()) is MATERIAL
    assert prepare_job(job(Nothing()), MATERIAL, {}).transformations == ()
    assert prepare_job(job(Centred()), MATERIAL, {}, transforms=False).transformations == ()


@pytest.mark.parametrize("learner", [Named("mlp", 1, SMALL), Named("scikit_learn", 1), Named("raw_features", 1)])
def test_a_learner_trains_as_if_it_had_been_given_the_transformed_inputs(learner: Named) -> None:
    if learner.name == "mlp":
        pytest.importorskip("torch")
    settings = Settings(rounding="deterministic")
    trial = prepare_job(job(Centred()), MATERIAL, {})
    (ended,) = train(MATERIAL, learner, [job(Centred())], settings)
    (by_hand,) = train(transformed(MATERIAL, trial.transformations), learner, [job()], settings)
    assert ended.failure is None
    for split in ("dev", "test"):
        mine, other = getattr(ended, split), getattr(by_hand, split)
        assert mine.values.tolist() == other.values.tolist()
        if mine.scores is not None:
            assert mine.scores.tolist() == other.scores.tolist()


def test_trials_share_a_stack_where_their_inputs_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    sizes: list[int] = []
    real = MultilayerPerceptron.train

    def counted(self: Any, dataset: Any, stack: Any, *more: Any) -> Any:
        sizes.append(len(stack))
        return real(self, dataset, stack, *more)

    monkeypatch.setattr(MultilayerPerceptron, "train", counted)
    jobs = [job(treatment, seed=seed) for treatment in (Centred(), Random()) for seed in (0, 1, 2)]
    together = train(MATERIAL, Named("mlp", 1, SMALL), jobs)
    # Random ones differ from seed to seed, and so do their inputs.
    assert sorted(sizes) == [1, 1, 1, 3]
    jobs = [job(Centred(factor=factor)) for factor in (1.0, 2.0)]
    sizes.clear()
    train(MATERIAL, Named("mlp", 1, SMALL), jobs)
    assert sizes == [1, 1]
    (alone,) = train(MATERIAL, Named("mlp", 1, SMALL), [job(Random(), seed=1)])
    assert together[4].test.scores == pytest.approx(alone.test.scores, abs=1e-5)


class Broken(Transformation):
    """It returns what it was made with."""

    kind = "broken"

    def __init__(self, made: Any) -> None:
        self.made = made

    def __call__(self, inputs: Any) -> Any:
        return self.made

    def state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Broken:
        return cls(None)


@pytest.mark.parametrize("made", [np.zeros((3, 2)), np.zeros(400), np.full((400, 4), np.nan)])
def test_what_is_no_matrix_of_numbers_fails_its_trial_alone(made: Any) -> None:
    class Breaks(Treatment):
        """It breaks the inputs."""

        def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> Broken:
            return Broken(made)

    ended, sound = train(MATERIAL, Named("scikit_learn", 1), [job(Breaks()), job()])
    assert "The transformation 'broken' gave inputs of the shape" in str(ended.failure)
    assert sound.failure is None


def test_pictures_are_refused_in_words() -> None:
    reason = incompatibility(learner_of("image_network"), Centred)
    assert "its inputs are pictures" in str(reason)
    pictures = planted_pictures()
    lone = Job(pictures.everything, 0, treatments=(Centred(),))
    (ended,) = train(pictures.dataset, Named("metric_learner", 1, {"backbone": "small"}), [lone])
    assert "The inputs are pictures" in str(ended.failure)
    for learner in ("mlp", "module", "scikit_learn", "raw_features", "metric_learner"):
        assert incompatibility(learner_of(learner), Centred) is None
    assert RawFeatures.offers


# LFR as a treatment.

QUICK: dict[str, Any] = {"group_fairness": 1.0, "individual_fairness": 0.1, "starts": 1, "evaluations": 300}


def test_lfr_trains_on_what_the_estimator_makes_of_the_inputs() -> None:
    (ended,) = train(MATERIAL, Named("scikit_learn", 1), [job(PrototypeRepresentation(**QUICK), seed=4)])
    seed = int(stream(4, "transform", 0, "PrototypeRepresentation").integers(2**32))
    rows = MATERIAL.train
    model = LearnedFairRepresentations(**QUICK, seed=seed).fit(rows.inputs, rows.target, rows.group)
    by_hand = LogisticRegression().fit(model.transform(rows.inputs).astype(np.float32), rows.target)
    expected = by_hand.predict_proba(model.transform(MATERIAL.test.inputs).astype(np.float32))
    assert ended.test.scores == pytest.approx(expected, abs=1e-6)
    assert set(PrototypeRepresentation.parameters) == set(LearnedFairRepresentations.parameters) - {"threshold"}


def test_lfr_says_that_it_has_collapsed_and_is_made_again_from_its_state() -> None:
    trial = prepare_job(job(PrototypeRepresentation(**QUICK, prototypes=1)), MATERIAL, {})
    (mixture,) = trial.transformations
    assert mixture.notes
    assert mixture.notes[0].startswith("Collapse at the base rate")
    (ended,) = train(MATERIAL, Named("scikit_learn", 1), [trial.job])
    assert mixture.notes[0] in ended.notes
    again = part_of_kind("lfr").restore(mixture.state())
    assert again(MATERIAL.test.inputs).tolist() == mixture(MATERIAL.test.inputs).tolist()


@pytest.mark.parametrize(
    ("dataset", "treatments", "words"),
    [
        (COHORT, (Reweighting(), PrototypeRepresentation()), "A treatment before LFR weighs rows"),
        (planted(3), (PrototypeRepresentation(),), "the target has 3 classes"),
        (planted(task="regression"), (PrototypeRepresentation(),), "the target is a number"),
    ],
)
def test_what_lfr_is_not_defined_for_is_refused(dataset: Any, treatments: Any, words: str) -> None:
    lone = Job(dataset.everything, 0, treatments=treatments)
    (ended,) = train(dataset.with_test_labels(target=False, group=False), Named("scikit_learn", 1), [lone])
    assert words in str(ended.failure)


def test_rows_of_one_group_are_refused_by_lfr() -> None:
    rows = np.flatnonzero(MATERIAL.train.group == 0)
    (ended,) = train(MATERIAL, Named("scikit_learn", 1), [Job(rows, 0, treatments=(PrototypeRepresentation(),))])
    assert "There is only one group" in str(ended.failure)


def test_test_rows_do_not_decide_what_is_fitted() -> None:
    other = replace(MATERIAL, test=replace(MATERIAL.test, inputs=MATERIAL.test.inputs[::-1] * 5))
    states = [
        prepare_job(job(PrototypeRepresentation(**QUICK)), one, {}).transformations[0].state()
        for one in (MATERIAL, other)
    ]
    assert states[0]["prototypes"].tolist() == states[1]["prototypes"].tolist()


def test_a_study_of_lfr(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("torch")
    study = Study(
        cohort(), group="sex", learner=["scikit_learn", {"name": "mlp", **SMALL}], seeds=2,
        treatments=["untreated", {"name": "lfr", **QUICK}, {"name": ["lfr", "reweighting"], **QUICK}],
    )  # fmt: skip
    assert study.check().problems == ()
    assert study.run(tmp_path / "study.db") is not None
    status = study.status(tmp_path / "study.db")
    assert status.done == status.total == 12


# Trained models have what treatments fitted.


class Doubled(Adjustment):
    """Scores of the second class are doubled, and drawn by the parity of ids."""

    kind = "doubled"

    def __call__(self, predicted: Predicted, group: Any, ids: Any) -> Predicted:
        scores = np.minimum(predicted.scores * 2, 1.0)
        return Predicted(ids % 2, scores)

    def state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Doubled:
        return cls()


class Sums(FittedModel):
    """Scores are sums of inputs."""

    kind = "sums"

    def predict_inputs(self, inputs: Any) -> Predicted:
        return Predicted(np.zeros(len(inputs), dtype=np.int64), inputs.sum(axis=1, keepdims=True).repeat(2, axis=1))

    def base_settings(self) -> dict[str, Any]:
        return {}

    def base_tensors(self) -> dict[str, Any]:
        return {}

    @classmethod
    def restore_base(cls, settings: Any, tensors: Any, module: Any) -> Sums:
        assert not tensors
        return cls()


class Adjusts(Treatment):
    """It doubles scores."""

    def adjust(self, scored: Scored) -> Doubled:
        assert scored.scores.shape == (len(MATERIAL.dev), 2)
        return Doubled()


def test_a_model_gets_the_transformations_and_adjustments_of_its_trial() -> None:
    trial = prepare_job(job(Centred(factor=3.0), Adjusts()), MATERIAL, {})
    model = Sums()
    dev, test = (model.predict(rows.inputs) for rows in (MATERIAL.dev, MATERIAL.test))
    ended = adjusted(trial, Outcome(dev, test, model=model), MATERIAL)
    assert ended.model.transformations == trial.transformations
    assert ended.test.values.tolist() == (MATERIAL.test.ids % 2).tolist()
    rows = MATERIAL.test.inputs
    said = ended.model.predict(rows, ids=MATERIAL.test.ids)
    shifted = 3.0 * (rows - MATERIAL.train.inputs.mean(axis=0, dtype=np.float64))
    assert said.scores[:, 1] == pytest.approx(np.minimum(2 * shifted.sum(axis=1), 1.0), abs=1e-6)
    assert said.values.tolist() == ended.test.values.tolist()
    assert ended.model.predict(rows).values.tolist() == (np.arange(len(rows)) % 2).tolist()


def test_a_model_is_made_again_with_its_parts() -> None:
    model = Sums()
    rules = GroupThresholds(np.array([0]), np.array([[1.0, 1.0, 0, 0, 1, 0, 0, 1]]), 0)
    model.transformations, model.adjustments = (fit_eraser(MATERIAL.train.inputs, MATERIAL.train.group),), (rules,)
    settings = json.loads(json.dumps(model.settings()))
    again = Sums.restore(settings, model.tensors())
    rows = MATERIAL.test.inputs
    group = np.arange(len(rows)) % 2
    assert again.needs_group
    assert again.predict(rows, group).scores.tolist() == model.predict(rows, group).scores.tolist()
    assert again.predict(rows, group).values[group == 0].min() == 1
    with pytest.raises(BadInput, match="by the group of every row \\(threshold_optimizer\\)"):
        again.predict(rows)
    with pytest.raises(BadInput, match="describes its adjustments"):
        Sums.restore({**settings, "adjustments": "all"}, model.tensors())
