"""The estimator MetricLearner: arrays, pictures, a backbone of one's own, data loaders, files, scikit-learn's rules."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

import equipoise  # noqa: E402
from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training import (  # noqa: E402
    NETWORK,
    Batch,
    Need,
    Part,
    Settings,
    TrainingCallback,
    TrainingContext,
    Treatment,
    cross_entropy,
    train,
)
from equipoise.training.metric._embedder_training import EmbedderTraining  # noqa: E402
from equipoise.treatments import (  # noqa: E402
    Adversarial,
    EqualOpportunityClass,
    Oversampling,
    Parade,
    Reweighting,
)
from helpers.cases.space import FEATURES, clustered  # noqa: E402
from helpers.cases.training import Learns, jobs_of  # noqa: E402
from helpers.squares import pictures  # noqa: E402

SMALL: dict[str, Any] = {"embedding_size": 8, "batch_size": 32, "epochs": 20, "learning_rate": 0.01}
MATERIAL, TRUTH = clustered()
X, Y = MATERIAL.train.inputs, MATERIAL.train.target


def learner(*given: Any, **values: Any) -> equipoise.MetricLearner:
    return equipoise.MetricLearner(*given, **{**SMALL, **values})


def own_backbone() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, 10), torch.nn.ReLU())


class Batches:
    """A data loader that knows nothing of its length."""

    def __init__(self, inputs: Any, labels: Any, size: int = 32) -> None:
        self.parts = [
            (torch.from_numpy(inputs[begin : begin + size]), torch.from_numpy(labels[begin : begin + size]))
            for begin in range(0, len(inputs), size)
        ]

    def __iter__(self) -> Any:
        return iter(self.parts)


def test_an_embedding_is_learnt_and_used_in_a_pipeline() -> None:
    names = np.array([f"bird {code}" for code in Y])
    made = make_pipeline(learner(), KNeighborsClassifier(1)).fit(X, names)
    said = made.predict(MATERIAL.test.inputs)
    assert (said == np.array([f"bird {code}" for code in TRUTH])).mean() > 0.8
    assert made[0].classes_.tolist() == sorted(set(names))
    assert made[0].stopped_ is None
    assert len(made[0].history_) == 20


def test_it_learns_what_the_learner_of_studies_learns() -> None:
    (outcome,) = train(
        MATERIAL, Learns("metric_learner", {**SMALL, "epochs": 3}), jobs_of(MATERIAL, [5]),
        Settings(selection="last", precision="float64"),
    )  # fmt: skip
    made = learner(epochs=3, random_state=5, precision="float64").fit(X, Y)
    np.testing.assert_allclose(made.transform(MATERIAL.test.inputs), outcome.arrays["embedding.test"], atol=1e-3)
    assert made.history_ == pytest.approx([epoch.loss for epoch in outcome.history], abs=1e-9)


class Turns(Treatment):
    """A linear layer that guesses the group and the heads take turns: every other epoch is that of the layer."""

    requires = frozenset({Need.HIDDEN})

    @classmethod
    def during(cls, trials: Any, context: TrainingContext) -> Taking:
        return Taking(context)


class Taking(TrainingCallback):
    def __init__(self, context: TrainingContext) -> None:
        self.guess = context.linear("guess", context.width, len(context.groups))

    def parts(self) -> dict[str, Part]:
        return {"guess": self.guess}

    def phase(self, epoch: int) -> str:
        return "heads" if epoch % 2 else "guess"

    def moved(self, phase: str) -> tuple[str, ...]:
        return (NETWORK,) if phase == "heads" else ("guess",)

    def objective(self, phase: str, batch: Batch, loss: Any) -> Any:
        hidden = batch.hidden if phase == "heads" else batch.hidden.detach()
        told = cross_entropy(self.guess(hidden), batch.group).mean(1)
        return loss - 0.1 * told if phase == "heads" else told


@pytest.mark.parametrize(
    "treatment",
    [Reweighting(), Oversampling(), Adversarial(strength=0.3, width=300), Parade(rho=10.0), Turns()],
    ids=lambda one: type(one).__name__,
)
def test_a_treatment_does_what_it_does_in_a_study(treatment: Treatment) -> None:
    (treated, untreated) = train(
        MATERIAL, Learns("metric_learner", {**SMALL, "epochs": 4}),
        [*jobs_of(MATERIAL, [5], [treatment]), *jobs_of(MATERIAL, [5])],
        Settings(selection="last", precision="float64"),
    )  # fmt: skip
    assert treated.failure is None
    groups = {MATERIAL.attributes[0]: np.asarray(MATERIAL.train.group)}
    made = learner(epochs=4, random_state=5, precision="float64", treatments=[treatment])
    found = made.fit(X, Y, sensitive_features=groups).transform(MATERIAL.test.inputs)
    np.testing.assert_allclose(found, treated.arrays["embedding.test"], atol=1e-3)
    assert made.history_ == pytest.approx([epoch.loss for epoch in treated.history], abs=1e-9)
    assert np.abs(found - untreated.arrays["embedding.test"]).max() > 0.01


def test_the_group_of_a_row_whose_value_is_missing_is_called_so() -> None:
    groups = {"sex": np.where(Y == 3, None, np.array(["f", "m"])[Y % 2]), "race": np.array(["a", "b"])[Y // 4]}
    learner(treatments=[Sensitive()], epochs=1).fit(X, Y, sensitive_features=groups)
    assert Sensitive.seen.groups == ("(missing) & a", "f & a", "f & b", "m & a", "m & b")
    named = [Sensitive.seen.groups[code] for code in Sensitive.seen.group[0].tolist()]
    told = [f"{sex or '(missing)'} & {race}" for sex, race in zip(groups["sex"], groups["race"], strict=True)]
    assert named == told


class Reads(Treatment):
    """It reads a layer by its name."""

    layer = "0"
    seen: Any = None

    @classmethod
    def during(cls, trials: Any, context: TrainingContext) -> Reading:
        return Reading(context.layer(cls.layer), cls)


class Reading(TrainingCallback):
    def __init__(self, shape: tuple[int, ...], kind: type[Reads]) -> None:
        self.shape, self.kind = shape, kind

    def penalty(self, batch: Batch) -> Any:
        self.kind.seen = (self.shape, batch.layer(self.kind.layer), batch.features, batch.output)
        return batch.layer(self.kind.layer).square().mean((1, 2))


def test_a_treatment_reads_a_layer_of_the_backbone_by_name_while_it_trains() -> None:
    import pickle

    how: Any = {"epochs": 1, "treatments": [Reads()]}
    made = learner(own_backbone(), **how).fit(X, Y, sensitive_features=Y % 2)
    shape, layer, features, output = Reads.seen
    assert shape == (10,)
    assert layer.shape == (1, 32, 10)
    torch.testing.assert_close(layer.relu(), features)
    assert output.shape == (1, 32, 8)
    again = pickle.loads(pickle.dumps(made))  # nothing of the training is left in the network
    np.testing.assert_array_equal(again.transform(X), made.transform(X))
    plain = learner(own_backbone(), epochs=1).fit(X, Y)
    assert np.abs(made.transform(X) - plain.transform(X)).max() > 1e-3
    with pytest.raises(BadInput, match=r"(?s)There is no layer '0' in a head on features.*last"):
        learner(**how).fit(X, Y, sensitive_features=Y % 2)


@pytest.mark.parametrize(
    "check",
    [
        "check_no_attributes_set_in_init", "check_parameters_default_constructible", "check_get_params_invariance",
        "check_set_params", "check_estimators_overwrite_params",
        "check_estimators_unfitted", "check_fit_score_takes_y", "check_estimators_nan_inf", "check_dict_unchanged",
        "check_fit2d_predict1d", "check_n_features_in", "check_requires_y_none", "check_estimators_dtypes",
        "check_transformer_general", "check_transformer_data_not_an_array", "check_readonly_memmap_input",
        "check_fit_idempotent", "check_methods_sample_order_invariance", "check_estimator_tags_renamed",
        "check_complex_data", "check_estimators_pickle",
    ],
)  # fmt: skip
def test_it_passes_scikit_learns_own_checks(check: str) -> None:
    made = equipoise.MetricLearner(embedding_size=2, batch_size=4, epochs=2)
    getattr(estimator_checks, check)("MetricLearner", made)


def test_a_clone_has_the_same_parameters_and_is_not_fitted() -> None:
    made = learner(own_backbone(), treatments=[Oversampling()], loss_values={"margin": 0.1})
    again = clone(made)
    assert again.get_params()["loss_values"] == {"margin": 0.1}
    assert type(again.backbone) is torch.nn.Sequential
    with pytest.raises(NotFittedError):
        again.transform(X)


def test_a_backbone_of_your_own_is_copied_and_the_copy_is_trained() -> None:
    backbone = own_backbone()
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    made = learner(backbone, "proxy_nca").fit(X, Y)
    assert all(torch.equal(value, before[name]) for name, value in backbone.state_dict().items())
    trained = made.embedder_.network.state_dict()
    assert not torch.equal(trained["0.weight"], before["0.weight"])
    found = made.transform(torch.from_numpy(X))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert made.history_[-1] < made.history_[0]


def test_a_data_loader_is_taken_as_it_comes() -> None:
    names = np.array([10 * code for code in Y])
    made = learner(own_backbone()).fit(Batches(X, names))
    assert made.classes_.tolist() == [10 * code for code in range(8)]
    assert made.history_[-1] < made.history_[0]
    np.testing.assert_allclose(made.transform(Batches(X, names, 50)), made.transform(X), atol=1e-6)
    again = learner(own_backbone()).fit(Batches(X, names), y=names)
    np.testing.assert_array_equal(again.transform(X), made.transform(X))
    features = learner().fit(Batches(X, names))
    assert features.transform(X[:3]).shape == (3, 8)


def test_pictures_by_the_name_of_a_backbone(tmp_path: Path) -> None:
    shown, target, _ = pictures(96, 0)
    made = learner("small", "triplet", epochs=6, batch_size=16, learning_rate=1e-3).fit(shown, target)
    found = made.transform(shown)
    said = KNeighborsClassifier(1).fit(found[:48], target[:48]).predict(found[48:])
    assert (said == target[48:]).mean() > 0.8
    made.save(tmp_path / "made.safetensors")
    loaded = equipoise.MetricLearner.load(tmp_path / "made.safetensors")
    np.testing.assert_array_equal(loaded.transform(shown), found)


@pytest.mark.parametrize("backbone", [None, "own"])
def test_a_file_brings_the_same_embedding_back(tmp_path: Path, backbone: str | None) -> None:
    given = own_backbone() if backbone else None
    made = learner(given, loss="arcface", loss_values={"margin": 0.3}).fit(X, Y)
    made.save(tmp_path / "made.safetensors")
    loaded = equipoise.MetricLearner.load(tmp_path / "made.safetensors", own_backbone() if backbone else None)
    np.testing.assert_array_equal(loaded.transform(X), made.transform(X))
    assert loaded.loss == "arcface"
    assert loaded.loss_values == {"margin": 0.3}


class Second(TrainingCallback):
    """A head for the groups, which nobody may see later."""

    def __init__(self, context: TrainingContext) -> None:
        assert context.metric is not None
        shape = (1, context.features, context.metric.embedding_size)
        self.weight = torch.full(shape, 0.123, requires_grad=True)

    def parts(self) -> dict[str, Part]:
        return {"second": Part([self.weight], 1e-3)}

    def penalty(self, batch: Batch) -> Any:
        return (batch.features @ self.weight).square().mean((1, 2))


class Sensitive(Treatment):
    seen: Any = None

    @classmethod
    def during(cls, trials: Any, context: TrainingContext) -> Second:
        cls.seen = context
        return Second(context)


def test_a_file_holds_the_released_head_and_nothing_else(tmp_path: Path) -> None:
    groups = {"sex": np.array(["f", "m"])[Y % 2], "race": np.where(Y == 0, None, "a").astype(object)}
    made = learner(treatments=[Sensitive()], epochs=3).fit(X, Y, sensitive_features=groups)
    assert Sensitive.seen.attributes == ("sex", "race")
    assert Sensitive.seen.values == (("f", "m"), ("a",))
    assert Sensitive.seen.codes[0, 0].tolist() == (Y % 2).tolist()
    assert Sensitive.seen.codes[1, 0].tolist() == np.where(Y == 0, -1, 0).tolist()
    made.save(tmp_path / "made.safetensors")
    whole = (tmp_path / "made.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    assert {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"} == {
        "head.weight": [8, FEATURES], "head.bias": [8],
    }  # fmt: skip
    assert len(whole) == 8 + length + 4 * (8 * FEATURES + 8)
    said = json.loads(header["__metadata__"]["equipoise.metric_learner"])
    assert not {"treatments", "classes"} & set(said) | {"treatments"} & set(said["values"])


def test_the_last_good_state_is_kept_where_a_loss_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    good = learner(epochs=4).fit(X, Y)
    step, taken = EmbedderTraining.step, 0

    def breaking(*given: Any) -> Any:
        nonlocal taken
        taken += 1
        loss = step(*given)
        if taken < 22:
            return loss
        with torch.no_grad():
            given[0].embedder.head.weight.fill_(float("nan"))
        return loss * float("nan")

    monkeypatch.setattr(EmbedderTraining, "step", breaking)
    made = learner(epochs=9)
    with pytest.warns(RuntimeWarning, match="epoch 5, step 2 of 5: training stopped, and the values of epoch 4"):
        made.fit(X, Y)
    np.testing.assert_array_equal(made.transform(X), good.transform(X))
    assert len(made.history_) == 4
    taken = 100
    with pytest.raises(BadInput, match="epoch 1, step 1 of 5"):
        learner().fit(X, Y)


class Broken(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def forward(self, x: Any) -> Any:
        return {"tuple": (x, x), "picture": x[:, :, None, None], "whole": x.long(), "one": x.mean(0)}[self.what]


@pytest.mark.parametrize(("what", "words"), [
    ("tuple", "returned tuple"), ("picture", r"\[2, 12, 1, 1\]"), ("whole", "int64"), ("one", r"\[12\]"),
])  # fmt: skip
def test_a_backbone_that_returns_no_features_is_refused(what: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        learner(Broken(what)).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "values", "words"),
    [
        ((X, Y[:-1]), {}, "one label for each row"),
        ((X, np.zeros(len(X))), {}, "two classes or more"),
        ((X, np.where(Y == 0, np.nan, Y)), {}, "Some labels are missing"),
        ((X, Y), {"batch_size": 1000}, "a batch size of 160 would fit"),
        ((X, Y), {"batch_size": 33}, "a batch size of 32 would fit"),
        ((X, Y), {"precision": "float8"}, "precision is 'float8'"),
        ((X, Y), {"random_state": None}, "random_state is None"),
        ((X, Y), {"loss": "hinge"}, "hinge"),
        ((X, Y), {"backbone": "small"}, "pictures: uint8"),
        ((X.astype(np.uint8).reshape(-1, 2, 2, 3), Y), {"backbone": "resnet19"}, "resnet19"),
        ((X, Y), {"backbone": 3}, "of the kind int"),
        ((X, Y), {"treatments": [EqualOpportunityClass()]}, "no row has a loss of its own"),
        ((X, Y), {"treatments": [Reweighting()]}, "groups of the rows are not known"),
        ((X, Y), {"treatments": [Adversarial()]}, "groups of the rows are not known"),
        ((X, Y), {"treatments": [Oversampling()]}, "groups of the rows are not known"),
        ((Batches(X, Y), None, Y), {"treatments": [Oversampling()]}, "a data loader has no groups"),
        ((Batches(X, Y),), {"backbone": "small"}, "a backbone by name"),
        ((Batches(X, Y), Y[Y < 3]), {}, "which is new"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(given: Any, values: dict[str, Any], words: str) -> None:
    with pytest.raises((BadInput, ValueError), match=words):
        learner(**values).fit(*given)


def test_rows_of_another_shape_are_refused() -> None:
    made = learner(own_backbone(), epochs=1).fit(X, Y)
    with pytest.raises(BadInput, match=r"shape \(3,\), and those it was fitted on \(12,\)"):
        made.transform(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="features"):
        learner(epochs=1).fit(X, Y).transform(X[:, :3])


def test_oversampling_chooses_the_rows() -> None:
    made = learner(treatments=[Oversampling()], epochs=2).fit(X, Y, sensitive_features=MATERIAL.train.group)
    plain = learner(epochs=2).fit(X, Y)
    assert not np.array_equal(made.transform(X), plain.transform(X))


def test_files_that_are_none_of_it_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    load = equipoise.MetricLearner.load
    with pytest.raises(BadInput, match="There is no file"):
        load(tmp_path / "nowhere")
    (tmp_path / "text").write_text("no tensors")
    with pytest.raises(BadInput, match="is not a whole file"):
        load(tmp_path / "text")
    save_file({"a": np.zeros(2)}, tmp_path / "else")
    with pytest.raises(BadInput, match="does not hold a metric learner"):
        load(tmp_path / "else")
    learner(epochs=1).fit(X, Y).save(tmp_path / "plain")
    with pytest.raises(BadInput, match="needs no backbone"):
        load(tmp_path / "plain", own_backbone())
    learner(own_backbone(), epochs=1).fit(X, Y).save(tmp_path / "own")
    with pytest.raises(BadInput, match=r"needs a backbone of yours \(Sequential\)"):
        load(tmp_path / "own")
    with pytest.raises(BadInput, match="do not fit the backbone"):
        load(tmp_path / "own", torch.nn.Linear(FEATURES, 10))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_card_learns_the_same() -> None:
    here = learner(epochs=3, precision="float64").fit(X, Y)
    there = learner(epochs=3, precision="float64", device="cuda").fit(X, Y)
    np.testing.assert_allclose(here.transform(X), there.transform(X), atol=1e-6)
