"""A study of rows with several labels: run, counted, reported, exported, and what it refuses."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.metrics import average_precision_score, f1_score
from typer.testing import CliRunner

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")

import equipoise
from equipoise import BadInput
from equipoise.cli import app
from equipoise.cohorts import with_roles
from equipoise.studies import Study, StudyResult
from equipoise.studies.analysis import Counted, quantities_of
from equipoise.studies.analysis._quantities import measured
from equipoise.studies.findings import write_table
from equipoise.studies.findings._reading import _implausible, data_of
from equipoise.studies.plans import rows_of
from equipoise.studies.running._packing import pack, unpack
from equipoise.studies.storage import open_store
from helpers.cases.label import LABELS, label_cohort, label_columns, label_pictures

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "study-2.json").read_text(encoding="utf-8"))
LEARNER = {
    "name": "mlp", "width": 8, "layers": 1, "epochs": 5, "batch_size": 64, "learning_rate": 0.02,
    "label_weights": "positive",
}  # fmt: skip
TREATMENTS = ["untreated", "reweighting"]


@dataclass(frozen=True)
class Ran:
    """A study that was run, where its trials are, and what they predict of the test rows."""

    study: Study
    store: Path
    result: StudyResult

    @property
    def target(self) -> np.ndarray:
        """The labels of the test rows."""
        columns = self.study.cohort.where("test").columns
        return np.stack([columns["cat"], columns["dog"] == "yes", columns["bird"]], axis=1).astype(int)

    @property
    def group(self) -> np.ndarray:
        """Their groups."""
        return np.asarray(self.study.cohort.where("test")["sex"])

    def predicted(self, treatment: str) -> list[Any]:
        """What each seed of a treatment says."""
        keys = [trial.key for trial in self.study.trials() if trial.treatment == treatment]
        with open_store(str(self.store), create=False, read_only=True, plan=self.study.plan_key) as store:
            found = store.predictions_of(keys, "test", scores=True)
        return [found[key] for key in keys]


def run(folder: Path, cohort: Any = None, **options: Any) -> Ran:
    given: dict[str, Any] = {"learner": LEARNER, "treatments": TREATMENTS, "seeds": 3, **options}
    study = Study(label_cohort(480) if cohort is None else cohort, **given)
    store = folder / "trials.sqlite"
    return Ran(study, store, study.run(store))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("labels"))


def gaps(ran: Ran, values: np.ndarray, labels: int = 3) -> np.ndarray:
    """The difference of true positive rates of each label, or of the first of them."""
    rates = [
        [values[(ran.group == group) & (ran.target[:, label] == 1), label].mean() for group in ("f", "m")]
        for label in range(labels)
    ]
    return np.abs(np.diff(np.array(rates), axis=1))[:, 0]


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_the_numbers_are_means_over_seeds_and_labels(ran: Ran, treatment: str) -> None:
    predicted = ran.predicted(treatment)
    found = {one.measure: one.mean for one in ran.result.find(treatment=treatment)}
    every = [one.values for one in predicted]
    assert found["macro_f1"] == pytest.approx(np.mean([f1_score(ran.target, one, average="macro") for one in every]))
    assert found["accuracy"] == pytest.approx(np.mean([(ran.target == one).mean() for one in every]))
    own = np.array([gaps(ran, one) for one in every])
    assert found["fairness_of_labels"] == pytest.approx(np.mean(1 - np.sqrt((own**2).mean(axis=1))))
    assert found["equalized_odds_true_positive"] == pytest.approx(own.mean())
    selected = [np.abs(one[ran.group == "f"].mean(axis=0) - one[ran.group == "m"].mean(axis=0)).mean() for one in every]
    assert found["demographic_parity"] == pytest.approx(np.mean(selected))


def test_each_label_is_told_by_itself(ran: Ran) -> None:
    values = [one.values for one in ran.predicted("untreated")]
    own = {(label.label, label.measure): label for label in ran.result.labels if label.treatment == "untreated"}
    for index, label in enumerate(LABELS):
        expected = np.mean([f1_score(ran.target[:, index], value[:, index]) for value in values])
        assert own[label, "f1"].mean == pytest.approx(expected)
        assert own[label, "f1"].rows == ran.target[:, index].sum()
        assert own[label, "equalized_odds_true_positive"].mean == pytest.approx(
            np.mean([gaps(ran, value)[index] for value in values])
        )


def test_a_constant_says_of_each_label_what_most_training_rows_say(ran: Ran) -> None:
    constant = ran.result.constant
    assert constant is not None
    train = ran.study.cohort.where("train").columns
    often = [label for label, share in zip(
        LABELS, (train["cat"].mean(), (train["dog"] == "yes").mean(), train["bird"].mean()), strict=True
    ) if share > 0.5]  # fmt: skip
    assert constant.prediction == (", ".join(often) or "no label")
    said = np.tile([label in often for label in LABELS], (len(ran.target), 1)).astype(int)
    assert constant.performance == pytest.approx(f1_score(ran.target, said, average="macro", zero_division=0))
    assert constant.fairness == pytest.approx(1.0)


def test_people_are_drawn_again_with_all_of_their_labels(ran: Ran) -> None:
    with open_store(str(ran.store), create=False, read_only=True, plan=ran.study.plan_key) as store:
        data = data_of(store, name="labels", truth=ran.study.labels, ids=rows_of(ran.study.cohort, "test"))
        counted = Counted(data.rows, data.layout)  # type: ignore[arg-type]
        said = data.predictions([0])  # type: ignore[misc]
        generator = np.random.default_rng(0)
        weights = counted.weights(3, generator)
        tables = counted.tables(counted.row_sums(said), np.concatenate([np.ones_like(weights[:1]), weights]))
        assert np.array_equal(tables[0], data.tables["test"][0])
        # A drawn table is that of the drawn rows, each with all of its labels.
        order = counted._order
        drawn = np.repeat(order, weights[0].astype(int))
        f1 = quantities_of(data.layout, [("sex",)])[0]
        expected = f1_score(ran.target[drawn], np.asarray(said[0])[drawn], average="macro")
        assert measured([f1], tables[1:2], data.layout)[0, 0] == pytest.approx(expected)
        assert not _implausible(store.readouts("test", ran.study.labels), ran.study.labels)
        readouts = store.readouts("test", ran.study.labels)
        readouts.counts[0, 0, 0] += [1, 0, 0, -1]
        assert _implausible(readouts, ran.study.labels) == [readouts.keys[0]]
    assert all(one.spread_people > 0 for one in ran.result.find(measure="macro_f1"))
    assert all(one.verdict is not None for one in ran.result.find(treatment="reweighting"))


def test_the_report_shows_labels_in_every_medium(ran: Ran, tmp_path: Path) -> None:
    assert "Labels of untreated under as given (mlp), not tested" in str(ran.result)
    told = json.loads(ran.result.to_json())
    Draft202012Validator(SCHEMA).validate(told)
    assert {one["label"] for one in told["labels"]} == set(LABELS)
    ran.study.report(tmp_path / "study.html", ran.store)
    page = (tmp_path / "study.html").read_text(encoding="utf-8")
    assert "Which label is predicted how well, and for whom?" in page
    assert "bird" in page
    assert write_table(ran.study, ran.store, tmp_path / "study.csv")
    with open(tmp_path / "study.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    own = [
        float(row["value"]) for row in rows
        if (row["measure"], row["class"], row["split"], row["treatment"]) == ("f1", "cat", "test", "untreated")
    ]  # fmt: skip
    expected = [f1_score(ran.target[:, 0], one.values[:, 0]) for one in ran.predicted("untreated")]
    assert sorted(own) == pytest.approx(sorted(expected))


def test_a_label_that_a_group_lacks_is_named_and_left_out(tmp_path: Path) -> None:
    columns = label_columns(480)
    columns["bird"] = columns["bird"] & ~((columns["sex"] == "f") & (columns["split"] == "test"))
    ran = run(tmp_path, label_cohort(480, bird=columns["bird"]), treatments=["untreated"], seeds=1)
    [gap] = [
        label for label in ran.result.labels if (label.label, label.measure) == ("bird", "equalized_odds_true_positive")
    ]
    assert np.isnan(gap.mean)
    assert gap.reason is not None
    assert any("has these labels, so fairness leaves them out: bird" in note for note in ran.result.notes)
    (said,) = ran.predicted("untreated")
    [mean] = ran.result.find(measure="equalized_odds_true_positive")
    assert mean.mean == pytest.approx(gaps(ran, said.values, 2).mean())


def test_mean_average_precision_decides_where_it_is_asked_for(tmp_path: Path) -> None:
    ran = run(tmp_path, treatments=["untreated"], seeds=2, performance="average_precision", fairness="worst_group")
    found = {record.measure: record.mean for record in ran.result.records}
    scores = [one.scores for one in ran.predicted("untreated")]
    expected = np.mean([average_precision_score(ran.target, score, average="macro") for score in scores])
    assert found["average_precision"] == pytest.approx(expected)
    worst = [
        min(
            average_precision_score(ran.target[ran.group == group], score[ran.group == group], average="macro")
            for group in ("f", "m")
        )
        for score in scores
    ]
    assert found["worst_group"] == pytest.approx(np.mean(worst))
    assert ran.result.constant is not None
    assert ran.result.constant.performance == pytest.approx(ran.target.mean(axis=0).mean())


def test_a_packed_study_keeps_its_labels(ran: Ran, tmp_path: Path) -> None:
    pack(ran.study.work, tmp_path / "pack")
    again = unpack(tmp_path / "pack")
    assert again.dataset.labels == LABELS
    assert again.dataset.task == "multilabel"
    assert np.array_equal(again.dataset.train.target, ran.study.dataset.train.target)  # type: ignore[arg-type]
    assert again.dataset.test.target is None


def test_a_plan_names_labels_as_a_list(tmp_path: Path) -> None:
    columns = label_columns(320)
    with open(tmp_path / "animals.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
seeds = 2
[cohort]
file = "animals.csv"
target = ["cat", "dog", "bird"]
task = "multilabel"
groups = "sex"
split = "split"
[learner]
name = "mlp"
width = 8
layers = 1
epochs = 2
label_weights = { bird = 2.0 }
[[treatments]]
name = "untreated"
[[treatments]]
name = "group_dro"
"""
    )
    runner, store = CliRunner(), str(tmp_path / "trials.sqlite")
    for command in (["check"], ["run", "--store", store], ["status", "--store", store], ["report", "--store", store]):
        done = runner.invoke(app, ["study", command[0], str(plan), *command[1:]])
        assert done.exit_code == 0, done.output
    assert "Labels of untreated" in " ".join(done.output.split())


def test_pictures_with_labels_are_studied(tmp_path: Path) -> None:
    learner = {"name": "image_network", "network": "small", "epochs": 2, "batch_size": 16, "learning_rate": 0.02}
    ran = run(tmp_path, label_pictures(), learner=learner, seeds=2)
    assert {label.label for label in ran.result.labels} == set(LABELS)
    assert not ran.result.failures
    made = ran.study.refit("untreated", tmp_path / "model", ran.store, seed=0)
    assert made.equal
    model = equipoise.load_model(tmp_path / "model")
    columns = ran.study.cohort.where("test").columns
    assert np.array_equal(model.predict(columns), ran.predicted("untreated")[0].values)
    assert model.predict_proba(columns).shape == (16, 3)


def own(data: Any) -> None:
    """A training function that is never called."""


def test_what_a_study_of_labels_refuses(tmp_path: Path) -> None:
    cohort = label_cohort()
    with pytest.raises(BadInput, match="exclusive classes"):
        Study(cohort, learner="mlp", treatments=["domain_independent"])
    with pytest.raises(BadInput, match="learns from classes"):
        Study(cohort, learner="metric_learner")
    with pytest.raises(BadInput, match="a training function returns one class"):
        Study(cohort, train=own, version=1)
    with pytest.raises(BadInput, match="several labels a row"):
        Study(cohort, learner="mlp", performance="pearson")
    with pytest.raises(BadInput, match="says nothing of each label"):
        run(tmp_path, measures=["SPSF", "fairness"], seeds=1)


def test_other_columns_of_a_cohort_become_its_labels() -> None:
    single = replace(label_cohort(), labels=(), target="dog", task="class")
    several = with_roles(single, target=["cat", "dog"])
    assert several.target_columns == ("cat", "dog")
    assert several.task == "multilabel"
    assert with_roles(several, target="cat").task == "class"
    with pytest.raises(BadInput, match="cow"):
        with_roles(single, target=["cat", "cow"])


def test_a_cell_is_refitted_audited_saved_and_loaded(ran: Ran, tmp_path: Path) -> None:
    made = ran.study.refit("reweighting", tmp_path / "model", ran.store, seed=1)
    assert made.equal
    model = equipoise.load_model(tmp_path / "model")
    assert model.task == "multilabel"
    assert model.classes == LABELS
    assert "labels=['cat', 'dog', 'bird']" in repr(model)
    rows = ran.study.cohort.where("test").columns
    stored = ran.predicted("reweighting")[1]
    assert np.array_equal(model.predict(rows), stored.values)
    assert np.allclose(model.predict_proba(rows), stored.scores, atol=1e-6)
    said = model.audit
    assert said is not None
    [rate] = [
        one["value"] for one in said["records"]
        if (one["measure"], one["kind"], one["label"], one["group"]) == ("true_positive_rate", "rate", "cat", "f")
    ]  # fmt: skip
    chosen = (ran.group == "f") & (ran.target[:, 0] == 1)
    assert rate == pytest.approx(stored.values[chosen, 0].mean())


def test_a_saved_model_that_names_other_labels_than_it_predicts_is_refused(ran: Ran, tmp_path: Path) -> None:
    ran.study.refit("untreated", tmp_path / "model", ran.store, seed=0)
    path = tmp_path / "model" / "model.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    for wrong in ({"classes": ["cat", "dog"]}, {"task": "class"}):
        path.write_text(json.dumps({**said, **wrong}), encoding="utf-8")
        with pytest.raises(BadInput, match="labels and names"):
            equipoise.load_model(tmp_path / "model")
