"""Several labels a row: the loss against plain torch, weights of labels, what fits, what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score
from typer.testing import CliRunner

from equipoise import BadInput, audit
from equipoise.cli import app
from equipoise.training import (
    EncodedDataset,
    Job,
    Settings,
    all_learners,
    all_treatments,
    check_compatible,
    compatibility_matrix,
    encode_dataset,
    prepare_job,
    train,
)
from equipoise.training._losses import weights_of_labels
from equipoise.treatments import Adversarial, GroupDRO, Reweighting
from helpers.cases.label import LABELS, label_cohort, label_pictures
from helpers.cases.training import Learns, jobs_of

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training.images import (  # noqa: E402
    Pictures,
    Run,
)
from equipoise.training.learners.image_network import ImageNetwork  # noqa: E402
from equipoise.training.learners.mlp import MultilayerPerceptron, built  # noqa: E402

SMALL = Learns("mlp", {"width": 8, "layers": 1, "batch_size": 32, "epochs": 4, "learning_rate": 2e-2})
PICTURES = Learns("image_network", {"network": "small", "epochs": 2, "batch_size": 16, "learning_rate": 0.02})
WEIGHTS: tuple[Any, ...] = ("none", "balanced", "positive", {"dog": 3.0})


@pytest.fixture(scope="module")
def dataset() -> EncodedDataset:
    return encode_dataset(label_cohort())


@pytest.fixture(scope="module")
def pictures() -> EncodedDataset:
    return encode_dataset(label_pictures())


def plain_loss(logits: Any, present: Any, weights: Any, rows: np.ndarray) -> Any:
    """What torch's own criterion gives, with the ratios counted here."""
    ratio = torch.tensor([(column == 0).sum() / (column == 1).sum() for column in rows.T], dtype=torch.float64)
    if weights == "balanced":
        return torch.nn.BCEWithLogitsLoss(weight=ratio)(logits, present)
    if weights == "positive":
        return torch.nn.BCEWithLogitsLoss(pos_weight=ratio)(logits, present)
    own = torch.tensor([1.0 if weights == "none" else weights.get(name, 1.0) for name in LABELS], dtype=torch.float64)
    return torch.nn.BCEWithLogitsLoss(weight=own)(logits, present)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_a_table_takes_the_steps_of_a_plain_loop(dataset: EncodedDataset, weights: Any) -> None:
    values = {**SMALL.settings, "label_weights": weights}
    given = MultilayerPerceptron.with_defaults(values, "multilabel")
    trials = [prepare_job(job, dataset, given) for job in jobs_of(dataset, [0, 1])]
    stack = built(dataset, trials, Settings(precision="float64"))
    networks = []
    for place in range(2):
        layers = [torch.nn.Linear(*weight.shape[1:], dtype=torch.float64) for weight in stack.network.weights]
        for layer, weight, bias in zip(layers, stack.network.weights, stack.network.biases, strict=True):
            layer.weight.data, layer.bias.data = weight[place].detach().T.clone(), bias[place, 0].detach().clone()
        networks.append(torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1]))
    batches = stack.arranged(1)
    ours = stack.follow(batches).numpy()
    rows = np.asarray(dataset.train.target)
    for index, network in enumerate(networks):
        optimiser = torch.optim.Adam(network.parameters(), lr=2e-2)
        for step, expected in enumerate(ours[:, index]):
            chosen = batches.rows[index, step * batches.size : (step + 1) * batches.size].numpy()
            logits = network(torch.from_numpy(dataset.train.inputs[chosen]).double())
            loss = plain_loss(logits, torch.from_numpy(rows[chosen]).double(), weights, rows)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            assert float(loss.detach()) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_pictures_take_the_steps_of_a_plain_loop(pictures: EncodedDataset, weights: Any) -> None:
    given = {**PICTURES.settings, "augmentation": False, "schedule": "constant", "label_weights": weights}
    trial = prepare_job(jobs_of(pictures, [0])[0], pictures, ImageNetwork.with_defaults(given, "multilabel"))
    settings = Settings(precision="float64")
    run = Run(trial, pictures, Pictures(pictures.train.inputs, "cpu"), settings)
    network = torch.nn.Sequential(*(copy.deepcopy(run.parts[name]) for name in ("network", "head")))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    run.begin(1)
    rows = np.asarray(pictures.train.target)
    for step in range(run.steps):
        run.step(run.phase(1))
        chosen = run.positions[step].numpy()
        logits = network(run.scaled_inputs(torch.from_numpy(pictures.train.inputs[chosen].transpose(0, 3, 1, 2))))
        loss = plain_loss(logits, torch.from_numpy(rows[chosen]).double(), weights, rows)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert float(loss.detach()) == pytest.approx(float(run.losses[step]), abs=1e-6)


def test_labels_are_predicted_at_one_half_and_the_best_epoch_is_that_of_the_measures(dataset: EncodedDataset) -> None:
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]), keep_models=True)
    assert ended.failure is None
    assert ended.dev is not None
    assert ended.test is not None
    assert ended.test.values.shape == ended.test.scores.shape == (80, 3)  # type: ignore[union-attr]
    assert ((ended.test.scores >= 0.5) == (ended.test.values == 1)).all()  # type: ignore[operator]
    best = ended.history[ended.best_epoch - 1]
    target = np.asarray(dataset.dev.target)
    assert best.performance == pytest.approx(f1_score(target, ended.dev.values, average="macro"), abs=1e-12)
    gaps = []
    for label in range(3):
        rates = [
            ended.dev.values[(dataset.dev.group == group) & (target[:, label] == 1), label].mean() for group in (0, 1)
        ]
        gaps.append(abs(rates[0] - rates[1]))
    assert best.fairness == pytest.approx(1 - np.sqrt(np.mean(np.square(gaps))), abs=1e-12)
    # The model that was kept says the same, and so does one that is made again from its settings and arrays.
    assert ended.model is not None
    again = type(ended.model).restore(json.loads(json.dumps(ended.model.settings())), ended.model.tensors())
    for model in (ended.model, again):
        assert np.array_equal(model.predict(dataset.test.inputs).values, ended.test.values)


def test_selection_by_average_precision_reads_scores(dataset: EncodedDataset) -> None:
    settings = Settings(performance="average_precision", fairness="worst_group")
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]), settings)
    assert ended.failure is None
    assert 0.5 < ended.history[-1].performance <= 1
    assert ended.history[-1].fairness <= ended.history[-1].performance


def test_trials_of_a_stack_are_those_of_each_alone(dataset: EncodedDataset) -> None:
    settings, learner = Settings(precision="float64"), Learns("mlp", {**SMALL.settings, "label_weights": "balanced"})
    together = train(dataset, learner, jobs_of(dataset, [0, 1, 2]), settings)
    for seed, ended in enumerate(together):
        (alone,) = train(dataset, learner, jobs_of(dataset, [seed]), settings)
        assert ended.best_epoch == alone.best_epoch
        assert np.allclose(ended.test.scores, alone.test.scores, atol=1e-6)  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize(
    "treatment", sorted(name for name, row in compatibility_matrix("multilabel").items() if row["mlp"] is None)
)
def test_what_fits_trains_on_a_table(dataset: EncodedDataset, treatment: str) -> None:
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0], [all_treatments()[treatment]()]))
    assert ended.failure is None
    assert ended.test is not None
    assert ended.test.values.shape == (80, 3)


@pytest.mark.parametrize(
    "treatment",
    sorted(name for name, row in compatibility_matrix("multilabel").items() if row["image_network"] is None),
)
def test_what_fits_trains_on_pictures(pictures: EncodedDataset, treatment: str) -> None:
    (ended,) = train(pictures, PICTURES, jobs_of(pictures, [0], [all_treatments()[treatment]()]))
    assert ended.failure is None
    assert ended.test is not None
    assert ended.test.values.shape == (16, 3)


def test_what_fits_is_what_acts_on_rows_groups_and_hidden_layers() -> None:
    fits = {name for name, row in compatibility_matrix("multilabel").items() if row["mlp"] is None}
    assert fits == {
        "untreated", "reweighting", "downsampling", "oversampling", "rebalancing", "leace_inputs", "adversarial",
        "diverse_adversarial", "gradient_reversal", "gradient_projection", "uniform_confusion", "group_dro",
        "equal_opportunity_global",
    }  # fmt: skip
    assert all(row["metric_learner"] is not None for row in compatibility_matrix("multilabel").values())


@pytest.mark.parametrize(
    ("treatment", "reason"),
    [
        ("domain_independent", "exclusive classes"), ("domain_discriminative", "exclusive classes"),
        ("fairbatch", "have no class"), ("inlp", "one class per row"), ("fairalm", "favourable class"),
        ("threshold_optimizer", "two classes"), ("parade", "one class per row"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_why(treatment: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        check_compatible(all_learners()["mlp"], "mlp", all_treatments()[treatment], treatment, "multilabel")


def test_the_matrix_of_a_task_is_printed_with_its_reasons() -> None:
    shown = CliRunner().invoke(app, ["list", "treatments", "--matrix", "--task", "multilabel"])
    assert shown.exit_code == 0
    assert "rows with several labels have no class" in " ".join(shown.stdout.split())
    found = json.loads(
        CliRunner().invoke(app, ["list", "treatments", "--matrix", "--task", "multilabel", "--json"]).stdout
    )
    cell = {(one["treatment"], one["learner"]): one for one in found["records"]}
    assert cell["adversarial", "mlp"]["compatible"]
    assert "exclusive classes" in cell["domain_independent", "mlp"]["reason"]
    wrong = CliRunner().invoke(app, ["list", "treatments", "--task", "multilabel"])
    assert wrong.exit_code != 0


def test_groups_weigh_the_same_where_there_are_no_classes(dataset: EncodedDataset) -> None:
    trial = prepare_job(jobs_of(dataset, [0], [Reweighting()])[0], dataset, {})
    assert trial.weights is not None
    sums = np.bincount(dataset.train.group, weights=trial.weights)  # type: ignore[arg-type]
    assert sums[0] == pytest.approx(sums[1])


def test_a_conditional_discriminator_is_told_the_labels(dataset: EncodedDataset) -> None:
    given = MultilayerPerceptron.with_defaults(SMALL.settings, "multilabel")
    job = jobs_of(dataset, [0], [Adversarial(conditional_on_class=True)])[0]
    stack = built(dataset, [prepare_job(job, dataset, given)], Settings())
    assert stack.callbacks[0].networks.weights[0].shape[1] == 8 + len(LABELS)
    assert np.isfinite(stack.epoch(1).numpy()).all()


def test_group_dro_weighs_groups(dataset: EncodedDataset) -> None:
    given = MultilayerPerceptron.with_defaults(SMALL.settings, "multilabel")
    stack = built(dataset, [prepare_job(jobs_of(dataset, [0], [GroupDRO()])[0], dataset, given)], Settings())
    assert stack.callbacks[0].log_weights.shape == (1, 2)


def test_weights_of_labels_are_ratios_of_absent_to_present_rows() -> None:
    present = np.array([[1, 0], [0, 0], [0, 1], [0, 1]])
    assert weights_of_labels("none", present, ("a", "b")) is None
    assert np.array_equal(weights_of_labels("balanced", present, ("a", "b")), [[3, 1], [3, 1]])  # type: ignore[arg-type]
    assert np.array_equal(weights_of_labels("positive", present, ("a", "b")), [[3, 1], [1, 1]])  # type: ignore[arg-type]
    assert np.array_equal(weights_of_labels({"b": 5}, present, ("a", "b")), [[1, 5], [1, 5]])  # type: ignore[arg-type]
    for rare, word in ((0 * present, "Never"), (0 * present + 1, "Always")):
        with pytest.raises(BadInput, match=f"{word} present .*'a', 'b'"):
            weights_of_labels("balanced", rare, ("a", "b"))


@pytest.mark.parametrize("given", ["often", 2.0, {}, {"cat": 0}, {"cat": "much"}, {"cat": float("nan")}, {"cat": True}])
def test_weights_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(BadInput, match="label_weights is"):
        MultilayerPerceptron.with_defaults({"label_weights": given}, "multilabel")


def test_label_weights_are_for_several_labels_alone() -> None:
    with pytest.raises(BadInput, match="label_weights"):
        MultilayerPerceptron.with_defaults({"label_weights": "balanced"})
    assert "label_weights" not in MultilayerPerceptron.with_defaults({})


def test_a_weight_of_an_unknown_label_fails_the_trial(dataset: EncodedDataset) -> None:
    learner = Learns("mlp", {**SMALL.settings, "label_weights": {"cow": 2.0}})
    (ended,) = train(dataset, learner, jobs_of(dataset, [0]))
    assert ended.failure is not None
    assert "cow" in ended.failure
    assert "cat" in ended.failure


def test_a_label_that_never_or_always_occurs_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"Never present in the 160 training rows .*: the label 'bird'"):
        encode_dataset(label_cohort(bird=np.zeros(320, dtype=int)))
    with pytest.raises(BadInput, match=r"Always present .*'cat'"):
        encode_dataset(label_cohort(cat=np.ones(320, dtype=bool)))


def test_a_trial_whose_rows_lack_a_label_says_so_and_balanced_weights_fail_it(dataset: EncodedDataset) -> None:
    rows = np.flatnonzero(np.asarray(dataset.train.target)[:, 2] == 0)
    (ended,) = train(dataset, SMALL, [Job(rows, 0)])
    assert ended.failure is None
    assert any("Nothing was learnt" in note and "bird" in note for note in ended.notes)
    (failed,) = train(dataset, Learns("mlp", {**SMALL.settings, "label_weights": "balanced"}), [Job(rows, 0)])
    assert failed.failure is not None
    assert "'bird'" in failed.failure


def test_a_column_of_other_classes_is_no_label() -> None:
    with pytest.raises(BadInput, match=r"'dog' holds .*'pug'"):
        encode_dataset(label_cohort(dog=np.array(["pug", "beagle"] * 160)))


def test_rows_that_lack_a_label_are_left_out() -> None:
    cat = label_cohort()["cat"].astype(float)
    cat[:5] = np.nan
    dataset = encode_dataset(label_cohort(cat=cat))
    assert (np.asarray(dataset.train.cell)[:5] == -1).all()
    assert (np.asarray(dataset.train.cell)[5:] == 0).all()
    (ended,) = train(dataset, SMALL, [Job(np.arange(160), 0)])
    assert ended.failure is not None
    (ended,) = train(dataset, SMALL, [Job(np.arange(5, 160), 0)])
    assert ended.failure is None


def test_labels_are_named_once_and_are_no_features() -> None:
    with pytest.raises(BadInput, match="'cat' is a feature as well"):
        replace(label_cohort(), features=("x0", "cat"))
    with pytest.raises(BadInput, match="'cat' is named twice"):
        replace(label_cohort(), labels=("cat", "cat"))
    with pytest.raises(BadInput, match="add task='multilabel'"):
        replace(label_cohort(), task="class")
    with pytest.raises(BadInput, match="in one column"):
        encode_dataset(replace(label_cohort(), labels=(), target="cat"))


def test_an_audit_of_the_cohort_takes_all_of_its_labels(dataset: EncodedDataset) -> None:
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]))
    cohort = label_cohort().where("test")
    said = [f"p_{name}" for name in LABELS]
    assert ended.test is not None
    columns = {**cohort.columns, **{name: ended.test.values[:, index] for index, name in enumerate(said)}}
    columns["dog"] = (columns["dog"] == "yes").astype(int)
    found = audit(replace(cohort, columns=columns), prediction=said, draws=0)
    rates = {
        (row.label, row.group): row.value
        for row in found.records if row.measure == "true_positive_rate" and row.kind == "rate"
    }  # fmt: skip
    chosen = (columns["sex"] == "f") & (columns["cat"] == 1)
    assert rates["cat", "f"] == pytest.approx(columns["p_cat"][chosen].mean())
    assert (None, "f") in rates


def test_another_task_refuses_several_labels(dataset: EncodedDataset) -> None:
    (ended,) = train(dataset, Learns("metric_learner"), jobs_of(dataset, [0]))
    assert ended.failure is not None
    assert "several labels" in ended.failure or "classes" in ended.failure


ESTIMATORS = (
    ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 5}),
    ("sklearn.neighbors.KNeighborsClassifier", {}),
    ("sklearn.neural_network.MLPClassifier", {"hidden_layer_sizes": [8], "max_iter": 3000}),
    ("sklearn.tree.DecisionTreeClassifier", {"max_depth": 3}),
)


@pytest.mark.parametrize(("estimator", "settings"), ESTIMATORS)
def test_an_estimator_of_several_labels_is_a_learner(
    dataset: EncodedDataset, estimator: str, settings: dict[str, Any]
) -> None:
    learner = Learns("scikit_learn", {"estimator": estimator, "settings": settings})
    (ended,) = train(dataset, learner, jobs_of(dataset, [0]), keep_models=True)
    assert ended.failure is None
    assert ended.test is not None
    assert ended.model is not None
    fitted = ended.model.estimator()
    assert np.array_equal(fitted.predict(dataset.test.inputs), ended.test.values)
    found = fitted.predict_proba(dataset.test.inputs)
    expected = np.stack([one[:, 1] for one in found], axis=1) if isinstance(found, list) else found
    assert np.allclose(ended.test.scores, expected)  # type: ignore[arg-type]
    target = np.asarray(dataset.dev.target)
    assert ended.dev is not None
    assert ended.history[0].performance == pytest.approx(f1_score(target, ended.dev.values, average="macro"))
    assert ended.model.predict(dataset.test.inputs[:0]).values.shape == (0, 3)


def test_an_estimator_of_one_class_a_row_is_refused_with_the_reason(dataset: EncodedDataset) -> None:
    (ended,) = train(dataset, Learns("scikit_learn"), jobs_of(dataset, [0]))
    assert ended.failure is not None
    assert "LogisticRegression tells one class per row" in ended.failure


def test_a_module_of_ones_own_has_an_output_for_each_label(dataset: EncodedDataset) -> None:
    learner = Learns("module", {"factory": torch.nn.Linear, "epochs": 2})
    (ended,) = train(dataset, learner, jobs_of(dataset, [0]))
    assert ended.failure is None
    assert ended.test is not None
    assert ended.test.values.shape == (80, 3)
