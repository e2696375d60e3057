"""Trials of the learners watched step by step: the same training as without a watcher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.training import EncodedDataset, PreparedJob, Settings, prepare_job
from equipoise.training.diverging import first_difference
from equipoise.training.learners.image_network import ImageNetwork
from equipoise.training.learners.mlp import MultilayerPerceptron, built
from equipoise.training.learners.scikit_learn import ScikitLearn
from equipoise.treatments import FairBatch, GradientProjection, UniformConfusion
from helpers.cases.training import Rival, jobs_of, planted

torch = pytest.importorskip("torch")

MLP = {"width": 16, "batch_size": 64}
PICTURES = {"network": "small", "batch_size": 16, "learning_rate": 0.05}


def pictures() -> EncodedDataset:
    """The planted rows with noise for pictures, their class in the colour."""
    dataset, generator = planted(96), np.random.default_rng(0)

    def shown(rows: Any) -> Any:
        inputs = generator.integers(0, 200, (len(rows), 12, 12, 3)).astype(np.uint8)
        if rows.target is not None:
            inputs[..., 0] += (50 * rows.target[:, None, None]).astype(np.uint8)
        return replace(rows, inputs=inputs)

    return replace(dataset, train=shown(dataset.train), dev=shown(dataset.dev), test=shown(dataset.test))


def trials(
    kind: Any, dataset: EncodedDataset, values: Any, repeats: tuple[int, int], treatments: Any = ()
) -> list[PreparedJob]:
    made = [jobs_of(dataset, [3], treatments, repeat=repeat)[0] for repeat in repeats]
    return [prepare_job(job, dataset, kind.with_defaults(values)) for job in made]


@pytest.mark.parametrize("treatments", [(), (Rival(),)])
def test_a_watched_perceptron_learns_what_an_unwatched_one_does(treatments: Any) -> None:
    dataset, settings = planted(), Settings()
    (trial, _) = trials(MultilayerPerceptron, dataset, MLP, (0, 0), treatments)
    plain = built(dataset, [trial], settings)
    for epoch, steps in ((1, None), (2, 2)):
        plain.follow(plain.arranged(epoch), steps, plain.callbacks.phase(epoch))
    with MultilayerPerceptron().watched(dataset, settings) as make:
        stepper = make(trial)
        seen = [stepper.step(watched=number % 2 == 0) for number in range(6)]
    assert [name for name, _ in stepper.values()] == [
        "hidden1.weight", "hidden2.weight", "output.weight", "hidden1.bias", "hidden2.bias", "output.bias",
    ]  # fmt: skip
    for (_, mine), other in zip(stepper.values(), plain.network.values, strict=True):
        assert torch.equal(mine, other)
    assert seen[1] == []
    assert [(one.kind, one.name) for one in seen[0]] == [
        ("input", "the batch"), ("activation", "last hidden layer"), ("activation", "output"), ("loss", "loss"),
        ("gradient", "output.weight"), ("gradient", "output.bias"), ("gradient", "hidden2.weight"),
        ("gradient", "hidden2.bias"), ("gradient", "hidden1.weight"), ("gradient", "hidden1.bias"),
    ]  # fmt: skip
    found = stepper.predictions()
    assert found is not None
    assert found.shape == (120,)


@pytest.mark.parametrize("treatment", [UniformConfusion(), GradientProjection(), FairBatch()])
def test_a_watched_perceptron_rests_and_learns_in_the_epochs_that_its_treatment_says(treatment: Any) -> None:
    dataset, settings = planted(), Settings()
    (trial, _) = trials(MultilayerPerceptron, dataset, MLP, (0, 0), (treatment,))
    plain = built(dataset, [trial], settings)
    with MultilayerPerceptron().watched(dataset, settings) as make:
        stepper = make(trial)
        for epoch in (1, 2, 3, 4):
            before = [value.clone() for _, value in stepper.values()]
            (steps,) = plain.epoch(epoch).shape[:1]
            seen = [stepper.step(watched=True) for _ in range(steps)]
            for (_, mine), other in zip(stepper.values(), plain.network.values, strict=True):
                assert torch.equal(mine, other)
            moves = isinstance(treatment, FairBatch) or epoch in (1, 4)
            moved = [not torch.equal(value, was) for (_, value), was in zip(stepper.values(), before, strict=True)]
            assert moved == [moves] * len(before)
            noted = any(one.kind == "gradient" for step in seen for one in step)
            assert noted is (moves and not isinstance(treatment, GradientProjection))


def test_identical_perceptrons_are_the_same_and_jitter_shows_first_in_the_gradients() -> None:
    dataset, learner = planted(), MultilayerPerceptron()
    same = trials(MultilayerPerceptron, dataset, MLP, (0, 0))
    with learner.watched(dataset, Settings()) as make:
        assert first_difference(lambda place: make(same[place]), 12).step is None
    others = trials(MultilayerPerceptron, dataset, MLP, (0, 1))
    with learner.watched(dataset, Settings(rounding="jitter")) as make:
        found = first_difference(lambda place: make(others[place]), 12, row_order_differs=True)
    assert found.step == 1
    assert found.kind in ("loss", "gradient")
    assert found.largest < 1e-6


def test_a_regression_has_no_classes_to_flip() -> None:
    dataset = planted(task="regression")
    values = MultilayerPerceptron.with_defaults(MLP, "regression")
    trial = prepare_job(jobs_of(dataset, [0])[0], dataset, values)
    with MultilayerPerceptron().watched(dataset, Settings()) as make:
        assert make(trial).predictions() is None


def test_identical_picture_trials_are_the_same_and_noise_in_a_layer_is_named() -> None:
    dataset = pictures()
    same = trials(ImageNetwork, dataset, PICTURES, (0, 0))

    def spoilt(make: Any, place: int) -> Any:
        stepper = make(same[place])
        calls = 0

        def noisy(_layer: Any, _given: Any, output: Any) -> Any:
            nonlocal calls
            calls += 1
            return output + 1e-5 if calls == 8 else None  # in the second epoch, which has six steps

        if place:
            stepper.parts["network"].block3.conv.register_forward_hook(noisy)
        return stepper

    with ImageNetwork().watched(dataset, Settings()) as make:
        assert first_difference(lambda place: make(same[place]), 8).step is None
        found = first_difference(lambda place: spoilt(make, place), 14)
    assert (found.step, found.kind, found.name) == (8, "activation", "block3.conv")
    assert found.flips[-1].rows == 48
    assert {"block1.conv", "block3.norm", "head"} <= {one.layer for one in found.growth}


def test_a_watched_picture_trial_is_jittered_by_its_repeat() -> None:
    dataset = pictures()
    others = trials(ImageNetwork, dataset, PICTURES, (0, 1))
    with ImageNetwork().watched(dataset, Settings(rounding="jitter")) as make:
        found = first_difference(lambda place: make(others[place]), 4, row_order_differs=True)
    assert found.step == 1
    assert found.kind in ("loss", "gradient")


def test_what_has_no_steps_of_its_own_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be watched step by step"):
        ScikitLearn().watched(planted(), Settings())


@pytest.mark.parametrize("learner", [MultilayerPerceptron, ImageNetwork])
def test_a_watched_trial_computes_in_the_precision_that_was_asked_for(learner: Any) -> None:
    dataset = pictures() if learner is ImageNetwork else planted()
    product = torch.backends.cuda.matmul
    before = product.fp32_precision
    for precision, wanted in (("tf32", "tf32"), ("float32", "ieee")):
        with learner().watched(dataset, Settings(precision=precision)):
            assert product.fp32_precision == wanted
    assert product.fp32_precision == before
