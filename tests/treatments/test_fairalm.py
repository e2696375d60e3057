"""FairALM and the squared gap penalty against plain loops: losses, multipliers, five steps a batch, trials alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.studies.plans import Named
from equipoise.studies.plans._naming import control_of, treatment_name
from equipoise.testing import planted_pictures
from equipoise.training import CallbackList, Job, Settings, TrainingCallback
from equipoise.treatments import FairALM, SquaredGapPenalty
from equipoise.treatments.fairalm import STEPS
from helpers.cases.training import planted, stack_of
from helpers.cases.treatment import batch, context, one_of

torch = pytest.importorskip("torch")

FLOAT64 = Settings(precision="float64")
# Classes, groups, the class that is named, and the codes of those in which groups are compared.
CASES = [(2, 2, None, [1]), (2, 2, "class 0", [0]), (3, 3, None, [0, 1, 2]), (4, 3, "class 2", [2])]


def mean_losses(losses: Any, cell: Any, group: Any, y: int, groups: int) -> list[Any]:
    """L_s of every group in a class; None where the batch has no such row."""
    found = []
    for g in range(groups):
        own = [losses[row] for row in range(len(losses)) if cell[row] == y and group[row] == g]
        found.append(sum(own) / len(own) if own else None)
    return found


class Slow:
    """One trial, two groups after another."""

    def __init__(self, kind: Any, classes: list[int], groups: int, strength: float, growth: float) -> None:
        self.kind, self.classes, self.groups = kind, classes, groups
        self.strength, self.growth, self.eta = strength, growth, strength
        self.pairs = [(y, *pair) for y in classes for pair in combinations(range(groups), 2)]
        self.multipliers = {pair: [0.0, 0.0] for pair in self.pairs}

    def begin(self, epoch: int) -> None:
        self.eta = self.strength
        for _ in range(epoch):
            self.eta *= self.growth

    def penalty(self, losses: Any, cell: Any, group: Any) -> Any:
        total = torch.zeros((), dtype=losses.dtype)
        self.gaps = {}
        for y, s, t in self.pairs:
            means = mean_losses(losses, cell, group, y, self.groups)
            l0, l1 = self.multipliers[y, s, t]
            if means[s] is not None and means[t] is not None:
                self.gaps[y, s, t] = (means[s] - means[t]).item()
            if self.kind is SquaredGapPenalty:
                if (y, s, t) in self.gaps:
                    total = total + self.eta / 2 * (means[s] - means[t]) ** 2
                continue
            if means[s] is not None:
                total = total + (self.eta / 4 + (l0 - l1) / 2) * means[s]
            if means[t] is not None:
                total = total + (self.eta / 4 + (l1 - l0) / 2) * means[t]
        return total / len(self.pairs)

    def move(self) -> None:
        for pair, gap in self.gaps.items():
            l0, l1 = self.multipliers[pair]
            l0 = (l0 - l1) / 2 + self.eta / 2 * gap
            l1 = (l1 - l0) / 2 + self.eta / 2 * -gap
            self.multipliers[pair] = [l0, l1]


@pytest.mark.parametrize("kind", [FairALM, SquaredGapPenalty])
@pytest.mark.parametrize(("classes", "groups", "favourable", "codes"), CASES)
def test_penalties_gradients_and_multipliers_are_those_of_a_loop(
    kind: Any, classes: int, groups: int, favourable: str | None, codes: list[int]
) -> None:
    stack = context((1, 2, 3), classes=classes, groups=groups)
    strengths = [20.0, 1.0, 0.0]
    trials = [kind(strength=strength, favourable=favourable, growth=1.05) for strength in strengths]
    part = kind.during(trials, stack)
    slow = [Slow(kind, codes, groups, strength, 1.05) for strength in strengths]
    for epoch in (1, 2, 3):
        for one in (part, *slow):
            one.begin(epoch)
        for repeat in range(part.repeats):
            given = replace(batch(stack, seed=10 * epoch + repeat), repeat=repeat)
            found = part.penalty(given)
            (slope,) = torch.autograd.grad(found.sum(), given.loss)
            for index, by_hand in enumerate(slow):
                alone = one_of(given, index)
                expected = by_hand.penalty(alone.loss[0], alone.cell[0], alone.group[0])
                assert found[index].item() == pytest.approx(expected.item(), abs=1e-10)
                if strengths[index] and expected.requires_grad:
                    (by_loop,) = torch.autograd.grad(expected, alone.loss)
                    assert torch.allclose(slope[index], by_loop[0], atol=1e-10, rtol=0)
        if kind is FairALM:
            for place, by_hand in enumerate(slow):
                by_hand.move()
                kept = [value for pair in by_hand.pairs for value in by_hand.multipliers[pair]]
                stored = part.multipliers[place].movedim(1, 2).flatten().tolist()
                assert stored == pytest.approx(kept, abs=1e-10)


def test_eta_is_20_and_grows_by_one_per_cent_with_every_epoch() -> None:
    part = FairALM.during([FairALM()], context((1,), classes=2))
    for epoch, eta in ((1, 20.2), (2, 20.402), (3, 20.60602)):
        part.begin(epoch)
        assert part.eta.item() == pytest.approx(eta)


@pytest.mark.parametrize("kind", [FairALM, SquaredGapPenalty])
def test_a_batch_without_one_of_the_groups_adds_nothing_for_it_and_keeps_the_multipliers(kind: Any) -> None:
    stack = context((1,), classes=2)
    part = kind.during([kind()], stack)
    part.begin(1)
    if kind is FairALM:
        part.multipliers.copy_(torch.tensor([0.5, -0.25]).reshape(1, 1, 2, 1))
    given = batch(stack)
    given.group[given.cell == 1] = 0
    found = part.penalty(replace(given, repeat=STEPS - 1))
    own = given.loss[given.cell == 1].mean()
    expected = (20.2 / 4 + 0.75 / 2) * own if kind is FairALM else 0 * own
    assert found.item() == pytest.approx(expected.item())
    if kind is FairALM:
        assert part.multipliers.flatten().tolist() == [0.5, -0.25]
    given.cell[:] = 0
    assert part.penalty(given).item() == 0.0


def test_state_is_put_back_and_trials_that_stopped_are_let_go() -> None:
    stack = context((1, 2, 3), classes=2)
    part = FairALM.during([FairALM(strength=strength) for strength in (1.0, 5.0, 20.0)], stack)
    part.begin(2)
    given = replace(batch(stack), repeat=STEPS - 1)
    part.penalty(given)
    saved = {name: value.clone() for name, value in part.state().items()}
    assert saved["multipliers"].abs().min() > 0
    expected = part.penalty(given)
    part.restore(saved)
    part.select_trials(torch.tensor([2, 0]))
    for index, was in enumerate((2, 0)):
        assert torch.equal(part.multipliers[index], saved["multipliers"][was])
    part.begin(2)
    kept = [one_of(given, 2), one_of(given, 0)]
    joined = {name: torch.cat([getattr(one, name) for one in kept]) for name in ("loss", "cell", "group")}
    assert torch.allclose(part.penalty(replace(kept[0], **joined)), expected[[2, 0]], rtol=1e-12)


def test_a_class_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(BadInput, match="class 1"):
        FairALM.during([FairALM(favourable="class 9")], context((1,), classes=2))


class FiveSteps(TrainingCallback):
    """As many steps on a batch as FairALM takes, and nothing else."""

    repeats = STEPS


def test_two_treatments_cannot_both_take_several_steps_on_a_batch() -> None:
    with pytest.raises(BadInput, match="steps on each batch"):
        CallbackList((FiveSteps(), FiveSteps()))


@pytest.mark.parametrize(("kind", "strength"), [(FairALM, 2.0), (FairALM, 0.0), (SquaredGapPenalty, 2.0)])
def test_a_stack_trains_as_a_plain_loop_does(kind: Any, strength: float) -> None:
    dataset = planted(120)
    treatment = kind(strength=strength)
    jobs = [Job(np.arange(120), seed, treatments=(treatment,)) for seed in (1, 2)]
    stack = stack_of(dataset, jobs, learning_rate=0.01)
    values = [value.clone() for value in stack.network.values]
    steps = STEPS if kind is FairALM else 1
    descents = []
    for place in (0, 1):
        leaves = [value[place].clone().requires_grad_() for value in values]
        descents.append((leaves, torch.optim.Adam(leaves, lr=0.01), Slow(kind, [1], 2, strength, 1.01)))
    for epoch in (1, 2):
        arranged = stack.arranged(epoch)
        found = stack.follow(arranged)
        for index, (leaves, descent, slow) in enumerate(descents):
            slow.begin(epoch)
            for step, begin in enumerate(range(0, 120, arranged.size)):
                cut = slice(begin, begin + arranged.size)
                inputs = stack.inputs[arranged.rows[index, cut]]
                for _ in range(steps):
                    losses = torch.nn.functional.cross_entropy(
                        perceptron(leaves, inputs), arranged.target[index, cut], reduction="none"
                    )
                    own = slow.penalty(losses, arranged.cell[index, cut], arranged.group[index, cut])
                    total = losses.mean() + own
                    descent.zero_grad()
                    total.backward()
                    descent.step()
                slow.move()
                assert found[step, index].item() == pytest.approx(total.item(), rel=1e-8)
            for leaf, now in zip(leaves, stack.network.values, strict=True):
                assert torch.allclose(leaf, now[index], rtol=1e-6, atol=1e-9)


def perceptron(leaves: list[Any], inputs: Any) -> Any:
    weights, biases = leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        inputs = torch.tanh(inputs @ weight + bias[0])
    return inputs @ weights[-1] + biases[-1][0]


def test_pictures_take_five_steps_a_batch_and_move_multipliers_once() -> None:
    from equipoise.training import prepare_job
    from equipoise.training.images import Pictures, Run
    from equipoise.training.learners.image_network import ImageNetwork

    dataset = planted_pictures(rows=60).dataset
    quick = {"network": "small", "batch_size": 20, "epochs": 2, "learning_rate": 0.02, "momentum": 0.0,
             "weight_decay": 0.0, "schedule": "constant", "augmentation": False}  # fmt: skip
    job = Job(np.arange(60), 3, treatments=(FairALM(strength=2.0),))
    trial = prepare_job(job, dataset, ImageNetwork.with_defaults(quick, "class"))
    runs = [Run(trial, dataset, Pictures(dataset.train.inputs, "cpu"), FLOAT64) for _ in range(2)]
    run, twin = runs
    slow = Slow(FairALM, [1], 2, 2.0, 1.01)
    slow.begin(1)
    for one in runs:
        one.begin(1)
    leaves = [leaf for part in twin.parts.values() for leaf in part.parameters()]
    for number in range(run.steps):
        run.step(run.phase(1))
        places = twin.positions[number]
        for _ in range(STEPS):
            _, output = twin.features_and_outputs(
                twin.scaled_inputs(twin.pictures.crops(twin.rows[places], twin.crop.of(places)))
            )
            losses = torch.nn.functional.cross_entropy(output, twin.target[places], reduction="none")
            total = losses.mean() + slow.penalty(losses, twin.target[places], twin.group[places])
            gradients = torch.autograd.grad(total, leaves)
            with torch.no_grad():
                for leaf, gradient in zip(leaves, gradients, strict=True):
                    leaf -= 0.02 * gradient
        slow.move()
        assert run.losses[number].item() == pytest.approx(total.item(), rel=1e-5)
    moved = [leaf for part in run.parts.values() for leaf in part.parameters()]
    for one, other in zip(moved, leaves, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-8)
    (part,) = run.callbacks
    assert part.multipliers.flatten().tolist() == pytest.approx(slow.multipliers[1, 0, 1], rel=1e-6)


def test_the_control_takes_five_steps_a_batch_and_nothing_else() -> None:
    dataset = planted(120)
    named = Named("fairalm", 1, FairALM(strength=5.0).values)
    control = control_of(named)
    assert control is not None
    assert control.settings["strength"] == 0
    assert treatment_name(control) == "fairalm: five steps a batch alone"
    jobs = [Job(np.arange(120), seed, treatments=(FairALM(**control.settings),)) for seed in (1, 2)]
    stack, plain = stack_of(dataset, jobs), stack_of(dataset, [replace(job, treatments=()) for job in jobs])
    plain.callbacks = CallbackList((FiveSteps(),))
    for epoch in (1, 2):
        stack.epoch(epoch)
        plain.epoch(epoch)
    for value, other in zip(stack.network.values, plain.network.values, strict=True):
        assert torch.equal(value, other)


@pytest.mark.parametrize("kind", [FairALM, SquaredGapPenalty])
def test_the_gap_between_groups_in_the_favourable_class_gets_smaller(kind: Any) -> None:
    dataset = planted(600, seed=1)
    gaps = {}
    for strength in (0.0, 20.0):
        jobs = [Job(np.arange(600), seed, treatments=(kind(strength=strength),)) for seed in (1, 2, 3)]
        stack = stack_of(dataset, jobs, batch_size=100)
        for epoch in range(1, 16):
            stack.epoch(epoch)
        with torch.no_grad():
            output, _ = stack.network(stack.inputs[stack.rows])
            losses = stack.row_losses(output, stack.target, stack.group)
        means = [
            float(np.mean([losses[place][(stack.cell[place] == 1) & (stack.group[place] == g)].mean().item()
                           for place in range(3)]))
            for g in (0, 1)
        ]  # fmt: skip
        gaps[strength] = abs(means[0] - means[1])
    assert gaps[20.0] < gaps[0.0] / 2, gaps
