"""Saved models: a folder that gives the same predictions again, and is refused where it is not what was saved."""

from __future__ import annotations

import datetime
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("torch")
pytest.importorskip("skops")

from safetensors.numpy import load_file, save_file

import equipoise
from equipoise.audits import audit
from equipoise.cohorts import Cohort
from equipoise.estimators import GroupNames, SavedModel, is_saved_model, load_model
from equipoise.foundation import BadInput, registry
from equipoise.training import Job, Mixture, Outcome, encode_dataset, encoder_of, train
from equipoise.training._network_models import MlpModel
from helpers.cases.plan import cohort, columns
from helpers.cases.training import Learns

SMALL = {"layers": 1, "width": 8, "epochs": 3, "batch_size": 64}


def small_net(features: int, classes: int, width: int = 7) -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(features, width), torch.nn.ReLU(), torch.nn.Linear(width, classes))


LEARNERS = {
    "mlp": Learns("mlp", SMALL),
    "module": Learns("module", {"factory": small_net, "settings": {"width": 5}, "epochs": 3, "batch_size": 64}),
    "scikit_learn": Learns("scikit_learn", {}),
    "forest": Learns("scikit_learn", {"estimator": "sklearn.ensemble.RandomForestClassifier"}),
}
TREATMENTS: dict[str, dict[str, Any]] = {
    "untreated": {}, "reweighting": {}, "adversarial": {"strength": 0.5}, "inlp": {"iterations": 3},
    "domain_independent": {"readout": "known_domain"},
}  # fmt: skip
CASES = [
    (learner, treatment)
    for learner in LEARNERS
    for treatment in TREATMENTS
    if learner in ("mlp", "module") or treatment in ("untreated", "reweighting", "inlp")
]


def people(**changes: Any) -> Cohort:
    return cohort(groups=("sex",), **changes)


def saved_of(data: Cohort, learner: Any, treatment: str = "untreated", **values: Any) -> tuple[SavedModel, Outcome]:
    dataset = encode_dataset(data, data.groups, groups_at_prediction=True)
    made = registry.get("treatment", treatment).implementation(**values)  # type: ignore[operator]
    job = Job(np.arange(len(dataset.train)), seed=1, treatments=(made,))
    (ended,) = train(dataset, learner, [job], keep_models=True)
    assert ended.failure is None, ended.failure
    assert ended.model is not None
    regression = dataset.task == "regression"
    names = GroupNames(data.groups, dataset.groups)
    model = SavedModel(
        ended.model, encoder_of(data), () if regression else dataset.classes, names, data.target, dataset.task,
        data.favourable, {"treatments": [treatment]},
    )  # fmt: skip
    return model, ended


def frame_of_test(data: Cohort) -> pd.DataFrame:
    rows = {name: column[data["split"] == "test"] for name, column in data.columns.items()}
    return pd.DataFrame({name: list(column) for name, column in rows.items()})


@pytest.fixture
def model() -> SavedModel:
    return saved_of(people(), LEARNERS["mlp"])[0]


@pytest.fixture
def folder(model: SavedModel, tmp_path: Path) -> Path:
    return model.save(tmp_path / "model")


@pytest.mark.parametrize(("learner", "treatment"), CASES)
def test_a_loaded_model_predicts_what_the_training_predicted(learner: str, treatment: str, tmp_path: Path) -> None:
    data = people()
    model, ended = saved_of(data, LEARNERS[learner], treatment, **TREATMENTS[treatment])
    loaded = load_model(model.save(tmp_path / "m"), module=small_net if learner == "module" else None)
    frame, test = frame_of_test(data), ended.test
    assert test is not None
    np.testing.assert_array_equal(loaded.predict(frame), np.array(["no", "yes"])[test.values])
    np.testing.assert_array_equal(loaded.predict_proba(frame), test.scores)
    assert loaded.needs_group == (treatment == "domain_independent")
    assert loaded.columns == ("a", "b", "kind")


@pytest.mark.parametrize("learner", ["mlp", "ridge"])
@pytest.mark.parametrize("treatment", ["untreated", "inlp"])
def test_a_loaded_regression_predicts_in_the_unit_of_the_target(learner: str, treatment: str, tmp_path: Path) -> None:
    wage = columns()["a"] * 1_000 + 40_000
    data = Cohort(
        name="people", columns={**columns(), "wage": wage}, target="wage", groups=("sex",),
        features=("a", "b", "kind"), split="split", task="regression",
    )  # fmt: skip
    ridge = Learns("scikit_learn", {"estimator": "sklearn.linear_model.Ridge"})
    model, ended = saved_of(data, LEARNERS["mlp"] if learner == "mlp" else ridge, treatment, **TREATMENTS[treatment])
    loaded = load_model(model.save(tmp_path / "m"))
    assert ended.test is not None
    found = loaded.predict(frame_of_test(data))
    np.testing.assert_array_equal(found, ended.test.values)
    assert abs(float(found.mean()) - float(wage.mean())) < 3 * float(wage.std())
    with pytest.raises(BadInput, match="no probabilities of numbers"):
        loaded.predict_proba(frame_of_test(data))


def arrays(given: dict[str, Any]) -> dict[str, Any]:
    return {name: np.array(values) for name, values in given.items()}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict, arrays])
def test_frames_of_any_library_and_columns_in_any_order(library: Callable[[Any], Any], model: SavedModel) -> None:
    given = {"kind": ["p", "q", "zz"], "b": [0.5, None, 1.0], "extra": [1, 2, 3], "a": [1, 0, 2]}
    if library is arrays:
        given["b"] = [0.5, float("nan"), 1.0]
    expected = model.predict_proba({"a": [1, 0, 2], "b": [0.5, float("nan"), 1.0], "kind": ["p", "q", "zz"]})
    np.testing.assert_array_equal(model.predict_proba(library(given)), expected)


def test_a_group_may_come_from_the_frame_or_by_itself(tmp_path: Path) -> None:
    data = people()
    model, _ = saved_of(data, LEARNERS["mlp"], "domain_independent", readout="known_domain")
    frame = frame_of_test(data)
    expected = model.predict_proba(frame)
    sexes = frame["sex"]
    for given in ("sex", ["sex"], sexes, sexes.to_numpy(), list(sexes), frame[["sex"]], {"gender": list(sexes)}):
        np.testing.assert_array_equal(model.predict_proba(frame, given), expected)
    swapped = sexes.map({"F": "M", "M": "F"})
    assert (model.predict_proba(frame, swapped) != expected).any()
    without = frame.drop(columns="sex")
    with pytest.raises(BadInput, match="no column 'sex'"):
        model.predict(without)
    np.testing.assert_array_equal(model.predict_proba(without, sexes), expected)
    with pytest.raises(BadInput, match="has 2 columns"):
        model.predict(frame, frame[["sex", "race"]])
    unknown = model.predict_proba(frame, ["nobody knows"] * len(frame))
    assert unknown.shape == expected.shape, "a group that was not trained is unknown, and not an error"


def test_a_missing_column_a_text_among_numbers_and_unknown_categories(model: SavedModel) -> None:
    with pytest.raises(BadInput, match="no column 'kind'") as one:
        model.predict({"a": [1], "b": [2]})
    assert "a, b, kind" in str(one.value)
    with pytest.raises(BadInput, match="no columns 'b', 'kind'"):
        model.predict(pd.DataFrame({"a": [1]}))
    with pytest.raises(BadInput, match="column 'a' holds 'many'"):
        model.predict({"a": ["many"], "b": [2], "kind": ["p"]})
    assert model.unknown_values({"a": [1], "b": [2], "kind": ["zz"]}) == {"kind": ("zz",)}
    assert model.unknown_values({"a": [1], "b": [2], "kind": ["p"]}) == {}


def test_a_row_is_predicted_as_among_others_and_no_rows_are_no_predictions(model: SavedModel) -> None:
    frame = frame_of_test(people())
    all_rows = model.predict_proba(frame)
    alone = np.concatenate([model.predict_proba(frame.iloc[place : place + 1]) for place in range(10)])
    np.testing.assert_allclose(alone, all_rows[:10], atol=1e-6)
    assert len(model.predict(frame.iloc[:0])) == 0


def test_transform_gives_the_hidden_layer(model: SavedModel) -> None:
    frame = frame_of_test(people())
    hidden = model.transform(frame)
    tensors, inputs = model.model.tensors(), model.encoder.encode(frame)
    np.testing.assert_allclose(hidden, np.tanh(inputs @ tensors["weight.0"] + tensors["bias.0"]), atol=1e-5)


def test_the_audit_lies_beside_the_model(model: SavedModel, tmp_path: Path) -> None:
    data = people()
    frame = frame_of_test(data)
    result = audit(
        target=frame["hired"], prediction=model.predict(frame), sensitive_features={"sex": frame["sex"]},
        favourable="yes", draws=0,
    )  # fmt: skip
    folder = model.save(tmp_path / "m", result)
    assert sorted(one.name for one in folder.iterdir()) == [
        "audit.html", "audit.json", "model.json", "weights.safetensors",
    ]  # fmt: skip
    loaded = load_model(folder)
    assert loaded.audit == json.loads(result.to_json())
    assert load_model(model.save(tmp_path / "without")).audit is None
    assert model.audit is None


def test_what_a_model_says_of_itself(model: SavedModel, folder: Path) -> None:
    loaded = equipoise.load_model(folder)
    assert repr(loaded) == "SavedModel(mlp, untreated, target='hired', classes=['no', 'yes'], columns=3)"
    said = json.loads((folder / "model.json").read_text())
    assert said["schema"] == "equipoise.model/1"
    assert said["groups"] == {"columns": ["sex"], "names": ["F", "M"], "needed": False}
    assert set(said["provenance"]["libraries"]) == {"torch"}
    assert is_saved_model(folder)
    assert not is_saved_model(folder.parent)


def test_classes_may_be_numbers(tmp_path: Path, model: SavedModel) -> None:
    loaded = load_model(replace(model, classes=(0, 1), favourable=1).save(tmp_path / "m"))
    found = loaded.predict(frame_of_test(people()))
    assert found.dtype.kind == "i"
    assert set(found.tolist()) <= {0, 1}


def test_saving_is_whole_or_not_at_all(model: SavedModel, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    model.save(folder)  # a saved model gives way to another
    monkeypatch.setattr("equipoise.estimators._saved.json.dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(folder)
    monkeypatch.undo()
    assert {one.name for one in folder.iterdir()} == set(before)
    assert [one.name for one in folder.parent.iterdir()] == [folder.name], "nothing is left behind"
    load_model(folder)


def test_a_folder_with_something_else_is_left_alone(model: SavedModel, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("a file")
    for name in ("mine", "file"):
        with pytest.raises(BadInput, match="holds something else"):
            model.save(tmp_path / name)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert model.save(tmp_path / "a" / "b" / "c").is_dir(), "folders above it are made"


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    file = folder / "model.json"
    said = json.loads(file.read_text())
    change(said)
    file.write_text(json.dumps(said))
    return folder


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "newer": (lambda said: said.update(schema="equipoise.model/2"), "newer than this program"),
    "much newer": (lambda said: said.update(schema="equipoise.model/99999999999"), "newer than this program"),
    "another schema": (lambda said: said.update(schema="equipoise.audit/1"), "does not describe a model"),
    "no schema": (lambda said: said.pop("schema"), "does not describe a model"),
    "another kind": (lambda said: said.update(kind="nonsense"), "learner 'nonsense' not found"),
    "another learner": (lambda said: said.update(kind="raw_features"), "The embedding is described as None"),
    "a learner of pictures": (lambda said: said.update(kind="image_network"), "The setting 'network'"),
    "no kind": (lambda said: said.update(kind=["mlp"]), "of the kind"),
    "a path out of the folder": (
        lambda said: said.update(files={"../../etc/passwd": "sha256:0"}),
        "names the files",
    ),
    "no files": (lambda said: said.update(files={}), "lack 'bias.0'"),
    "another digest": (lambda said: said["files"].update({"weights.safetensors": "sha256:0"}), "not the file"),
    "a file that is not there": (lambda said: said["files"].update({"estimator.skops": "x"}), "lacks"),
    "no encoding": (lambda said: said.update(inputs=[]), "not a list of columns"),
    "another encoding": (
        lambda said: said.update(inputs=[{"kind": "os.system", "name": "a"}]),
        "column of the encoding",
    ),
    "a damaged column": (lambda said: said["inputs"][0].update(scale=0), "column of the encoding"),
    "a column twice": (lambda said: said["inputs"].append(said["inputs"][0]), "column twice"),
    "fewer inputs": (lambda said: said["inputs"].pop(), "have the shape"),
    "more classes": (lambda said: said.update(classes=["a", "b", "c"]), "names 3"),
    "classes as text": (lambda said: said.update(classes="ab"), "what it predicts"),
    "another task": (lambda said: said.update(task="regression"), "in place of"),
    "no task": (lambda said: said.update(task="rm -rf"), "what it predicts"),
    "groups as text": (lambda said: said.update(groups="sex"), "as its groups"),
    "group names as numbers": (lambda said: said["groups"].update(names=[1]), "name its groups"),
    "another network": (lambda said: said["model"].update(hidden=[10_000]), "have the shape"),
    "a network of settings alone": (lambda said: said.update(model=None), "as its model"),
    "a class that is a list": (lambda said: said["classes"].__setitem__(0, [1]), "nor of which classes"),
    "a class twice": (lambda said: said["classes"].__setitem__(0, said["classes"][1]), "a class twice"),
    "treatments that are no list": (lambda said: said["about"].update(treatments=None), "as its treatments"),
    "a number of 400 digits": (lambda said: said["model"].update(mean=10**400), "a number of 401 digits"),
    "not a number": (lambda said: said["model"].update(mean=math.nan), "NaN is no number"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_description_that_was_changed_is_refused(case: str, folder: Path) -> None:
    change, says = HOSTILE[case]
    with pytest.raises(BadInput, match=says):
        load_model(edited(folder, change))


PARTS: dict[str, tuple[str, str, Callable[[dict[str, Any]], Any], str]] = {
    "no seed": (
        "mlp", "threshold_optimizer", lambda said: said["model"]["adjustments"][0]["state"].pop("seed"), "'seed'",
    ),
    "a seed that is text": (
        "mlp", "threshold_optimizer", lambda said: said["model"]["adjustments"][0]["state"].update(seed="x"), "'seed'",
    ),
    "groups that fill the memory": (
        "mlp", "domain_discriminative",
        lambda said: said["model"]["postprocessor"]["state"].update(groups=10**9), "multipliers",
    ),
    "predictions by groups without groups": (
        "mlp", "threshold_optimizer", lambda said: said["groups"].update(names=[]), "names none",
    ),
    "classes that fill the memory": (
        "forest", "untreated", lambda said: said["model"].update(classes=10**9), "predicts 1,000,000,000 classes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_a_changed_part_of_a_treatment_or_an_estimator_is_refused(case: str, tmp_path: Path) -> None:
    learner, treatment, change, says = PARTS[case]
    values = {"readout": "rba_dev"} if treatment == "domain_discriminative" else {}
    made = saved_of(people(), LEARNERS[learner], treatment, **values)[0].save(tmp_path / "model")
    with pytest.raises(BadInput, match=says):
        load_model(edited(made, change))


def test_an_error_of_a_part_says_that_the_parts_do_not_fit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def restored(*_: object) -> None:
        raise KeyError("a plug-in's own")

    monkeypatch.setattr(MlpModel, "restore_base", restored)
    with pytest.raises(BadInput, match=r"do not fit each other \(KeyError"):
        load_model(folder)


@pytest.mark.parametrize("estimator", ["linear_model.LogisticRegression", "ensemble.HistGradientBoostingClassifier"])
def test_a_mixture_of_classifiers_is_saved_with_its_weights(estimator: str, tmp_path: Path) -> None:
    pytest.importorskip("fairlearn")
    data = people()
    learner = Learns("scikit_learn", {"estimator": f"sklearn.{estimator}"})
    model, ended = saved_of(data, learner, "exponentiated_gradient", eps=0.02)
    loaded = load_model(model.save(tmp_path / "mixture"))
    rows = np.flatnonzero(data["split"] == "test")
    assert ended.test is not None
    assert np.array_equal(loaded.predict(frame_of_test(data), ids=rows), np.array(model.classes)[ended.test.values])
    assert np.array_equal(loaded.predict_proba(frame_of_test(data)), model.predict_proba(frame_of_test(data)))
    weights = loaded.model.fitted.weights  # type: ignore[attr-defined]
    assert len(weights) > 1, "a mixture of one classifier tests nothing"
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("weights", [None, [0.5, 0.5], np.array([2.0, -1.0]), np.array([0.5, 0.6]), np.array([1.0])])
def test_a_mixture_whose_weights_do_not_fit_is_refused(weights: Any) -> None:
    from sklearn.ensemble import VotingClassifier
    from sklearn.tree import DecisionTreeClassifier

    held = VotingClassifier([], weights=weights)
    held.estimators_ = [DecisionTreeClassifier(), DecisionTreeClassifier()]
    with pytest.raises(BadInput, match="saved mixture"):
        Mixture.of_estimator(held)


def test_a_module_is_refused_where_none_is_needed(folder: Path) -> None:
    with pytest.raises(BadInput, match="module is given for a model of the learner 'mlp'"):
        load_model(folder, module=dict)


def test_a_class_that_json_cannot_name_is_refused(model: SavedModel, tmp_path: Path) -> None:
    dated = replace(model, classes=(datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)))
    with pytest.raises(BadInput, match="is a date") as error:
        dated.save(tmp_path / "dated")
    assert "text" in error.value.help
    assert not list(tmp_path.iterdir())


def test_a_model_that_predicts_by_groups_says_so_where_they_are_missing(tmp_path: Path) -> None:
    data = people()
    model = saved_of(data, LEARNERS["mlp"], "threshold_optimizer")[0]
    rows = frame_of_test(data).drop(columns="sex")
    with pytest.raises(BadInput, match=r"predicts by the group of every row \(sex\)") as error:
        model.predict(rows)
    assert "sensitive_features=" in error.value.help
    with pytest.raises(BadInput, match="different lengths"):
        model.predict(rows, ["f"] * (len(rows) - 1))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"schema": 1}'])
def test_a_description_that_is_not_one_is_refused(content: bytes, folder: Path) -> None:
    (folder / "model.json").write_bytes(content)
    with pytest.raises(BadInput):
        load_model(folder)


def test_a_folder_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no saved model") as error:
        load_model(tmp_path)
    assert "study refit" in error.value.help


def with_digest(folder: Path) -> Path:
    """The folder with the digest of the weights that it now has, as an attacker would write it."""
    from equipoise.estimators._saved import _digest

    content = (folder / "weights.safetensors").read_bytes()
    return edited(folder, lambda said: said["files"].update({"weights.safetensors": _digest(content)}))


def test_weights_that_were_changed_are_refused(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    whole = weights.read_bytes()
    for part in (whole[:-5], whole[:20], b"", whole[:-4] + b"\0\0\0\0"):
        weights.write_bytes(part)
        with pytest.raises(BadInput, match="not the file that was saved"):
            load_model(folder)
    for part in (whole[:-5], whole[:20], b"", b"\xff" * 100):
        weights.write_bytes(part)
        with pytest.raises(BadInput, match="not a whole file"):
            load_model(with_digest(folder))
    weights.unlink()
    with pytest.raises(BadInput, match="lacks"):
        load_model(folder)


def bomb(header: bytes, length: int | None = None, numbers: bytes = b"") -> bytes:
    return (len(header) if length is None else length).to_bytes(8, "little") + header + numbers


ENTRY = '"__metadata__": {"equipoise.model": "{\\"schema\\": \\"equipoise.model-weights/1\\"}"}'
BOMBS = {
    "a header longer than memory": bomb(b"{}", 2**60),
    "a header longer than the file": bomb(b"{}", 10**7),
    "deeply nested": bomb(b'{"a": ' * 50_000),
    "an array larger than memory": bomb(
        f'{{{ENTRY}, "weight.0": {{"dtype": "F32", "shape": [{10**6}, {10**6}], "data_offsets": [0, 4]}}}}'.encode(),
        numbers=b"\0" * 4,
    ),
    "a shape that overflows": bomb(
        f'{{{ENTRY}, "weight.0": {{"dtype": "F32", "shape": [{2**62}, 8], "data_offsets": [0, 4]}}}}'.encode(),
        numbers=b"\0" * 4,
    ),
    "arrays that share their numbers": bomb(
        f'{{{ENTRY}, "a": {{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, '
        '"b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'.encode(),
        numbers=b"\0" * 4,
    ),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_header_that_asks_for_more_than_there_is_is_refused(case: str, folder: Path) -> None:
    (folder / "weights.safetensors").write_bytes(BOMBS[case])
    with pytest.raises(BadInput, match="not a whole file"):
        load_model(with_digest(folder))


def test_a_description_that_is_very_long_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.estimators._saved.MOST_BYTES", 100)
    with pytest.raises(BadInput, match="larger than 100 bytes"):
        load_model(folder)


def test_nothing_of_a_folder_is_unpickled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    import torch

    for owner, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(owner, name, lambda *_, **__: pytest.fail("something was unpickled"))
    load_model(folder)


def test_a_cohort_is_predicted_as_its_columns_are(model: SavedModel) -> None:
    test = people().where("test")
    np.testing.assert_array_equal(model.predict(test), model.predict(frame_of_test(people())))
    assert model.unknown_values(test) == {}


def test_other_arrays_in_the_file_are_refused(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    own = load_file(weights)
    header = {"equipoise.model": json.dumps({"schema": "equipoise.model-weights/1"})}
    cases: list[tuple[dict[str, Any], str]] = [
        ({**own, "../evil": np.zeros(3)}, "which the network does not have"),
        ({name: one for name, one in own.items() if name != "bias.0"}, "lack 'bias.0'"),
        ({**own, "weight.0": own["weight.0"].T.copy()}, "have the shape"),
        ({**own, "weight.0": np.full_like(own["weight.0"], np.inf)}, "not all finite"),
        ({**own, "weight.0": own["weight.0"].astype(np.uint32)}, "uint32"),
    ]
    for tensors, says in cases:
        save_file(tensors, weights, metadata=header)
        with pytest.raises(BadInput, match=says):
            load_model(with_digest(folder))
    save_file(own, weights)
    with pytest.raises(BadInput, match="does not hold a saved model"):
        load_model(with_digest(folder))


def test_a_module_needs_its_code_and_an_estimator_none(tmp_path: Path) -> None:
    module, _ = saved_of(people(), LEARNERS["module"])
    folder = module.save(tmp_path / "module")
    with pytest.raises(BadInput, match="not the code") as error:
        load_model(folder)
    assert "module=MyNet" in error.value.help
    with pytest.raises(BadInput, match="The factory failed"):
        load_model(folder, module=lambda: None)
    estimator, _ = saved_of(people(), LEARNERS["scikit_learn"])
    with pytest.raises(BadInput, match="for a saved estimator"):
        load_model(estimator.save(tmp_path / "estimator"), module=small_net)


def test_an_estimator_of_another_version_is_told(tmp_path: Path) -> None:
    estimator, _ = saved_of(people(), LEARNERS["scikit_learn"])
    folder = estimator.save(tmp_path / "m")
    edited(folder, lambda said: said["provenance"]["libraries"].update({"scikit-learn": "0.9.0"}))
    with pytest.warns(UserWarning, match="saved with scikit-learn 0.9.0"):
        load_model(folder)


def test_a_copied_folder_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    frame = frame_of_test(people())
    np.testing.assert_array_equal(load_model(tmp_path / "copy").predict(frame), load_model(folder).predict(frame))
