"""A training gives the model that predicted: the same predictions again, also from its settings and arrays."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("torch")

from equipoise.foundation import BadInput, registry
from equipoise.training import (
    EncodedDataset,
    FittedModel,
    Outcome,
    Settings,
    Transformation,
    checked_array,
    fitted_part,
    learner_of,
    train,
)
from helpers.cases.training import Learns, jobs_of, planted


@fitted_part
class Doubled(Transformation):
    """Inputs times a number."""

    kind: ClassVar[str] = "tests.doubled"

    def __call__(self, inputs: Any) -> Any:
        return 2 * inputs

    def state(self) -> dict[str, Any]:
        return {"by": np.array([2.0])}

    @classmethod
    def restore(cls, state: Any) -> Doubled:
        checked_array(state, "by", (1,), "the doubling")
        return cls()


SMALL = {"layers": 1, "width": 8, "epochs": 3, "batch_size": 64}


def small_net(features: int, classes: int, width: int = 7) -> Any:
    import torch

    return torch.nn.Sequential(
        torch.nn.Linear(features, width), torch.nn.BatchNorm1d(width), torch.nn.ReLU(), torch.nn.Linear(width, classes)
    )


LEARNERS = {
    "mlp": Learns("mlp", SMALL),
    "module": Learns("module", {"factory": small_net, "settings": {"width": 5}, "epochs": 3, "batch_size": 64}),
    "scikit_learn": Learns("scikit_learn", {}),
}
TREATMENTS: dict[str, dict[str, Any]] = {
    "untreated": {}, "reweighting": {}, "adversarial": {"strength": 0.5}, "inlp": {"iterations": 3},
    "domain_independent": {"readout": "known_domain"}, "domain_discriminative": {"readout": "sum_prior_shift"},
}  # fmt: skip
CASES = [
    (learner, treatment)
    for learner in LEARNERS
    for treatment in TREATMENTS
    if learner != "scikit_learn" or treatment in ("untreated", "reweighting", "inlp")
]


def made(name: str, **values: Any) -> Any:
    return registry.get("treatment", name).implementation(**values)  # type: ignore[operator]


def trained(dataset: EncodedDataset, learner: str, *treatments: Any, **how: Any) -> Outcome:
    (ended,) = train(dataset, LEARNERS[learner], jobs_of(dataset, [3], treatments), Settings(**how), keep_models=True)
    assert ended.failure is None, ended.failure
    return ended


def again(model: FittedModel) -> FittedModel:
    """The model as JSON and copies of arrays, and back."""
    settings = json.loads(json.dumps(model.settings(), allow_nan=False))
    tensors = {name: tensor.copy() for name, tensor in model.tensors().items()}
    module = small_net if model.kind == "module" else model.estimator()
    kind = learner_of(model.kind).model
    assert kind is not None
    return kind.restore(settings, tensors, module)


def with_groups(dataset: EncodedDataset) -> EncodedDataset:
    """Test rows whose groups are known: every other row is of another group, and one of none."""
    from dataclasses import replace

    group = np.arange(len(dataset.test)) % 2
    group[0] = -1
    return replace(dataset, test=replace(dataset.test, group=group))


def check(dataset: EncodedDataset, ended: Outcome) -> None:
    assert ended.model is not None
    for model in (ended.model, again(ended.model)):
        for rows, said in ((dataset.dev, ended.dev), (dataset.test, ended.test)):
            assert said is not None
            found = model.predict(rows.inputs, rows.group if model.needs_group else None)
            np.testing.assert_array_equal(found.values, said.values)
            if said.scores is None:
                assert found.scores is None
            else:
                assert found.scores is not None
                np.testing.assert_array_equal(found.scores, said.scores)


@pytest.mark.parametrize(("learner", "treatment"), CASES)
def test_a_model_predicts_what_the_training_predicted(learner: str, treatment: str) -> None:
    dataset = with_groups(planted())
    ended = trained(dataset, learner, made(treatment, **TREATMENTS[treatment]))
    check(dataset, ended)
    assert ended.model is not None
    assert ended.model.needs_group == (treatment == "domain_independent")
    assert ended.model.kind == learner


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("treatment", ["untreated", "inlp"])
def test_a_model_of_numbers_predicts_them_in_the_unit_of_the_target(learner: str, treatment: str) -> None:
    dataset = planted(task="regression")
    if learner == "scikit_learn":
        ended = train(
            dataset, Learns("scikit_learn", {"estimator": "sklearn.linear_model.Ridge"}),
            jobs_of(dataset, [3], [made(treatment, **TREATMENTS[treatment])]), keep_models=True,
        )[0]  # fmt: skip
    else:
        ended = trained(dataset, learner, made(treatment, **TREATMENTS[treatment]))
    check(dataset, ended)
    assert ended.dev is not None
    assert abs(float(ended.dev.values.mean()) - 50) < 20


@pytest.mark.parametrize("layers", [0, 2])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_models_of_all_depths_and_precisions(layers: int, precision: str) -> None:
    dataset = planted(classes=3)
    (ended,) = train(
        dataset, Learns("mlp", {**SMALL, "layers": layers}), jobs_of(dataset, [0]), Settings(precision=precision),  # type: ignore[arg-type]
        keep_models=True,
    )  # fmt: skip
    check(dataset, ended)


def test_each_trial_of_a_stack_has_its_own_model_at_its_own_best_epoch() -> None:
    dataset = planted(600)
    ended = train(
        dataset, Learns("mlp", {**SMALL, "epochs": 12, "patience": 2}), jobs_of(dataset, [0, 1, 2]), keep_models=True
    )
    assert len({one.best_epoch for one in ended} | {0}) > 2  # they stop apart
    for one in ended:
        assert one.model is not None
        assert one.test is not None
        found = one.model.predict(dataset.test.inputs)
        np.testing.assert_array_equal(found.values, one.test.values)
        np.testing.assert_allclose(found.scores, one.test.scores, atol=1e-6)


def test_without_being_asked_no_model_is_kept() -> None:
    dataset = planted()
    (ended,) = train(dataset, LEARNERS["mlp"], jobs_of(dataset, [0]))
    assert ended.model is None
    assert ended.no_model is None


def test_asking_for_models_changes_no_prediction() -> None:
    dataset = planted()
    treated = [made("adversarial", strength=0.5)]
    asked, plain = (
        train(dataset, LEARNERS["mlp"], jobs_of(dataset, [0], treated), keep_models=keep)[0] for keep in (True, False)
    )
    assert asked.test is not None
    assert plain.test is not None
    np.testing.assert_array_equal(asked.test.scores, plain.test.scores)


def test_a_readout_of_all_test_rows_together_is_refused_with_the_reason() -> None:
    dataset = with_groups(planted())
    ended = trained(dataset, "mlp", made("domain_discriminative", readout="rba"))
    assert ended.model is None
    assert ended.no_model is not None
    assert "depends on the other rows" in ended.no_model


def test_a_balance_found_on_dev_rows_is_part_of_the_model() -> None:
    dataset = with_groups(planted())
    ended = trained(dataset, "mlp", made("domain_discriminative", readout="rba_dev"))
    assert ended.model is not None
    assert ended.test is not None
    found = again(ended.model).predict(dataset.test.inputs, dataset.test.group)
    np.testing.assert_array_equal(found.scores, ended.test.scores)


def test_a_model_that_needs_groups_refuses_to_guess_them() -> None:
    dataset = with_groups(planted())
    ended = trained(dataset, "mlp", made("domain_independent", readout="known_domain"))
    assert ended.model is not None
    with pytest.raises(BadInput, match="the group of every row"):
        ended.model.predict(dataset.test.inputs)


def test_the_hidden_layer_is_that_which_makes_the_outputs() -> None:
    dataset = planted()
    ended = trained(dataset, "mlp")
    assert ended.model is not None
    hidden, tensors = ended.model.transform(dataset.dev.inputs), ended.model.tensors()
    assert hidden.shape == (len(dataset.dev), 8)
    by_hand = np.tanh(dataset.dev.inputs.astype(np.float64) @ tensors["weight.0"] + tensors["bias.0"])
    np.testing.assert_allclose(hidden, by_hand, atol=1e-5)
    outputs = by_hand @ tensors["weight.1"] + tensors["bias.1"]
    assert ended.dev is not None
    np.testing.assert_array_equal(outputs.argmax(axis=1), ended.dev.values)


def test_after_inlp_the_hidden_layer_has_lost_the_directions() -> None:
    dataset = planted(600)
    ended = trained(dataset, "mlp", made("inlp", iterations=3))
    assert ended.model is not None
    basis = ended.model.tensors()["postprocessor.basis"]
    assert len(basis)
    np.testing.assert_allclose(ended.model.transform(dataset.dev.inputs) @ basis.T, 0, atol=1e-5)


def test_an_estimator_has_no_hidden_layer_and_neither_has_a_perceptron_without_layers() -> None:
    dataset = planted()
    ended = trained(dataset, "scikit_learn")
    assert ended.model is not None
    with pytest.raises(BadInput, match="has no hidden layer"):
        ended.model.transform(dataset.dev.inputs)
    (flat,) = train(dataset, Learns("mlp", {**SMALL, "layers": 0}), jobs_of(dataset, [0]), keep_models=True)
    assert flat.model is not None
    with pytest.raises(BadInput, match="no hidden layer"):
        flat.model.transform(dataset.dev.inputs)


def test_rows_of_another_width_are_refused_and_none_at_all_are_no_rows() -> None:
    dataset = planted()
    for learner in LEARNERS:
        ended = trained(dataset, learner)
        assert ended.model is not None
        with pytest.raises(BadInput, match="shape"):
            ended.model.predict(dataset.dev.inputs[:, :2])
        assert len(ended.model.predict(dataset.dev.inputs[:0]).values) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"inputs": 7}, "have the shape"),
        ({"outputs": True}, "outputs"),
        ({"hidden": [8, 8]}, "lack"),
        ({"hidden": []}, "have"),
        ({"hidden": [-1]}, "hidden layer"),
        ({"activation": "os.system"}, "activation"),
        ({"task": "nonsense"}, "task"),
        ({"precision": "int8"}, "precision"),
        ({"spread": 0.0}, "scale"),
        ({"mean": None}, "mean"),
        ({"postprocessor": "inlp"}, "describes a part"),
        ({"postprocessor": {"kind": "os.system", "state": {}}}, "nothing here is registered"),
        ({"postprocessor": {"kind": "linear_head", "state": {}}}, "no such array"),
    ],
)
def test_settings_that_do_not_fit_the_arrays_are_refused(change: dict[str, Any], says: str) -> None:
    dataset = planted()
    model = trained(dataset, "mlp").model
    assert model is not None
    kind = learner_of("mlp").model
    assert kind is not None
    with pytest.raises(BadInput, match=says):
        kind.restore({**model.settings(), **change}, model.tensors())


def test_arrays_that_do_not_fit_the_settings_are_refused() -> None:
    model = trained(planted(), "mlp").model
    assert model is not None
    tensors, kind = model.tensors(), type(model)
    with pytest.raises(BadInput, match=r"have 'weight\.9'"):
        kind.restore(model.settings(), {**tensors, "weight.9": np.zeros(2)})
    broken = tensors["weight.0"].copy()
    broken[0, 0] = np.nan
    with pytest.raises(BadInput, match="not all finite"):
        kind.restore(model.settings(), {**tensors, "weight.0": broken})
    with pytest.raises(BadInput, match="no PostProcessor"):
        kind.restore({**model.settings(), "postprocessor": {"kind": Doubled.kind, "state": {}}}, tensors)


def test_a_module_is_made_again_by_the_user_and_never_by_its_name() -> None:
    dataset = planted()
    model = trained(dataset, "module").model
    assert model is not None
    assert model.settings()["arguments"] == {"width": 5}
    kind = type(model)
    with pytest.raises(BadInput, match="not the code"):
        kind.restore(model.settings(), model.tensors())
    with pytest.raises(BadInput, match="have the shape"):
        kind.restore(
            model.settings(), model.tensors(), lambda features, classes, width: small_net(features, classes, 6)
        )
    whole = kind.restore(model.settings(), model.tensors(), small_net(6, 2, 5))
    np.testing.assert_array_equal(whole.predict(dataset.dev.inputs).scores, model.predict(dataset.dev.inputs).scores)


def test_a_transformation_of_inputs_is_part_of_the_model() -> None:
    dataset = planted()
    model = trained(dataset, "mlp").model
    assert model is not None
    plain = model.predict(2 * dataset.dev.inputs)
    model.transformations = (Doubled(),)
    np.testing.assert_array_equal(again(model).predict(dataset.dev.inputs).scores, plain.scores)
