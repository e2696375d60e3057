"""Models of networks on pictures: saved, loaded, and the same to the last bit as the training that made them."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

import sklearn
import torch
from safetensors.numpy import load_file, save_file
from sklearn.model_selection import GridSearchCV

import equipoise
from equipoise.audits import audit
from equipoise.cohorts import Cohort
from equipoise.estimators import GroupNames, SavedModel, TreatedClassifier, TreatedEmbedding, load_model
from equipoise.foundation import BadInput, registry
from equipoise.networks import build
from equipoise.training import EncodedDataset, Job, Outcome, Settings, encode_dataset, encoder_of, train
from equipoise.training.images import _pictures as reading
from helpers.cases.label import label_pictures
from helpers.cases.training import Learns
from helpers.picture_cohorts import picture_cohort
from helpers.squares import CLASSES, pictures

SMALL: dict[str, Any] = {"network": "small", "epochs": 2, "batch_size": 16, "schedule": "triangle"}
LEARNER = Learns("image_network", SMALL)
TREATMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("untreated", {}), ("reweighting", {}), ("adversarial", {}), ("inlp", {"iterations": 2}), ("leace", {}),
    ("leace", {"erase": False}), ("domain_independent", {}), ("domain_independent", {"readout": "known_domain"}),
    ("domain_discriminative", {}), ("domain_discriminative", {"readout": "rba_dev"}),
)  # fmt: skip
TWO_CLASSES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("threshold_optimizer", {"constraint": "demographic_parity"}), ("threshold_optimizer", {}),
)  # fmt: skip


def saved_of(
    data: Cohort,
    learner: Learns = LEARNER,
    treatment: str = "untreated",
    settings: Settings | None = None,
    **values: Any,
) -> tuple[SavedModel, Outcome]:
    dataset = encode_dataset(data, data.groups, groups_at_prediction=True)
    made = registry.get("treatment", treatment).implementation(**values)  # type: ignore[operator]
    job = Job(np.arange(len(dataset.train)), seed=1, treatments=(made,))
    (ended,) = train(dataset, learner, [job], settings, keep_models=True)
    assert ended.failure is None, ended.failure
    assert ended.model is not None, ended.no_model
    names = GroupNames(data.groups, dataset.groups)
    return SavedModel(
        ended.model, encoder_of(data), dataset.classes, names, data.target, about={"treatments": [treatment]}
    ), ended


@pytest.fixture(scope="module")
def data() -> Cohort:
    return picture_cohort()


@pytest.fixture(scope="module")
def made(data: Cohort) -> tuple[SavedModel, Outcome]:
    return saved_of(data)


@pytest.fixture
def model(made: tuple[SavedModel, Outcome]) -> SavedModel:
    return made[0]


@pytest.fixture
def folder(model: SavedModel, tmp_path: Path) -> Path:
    return model.save(tmp_path / "model")


def same(loaded: SavedModel, ended: Outcome, data: Cohort) -> None:
    """The loaded model says of the test rows what the training said, to the last bit."""
    test = data.where("test")
    rows = np.flatnonzero(data["split"] == "test")
    assert ended.test is not None
    np.testing.assert_array_equal(loaded.predict(test, ids=rows), np.array(loaded.classes)[ended.test.values])
    np.testing.assert_array_equal(loaded.predict_proba(test, ids=rows), ended.test.scores)


@pytest.mark.parametrize(("treatment", "values"), TREATMENTS)
def test_a_loaded_model_predicts_what_the_training_predicted(
    treatment: str, values: dict[str, Any], data: Cohort, tmp_path: Path
) -> None:
    model, ended = saved_of(data, LEARNER, treatment, Settings(rounding="deterministic"), **values)
    loaded = load_model(model.save(tmp_path / "m"))
    same(loaded, ended, data)
    known = values.get("readout") in ("known_domain", "rba_dev")
    assert loaded.needs_group == known
    if not known:
        only = {"picture": data.where("test")["picture"]}
        np.testing.assert_array_equal(loaded.predict(only), loaded.predict(data.where("test")["picture"]))


@pytest.mark.parametrize(("treatment", "values"), TWO_CLASSES)
def test_thresholds_of_groups_are_a_part_of_the_model(treatment: str, values: dict[str, Any], tmp_path: Path) -> None:
    data = picture_cohort(classes=2, rows=(96, 60, 60))
    model, ended = saved_of(data, replace(LEARNER, settings={**SMALL, "epochs": 4}), treatment, **values)
    loaded = load_model(model.save(tmp_path / "m"))
    assert loaded.needs_group
    same(loaded, ended, data)
    with pytest.raises(BadInput, match="no column 'group'"):
        loaded.predict({"picture": data["picture"]})


@pytest.mark.parametrize(
    ("network", "precision"),
    [("small", "float64"), ("small", "bfloat16"), ("resnet18", "float32"), ("resnet50", "float32")],
)
def test_other_networks_and_precisions(network: str, precision: str, data: Cohort, tmp_path: Path) -> None:
    learner = Learns("image_network", {**SMALL, "network": network, "epochs": 1, "batch_size": 48})
    model, ended = saved_of(data, learner, settings=Settings(precision=precision))  # type: ignore[arg-type]
    same(load_model(model.save(tmp_path / "m")), ended, data)


class OwnNetwork(torch.nn.Module):
    """A network that counts and draws while it trains."""

    def __init__(self, channels: int, width: int = 5) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.BatchNorm2d(width)
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, pictures: Any) -> Any:
        return self.drop(self.norm(self.conv(pictures)).relu().mean(dim=(2, 3)))


OWN = Learns("image_network", {**SMALL, "network": OwnNetwork, "settings": {"width": 7}})


@pytest.mark.parametrize("treatment", ["untreated", "inlp", "domain_independent"])
def test_a_network_of_ones_own_needs_its_code(treatment: str, data: Cohort, tmp_path: Path) -> None:
    model, ended = saved_of(data, OWN, treatment)
    folder = model.save(tmp_path / "m")
    same(load_model(folder, module=OwnNetwork), ended, data)
    given = OwnNetwork(3, 7)
    before = given.conv.weight.detach().clone()
    same(load_model(folder, module=given), ended, data)
    assert torch.equal(given.conv.weight, before), "the weights are those of a copy"
    assert json.loads((folder / "model.json").read_text())["model"]["network"]["arguments"] == {"width": 7}
    same(pickle.loads(pickle.dumps(model)), ended, data)
    with pytest.raises(BadInput, match="not the code") as error:
        load_model(folder)
    assert "module=MyNet" in error.value.help


def test_another_module_than_that_of_the_training_is_refused(data: Cohort, tmp_path: Path) -> None:
    folder = saved_of(data, OWN)[0].save(tmp_path / "m")
    for module, says in (
        (OwnNetwork(3, 8), "have the shape"),
        (torch.nn.Linear(2, 7), "lack"),
        (lambda channels: None, "The factory failed"),
        (lambda channels, width: None, "The factory returned NoneType"),
    ):
        with pytest.raises(BadInput, match=says):
            load_model(folder, module=module)
    flat = torch.nn.Flatten()
    network = OwnNetwork(3, 7)
    network.forward = lambda pictures: flat(network.conv(pictures))  # type: ignore[method-assign]
    with pytest.raises(BadInput, match="do not fit each other"):
        load_model(folder, module=lambda channels, width: network)


@pytest.mark.parametrize(
    "values",
    [
        {"size": 6, "centre": 0.8, "augmentation": "resized_crop", "frozen_norm": True, "scaling": "half"},
        {"network": "efficientnet_lite0", "size": 32, "epochs": 1, "batch_size": 48},
        {"scaling": "unit", "optimiser": "adam", "learning_rate": 1e-3},
    ],
    ids=["resized and frozen", "pretrained", "unit"],
)
def test_pictures_are_shown_as_in_the_training(values: dict[str, Any], data: Cohort, tmp_path: Path) -> None:
    model, ended = saved_of(data, Learns("image_network", {**SMALL, **values}))
    same(load_model(model.save(tmp_path / "m")), ended, data)


def test_several_labels_a_row_are_told_as_in_the_training() -> None:
    dataset = encode_dataset(label_pictures())
    (ended,) = train(dataset, LEARNER, [Job(np.arange(len(dataset.train)), seed=1)], keep_models=True)
    assert ended.failure is None, ended.failure
    assert ended.model is not None
    assert ended.test is not None
    again = type(ended.model).restore(ended.model.settings(), ended.model.tensors())
    found = again.predict(dataset.test.inputs)
    np.testing.assert_array_equal(found.values, ended.test.values)
    np.testing.assert_array_equal(found.scores, ended.test.scores)


def test_grey_pictures_have_one_channel(tmp_path: Path) -> None:
    data = picture_cohort(grey=True)
    model, ended = saved_of(data)
    same(load_model(model.save(tmp_path / "m")), ended, data)


def test_a_model_is_the_network_by_hand(model: SavedModel, data: Cohort) -> None:
    tensors = {name: torch.from_numpy(value) for name, value in model.model.tensors().items()}
    network, features = build("small", 3)
    head = torch.nn.Linear(features, 3)
    for part, name in ((network, "network."), (head, "head.")):
        part.load_state_dict(
            {key.removeprefix(name): tensor for key, tensor in tensors.items() if key.startswith(name)}
        )
    train = data.where("train")["picture"].astype(np.float64)
    mean, spread = train.mean(axis=(0, 1, 2)), train.std(axis=(0, 1, 2))
    np.testing.assert_allclose(model.model.tensors()["scaling.mean"], mean, rtol=1e-6)
    test = data.where("test")["picture"]
    shown = torch.tensor((test - mean) / spread, dtype=torch.float32).permute(0, 3, 1, 2)
    with torch.no_grad():
        hidden = network.eval()(shown)
        expected = head(hidden).softmax(-1).numpy()
    np.testing.assert_allclose(model.predict_proba(test), expected, atol=1e-5)
    np.testing.assert_allclose(model.transform(test), hidden.numpy(), atol=1e-4)


def test_batch_statistics_are_those_of_the_training_and_predicting_moves_none(
    made: tuple[SavedModel, Outcome], data: Cohort
) -> None:
    model, ended = made
    before = {name: value.copy() for name, value in model.model.tensors().items()}
    assert not np.allclose(before["network.block1.norm.running_mean"], 0)
    assert before["network.block1.norm.num_batches_tracked"] == ended.best_epoch * (96 // 16)
    model.predict(data)
    for name, value in model.model.tensors().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_picture_is_predicted_as_among_others(
    model: SavedModel, data: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = data.where("test")["picture"]
    expected, hidden = model.predict_proba(test), model.transform(test)
    alone = np.concatenate([model.predict_proba(test[place : place + 1]) for place in range(8)])
    np.testing.assert_allclose(alone, expected[:8], atol=1e-6)
    monkeypatch.setattr(reading, "AT_ONCE", 7)
    np.testing.assert_allclose(model.predict_proba(test), expected, atol=1e-6)
    np.testing.assert_allclose(model.transform(test), hidden, atol=1e-5)
    assert model.predict(test[:0]).shape == (0,)
    assert model.predict_proba(test[:0]).shape == (0, 3)
    assert model.transform(test[:0]).shape == (0, 128)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found[:, :7], "shape"),
        (lambda found: found[..., :1], "shape"),
        (lambda found: found[0], "shape"),
        (lambda found: found / 255, "float64"),
        (lambda found: found.astype(np.int64), "int64"),
        (lambda found: found.transpose(0, 3, 1, 2), "shape"),
        (lambda found: found.reshape(len(found), -1), "shape"),
    ],
)
def test_other_pictures_are_refused(change: Callable[[Any], Any], says: str, model: SavedModel, data: Cohort) -> None:
    for given in (change(data["picture"]), {"picture": change(data["picture"])}):
        for asked in (model.predict, model.predict_proba, model.transform):
            with pytest.raises(BadInput, match=says) as error:
                asked(given)
            assert "uint8" in str(error.value)


def test_a_frame_without_the_pictures_is_refused(model: SavedModel) -> None:
    with pytest.raises(BadInput, match="no column 'picture'"):
        model.predict(pd.DataFrame({"label": ["up"]}))


def test_an_array_for_a_model_of_columns_is_refused() -> None:
    people = {"age": np.arange(60.0), "job": np.array(["a", "b"] * 30), "y": np.arange(60) % 2}
    model = equipoise.fit(people, target="y", learner=sklearn.linear_model.LogisticRegression())
    with pytest.raises(BadInput, match="found by their names"):
        model.predict(np.zeros((3, 2)))


def edited(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    said = json.loads((folder / "model.json").read_text())
    change(said)
    (folder / "model.json").write_text(json.dumps(said))
    return folder


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a dotted name": (lambda said: said["model"].update(network={"name": "os.system"}), "the network 'os.system'"),
    "no network": (lambda said: said["model"].pop("network"), "The setting 'network'"),
    "a network as text": (lambda said: said["model"].update(network="small"), "The setting 'network'"),
    "another network": (lambda said: said["model"]["network"].update(name="resnet18"), "weights"),
    "more outputs than numbers": (lambda said: said["model"].update(outputs=10_000_000), "have the shape"),
    "far more outputs": (lambda said: said["model"].update(outputs=10**12), "as outputs"),
    "no outputs": (lambda said: said["model"].update(outputs=0), "as outputs"),
    "outputs as text": (lambda said: said["model"].update(outputs="3"), "The setting 'outputs'"),
    "a size that is none": (lambda said: said["model"].update(size=[8, 8]), "size of the pictures"),
    "a size of texts": (lambda said: said["model"].update(size=["8", 8, 3]), "height or width"),
    "many channels": (lambda said: said["model"].update(size=[8, 8, 10**9]), "channels"),
    "another size than the encoding": (lambda said: said["model"].update(size=[9, 8, 3]), "pictures are uint8"),
    "huge pictures": (lambda said: said["inputs"][0].update(shape=[10**6, 10**6, 3]), "column of the encoding"),
    "pictures of no pixels": (lambda said: said["inputs"][0].update(shape=[0, 8, 3]), "column of the encoding"),
    "more features": (lambda said: said["model"].update(features=127), "have the shape"),
    "no way of showing": (lambda said: said["model"].pop("shown"), "The setting 'shown'"),
    "a huge side": (lambda said: said["model"]["shown"].update(size=10**9), "a side that is shown"),
    "a share above 1": (lambda said: said["model"]["shown"].update(centre=2), "share of a picture"),
    "another precision": (lambda said: said["model"].update(precision="int8"), "precision"),
    "more classes": (lambda said: said.update(classes=["a", "b", "c", "d"]), "names 4"),
    "a regression": (lambda said: said.update(task="regression"), "in place of"),
    "another learner": (lambda said: said.update(kind="mlp"), "The setting 'inputs'"),
    "another task": (lambda said: said["model"].update(task="regression"), "The task of"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_description_that_was_changed_is_refused(case: str, folder: Path) -> None:
    change, says = HOSTILE[case]
    with pytest.raises(BadInput, match=says):
        load_model(edited(folder, change))


def test_other_arrays_in_the_file_are_refused(folder: Path) -> None:
    from equipoise.estimators._saved import _digest

    weights = folder / "weights.safetensors"
    own = load_file(weights)
    header = {"equipoise.model": json.dumps({"schema": "equipoise.model-weights/1"})}
    mean, norm = "scaling.mean", "network.block1.norm.running_var"
    cases: list[tuple[dict[str, Any], str]] = [
        ({**own, "network.evil": np.zeros(3)}, "which the network does not have"),
        ({name: one for name, one in own.items() if name != norm}, "lack"),
        ({**own, "head.weight": own["head.weight"].T.copy()}, "have the shape"),
        ({**own, norm: np.full_like(own[norm], np.nan)}, "not all finite"),
        ({**own, mean: np.full_like(own[mean], np.inf)}, "not all finite"),
        ({**own, mean: np.zeros(4, dtype=np.float32)}, "have the shape"),
        ({**own, "scaling.scale": np.zeros(3, dtype=np.float32)}, "not above 0"),
    ]
    for tensors, says in cases:
        save_file(tensors, weights, metadata=header)
        digest = _digest(weights.read_bytes())
        with pytest.raises(BadInput, match=says):
            load_model(edited(folder, lambda said, now=digest: said["files"].update({"weights.safetensors": now})))


def test_a_named_network_takes_no_module(folder: Path) -> None:
    with pytest.raises(BadInput, match="A module is given for the network 'small'"):
        load_model(folder, module=lambda *_: None)


def test_loading_draws_nothing_from_the_generators_of_the_program(folder: Path) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    load_model(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_trainings_that_are_read_in_several_ways_have_a_model_each(tmp_path: Path) -> None:
    data = picture_cohort()
    dataset = encode_dataset(data, data.groups, groups_at_prediction=True)
    kind: Any = registry.get("treatment", "domain_independent").implementation
    jobs = [Job(np.arange(96), 3, treatments=(kind(readout=one),)) for one in ("sum", "known_domain")]
    ended = train(dataset, LEARNER, jobs, keep_models=True)
    for one in ended:
        assert one.model is not None
        assert one.test is not None
        group = dataset.test.group if one.model.needs_group else None
        np.testing.assert_array_equal(one.model.predict(dataset.test.inputs, group).scores, one.test.scores)
    assert ended[0].model is not ended[1].model


def test_a_killed_training_keeps_the_weights_of_its_best_epoch(data: Cohort, tmp_path: Path) -> None:
    dataset: EncodedDataset = encode_dataset(data, data.groups)
    learner = replace(LEARNER, settings={**SMALL, "epochs": 4})
    job = Job(np.arange(96), seed=2)
    settings = Settings(checkpoints=str(tmp_path), rounding="deterministic")
    seen: list[int] = []

    def kill(progress: Any) -> None:
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("equipoise.training.images._side_by_side.EVERY", 0.0)
        patch.setattr("equipoise.training.images._side_by_side.TIMES", 0.0)
        with pytest.raises(KeyboardInterrupt):
            train(dataset, learner, [job], settings, kill, keep_models=True)
    (found,) = train(dataset, learner, [job], settings, lambda one: seen.append(one.epoch), keep_models=True)
    (whole,) = train(dataset, learner, [job], replace(settings, checkpoints=None), keep_models=True)
    assert seen[0] == 4, "it went on from the third epoch"
    assert found.best_epoch == whole.best_epoch
    assert found.model is not None
    assert whole.model is not None
    for name, value in whole.model.tensors().items():
        np.testing.assert_array_equal(found.model.tensors()[name], value)


def test_keeping_models_changes_no_prediction(data: Cohort) -> None:
    dataset = encode_dataset(data, data.groups)
    job = Job(np.arange(96), seed=2)
    one, other = (train(dataset, LEARNER, [job], keep_models=keep)[0] for keep in (False, True))
    assert one.model is None
    assert one.test is not None
    assert other.test is not None
    np.testing.assert_array_equal(one.test.scores, other.test.scores)
    assert one.notes == other.notes


# Estimators.

FIT = {"network": "small", "epochs": 8, "batch_size": 16, "augmentation": False}


@pytest.fixture(scope="module")
def fitted() -> TreatedClassifier:
    found, target, group = pictures(96, 0)
    made = TreatedClassifier("reweighting", "image_network", learner_settings=FIT)
    return made.fit(found, np.array(CLASSES)[target], sensitive_features=group)


def test_an_estimator_takes_arrays_of_pictures(fitted: TreatedClassifier) -> None:
    found, target, _ = pictures(60, 9)
    assert set(fitted.predict(found)) <= set(CLASSES)
    assert fitted.score(found, np.array(CLASSES)[target]) > 0.6, "squares are easy"
    np.testing.assert_allclose(fitted.predict_proba(found).sum(axis=1), 1, atol=1e-6)
    assert fitted.transform(found).shape == (60, 128)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_estimator_can_be_copied(copied: Callable[[Any], Any], fitted: TreatedClassifier) -> None:
    found = pictures(30, 9)[0]
    np.testing.assert_array_equal(copied(fitted).predict_proba(found), fitted.predict_proba(found))


def test_an_estimator_refuses_what_are_no_pictures_of_its_size(fitted: TreatedClassifier) -> None:
    found, target, group = pictures(48, 0)
    for wrong in (found[:, :7], found / 255.0, found[..., :1]):
        with pytest.raises(BadInput, match="uint8"):
            fitted.predict(wrong)
    fresh = TreatedClassifier("reweighting", "image_network", learner_settings=FIT)
    with pytest.raises(BadInput, match="uint8"):
        fresh.fit(found / 255.0, target, sensitive_features=group)
    with pytest.raises(BadInput, match="image_network") as error:
        TreatedClassifier("reweighting", "mlp").fit(found, target, sensitive_features=group)
    assert "8 x 8 x 3" in str(error.value)
    with pytest.raises(BadInput, match="pictures: uint8"):
        fresh.fit(found.reshape(48, -1), target, sensitive_features=group)


def test_a_grid_search_over_treatments_of_pictures() -> None:
    found, target, group = pictures(72, 0)
    search = GridSearchCV(
        TreatedClassifier(learner="image_network", learner_settings=FIT),
        {"treatment": ["untreated", "reweighting"]}, scoring=equipoise.scorer("accuracy"), cv=2,
    )  # fmt: skip
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(found, target, sensitive_features=group)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(found).shape == (72,)


def test_the_features_of_a_network_are_an_embedding() -> None:
    found, target, group = pictures(72, 0)
    made = TreatedEmbedding("leace", "image_network", learner_settings=FIT)
    hidden = made.fit(found, target, sensitive_features=group).transform(found)
    assert hidden.shape == (72, 128)
    assert made.get_feature_names_out()[0] == "treatedembedding0"


def test_fit_takes_a_mapping_with_pictures(tmp_path: Path) -> None:
    found, target, group = pictures(96, 0)
    rows = {"photo": found, "label": np.array(CLASSES)[target].tolist(), "colour": group.tolist()}
    model = equipoise.fit(
        rows, target="label", sensitive_features="colour", treatment="reweighting", learner="image_network",
        learner_settings=FIT, favourable="up",
    )  # fmt: skip
    assert repr(model) == "TableModel(label from photo: reweighting image_network; colour is no input)"
    result = model.audit(rows, draws=0)
    expected = audit(
        target=rows["label"], prediction=model.predict(rows), sensitive_features={"colour": group}, favourable="up",
        draws=0,
    )  # fmt: skip
    np.testing.assert_array_equal(
        [record.value for record in result.records], [record.value for record in expected.records]
    )
    loaded = load_model(model.save(tmp_path / "m", result))
    np.testing.assert_array_equal(loaded.predict(found), model.predict(rows))
    with pytest.raises(BadInput, match="pictures as the only feature"):
        equipoise.fit({**rows, "age": np.arange(96)}, target="label", learner="image_network", learner_settings=FIT)
