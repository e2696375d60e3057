"""What cannot be trained is refused or noted in words, on every kind of learner, and stops no other trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput, Study
from equipoise.foundation import registry
from equipoise.studies.plans import BadPlan, Named
from equipoise.testing import planted, planted_pictures, quick_settings
from equipoise.training import EncodedDataset, Job, Outcome, Settings, train
from helpers.cases.plan import cohort

torch = pytest.importorskip("torch")


def own_network(features: int, outputs: int) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(features, 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs))


SETTINGS: dict[str, dict[str, Any]] = {
    "mlp": {**quick_settings("mlp"), "epochs": 2},
    "module": {"factory": own_network, "batch_size": 64, "epochs": 2},
    "image_network": {**quick_settings("image_network"), "epochs": 2},
    "metric_learner": {**quick_settings("metric_learner"), "epochs": 2},
    "raw_features": {},
    "scikit_learn": {},
}


def made(*names: str, **values: Any) -> tuple[Any, ...]:
    kinds: list[Any] = [registry.get("treatment", name).implementation for name in names]
    return tuple(kind(**values) for kind in kinds)


def dataset_for(learner: str, classes: int = 2) -> EncodedDataset:
    source: Any = planted_pictures if learner == "image_network" else planted
    found: EncodedDataset = source(classes, rows=150).with_test_labels(target=False, group=True)
    return found


def outcomes(learner: str, jobs: list[Job], dataset: EncodedDataset, *, stack: int | None = None) -> list[Outcome]:
    named = Named(learner, 1, SETTINGS[learner])
    return train(dataset, named, jobs, Settings(selection="last"), stack=stack)


def everything(dataset: EncodedDataset) -> Any:
    return np.arange(len(dataset.train))


# Groups that are not there.


@pytest.mark.parametrize("learner", ["mlp", "image_network", "metric_learner", "scikit_learn"])
def test_training_rows_without_groups_fail_the_trial(learner: str) -> None:
    dataset = dataset_for(learner)
    dataset = replace(dataset, train=replace(dataset.train, group=None))
    (ended,) = outcomes(learner, [Job(everything(dataset), 0, treatments=made("reweighting"))], dataset)
    assert "The training rows have no targets or no groups" in str(ended.failure)
    known = dataset_for(learner)
    assert known.train.group is not None
    one_unknown = known.train.group.copy()
    one_unknown[3] = -1
    partly = replace(known, train=replace(known.train, group=one_unknown))
    (ended,) = outcomes(learner, [Job(everything(partly), 0, treatments=made("downsampling"))], partly)
    assert "1 training rows have no class or no group" in str(ended.failure)


def test_a_study_of_a_cohort_without_groups_is_refused() -> None:
    with pytest.raises(BadInput, match="has no group column") as refused:
        Study(cohort(groups=()), learner="scikit_learn", treatments=["reweighting"], seeds=1)
    assert "name at least one" in str(refused.value)


# Pairs that do not fit.


@pytest.mark.parametrize(
    ("learner", "treatment", "reason", "able"),
    [
        ("mlp", "parade", "it has no loss of pairs or triplets", "metric_learner"),
        ("metric_learner", "fairbatch", "its batches are made up by class", "image_network, mlp, module"),
        ("metric_learner", "fairalm", "no row has a loss of its own", "image_network, mlp, module"),
        ("scikit_learn", "adversarial", "it is not trained step by step", "image_network, metric_learner, mlp, module"),
        ("mlp", "exponentiated_gradient", "it is no estimator that a reduction can refit", "scikit_learn"),
        ("raw_features", "reweighting", "it takes no weights of rows", "image_network, metric_learner, mlp, module"),
    ],
)
def test_a_plan_with_a_treatment_that_the_learner_cannot_take_names_the_learners_that_can(
    learner: str, treatment: str, reason: str, able: str
) -> None:
    with pytest.raises(BadPlan) as refused:
        Study(cohort(), group="sex", learner=learner, treatments=["untreated", treatment], seeds=1)
    said = str(refused.value)
    assert f"The treatment {treatment!r} does not fit the learner {learner!r}: {reason}" in said
    assert f"available: with this treatment: {able}" in said
    assert "help: learner = '" in said


# A layer that the network does not have.


@pytest.mark.parametrize(
    ("learner", "layers"),
    [("module", ["0", "1", "2"]), ("image_network", ["block1", "block2", "block3", "block4", "pool"])],
)
def test_a_layer_that_is_not_there_is_refused_with_those_that_are(learner: str, layers: list[str]) -> None:
    dataset = dataset_for(learner)
    jobs = [Job(everything(dataset), seed, treatments=made("gradient_reversal", layer=name))
            for seed, name in enumerate(("conv7", layers[1]))]  # fmt: skip
    missing, there = outcomes(learner, jobs, dataset)
    assert "layer 'conv7' not found in the network" in str(missing.failure)
    assert f"available: {', '.join(layers)}" in str(missing.failure)
    assert there.failure is None


def test_a_network_that_shows_no_hidden_layer_says_what_to_return() -> None:
    class Logits(torch.nn.Module):
        def __init__(self, features: int, outputs: int) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(features, outputs))

        def forward(self, rows: Any) -> Any:
            return rows @ self.weight

    dataset = dataset_for("module")
    named = Named("module", 1, {**SETTINGS["module"], "factory": Logits})
    for name in ("adversarial", "gradient_reversal", "uniform_confusion"):
        (ended,) = train(dataset, named, [Job(everything(dataset), 0, treatments=made(name))])
        assert "let its forward return (logits, hidden)" in str(ended.failure)
    (ended,) = train(dataset, named, [Job(everything(dataset), 0, treatments=made("group_dro"))])
    assert ended.failure is None


# A class that no training row has.


@pytest.mark.parametrize("learner", sorted(SETTINGS))
def test_a_class_that_never_occurs_among_the_training_rows_is_noted(learner: str) -> None:
    dataset = dataset_for(learner, classes=3)
    cells = dataset.train.cell
    assert cells is not None
    jobs = [Job(rows, 0) for rows in (np.flatnonzero(cells != 2), everything(dataset))]
    without, whole = outcomes(learner, jobs, dataset)
    assert without.failure is None
    assert "No training row is of the class class 2: nothing was learnt of it." in without.notes
    assert not any("No training row" in note for note in whole.notes)


@pytest.mark.parametrize(
    "treatment",
    ["domain_independent", "domain_discriminative", "leace", "group_dro", "fairalm", "fairbatch", "gradient_reversal"],
)
def test_what_treatments_say_of_a_class_that_never_occurs_is_a_number(treatment: str) -> None:
    dataset = dataset_for("mlp", classes=3)
    cells = dataset.train.cell
    assert cells is not None
    (ended,) = outcomes("mlp", [Job(np.flatnonzero(cells != 2), 0, treatments=made(treatment))], dataset)
    assert ended.failure is None, ended.failure
    assert ended.test is not None
    assert ended.test.scores is not None
    assert np.isfinite(ended.test.scores).all()


# A loss that is no number.


@pytest.mark.parametrize("learner", ["mlp", "module", "image_network", "metric_learner"])
@pytest.mark.parametrize("treatment", ["group_dro", "gradient_reversal", "adversarial", "fairalm"])
def test_a_trial_whose_loss_is_no_number_fails_alone_and_says_where(treatment: str, learner: str) -> None:
    """In a stack and side by side: the trial beside it ends as it does beside a calm one."""
    if treatment == "fairalm" and learner == "metric_learner":
        pytest.skip("no row of a pair or triplet has a loss of its own")
    dataset = dataset_for(learner)
    values = {"strength": 0.1} if treatment == "gradient_reversal" else {}
    calm, other = (Job(everything(dataset), seed, treatments=made(treatment, **values)) for seed in (0, 1))
    # Hidden layers of tanh are bounded: only the largest step leaves what float32 can hold.
    wild = replace(other, learner={"learning_rate": 1e30 if learner == "image_network" else 1e38})
    beside_wild, failed = outcomes(learner, [calm, wild], dataset, stack=2)
    beside_calm, _ = outcomes(learner, [calm, other], dataset, stack=2)
    assert beside_wild.failure is None
    assert "The loss was no longer a finite number in epoch" in str(failed.failure)
    assert ", step " in str(failed.failure)
    assert failed.test is None
    assert beside_wild.test is not None
    assert beside_calm.test is not None
    assert beside_wild.test.values.tolist() == beside_calm.test.values.tolist()


# Two treatments that decide the same thing.


CLAIMS = [
    (("fairbatch", "fairbatch"), "batches (FairBatches, FairBatches)"),
    (("group_dro", "group_dro"), "way losses of rows become that of a batch (GroupWeights, GroupWeights)"),
    (("fairalm", "fairalm"), "steps on each batch (Multipliers, Multipliers)"),
    (("uniform_confusion", "gradient_reversal"), "phases of training (Confusion, Adversary)"),
    (("uniform_confusion", "gradient_projection"), "optimiser (UniformConfusion, GradientProjection)"),
    (("domain_independent", "domain_discriminative"), "outputs (DomainIndependent, DomainDiscriminative)"),
]


@pytest.mark.parametrize("learner", ["mlp", "image_network"])
@pytest.mark.parametrize(("names", "what"), CLAIMS, ids=lambda one: " + ".join(one) if isinstance(one, tuple) else "")
def test_two_treatments_that_decide_the_same_thing_fail_the_trial_by_name(
    names: tuple[str, str], what: str, learner: str
) -> None:
    dataset = dataset_for(learner)
    (ended,) = outcomes(learner, [Job(everything(dataset), 0, treatments=made(*names))], dataset)
    assert f"Two treatments of a trial both decide the {what}" in str(ended.failure)
    assert "help: use one of them." in str(ended.failure)


def test_a_metric_learner_makes_up_its_batches_itself() -> None:
    dataset = dataset_for("metric_learner")
    jobs = [Job(everything(dataset), 0, treatments=made("group_dro", "group_dro"))]
    (ended,) = outcomes("metric_learner", jobs, dataset)
    assert "both decide the way losses of rows become that of a batch" in str(ended.failure)


@pytest.mark.parametrize(
    ("names", "learner", "words"),
    [
        (["inlp", "leace"], "scikit_learn", "Two treatments act after training (IterativeNullSpaceProjection, Concept"),
        (["uniform_confusion", "gradient_projection"], "mlp", "both decide the optimiser"),
        (["domain_independent", "domain_discriminative"], "mlp", "both decide the outputs"),
    ],
)
def test_study_check_says_so_before_anything_is_trained(names: list[str], learner: str, words: str) -> None:
    study = Study(cohort(), group="sex", learner=learner, treatments=["untreated", names], seeds=1)
    problems = study.check().problems
    assert problems
    assert f"every trial of {' + '.join(names)} will fail. " in problems[0]
    assert words in problems[0]


def test_from_an_embedding_one_may_erase_after_another() -> None:
    study = Study(cohort(), group="sex", learner="raw_features", treatments=[["inlp", "leace"]], seeds=1)
    assert study.check().problems == ()
    dataset = dataset_for("raw_features")
    (ended,) = outcomes("raw_features", [Job(everything(dataset), 0, treatments=made("inlp", "leace"))], dataset)
    assert ended.failure is None
    assert [note.split(":")[0] for note in ended.notes if "INLP" in note or "LEACE" in note] == ["INLP", "LEACE"]
