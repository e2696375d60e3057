"""ADV and DADV against one network at a time with plain torch, in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from equipoise.treatments import Adversarial, DiverseAdversarial
from equipoise.treatments._discriminators import Discriminators, mean_squared_products
from helpers.cases.treatment import batch, context, one_of

torch = pytest.importorskip("torch")

WIDTH = 6
STRENGTHS = (0.5, 2.0, 30.0)
CASES = [(Adversarial, False), (Adversarial, True), (DiverseAdversarial, False), (DiverseAdversarial, True)]


def trials_of(kind: type, conditional: bool) -> list[Any]:
    more = [{"diversity": value} for value in (0.0, 3.0, 100.0)] if kind is DiverseAdversarial else [{}] * 3
    return [
        kind(strength=strength, width=WIDTH, conditional_on_class=conditional, **own)
        for strength, own in zip(STRENGTHS, more, strict=True)
    ]


class Slow:
    """The discriminators of one trial as separate torch modules, each with an optimiser of its own."""

    def __init__(self, part: Discriminators, trial: int, diversity: float | None, strength: float) -> None:
        copies = range(trial * part.copies, (trial + 1) * part.copies)
        self.modules = [self.module(part, place) for place in copies]
        self.optimisers = [torch.optim.Adam(module.parameters(), lr=1e-3) for module in self.modules]
        self.classes, self.diversity, self.strength = part.classes, diversity, strength

    def module(self, part: Discriminators, place: int) -> Any:
        layers = []
        for number, (weight, bias) in enumerate(zip(part.networks.weights, part.networks.biases, strict=True)):
            layer = torch.nn.Linear(*weight.shape[1:], dtype=torch.float64)
            layer.weight.data, layer.bias.data = weight[place].detach().T.clone(), bias[place, 0].detach().clone()
            layers += [layer, torch.nn.ReLU()] if number < 2 else [layer]
        return torch.nn.Sequential(*layers)

    def told(self, given: Any, hidden: Any) -> Any:
        if not self.classes:
            return hidden
        told = torch.zeros(len(hidden), self.classes, dtype=torch.float64)
        for row, code in enumerate(given.cell[0].tolist()):
            told[row, code] = 1.0
        return torch.cat([hidden, told], dim=1)

    def likeness(self, one: Any, other: Any) -> Any:
        """The mean over all pairs of rows, pair by pair."""
        total = torch.zeros((), dtype=torch.float64)
        for a in one:
            for b in other:
                cosine = (a / (a.detach().norm() + 1e-6)) @ (b / (b.detach().norm() + 1e-6))
                total = total + cosine**2
        return total / (len(one) * len(other))

    def step(self, given: Any) -> None:
        rows = self.told(given, given.hidden[0].detach())
        losses = []
        for number, module in enumerate(self.modules):
            loss = torch.nn.functional.cross_entropy(module(rows), given.group[0])
            if self.diversity:
                own = module[:4](rows)
                for other, another in enumerate(self.modules):
                    if other != number:
                        loss = loss + self.diversity * self.likeness(own, another[:4](rows))
            losses.append(loss)
        # Gradients of all before any of them moves: each discriminator has its own loss.
        for module, loss in zip(self.modules, losses, strict=True):
            slopes = torch.autograd.grad(loss, list(module.parameters()), retain_graph=True)
            for parameter, slope in zip(module.parameters(), slopes, strict=True):
                parameter.grad = slope
        for optimiser in self.optimisers:
            optimiser.step()

    def penalty(self, given: Any) -> Any:
        rows = self.told(given, given.hidden[0])
        total = sum(torch.nn.functional.cross_entropy(module(rows), given.group[0]) for module in self.modules)
        return -self.strength / len(self.modules) * total


@pytest.mark.parametrize(("kind", "conditional"), CASES)
@pytest.mark.parametrize("groups", [2, 3])
def test_four_steps_are_those_of_plain_torch_for_each_trial_alone(kind: Any, conditional: bool, groups: int) -> None:
    trials = trials_of(kind, conditional)
    stack = context((1, 2, 3), groups=groups)
    part = kind.during(trials, stack)
    slow = [
        Slow(part, index, trial.values.get("diversity"), trial.values["strength"]) for index, trial in enumerate(trials)
    ]
    for step in range(4):
        given = batch(stack, step, rows=8)
        part.before_step(given)
        found = part.penalty(given)
        (slope,) = torch.autograd.grad(found.sum(), given.hidden)
        for index, one in enumerate(slow):
            alone = one_of(given, index)
            one.step(alone)
            expected = one.penalty(alone)
            (by_loop,) = torch.autograd.grad(expected, alone.hidden)
            assert found[index].item() == pytest.approx(expected.item(), rel=1e-9)
            assert torch.allclose(slope[index], by_loop[0], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("kind", "conditional"), CASES)
def test_a_stack_is_its_trials_one_at_a_time_also_after_some_have_stopped(kind: Any, conditional: bool) -> None:
    trials = trials_of(kind, conditional)
    stack = context((7, 8, 9))
    part = kind.during(trials, stack)
    lone = [kind.during([trial], one_of(stack, index)) for index, trial in enumerate(trials)]
    running = [0, 1, 2]
    for step in range(6):
        given = batch(stack, step)
        if step == 3:
            part.select_trials(torch.tensor([2, 0]))
            running = [2, 0]
        tensors = {name: value for name, value in vars(given).items() if isinstance(value, torch.Tensor)}
        given = replace(given, **{name: value.detach()[running] for name, value in tensors.items()})
        part.before_step(given)
        found = part.penalty(given)
        for index, was in enumerate(running):
            lone[was].before_step(one_of(given, index))
            expected = lone[was].penalty(one_of(given, index))
            assert found[index].item() == pytest.approx(expected.item(), abs=1e-12, rel=1e-12)


def test_a_penalty_gives_the_discriminators_no_gradient_and_a_step_gives_the_network_none() -> None:
    stack = context((1,))
    part = Adversarial.during([Adversarial(width=WIDTH)], stack)
    given = batch(stack)
    part.before_step(given)
    assert given.hidden.grad is None
    part.penalty(given).sum().backward()
    assert given.hidden.grad is not None
    assert all(parameter.grad is None for parameter in part.networks.parameters)


@pytest.mark.parametrize(("rows", "width"), [(4, 9), (9, 4), (5, 5)])
def test_both_ways_to_average_squared_products_are_the_loop_over_pairs(rows: int, width: int) -> None:
    one, other = torch.randn(2, 3, rows, width, dtype=torch.float64)
    found = mean_squared_products(one, other)
    for trial in range(3):
        total = sum(float(a @ b) ** 2 for a in one[trial] for b in other[trial])
        assert found[trial].item() == pytest.approx(total / rows**2, rel=1e-12)


def test_discriminators_begin_differently_in_each_copy_and_trial_and_alike_for_one_seed() -> None:
    trials = [DiverseAdversarial(width=WIDTH) for _ in range(3)]
    first = DiverseAdversarial.during(trials, context((1, 2, 1))).networks.weights[0]
    flat = first.reshape(3, 3, -1)
    assert torch.equal(flat[0], flat[2])
    distinct = {tuple(row.tolist()) for row in flat[:2].reshape(6, -1)}
    assert len(distinct) == 6


def test_orthogonality_makes_discriminators_look_at_different_things() -> None:
    stack = context((1, 1), rows=64, batch_size=64, width=8)
    trials = [DiverseAdversarial(width=16, diversity=value) for value in (0.0, 100.0)]
    part = DiverseAdversarial.during(trials, stack)
    for _ in range(200):
        given = batch(stack)
        part.before_step(given)
    _, seen = part.networks(part._inputs(given.hidden.detach(), given))
    alone, diverse = part.likeness(seen).tolist()
    assert diverse < 0.1 * alone
