"""Networks on pictures trained by a metric loss: what a plain loop makes of them, checkpoints, treatments."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from equipoise.training import (  # noqa: E402
    Batch,
    Part,
    PreparedJob,
    Settings,
    TrainingCallback,
    TrainingContext,
    Treatment,
    train,
)
from equipoise.training.images import (  # noqa: E402
    Pictures,
    Run,
)
from equipoise.training.images import _checkpoints as checkpoints  # noqa: E402
from equipoise.training.images import _side_by_side as side_by_side  # noqa: E402
from equipoise.training.learners.metric_learner import MetricLearning  # noqa: E402
from equipoise.training.metric import (  # noqa: E402
    EmbeddingTask,
    picture_values,
    recipe_of,
    uniforms_of_epoch,
)
from equipoise.training.metric._training import with_training_rows  # noqa: E402
from helpers.cases.space import trials_of  # noqa: E402
from helpers.cases.training import Learns  # noqa: E402
from helpers.squares import dataset, jobs  # noqa: E402

SMALL: dict[str, Any] = {"backbone": "small", "embedding_size": 6, "batch_size": 16, "epochs": 3, "learning_rate": 1e-3}
EXACT = Settings(precision="float64", selection="last")


def run_of(loss: str, settings: Settings = EXACT, treatments: Any = (), **values: Any) -> Run:
    pictures = dataset()
    (trial,) = trials_of(pictures, MetricLearning, (3,), treatments, **{**SMALL, "loss": loss, **values})
    shown = PreparedJob(trial.job, trial.rows, None, picture_values(trial))

    def task(one: PreparedJob, _: Any, features: int) -> EmbeddingTask:
        return EmbeddingTask(one, pictures, features, recipe_of([one]), settings)

    return Run(shown, pictures, Pictures(pictures.train.inputs, settings.device), settings, task=task)


@pytest.mark.parametrize("loss", ["margin", "proxy_nca", "n_pair"])
def test_steps_are_those_of_a_plain_loop(loss: str) -> None:
    run = run_of(loss, augmentation=False)
    network, head = copy.deepcopy(run.parts["network"]), copy.deepcopy(run.parts["head"])
    recipe = run.task.metric  # type: ignore[attr-defined]
    own, miner = recipe.make_loss(), recipe.make_miner()
    learnt = own.start(3, 3, 6, dtype="float64")
    optimisers = [torch.optim.Adam([*network.parameters(), *head.parameters()], lr=1e-3, weight_decay=4e-4)]
    if learnt:
        optimisers.append(torch.optim.Adam(learnt.values(), lr=own.rate))
    pictures = dataset().train
    for epoch in (1, 2):
        run.begin(epoch)
        batches = recipe.make_sampler().batches(pictures.target, 16, 3, epoch)
        numbers = uniforms_of_epoch(3, epoch, len(batches), 16)
        for step, rows in enumerate(batches):
            run.step("all")
            shown = run.scaled_inputs(torch.from_numpy(pictures.inputs[rows]).permute(0, 3, 1, 2))
            embedding = head(network(shown))
            if own.unit_length:
                embedding = torch.nn.functional.normalize(embedding, dim=-1)
            labels = torch.from_numpy(pictures.target[rows])
            mined = None if miner is None else miner(embedding, labels, numbers[step])
            value = own(embedding, labels, mined, learnt)
            for optimiser in optimisers:
                optimiser.zero_grad()
            value.backward()
            for optimiser in optimisers:
                optimiser.step()
            assert run.losses[step].item() == pytest.approx(value.item(), abs=1e-5)  # losses are float32
    # The rate lies in a float32 tensor on the device.
    torch.testing.assert_close(run.parts["head"].weight, head.weight, rtol=0, atol=1e-7)


def test_a_network_learns_the_squares_and_keeps_its_embedding() -> None:
    pictures = dataset(train=192)
    (one,) = train(pictures, Learns("metric_learner", {**SMALL, "epochs": 6}), jobs(pictures), Settings())
    assert one.failure is None
    assert one.history[-1].performance > 0.8
    assert one.arrays["embedding.test"].shape == (36, 6)
    assert one.dev.values.shape == (30,)
    assert (one.test.values == np.arange(36) % 3).mean() > 0.8


def test_frozen_statistics_stay_as_they_were() -> None:
    run = run_of("margin", frozen_norm=True)
    before = {name: value.clone() for name, value in run.parts["network"].state_dict().items() if "norm" in name}
    run.begin(1)
    run.step("all")
    after = run.parts["network"].state_dict()
    assert before
    assert all(torch.equal(value, after[name]) for name, value in before.items())


class Centred(TrainingCallback):
    def __init__(self, context: TrainingContext) -> None:
        self.context = context
        self.centre = torch.ones((1, context.width), dtype=torch.float64, requires_grad=True)

    def parts(self) -> dict[str, Part]:
        return {"centre": Part([self.centre], [0.01], [0.0])}

    def penalty(self, batch: Batch) -> Any:
        context, rows = self.context, batch.positions.shape[1]
        assert context.draws is not None
        assert context.codes is not None
        assert batch.features.shape[-1] == context.features
        assert torch.equal(context.codes[0].gather(1, batch.positions) >= 0, batch.target >= 0)
        assert context.draws("else", batch.step, rows).shape == context.draws(None, batch.step, rows).shape
        return (batch.output - self.centre[:, None]).square().mean((1, 2))


class Centring(Treatment):
    @classmethod
    def during(cls, trials: Any, context: TrainingContext) -> Centred:
        return Centred(context)

    def metric_arrays(self, ended: Any) -> Any:
        return {"leakage.features": ended.features["train"].mean(0)}


def test_a_treatment_learns_beside_the_network_and_reads_its_features() -> None:
    run = run_of("margin", treatments=(Centring(),))
    (_, acting) = run.callbacks
    run.begin(1)
    run.step("all")
    # Adam's first step is its rate, whatever the gradient.
    torch.testing.assert_close(acting.centre, torch.full((1, 6), 0.99, dtype=torch.float64), rtol=0, atol=1e-4)
    assert run.task.numbers == 6 + 128
    pictures = dataset()
    treated = jobs(pictures, treatments=(Centring(),))
    (one,) = train(pictures, Learns("metric_learner", SMALL), treated, EXACT)
    assert one.failure is None
    assert one.arrays["leakage.features"].shape == (128,)
    assert one.arrays["embedding.dev"].shape == (30, 6)


def test_a_killed_training_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = dataset()
    learner = Learns("metric_learner", {**SMALL, "epochs": 4})
    (whole,) = train(pictures, learner, jobs(pictures), EXACT)
    kept = Settings(precision="float64", selection="last", checkpoints=str(tmp_path))
    monkeypatch.setattr(side_by_side, "EVERY", 0.0)
    monkeypatch.setattr(side_by_side, "TIMES", 0.0)
    save = checkpoints.save

    def killed(folder: str, name: str, run: Any, stand: Any) -> None:
        save(folder, name, run, stand)
        if stand.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        train(pictures, learner, jobs(pictures), kept)
    monkeypatch.setattr(checkpoints, "save", save)
    begun: list[int] = []
    begin = Run.begin

    def watched(self: Any, epoch: int) -> None:
        begun.append(epoch)
        begin(self, epoch)

    monkeypatch.setattr(Run, "begin", watched)
    (resumed,) = train(pictures, learner, jobs(pictures), kept)
    assert begun == [3, 4]
    np.testing.assert_array_equal(resumed.arrays["embedding.test"], whole.arrays["embedding.test"])


def test_the_nearest_row_is_looked_for_among_the_trials_own_rows() -> None:
    pictures = dataset()
    shown = with_training_rows(pictures)
    assert len(shown) == 30 + 96
    assert (shown.target[30:] == -1).all()
    task = run_of("margin").task
    outputs = np.zeros((126, 6), dtype=np.float32)
    outputs[:30, 0] = np.arange(30)
    outputs[30:, 0] = np.arange(96)[::-1]
    expected = pictures.train.target[95 - np.arange(30)]
    found = task.classes(outputs)
    assert found is not None
    assert found[:30].tolist() == expected.tolist()


def test_too_few_rows_say_what_would_fit() -> None:
    pictures = dataset()
    (one,) = train(pictures, Learns("metric_learner", {**SMALL, "batch_size": 128}), jobs(pictures), EXACT)
    assert "a batch size of 96 would fit" in one.failure


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    "loss", ["margin", "triplet", "contrastive", "n_pair", "multi_similarity", "arcface", "proxy_nca"]
)
def test_a_recorded_step_learns_on_a_card(loss: str) -> None:
    pictures = dataset(train=192)
    learner = Learns("metric_learner", {**SMALL, "epochs": 6, "loss": loss})
    (one,) = train(pictures, learner, jobs(pictures), Settings(device="cuda"))
    assert one.failure is None
    assert one.history[-1].performance > 0.8
