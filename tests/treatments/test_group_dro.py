"""Group DRO against the original algorithm, one group after another, on tables, pictures and metric heads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.testing import planted_pictures
from equipoise.training import Job, RowLosses, Settings, train
from equipoise.treatments import GroupDRO
from helpers.cases.training import Learns, planted, stack_of
from helpers.cases.treatment import batch, context, one_of
from helpers.oracles.metric import hinge, squared

torch = pytest.importorskip("torch")

FLOAT64 = Settings(precision="float64")


class Original:
    """Sagawa et al. 2020, algorithm 1, for one trial: plain numbers, no logarithms."""

    def __init__(self, train_codes: list[int], number: int, step: float, adjustment: float) -> None:
        self.counts = [train_codes.count(group) for group in range(number)]
        there = sum(count > 0 for count in self.counts)
        self.q = [1 / there if count else 0.0 for count in self.counts]
        self.step, self.adjustment = step, adjustment

    def loss(self, losses: Any, codes: list[int], weights: list[float]) -> Any:
        means: dict[int, Any] = {}
        for group in sorted(set(codes)):
            own = [losses[row] * weights[row] for row, code in enumerate(codes) if code == group]
            means[group] = sum(own) / len(own)
            raised = means[group].item() + self.adjustment / math.sqrt(self.counts[group])
            self.q[group] *= math.exp(self.step * raised)
        total = sum(self.q)
        self.q = [one / total for one in self.q]
        return sum(self.q[group] * mean for group, mean in means.items())


def original(stack: Any, place: int, step: float, adjustment: float, over: str) -> Original:
    groups, classes = len(stack.groups), len(stack.classes)
    codes = codes_of(stack.cell[place], stack.group[place], groups, over)
    return Original(codes, classes * groups if over == "cells" else groups, step, adjustment)


def codes_of(cell: Any, group: Any, groups: int, over: str) -> list[int]:
    return [int(c) * groups + int(g) if over == "cells" else int(g) for c, g in zip(cell, group, strict=True)]


@pytest.mark.parametrize("over", ["cells", "groups"])
@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (3, 4), (28, 2)])
def test_weights_losses_and_gradients_are_those_of_the_original_step_after_step(
    over: str, classes: int, groups: int
) -> None:
    stack = context((1, 2, 3), classes=classes, groups=groups)
    settings = [(0.01, 0.0), (1.0, 2.0), (0.0, 1.0)]
    trials = [GroupDRO(step=step, adjustment=adjustment, over=over) for step, adjustment in settings]
    part = GroupDRO.during(trials, stack)
    slow = [original(stack, index, *values, over) for index, values in enumerate(settings)]
    for number in range(4):
        given = batch(stack, seed=number)
        given = replace(given, weight=0.5 + torch.rand(given.loss.shape, dtype=torch.float64))
        found = part.combined_loss(given.row_losses())
        (slope,) = torch.autograd.grad(found.sum(), given.loss)
        for index, by_hand in enumerate(slow):
            alone = one_of(given, index)
            codes = codes_of(alone.cell[0], alone.group[0], groups, over)
            expected = by_hand.loss(alone.loss[0], codes, alone.weight[0].tolist())
            assert found[index].item() == pytest.approx(expected.item(), abs=1e-12)
            (by_loop,) = torch.autograd.grad(expected, alone.loss)
            assert torch.allclose(slope[index], by_loop[0], atol=1e-12, rtol=0)
            assert part.log_weights[index].exp().tolist() == pytest.approx(by_hand.q, abs=1e-12)


def test_a_group_without_rows_in_a_batch_keeps_its_weight_against_others_and_one_never_seen_has_none() -> None:
    stack = context((1,), classes=2, groups=3)
    stack.group[stack.group == 2] = 0
    part = GroupDRO.during([GroupDRO(step=0.5, over="groups")], stack)
    assert part.log_weights.exp().tolist() == [[0.5, 0.5, 0.0]]
    losses = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
    group = torch.zeros((1, 2), dtype=torch.long)
    found = part.combined_loss(RowLosses(losses, group, group))
    grown = 0.5 * math.exp(0.5 * 2.0)
    assert part.log_weights.exp().tolist()[0] == pytest.approx([grown / (grown + 0.5), 0.5 / (grown + 0.5), 0.0])
    assert found.item() == pytest.approx(2.0 * grown / (grown + 0.5))


def test_anchors_without_a_triplet_do_not_count() -> None:
    stack = context((1,), groups=2)
    part = GroupDRO.during([GroupDRO(step=0.0, over="groups")], stack)
    values = torch.tensor([[1.0, 100.0, 4.0]], dtype=torch.float64)
    codes, there = torch.tensor([[0, 0, 1]]), torch.tensor([[True, False, True]])
    assert part.combined_loss(RowLosses(values, codes, codes, mask=there)).item() == pytest.approx((1 + 4) / 2)


def test_huge_losses_and_steps_end_in_one_group_and_in_no_overflow() -> None:
    stack = context((1,), groups=2)
    part = GroupDRO.during([GroupDRO(step=1.0, over="groups")], stack)
    losses, codes = torch.tensor([[1e6, 1.0]], dtype=torch.float64), torch.tensor([[0, 1]])
    for _ in range(3):
        found = part.combined_loss(RowLosses(losses, codes, codes))
    assert found.item() == pytest.approx(1e6)


def test_state_is_put_back_and_trials_that_stopped_are_let_go() -> None:
    stack = context((1, 2, 3))
    trials = [GroupDRO(step=step, adjustment=1.0) for step in (0.1, 0.5, 1.0)]
    part, given = GroupDRO.during(trials, stack), batch(stack)
    part.combined_loss(given.row_losses())
    saved = {name: value.clone() for name, value in part.state().items()}
    expected = part.combined_loss(given.row_losses())
    part.restore(saved)
    assert torch.equal(part.combined_loss(given.row_losses()), expected)
    part.restore(saved)
    part.select_trials(torch.tensor([2, 0]))
    kept = [one_of(given, 2), one_of(given, 0)]
    rows = RowLosses(*(torch.cat([getattr(one, name) for one in kept]) for name in ("loss", "cell", "group")))
    assert torch.allclose(part.combined_loss(rows), expected[[2, 0]], rtol=1e-12)


def test_what_is_weighed_is_the_same_for_trials_that_train_together() -> None:
    with pytest.raises(BadInput, match="over = cells, groups"):
        GroupDRO.during([GroupDRO(), GroupDRO(over="groups")], context((1, 2)))


@pytest.mark.parametrize("task", ["class", "regression"])
def test_a_stack_trains_as_a_plain_loop_does(task: str) -> None:
    dataset = planted(120, task=task, groups=3)
    rows = np.arange(120)
    treatment = GroupDRO(step=0.3, adjustment=0.5)
    stack = stack_of(
        dataset, [Job(rows, seed, treatments=(treatment,)) for seed in (1, 2)], learning_rate=0.01, weight_decay=0.0
    )
    values = [value.clone() for value in stack.network.values]
    slow = [original_of(dataset, treatment.values) for _ in (1, 2)]
    arranged = stack.arranged(1)
    found = stack.follow(arranged)
    for place in (0, 1):
        leaves = [value[place].clone().requires_grad_() for value in values]
        descent = torch.optim.Adam(leaves, lr=0.01)
        for step, begin in enumerate(range(0, 120, arranged.size)):
            cut = slice(begin, begin + arranged.size)
            chosen = arranged.rows[place, cut]
            output = perceptron(leaves, stack.inputs[chosen])
            target = arranged.target[place, cut]
            if task == "regression":
                losses = (output[:, 0] - target) ** 2
            else:
                losses = torch.nn.functional.cross_entropy(output, target, reduction="none")
            codes = codes_of(arranged.cell[place, cut], arranged.group[place, cut], 3, "cells")
            total = slow[place].loss(losses, codes, [1.0] * len(codes))
            assert found[step, place].item() == pytest.approx(total.item(), rel=1e-9)
            descent.zero_grad()
            total.backward()
            descent.step()
        for leaf, now in zip(leaves, stack.network.values, strict=True):
            assert torch.allclose(leaf, now[place], rtol=1e-7, atol=1e-10)


def original_of(dataset: Any, values: dict[str, Any]) -> Original:
    codes = codes_of(dataset.train.cell, dataset.train.group, 3, "cells")
    return Original(codes, len(dataset.classes) * 3, values["step"], values["adjustment"])


def perceptron(leaves: list[Any], inputs: Any) -> Any:
    weights, biases = leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        inputs = torch.tanh(inputs @ weight + bias[0])
    return inputs @ weights[-1] + biases[-1][0]


def opposed(rows: int, seed: int = 0) -> Any:
    """Two groups in which the class hangs on the input the opposite way; the second group is one row in ten."""
    dataset = planted(rows, seed=seed, features=3)
    generator = np.random.default_rng(seed)

    def turned(split: Any) -> Any:
        group = (generator.random(len(split)) < 0.1).astype(np.int64)
        inputs = split.inputs.copy()
        cell = np.where(group == 0, inputs[:, 0] > 0, inputs[:, 0] + 2 * inputs[:, 1] > 0).astype(np.int64)
        return replace(split, inputs=inputs, target=cell, group=group, cell=cell)

    train_rows, dev = turned(dataset.train), turned(dataset.dev)
    test = turned(dataset.test)
    return replace(dataset, train=train_rows, dev=dev, test=replace(test, target=None, group=None, cell=None)), test


def worst_accuracy(ended: Any, test: Any) -> float:
    assert ended.failure is None, ended.failure
    right = ended.test.values == test.target
    return min(float(right[test.group == group].mean()) for group in (0, 1))


def test_the_worst_group_is_fitted_better() -> None:
    dataset, test = opposed(2000)
    settings = {"layers": 0, "epochs": 60, "patience": 60, "batch_size": 200, "learning_rate": 0.02}
    seeds = (1, 2, 3)
    worst = {}
    for name, treatments in (("untreated", ()), ("treated", (GroupDRO(step=0.2, over="groups"),))):
        jobs = [Job(np.arange(2000), seed, treatments=treatments) for seed in seeds]
        ended = train(dataset, Learns("mlp", settings), jobs, Settings(selection="last"))
        worst[name] = float(np.mean([worst_accuracy(one, test) for one in ended]))
    assert worst["treated"] > worst["untreated"] + 0.05, worst


QUICK_PICTURES = {"network": "small", "batch_size": 20, "epochs": 2, "learning_rate": 0.02, "augmentation": False}


def test_pictures_are_weighed_by_the_original_too() -> None:
    from equipoise.training import prepare_job
    from equipoise.training.images import Pictures, Run
    from equipoise.training.learners.image_network import ImageNetwork

    dataset = planted_pictures(rows=100).dataset
    job = Job(np.arange(100), 3, treatments=(GroupDRO(step=0.5, adjustment=1.0),))
    trial = prepare_job(job, dataset, ImageNetwork.with_defaults(QUICK_PICTURES, "class"))
    run = Run(trial, dataset, Pictures(dataset.train.inputs, "cpu"), FLOAT64)
    codes = codes_of(dataset.train.cell, dataset.train.group, 2, "cells")
    by_hand = Original(codes, 4, 0.5, 1.0)
    run.begin(1)
    for number in range(run.steps):
        places = run.positions[number]
        with torch.no_grad():
            _, output = run.features_and_outputs(
                run.scaled_inputs(run.pictures.crops(run.rows[places], run.crop.of(places)))
            )
        losses = torch.nn.functional.cross_entropy(output, run.target[places], reduction="none")
        expected = by_hand.loss(losses, [codes[place] for place in places.tolist()], [1.0] * len(places))
        run.step(run.phase(1))
        assert run.losses[number].item() == pytest.approx(float(expected), rel=1e-5)
    (part,) = run.callbacks
    assert part.log_weights[0].exp().tolist() == pytest.approx(by_hand.q, rel=1e-9)


def test_on_a_metric_head_a_groups_loss_is_that_of_the_triplets_anchored_in_it() -> None:
    from equipoise.training import prepare_job
    from equipoise.training.learners.metric_learner import MetricLearning
    from equipoise.training.metric import head_stack, recipe_of

    dataset = planted(120, classes=3)
    values = {"loss": "triplet", "embedding_size": 4, "batch_size": 16, "epochs": 2, "learning_rate": 0.02}
    completed = MetricLearning.with_defaults(values, "class")
    treatment = GroupDRO(step=0.5, over="groups")
    trials = [prepare_job(Job(np.arange(120), seed, treatments=(treatment,)), dataset, completed) for seed in (1, 2)]
    stack = head_stack(trials, dataset, recipe_of(trials), FLOAT64)
    slow = [Original(dataset.train.group.tolist(), 2, 0.5, 0.0) for _ in trials]
    objective, part = stack.callbacks
    arranged = stack.arranged(1)
    for step in range(3):
        rows = arranged.batch(slice(step * 16, (step + 1) * 16))
        with torch.no_grad():
            points, _ = stack.network(stack.gathered(stack.inputs, rows.rows))
            mined = objective.miner(points, rows.target, stack.callbacks[0].draws(None, step, 16))
        expected = [triplets_by_hand(points[place], mined, place, rows.group[place], slow[place]) for place in (0, 1)]
        found = stack.step(rows, number=step)
        assert found.tolist() == pytest.approx(expected, rel=1e-9)
    for place in (0, 1):
        assert part.log_weights[place].exp().tolist() == pytest.approx(slow[place].q, rel=1e-9)


def triplets_by_hand(points: Any, mined: Any, place: int, group: Any, slow: Original) -> float:
    rows = points.tolist()
    losses, codes = [], []
    parts = (mined.anchors, mined.positives, mined.negatives, mined.mask)
    for a, p, n, there in zip(*(part[place].tolist() for part in parts), strict=True):
        if there:
            losses.append(hinge(squared(rows[a], rows[p]) - squared(rows[a], rows[n]) + 0.2))
            codes.append(int(group[a]))
    return float(slow.loss([torch.tensor(loss, dtype=torch.float64) for loss in losses], codes, [1.0] * len(losses)))


@pytest.mark.parametrize(
    "loss", ["triplet", "margin", "contrastive", "multi_similarity", "n_pair", "arcface", "proxy_nca"]
)
def test_with_equal_weights_of_one_group_every_metric_loss_is_the_untreated_one(loss: str) -> None:
    dataset = planted(90, classes=3)
    dataset = replace(dataset, groups=("everybody",), train=replace(dataset.train, group=0 * dataset.train.group),
                       dev=replace(dataset.dev, group=0 * dataset.dev.group), parts=None, attributes=())  # fmt: skip
    settings = {"loss": loss, "embedding_size": 4, "batch_size": 16, "epochs": 2, "learning_rate": 0.02}
    ended = [
        train(dataset, Learns("metric_learner", settings), [Job(np.arange(90), 1, treatments=treatments)], FLOAT64)[0]
        for treatments in ((), (GroupDRO(over="groups"),))
    ]
    assert [one.failure for one in ended] == [None, None]
    assert ended[0].history[-1].loss == pytest.approx(ended[1].history[-1].loss, rel=1e-9)
    assert np.allclose(ended[0].arrays["embedding.dev"], ended[1].arrays["embedding.dev"], atol=1e-3)
