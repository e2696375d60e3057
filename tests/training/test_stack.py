"""Training together is training alone: step by step in float64, and as a distribution of results in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from equipoise import BadInput
from equipoise.training import Settings, TrainingCallback, Treatment, copies_of, sample_keys, scores_of, train
from equipoise.training._stack import Recipe
from equipoise.treatments import Adversarial, Untreated
from helpers.cases.training import Learns, Rival, jobs_of, planted, stack_of

torch = pytest.importorskip("torch")

SEEDS = (0, 1, 2, 3)
RATES = (3e-3, 1e-2, 3e-3, 1e-3)
DECAYS = (0.0, 0.0, 1e-2, 1e-3)


class Heavy(Treatment):
    """Weighs rows by their class."""

    def weigh(self, rows: Any) -> Any:
        return 0.5 + rows.cell


def twenty_steps(stack: Any) -> Any:
    """20 steps over three epochs, with a trial that stops in between where there are several."""
    for epoch in (1, 2):
        stack.epoch(epoch)  # 8 batches of 240 rows
    stack.follow(stack.arranged(3), 4)
    return [value.clone() for value in stack.network.values]


@pytest.mark.parametrize("treatments", [(), (Untreated(),), (Rival(),), (Heavy(), Rival(strength=2.0))])
@pytest.mark.parametrize("task", ["class", "regression"])
def test_the_first_20_steps_of_a_stack_are_those_of_each_trial_alone(treatments: Any, task: str) -> None:
    dataset = planted(task=task, classes=3, groups=3)
    jobs = [
        replace(job, learner={"learning_rate": rate, "weight_decay": decay})
        for job, rate, decay in zip(jobs_of(dataset, SEEDS, treatments), RATES, DECAYS, strict=True)
    ]
    together = twenty_steps(stack_of(dataset, jobs, batch_size=32))
    begun = stack_of(dataset, jobs, batch_size=32).network.values
    for index, job in enumerate(jobs):
        alone = twenty_steps(stack_of(dataset, [job], batch_size=32))
        for stacked, own, first in zip(together, alone, begun, strict=True):
            assert (stacked[index] - own[0]).abs().max() <= 1e-10
            assert (own[0] - first[index]).abs().max() > 1e-4  # it has moved at all


def test_the_steps_are_those_of_a_plain_torch_loop() -> None:
    """The oracle is torch's own layers and optimiser, and an order that is sorted by hand."""
    dataset = planted(classes=3)
    job = jobs_of(dataset, [5])[0]
    stack = stack_of(dataset, [job], learning_rate=1e-2, weight_decay=1e-2)
    weights, biases = stack.network.weights, stack.network.biases
    layers = []
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        linear = torch.nn.Linear(*weight.shape[1:], dtype=torch.float64)
        linear.weight.data, linear.bias.data = weight[0].detach().T.clone(), bias[0, 0].detach().clone()
        layers += [linear, torch.nn.Tanh()] if index < 2 else [linear]
    network = torch.nn.Sequential(*layers)
    adam = torch.optim.Adam(network.parameters(), lr=1e-2, weight_decay=1e-2)
    for epoch in (1, 2):
        stack.epoch(epoch)
        keys = sample_keys(5, epoch, dataset.train.ids, np.zeros(240, dtype=np.int64), "order")
        order = sorted(range(240), key=lambda row: keys[row])
        for begin in range(0, 240, 30):
            rows = order[begin : begin + 30]  # eight even batches of at most 32
            adam.zero_grad()
            said = network(torch.tensor(dataset.train.inputs[rows], dtype=torch.float64))
            torch.nn.functional.cross_entropy(said, torch.tensor(dataset.train.target[rows])).backward()
            adam.step()
    for place, weight in enumerate(stack.network.weights):
        assert torch.allclose(weight[0].T, network[2 * place].weight, rtol=0, atol=1e-12)
        assert torch.allclose(stack.network.biases[place][0, 0], network[2 * place].bias, rtol=0, atol=1e-12)


def test_trials_that_stop_leave_the_others_as_they_were() -> None:
    dataset = planted()
    jobs = [
        replace(job, learner={"learning_rate": rate})
        for job, rate in zip(jobs_of(dataset, SEEDS, [Rival()]), RATES, strict=True)
    ]
    whole, cut = stack_of(dataset, jobs), stack_of(dataset, jobs)
    for stack in (whole, cut):
        stack.epoch(1)
    cut.select_trials([1, 3])
    assert cut.running == [1, 3]
    for stack in (whole, cut):
        stack.epoch(2)
    cut.select_trials([1])
    for stack in (whole, cut):
        stack.epoch(3)
    assert cut.running == [3]
    for all_of_them, kept in zip(whole.network.values, cut.network.values, strict=True):
        assert torch.allclose(all_of_them[3], kept[0], rtol=0, atol=1e-12)


def test_full_trainings_have_the_same_distribution_stacked_and_alone() -> None:
    """Other seeds on either side, so that nothing is equal by construction; the seeds are fixed."""
    dataset = planted(200)
    small = Learns("mlp", {"width": 8, "layers": 1, "batch_size": 64, "epochs": 12, "learning_rate": 2e-2})
    together = train(dataset, small, jobs_of(dataset, range(40), [Rival()]), stack=40)
    alone = train(dataset, small, jobs_of(dataset, range(100, 140), [Rival()]), stack=1)
    found = [measured(dataset, outcomes) for outcomes in (together, alone)]
    for stacked, single in zip(*found, strict=True):
        assert np.std(stacked) > 0
        assert ks_2samp(stacked, single).pvalue > 0.05
    worse = [measured(dataset, train(dataset, small, jobs_of(dataset, range(40), learner={"epochs": 1}), stack=40))]
    assert ks_2samp(worse[0][0], found[1][0]).pvalue < 0.01  # the test can tell


def measured(dataset: Any, outcomes: Any) -> tuple[Any, Any]:
    assert all(outcome.failure is None for outcome in outcomes)
    values = np.stack([outcome.dev.values for outcome in outcomes])
    scores = scores_of(values, dataset.dev, 2, 2, "class")
    return scores.performance, scores.fairness


class OwnBatches(Treatment):
    """Makes the batches itself: for every trial the same rows, 4 batches of 8."""

    @classmethod
    def during(cls, trials: Any, context: Any) -> TrainingCallback:
        return Fixed(len(trials))


class Fixed(TrainingCallback):
    needs_row_losses = True

    def __init__(self, trials: int) -> None:
        self.trials, self.seen = trials, []

    def batches(self, epoch: int, row_losses: Any) -> Any:
        self.seen.append(row_losses)
        return torch.arange(32).reshape(1, 4, 8).expand(self.trials, -1, -1)

    def penalty(self, batch: Any) -> None:
        self.seen.append(batch.positions)


def test_a_treatment_may_make_the_batches_and_is_told_the_loss_of_every_row() -> None:
    dataset = planted(classes=3)
    stack = stack_of(dataset, jobs_of(dataset, SEEDS, [OwnBatches()]))
    expected = []
    for place in range(len(SEEDS)):
        said = stack.network(stack.inputs.expand(len(SEEDS), -1, -1))[0][place].detach()
        expected.append(torch.nn.functional.cross_entropy(said, torch.tensor(dataset.train.target), reduction="none"))
    stack.epoch(1)
    losses, *places = stack.callbacks[0].seen
    assert torch.allclose(losses, torch.stack(expected), rtol=0, atol=1e-12)
    assert [place[2].tolist() for place in places] == np.arange(32).reshape(4, 8).tolist()
    with pytest.raises(BadInput, match=r"both decide the batches \(Fixed, Fixed\)"):
        stack_of(dataset, jobs_of(dataset, [0], [OwnBatches(), OwnBatches()]))


def test_repeated_rows_are_told_apart_and_each_comes_once_an_epoch() -> None:
    dataset = planted()
    rows = np.array([3, 3, 3, 7, 9, 9])
    assert copies_of(rows).tolist() == [0, 1, 2, 0, 0, 1]
    job = replace(jobs_of(dataset, [0])[0], rows=rows)
    places = stack_of(dataset, [job], Settings()).arranged(1).positions
    assert sorted(places[0].tolist()) == list(range(6))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_takes_the_same_first_steps() -> None:
    dataset = planted()
    jobs = jobs_of(dataset, SEEDS, [Adversarial(width=6)])
    learner = Learns("mlp", {"width": 7, "batch_size": 32, "epochs": 2})
    here, there = (
        train(dataset, learner, jobs, Settings(precision="float64", device=device)) for device in ("cpu", "cuda")
    )
    for one, other in zip(here, there, strict=True):
        assert (one.failure, other.failure) == (None, None)
        assert np.allclose(one.test.scores, other.test.scores, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "batch_size", "size"),
    [(2049, 1024, 683), (2048, 1024, 1024), (5, 1024, 5), (10, 3, 3), (7, 3, 3), (9, 8, 5)],
)
def test_batches_are_even_so_that_no_row_moves_the_network_alone(rows, batch_size, size):
    recipe = Recipe(epochs=1, batch_size=batch_size, patience=1, rates=(), decays=())
    assert recipe.even_size(rows) == size
    last = rows - (-(-rows // size) - 1) * size
    assert size - last < -(-rows // size)
