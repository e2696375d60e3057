"""Models of embeddings: heads on features, networks on pictures and features as they are, as the training left them."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from safetensors.numpy import load_file, save_file

import equipoise
from equipoise.cohorts import Cohort
from equipoise.estimators import GroupNames, SavedModel, TreatedClassifier, TreatedEmbedding, load_model
from equipoise.foundation import BadInput, registry
from equipoise.training import Job, Outcome, Settings, encode_dataset, encoder_of, train
from equipoise.training.metric import EmbeddingModel
from helpers.cases.training import Learns
from helpers.picture_cohorts import embedding_cohort, picture_cohort

HEAD = Learns("metric_learner", {"embedding_size": 4, "epochs": 4, "batch_size": 16})
NETWORK = Learns("metric_learner", {"backbone": "small", "embedding_size": 4, "epochs": 2, "batch_size": 16})
RAW = Learns("raw_features", {})
TREATMENTS: dict[str, dict[str, Any]] = {
    "untreated": {}, "parade": {}, "reweighting": {}, "adversarial": {}, "inlp": {"iterations": 2}, "leace": {},
}  # fmt: skip
CASES = [
    *((HEAD, name) for name in (*TREATMENTS, "leace_inputs")),
    *((NETWORK, name) for name in TREATMENTS),
    *((RAW, name) for name in ("untreated", "inlp", "leace", "leace_inputs")),
]


def data_of(learner: Learns) -> Cohort:
    return picture_cohort() if "backbone" in learner.settings else embedding_cohort()


def saved_of(
    learner: Learns, treatment: str = "untreated", settings: Settings | None = None, seeds: tuple[int, ...] = (1, 2)
) -> tuple[SavedModel, Outcome, Cohort]:
    data = data_of(learner)
    dataset = encode_dataset(data, data.groups)
    kind: Any = registry.get("treatment", treatment).implementation
    jobs = [
        Job(np.arange(len(dataset.train)), seed, treatments=(kind(**TREATMENTS.get(treatment, {})),)) for seed in seeds
    ]
    ended = train(dataset, learner, jobs, settings, keep_models=True)[-1]
    assert ended.failure is None, ended.failure
    assert ended.model is not None, ended.no_model
    names = GroupNames(data.groups, dataset.groups)
    return SavedModel(ended.model, encoder_of(data), dataset.classes, names, data.target), ended, data


@pytest.mark.parametrize(("learner", "treatment"), CASES, ids=lambda one: getattr(one, "name", one))
def test_a_loaded_embedding_is_that_of_the_training(learner: Learns, treatment: str, tmp_path: Path) -> None:
    model, ended, data = saved_of(learner, treatment, Settings(rounding="deterministic"))
    loaded, test = load_model(model.save(tmp_path / "m")), data.where("test")
    assert ended.test is not None
    np.testing.assert_array_equal(loaded.predict(test), np.array(loaded.classes)[ended.test.values])
    # The trial keeps its embedding in 16 bits.
    np.testing.assert_array_equal(loaded.transform(test).astype(np.float16), ended.arrays["embedding.test"])
    only = test[data.features[0]]
    np.testing.assert_array_equal(loaded.transform(only), loaded.transform(test))
    with pytest.raises(BadInput, match="no probabilities"):
        loaded.predict_proba(test)


@pytest.mark.parametrize("precision", ["float64", "tf32"])
def test_other_precisions(precision: Any, tmp_path: Path) -> None:
    model, ended, data = saved_of(HEAD, settings=Settings(precision=precision))
    loaded = load_model(model.save(tmp_path / "m"))
    found = loaded.transform(data.where("test")).astype(np.float16)
    np.testing.assert_array_equal(found, ended.arrays["embedding.test"])


def test_a_head_is_a_product_and_a_class_that_of_the_nearest_training_row() -> None:
    model, _, data = saved_of(HEAD)
    tensors, train, test = model.model.tensors(), data.where("train"), data.where("test")

    def embedding(rows: Any) -> Any:
        found = rows["features"].astype(np.float64) @ tensors["embedder.weight"] + tensors["embedder.bias"]
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    expected, points = embedding(test), embedding(train)
    np.testing.assert_allclose(model.transform(test), expected, atol=1e-5)
    np.testing.assert_allclose(tensors["points"], points, atol=1e-5)
    classes = []
    for row in expected:
        nearest = min(range(len(points)), key=lambda place: float(((points[place] - row) ** 2).sum()))
        classes.append(train["label"][nearest])
    assert (model.predict(test) == np.array(classes)).mean() > 0.98, "ties by rounding apart"


def test_what_leace_erased_is_not_in_the_embedding() -> None:
    plain, erased = (saved_of(HEAD, name)[0] for name in ("untreated", "leace"))
    data = data_of(HEAD)
    train = data.where("train")
    group = (train["group"] == train["group"][0]).astype(float)

    def covariance(model: SavedModel) -> float:
        points = model.transform(train).astype(np.float64)
        return float(np.abs((points - points.mean(axis=0)).T @ (group - group.mean())).max() / len(points))

    assert covariance(erased) < 1e-6 < covariance(plain)


def test_parade_releases_its_target_head_alone(tmp_path: Path) -> None:
    for learner in (HEAD, NETWORK):
        parade, untreated = (saved_of(learner, name)[0] for name in ("parade", "untreated"))
        own, plain = parade.model.tensors(), untreated.model.tensors()
        assert set(own) == set(plain), "no tensor of a sensitive head or of what it is compared by"
        assert {name: one.shape for name, one in own.items()} == {name: one.shape for name, one in plain.items()}
        assert any((own[name] != plain[name]).any() for name in own if name.startswith("embedder."))


def test_raw_features_are_the_features_with_length_1() -> None:
    model, _, data = saved_of(RAW)
    rows = data.where("test")["features"]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(rows), rows / lengths, rtol=1e-6)
    plain = saved_of(Learns("raw_features", {"unit_length": False}))[0]
    np.testing.assert_array_equal(plain.transform(rows), rows)
    assert (model.transform(np.zeros_like(rows[:1])) == 0).all()


@pytest.mark.parametrize("learner", [HEAD, NETWORK, RAW], ids=["head", "network", "raw"])
def test_a_row_is_embedded_as_among_others(learner: Learns) -> None:
    model, _, data = saved_of(learner)
    rows = data.where("test")[data.features[0]]
    expected = model.transform(rows)
    alone = np.concatenate([model.transform(rows[place : place + 1]) for place in range(6)])
    np.testing.assert_allclose(alone, expected[:6], atol=1e-5)
    assert model.predict(rows[:0]).shape == (0,)
    assert model.transform(rows[:0]).shape == (0, expected.shape[1])


@pytest.mark.parametrize("learner", [HEAD, NETWORK, RAW], ids=["head", "network", "raw"])
def test_other_rows_are_refused(learner: Learns) -> None:
    model, _, data = saved_of(learner)
    rows = data.where("test")[data.features[0]]
    for wrong in (rows[:, :-1], rows[0], rows[None]):
        for asked in (model.predict, model.transform):
            with pytest.raises(BadInput):
                asked(wrong)
    if learner is not NETWORK:
        with pytest.raises(BadInput, match="finite"):
            model.transform(np.full_like(rows, np.nan))


def test_copies_embed_as_the_model_does() -> None:
    for learner in (HEAD, NETWORK, RAW):
        model, _, data = saved_of(learner, "leace")
        inputs = data.where("test")[data.features[0]]
        for copied in (copy.deepcopy(model.model), pickle.loads(pickle.dumps(model.model))):
            np.testing.assert_array_equal(copied.transform(inputs), model.model.transform(inputs))
            np.testing.assert_array_equal(copied.predict(inputs).values, model.model.predict(inputs).values)


def edited(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    said = json.loads((folder / "model.json").read_text())
    change(said)
    (folder / "model.json").write_text(json.dumps(said))
    return folder


def embedder(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda said: said["model"]["embedder"].update(values)


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no embedder": (lambda said: said["model"].pop("embedder"), "described as None"),
    "another embedder": (embedder(kind="os.system"), "described as"),
    "an embedder of another learner": (embedder(kind="features"), "described as"),
    "more dimensions": (embedder(dimensions=5), "have the shape"),
    "very many dimensions": (embedder(dimensions=10**12), "as dimensions"),
    "another precision": (embedder(precision="int4"), "precision"),
    "no classes": (lambda said: said["model"].pop("classes"), "The setting 'classes'"),
    "too few classes": (lambda said: said["model"].update(classes=2), "known class"),
    "fewer names than classes": (lambda said: said.update(classes=["a", "b"]), "names 2"),
    "erasers that are none": (lambda said: said["model"].update(erasers="inlp"), "as 'inlp'"),
    "an eraser that is another part": (
        lambda said: said["model"].update(erasers=[{"kind": "leace_head", "state": {}}]), "is no Transformation"
    ),
    "an eraser of nothing": (
        lambda said: said["model"].update(erasers=[{"kind": "null_space", "state": {}}]), "no such array"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def head() -> SavedModel:
    return saved_of(HEAD)[0]


@pytest.mark.parametrize("case", HOSTILE)
def test_a_description_that_was_changed_is_refused(case: str, head: SavedModel, tmp_path: Path) -> None:
    change, says = HOSTILE[case]
    with pytest.raises(BadInput, match=says):
        load_model(edited(head.save(tmp_path / "m"), change))


def test_other_arrays_in_the_file_are_refused(head: SavedModel, tmp_path: Path) -> None:
    from equipoise.estimators._saved import _digest

    folder = head.save(tmp_path / "m")
    weights = folder / "weights.safetensors"
    own = load_file(weights)
    header = {"equipoise.model": json.dumps({"schema": "equipoise.model-weights/1"})}
    cases: list[tuple[dict[str, Any], str]] = [
        ({**own, "evil": np.zeros(3)}, "does not have"),
        ({**own, "embedder.evil": np.zeros(3)}, "does not have"),
        ({name: one for name, one in own.items() if name != "embedder.bias"}, "lack"),
        ({name: one for name, one in own.items() if name != "points"}, "no such array"),
        ({**own, "points": own["points"][:-1].copy()}, "labels"),
        ({**own, "points": np.full_like(own["points"], np.nan)}, "not all finite"),
        ({**own, "points": own["points"][:, :-1].copy()}, "do not fit each other"),
        ({**own, "labels": own["labels"] - 1}, "known class"),
        ({**own, "labels": own["labels"].astype(np.float32)}, "labels"),
        ({**own, "points": own["points"][:0].copy(), "labels": own["labels"][:0].copy()}, "known class"),
        ({**own, "embedder.weight": np.full_like(own["embedder.weight"], np.inf)}, "not all finite"),
    ]
    for tensors, says in cases:
        save_file(tensors, weights, metadata=header)
        digest = _digest(weights.read_bytes())
        with pytest.raises(BadInput, match=says):
            load_model(edited(folder, lambda said, now=digest: said["files"].update({"weights.safetensors": now})))


def test_an_embedding_of_features_takes_no_module(head: SavedModel, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="A module is given"):
        load_model(head.save(tmp_path / "m"), module=lambda *_: None)


def test_a_treated_embedding_takes_treatments_around_the_training() -> None:
    data = embedding_cohort()
    rows, target, group = (data.where("train")[name] for name in ("features", "label", "group"))
    made = TreatedEmbedding("leace", learner_settings=HEAD.settings).fit(rows, target, sensitive_features=group)
    points = made.transform(rows).astype(np.float64)
    held = np.corrcoef(np.column_stack([points, group == "a"]).T)[-1, :-1]
    plain = made.set_params(treatment="untreated").fit(rows, target, sensitive_features=group).transform(rows)
    assert np.abs(held).max() < np.abs(np.corrcoef(np.column_stack([plain, group == "a"]).T)[-1, :-1]).max()
    assert hasattr(made, "embedding_"), "an untreated one is a MetricLearner"
    again = made.set_params(treatment="leace").fit(rows, target, sensitive_features=group)
    np.testing.assert_array_equal(again.transform(rows), points.astype(np.float32))


def test_fit_takes_a_matrix_of_features_and_saves_the_embedding(tmp_path: Path) -> None:
    rows = {name: column for name, column in embedding_cohort().where("train").columns.items() if name != "split"}
    model = equipoise.fit(
        rows, target="label", sensitive_features="group", treatment="parade", learner="metric_learner",
        learner_settings=HEAD.settings,
    )  # fmt: skip
    assert model.features == ("features",)
    loaded = load_model(model.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(rows["features"]), model.predict(rows))
    np.testing.assert_array_equal(loaded.transform(rows["features"]), model.transform(rows))
    assert model.transform(rows).shape == (120, 4)


def test_estimators_predict_by_the_nearest_row_and_transform() -> None:
    data = embedding_cohort()
    rows, target, group = (data.where("train")[name] for name in ("features", "label", "group"))
    for learner, settings in (("metric_learner", HEAD.settings), ("raw_features", {})):
        made = TreatedClassifier("leace", learner, learner_settings=settings, standardise=False)
        made.fit(rows, target, sensitive_features=group)
        assert isinstance(made.model_, EmbeddingModel)
        assert set(made.predict(rows)) <= set(target)
        assert len(made.transform(rows)) == len(rows)
        assert not hasattr(made, "predict_proba")
    plain = TreatedClassifier("untreated", "raw_features", standardise=False).fit(rows, target)
    assert plain.score(rows, target) == 1.0, "each row is nearest to itself"
    raw = TreatedEmbedding("untreated", "raw_features").fit(rows, target)
    np.testing.assert_allclose(np.linalg.norm(raw.transform(rows), axis=1), 1, rtol=1e-5)
