"""The learner metric_learner and its control raw_features: what they learn, keep, refuse and say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

from equipoise.audits import downstream as classifiers  # noqa: E402
from equipoise.audits.downstream import C_GRID, DomainIndependent  # noqa: E402
from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training import (  # noqa: E402
    EncodedDataset,
    Job,
    Progress,
    Settings,
    Stack,
    TrainingCallback,
    Treatment,
    stack_size,
    train,
)
from equipoise.training._preparation import training_rows  # noqa: E402
from equipoise.training.learners.metric_learner import MetricLearning  # noqa: E402
from equipoise.training.learners.raw_features import RawFeatures  # noqa: E402
from equipoise.training.metric import _downstream as downstream  # noqa: E402
from equipoise.training.metric._downstream import balanced_rows  # noqa: E402
from equipoise.training.metric._training import looked_at  # noqa: E402
from equipoise.treatments import (  # noqa: E402
    EqualOpportunityClass,
    Oversampling,
    Reweighting,
)
from helpers.cases.space import clustered  # noqa: E402
from helpers.cases.training import Learns  # noqa: E402
from helpers.squares import dataset as squares  # noqa: E402

SMALL = {"embedding_size": 8, "batch_size": 32, "epochs": 30, "learning_rate": 0.01}
LAST = Settings(selection="last")


def run(
    dataset: EncodedDataset, jobs: Any, settings: Settings = LAST, name: str = "metric_learner", **values: Any
) -> Any:
    return train(dataset, Learns(name, values if name == "raw_features" else {**SMALL, **values}), jobs, settings)


def everything(dataset: EncodedDataset, seed: int = 0, **more: Any) -> Job:
    return Job(np.arange(len(dataset.train)), seed=seed, **more)


@pytest.mark.parametrize("loss", ["margin", "triplet", "multi_similarity", "proxy_nca"])
def test_an_embedding_finds_a_structure_that_louder_columns_hide(loss: str) -> None:
    dataset, truth = clustered()
    (raw,) = run(dataset, [everything(dataset)], name="raw_features")
    (found,) = run(dataset, [everything(dataset)], loss=loss)
    assert found.failure is None
    assert (raw.test.values == truth).mean() < 0.5
    assert (found.test.values == truth).mean() > 0.8
    assert found.history[-1].loss < found.history[0].loss
    assert found.history[-1].performance == (found.dev.values == dataset.dev.target).mean()


def test_what_is_kept_is_the_embedding_and_what_was_said_follows_from_it() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [everything(dataset)])
    assert {name: (array.shape, array.dtype) for name, array in one.arrays.items()} == {
        "embedding.dev": ((80, 8), np.float16), "embedding.test": ((80, 8), np.float16),
    }  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm(one.arrays["embedding.test"].astype(float), axis=1), 1, atol=2e-3)
    # Rows of dev and test that lie together have the same nearest training row, so the same class.
    dev, test = (one.arrays[f"embedding.{split}"].astype(float) for split in ("dev", "test"))
    squares_ = ((dev[:, None] - test[None]) ** 2).sum(-1)
    near = squares_.argmin(1)
    close = squares_.min(1) < np.quantile(squares_, 0.001)
    assert (one.dev.values[close] == one.test.values[near][close]).mean() > 0.9


def test_looks_are_spread_evenly_and_end_with_the_last_epoch() -> None:
    assert looked_at(3) == [1, 2, 3]
    assert looked_at(150)[-1] == 150
    assert 10 <= len(looked_at(150)) <= 25
    assert len({b - a for a, b in zip(looked_at(150), looked_at(150)[1:], strict=False)}) == 1


def test_the_best_epoch_is_kept_where_performance_selects() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [everything(dataset)], Settings(selection="performance"))
    best = max(epoch.performance for epoch in one.history)
    chosen = next(epoch for epoch in one.history if epoch.number == one.best_epoch)
    assert chosen.performance == best
    assert (one.dev.values == dataset.dev.target).mean() == best
    (fair,) = run(dataset, [everything(dataset)], Settings(selection="dto"))
    assert fair.failure is None


def test_the_same_seed_gives_the_same_and_trials_train_as_they_do_alone() -> None:
    dataset, _ = clustered()
    half = np.arange(0, len(dataset.train), 2)
    jobs = [everything(dataset, seed) for seed in (0, 1)] + [Job(half, seed=0)]
    first, second, third = run(dataset, jobs, Settings(selection="last", precision="float64"), epochs=3)
    (again,) = run(dataset, [jobs[1]], Settings(selection="last", precision="float64"), epochs=3)
    np.testing.assert_allclose(second.arrays["embedding.test"], again.arrays["embedding.test"], atol=2e-3)
    assert not np.array_equal(first.arrays["embedding.test"], second.arrays["embedding.test"])
    assert third.failure is None


def test_classifiers_are_trained_on_own_and_on_balanced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, truth = clustered()
    target = dataset.train.target
    rows = np.concatenate([np.flatnonzero(target == 0)[:1], np.flatnonzero(target > 0)])  # one row of class 0
    asked: list[tuple[str, int]] = []
    fitted = classifiers.fitted

    def watched(learner: Any, name: str, points: Any, classes: Any) -> Any:
        asked.append((name, int((classes == 0).sum())))
        return fitted(learner, name, points, classes)

    monkeypatch.setattr(classifiers, "fitted", watched)
    names = ["logistic_regression", "k_means"]
    (one,) = run(dataset, [Job(rows, seed=0)], downstream=names)
    assert asked == [("logistic_regression", 1), ("logistic_regression", 20), ("k_means", 1), ("k_means", 20)]
    found = {name: array for name, array in one.arrays.items() if name.startswith("downstream")}
    codes = {"logistic_regression": ".std_no", "k_means": ""}
    assert set(found) == {f"downstream.{n}.{how}{codes[n]}.test" for n in names for how in ("own", "balanced")}
    assert (found["downstream.logistic_regression.balanced.std_no.test"] == truth).mean() > 0.8
    assert all(array.dtype == np.int64 for array in found.values())


@pytest.mark.parametrize("learner", ["metric_learner", "raw_features"])
def test_further_trainings_are_done_where_they_are_asked_for(learner: str) -> None:
    dataset, truth = clustered()
    asked = {"downstream": ["k_means", "logistic_regression"], "trainings": ["domain_independent", "oversampled"]}
    (one,) = run(dataset, [everything(dataset)], name=learner, **asked)
    found = {name.removeprefix("downstream."): said for name, said in one.arrays.items() if name.startswith("down")}
    assert set(found) == {
        "k_means.oversampled.test", "logistic_regression.oversampled.std_no.test",
        "logistic_regression.domain_independent.std_no.test",
    }  # fmt: skip
    assert all((said == truth).mean() > 0.8 for said in found.values()) or learner == "raw_features"
    assert all(said.dtype == np.int64 for said in found.values())


def test_domains_are_the_groups_or_the_parts_of_the_classes_that_a_condition_makes() -> None:
    dataset, _ = clustered(noise=6.0)
    parts = (np.arange(len(dataset.classes)) < 2).astype(np.int64)
    asked = {"downstream": ["logistic_regression"], "trainings": ["own", "domain_independent"]}
    jobs = [everything(dataset), everything(dataset, domains=parts)]
    by_group, by_part = run(dataset, jobs, name="raw_features", **asked)
    inputs, target = dataset.train.inputs, dataset.train.target
    units = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
    test = dataset.test.inputs / np.linalg.norm(dataset.test.inputs, axis=1, keepdims=True)
    for one, domains in ((by_group, dataset.train.group), (by_part, parts[target])):
        expected = DomainIndependent().fit(units, target, domains).predict(test)
        said = one.arrays["downstream.logistic_regression.domain_independent.std_no.test"]
        np.testing.assert_array_equal(said, expected)
    own, other = (
        "downstream.logistic_regression." + how for how in ("own.std_no.test", "domain_independent.std_no.test")
    )
    np.testing.assert_array_equal(by_group.arrays[own], by_part.arrays[own])
    assert (by_group.arrays[other] != by_part.arrays[other]).any()


def test_what_domain_independent_training_warns_of_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, _ = clustered()
    monkeypatch.setattr(
        classifiers, "DomainIndependent", lambda strength, standardise: DomainIndependent(strength, steps=2)
    )
    asked = {"downstream": ["logistic_regression"], "trainings": ["domain_independent"]}
    (one,) = run(dataset, [everything(dataset)], name="raw_features", **asked)
    assert any("logistic_regression, domain-independent: not converged after 2 steps" in note for note in one.notes)


def test_a_study_says_what_scikit_learn_says_by_itself() -> None:
    """An independent recomputation of every value of C, of the one that dev rows choose, and of the older recipe."""
    dataset, truth = clustered(noise=4.0)
    asked = {"downstream": ["logistic_regression:C=0.01,1,100,dev", "logistic_regression:standardise=true"]}
    (one,) = run(dataset, [everything(dataset)], name="raw_features", trainings=["own"], **asked)
    units = [rows.inputs / np.linalg.norm(rows.inputs, axis=1, keepdims=True)
             for rows in (dataset.train, dataset.dev, dataset.test)]  # fmt: skip
    target, dev = dataset.train.target, dataset.dev.target
    made = {value: LogisticRegression(C=value, max_iter=1_000).fit(units[0], target) for value in C_GRID}
    for value, code in ((0.01, "c_0p01__std_no"), (1.0, "std_no"), (100.0, "c_100p0__std_no")):
        said = one.arrays[f"downstream.logistic_regression.own.{code}.test"]
        expected = float((made[value].predict(units[2]) == truth).mean())
        assert float((said == truth).mean()) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_array_equal(said, made[value].predict(units[2]))
    best = max(C_GRID, key=lambda value: ((made[value].predict(units[1]) == dev).mean(), -value))
    chosen = "downstream.logistic_regression.own.c_dev__std_no"
    np.testing.assert_array_equal(one.arrays[f"{chosen}.test"], made[best].predict(units[2]))
    assert one.arrays[f"{chosen}.chosen_c"].tolist() == [best]
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(units[0], target)
    np.testing.assert_array_equal(one.arrays["downstream.logistic_regression.own.test"], scaled.predict(units[2]))


def test_other_trainings_on_balanced_rows() -> None:
    dataset, _ = clustered(noise=4.0)
    parts = (np.arange(len(dataset.classes)) < 2).astype(np.int64)
    rows = np.concatenate([np.flatnonzero(dataset.train.target == 0)[:3], np.flatnonzero(dataset.train.target > 0)])
    names = ["balanced", "balanced_oversampled", "balanced_domain_independent", "domain_independent"]
    asked = {"downstream": ["logistic_regression"], "trainings": names}
    (one,) = run(dataset, [Job(rows, seed=0, domains=parts)], name="raw_features", **asked)
    said = {how: one.arrays[f"downstream.logistic_regression.{how}.std_no.test"] for how in names}
    # Every class has one domain, and balanced rows have as many of each: there is nothing to repeat.
    np.testing.assert_array_equal(said["balanced"], said["balanced_oversampled"])
    balanced = balanced_rows(dataset.train.target, 0)
    units, test = (own.inputs / np.linalg.norm(own.inputs, axis=1, keepdims=True)
                   for own in (dataset.train, dataset.test))  # fmt: skip
    target = dataset.train.target[balanced]
    expected = DomainIndependent().fit(units[balanced], target, parts[target]).predict(test)
    np.testing.assert_array_equal(said["balanced_domain_independent"], expected)
    assert (said["balanced_domain_independent"] != said["domain_independent"]).any()


@pytest.mark.parametrize("kind", [MetricLearning, RawFeatures])
def test_classifiers_are_part_of_what_names_a_trial(kind: Any) -> None:
    def named(*asked: object) -> object:
        made = kind.with_defaults({"downstream": list(asked)})
        assert kind.with_defaults(kind.described(made)) == made
        return kind.described(made)["downstream"]

    assert named("svm", "random_forest", "k_means") == ["svm", "random_forest", "k_means"], "as before settings"
    assert named("logistic_regression") == [{"name": "logistic_regression", "standardise": False}]
    assert named({"name": "logistic_regression", "standardise": True}) != ["logistic_regression"]
    assert named("logistic_regression:C=0.1,1") == [
        {"name": "logistic_regression", "C": 0.1, "standardise": False},
        {"name": "logistic_regression", "standardise": False},
    ]  # fmt: skip
    assert named("svm:C=1", "svm", {"name": "svm"}) == ["svm"], "each once"


@pytest.mark.parametrize("kind", [MetricLearning, RawFeatures])
def test_trials_of_the_usual_trainings_keep_their_names(kind: Any) -> None:
    usual = kind.with_defaults({})
    assert usual["trainings"] == ["own", "balanced"]
    assert "trainings" not in kind.described(usual)
    assert kind.described(kind.with_defaults({"trainings": ["balanced", "own"]})) == kind.described(usual)
    assert kind.described(kind.with_defaults({"trainings": ["oversampled"]}))["trainings"] == ["oversampled"]
    assert kind.with_defaults(kind.described(usual)) == usual


def test_classifiers_trained_beside_each_other_say_what_they_say_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, _ = clustered()
    names = ["logistic_regression", "svm"]
    alone = run(dataset, [everything(dataset)], name="raw_features", downstream=names)[0]
    monkeypatch.setattr(downstream, "LARGE", 1)
    monkeypatch.setattr(downstream, "cores", lambda: 2)
    beside = run(dataset, [everything(dataset)], name="raw_features", downstream=names)[0]
    for name, array in alone.arrays.items():
        np.testing.assert_array_equal(beside.arrays[name], array)


@pytest.mark.parametrize("cores", [1, 2])
def test_who_listens_hears_of_every_classifier(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    dataset, _ = clustered()
    monkeypatch.setattr(downstream, "LARGE", 1)
    monkeypatch.setattr(downstream, "cores", lambda: cores)
    asked = {"downstream": ["logistic_regression", "k_means"], "trainings": ["own", "domain_independent"]}
    heard: list[Progress] = []
    learns = Learns("metric_learner", {**SMALL, **asked, "epochs": 2})
    jobs = [everything(dataset), everything(dataset, 1)]
    train(dataset, learns, jobs, LAST, heard.append, stack=2)
    # Of two trials three classifiers each: k-means has no domains.
    assert heard == [
        Progress(2, 2, 1, 2, 6), Progress(2, 2, 2, 2, 6), *(Progress(2, 0, 2, 2, 6, number) for number in range(7)),
    ]  # fmt: skip
    heard.clear()
    train(dataset, Learns("raw_features", asked), jobs, LAST, heard.append, stack=2)
    assert heard == [*(Progress(2, 0, 1, 1, 6, number) for number in range(7)), Progress(2, 0, 1, 1)]


def test_raw_features_are_read_as_they_are() -> None:
    dataset, _ = clustered()
    inputs = dataset.train.inputs
    one, two = run(dataset, [everything(dataset), everything(dataset, 1)], name="raw_features", unit_length=False)
    expected = [dataset.train.target[((row - inputs) ** 2).sum(1).argmin()] for row in dataset.test.inputs]
    assert one.test.values.tolist() == expected == two.test.values.tolist()
    np.testing.assert_array_equal(one.arrays["embedding.dev"], dataset.dev.inputs.astype(np.float16))
    (unit,) = run(dataset, [everything(dataset)], name="raw_features")
    np.testing.assert_allclose(np.linalg.norm(unit.arrays["embedding.test"].astype(float), axis=1), 1, atol=2e-3)
    assert unit.history[0].performance == (unit.dev.values == dataset.dev.target).mean()


def test_a_loss_that_breaks_stops_its_trial_names_the_step_and_keeps_what_was_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset, truth = clustered()
    step = Stack.step
    taken = 0

    def breaking(self: Any, *given: Any) -> Any:
        nonlocal taken
        taken += 1
        losses = step(self, *given)
        if taken == 5 * 20 + 3:  # five steps an epoch
            losses[1] = float("nan")
            with torch.no_grad():
                self.network.weights[0][1] = float("nan")
        return losses

    monkeypatch.setattr(Stack, "step", breaking)
    jobs = [everything(dataset, seed) for seed in (0, 1)]
    good, bad = run(dataset, jobs, Settings(selection="performance"))
    assert not good.notes
    assert bad.failure is None
    assert "epoch 21, step 3 of 5" in bad.notes[0]
    assert bad.best_epoch <= 20
    assert (bad.test.values == truth).mean() > 0.5
    assert len(good.history) == 30
    taken = 0
    good, bad = run(dataset, jobs, LAST)
    assert good.failure is None
    assert "epoch 21, step 3 of 5" in bad.failure


def test_a_rate_that_breaks_everything_is_a_failure_with_the_step() -> None:
    dataset, _ = clustered()
    dataset = replace(dataset, train=replace(dataset.train, inputs=dataset.train.inputs * np.float32(1e30)))
    (one,) = run(dataset, [everything(dataset)], loss="n_pair")
    assert "epoch 1, step 1 of 5" in one.failure


def test_jitter_says_that_it_changes_what_is_mined() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [everything(dataset)], Settings(selection="last", rounding="jitter"), epochs=1)
    assert any("The miner draws by place" in note for note in one.notes)
    (fixed,) = run(dataset, [everything(dataset)], Settings(selection="last", rounding="deterministic"), epochs=1)
    assert any("Deterministic algorithms took" in note for note in fixed.notes)


class Keeping(Treatment):
    """It keeps what it may see of a trial that ended."""

    def metric_arrays(self, ended: Any) -> Any:
        assert set(ended.features) == set(ended.embedding) == {"train", "dev"}
        assert ended.codes["train"].shape == (len(ended.attributes), len(ended.embedding["train"]))
        return {
            "leakage.embedding": ended.embedding["train"].mean(0),
            "leakage.features": ended.features["dev"].mean(0),
        }


def test_treatments_choose_rows_and_keep_further_arrays_but_see_no_test_row() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [everything(dataset, treatments=(Oversampling(), Keeping()))], epochs=2)
    assert one.failure is None
    assert one.arrays["leakage.embedding"].shape == (8,)
    assert one.arrays["leakage.features"].shape == (12,)


class Noted(Treatment):
    """It notes the rows of every batch, and how they are weighed."""

    batches: ClassVar[list[Any]] = []

    @classmethod
    def during(cls, trials: Any, context: Any) -> Any:
        return Noting(cls.batches)


class Noting(TrainingCallback):
    def __init__(self, batches: list[Any]) -> None:
        self.noted = batches

    def penalty(self, batch: Any) -> None:
        self.noted.append(batch)


@pytest.mark.parametrize("backbone", ["none", "small"])
def test_rows_that_are_weighed_are_drawn_by_their_weights_and_weigh_the_same_in_a_batch(backbone: str) -> None:
    dataset = clustered()[0] if backbone == "none" else squares()
    jobs = [everything(dataset, treatments=(*before, Noted())) for before in ((Reweighting(),), ())]
    how = {"backbone": backbone, "batch_size": 16, "epochs": 12 if backbone == "none" else 40}
    shares = []
    for job in jobs:
        Noted.batches.clear()
        (one,) = run(dataset, [job], **how)
        assert one.failure is None
        assert Noted.batches
        assert all(batch.weight is None for batch in Noted.batches)
        cells = torch.cat([batch.target * 2 + batch.group for batch in Noted.batches], dim=1)
        shares.append(torch.bincount(cells[0]) / cells.numel())
    target, group = dataset.train.target, dataset.train.group
    assert target is not None
    assert group is not None
    given = np.bincount(target * 2 + group) / len(target)
    weights = Reweighting().weigh(training_rows(np.arange(len(target)), dataset))
    assert weights is not None
    wanted = np.bincount(target * 2 + group, weights=weights) / weights.sum()
    weighed, plain = (share.numpy() for share in shares)
    assert np.abs(weighed - wanted).max() < 0.03 < np.abs(weighed - given).max()
    assert np.abs(plain - given).max() < 0.03


def test_a_treatment_of_row_losses_has_no_place_here() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [everything(dataset, treatments=(EqualOpportunityClass(),))])
    assert "no row has a loss of its own" in one.failure
    assert "mlp" in one.failure


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"loss": "margn"}, "margn"),
        ({"miner": "nobody"}, "nobody"),
        ({"loss": "proxy_nca", "miner": "semi_hard"}, "needs no triplets"),
        ({"miner": "n_pair"}, "finds pairs"),
        ({"loss_values": {"margin": -1}}, "margin is -1"),
        ({"loss_values": [1]}, "loss_values is"),
        ({"miner_values": {"cutoff": 1}}, "cutoff"),
        ({"downstream": "svm"}, "downstream is 'svm'"),
        ({"downstream": ["svn"]}, "svn"),
        ({"downstream": ["svm:C=0"]}, "C of svm is '0'"),
        ({"downstream": [{"name": "svm", "penalty": 1}]}, "no setting 'penalty'"),
        ({"downstream": [3]}, "A classifier is 3"),
        ({"trainings": ["balanced_domain_independent"], "downstream": ["svm"]}, "downstream no 'logistic_regression'"),
        ({"trainings": "own"}, "trainings is 'own'"),
        ({"trainings": []}, "trainings is"),
        ({"trainings": ["ballanced"]}, "ballanced"),
        ({"trainings": ["domain_independent"], "downstream": ["svm"]}, "downstream no 'logistic_regression'"),
        ({"backbone": "resnet19"}, "backbone is 'resnet19'"),
        ({"embedding_size": 0}, "embedding_size is 0"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        MetricLearning.with_defaults(values)


def test_numbers_are_no_task_of_it() -> None:
    with pytest.raises(BadInput, match="learns from classes"):
        MetricLearning.with_defaults({}, "regression")


def test_pictures_need_a_backbone_and_features_need_none() -> None:
    pictures, (features, _) = squares(), clustered()
    (one,) = run(pictures, [everything(pictures)])
    assert "was given pictures (8 x 8 x 3) and no backbone" in one.failure
    (two,) = run(features, [everything(features)], backbone="small")
    assert "rows of numbers and a backbone" in two.failure


def test_too_few_rows_say_what_would_fit() -> None:
    dataset, _ = clustered()
    (one,) = run(dataset, [Job(np.arange(20), seed=0)])
    assert "a batch size of 20 would fit" in one.failure


def test_singleton_classes_are_trained_on() -> None:
    dataset, _ = clustered(rows=64, classes=64)
    (one,) = run(dataset, [everything(dataset)], epochs=2)
    assert one.failure is None


def test_how_many_train_together_is_chosen_by_size() -> None:
    dataset, _ = clustered()
    jobs = [everything(dataset, seed) for seed in range(40)]
    assert stack_size(Learns("metric_learner", SMALL), dataset, jobs) == 32
    wide = replace(dataset, train=replace(dataset.train, inputs=np.zeros((160, 20_000), dtype=np.float32)))
    assert stack_size(Learns("metric_learner", SMALL), wide, jobs) == 4
