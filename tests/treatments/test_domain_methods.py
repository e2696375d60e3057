"""The treatments of Wang et al. (2020) during training, against slow loops in float64: a lone network, and a stack."""

from __future__ import annotations

import copy
import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest

from equipoise.training import (
    NETWORK,
    Batch,
    Job,
    Leaves,
    OwnRecipe,
    Part,
    Settings,
    cross_entropy,
    outputs_of,
    prepare_job,
)
from equipoise.training._callback import callbacks_of
from equipoise.training.images import Pictures, Run
from equipoise.training.images._run import LoneLinear
from equipoise.training.images._tasks import HEAD
from equipoise.training.learners.image_network import ImageNetwork
from equipoise.treatments import DomainDiscriminative, DomainIndependent, GradientProjection, UniformConfusion
from equipoise.treatments._domain_heads import DOMAIN, NETWORK_LEARNS, NETWORK_RESTS
from equipoise.treatments.gradient_projection import SHORTEST
from helpers import squares
from helpers.cases import treatment as treatment_cases
from helpers.cases.training import jobs_of, planted, stack_of

torch = pytest.importorskip("torch")

ADVERSARIES = [UniformConfusion, GradientProjection]
SHAPES = [(2, 2), (10, 2), (3, 4)]
FEATURES, ROWS = 5, 12


@dataclass
class Given:
    """A batch of pictures ``[row, channel, height, width]``."""

    pictures: Any
    target: Any
    group: Any
    weight: Any


class Lone:
    """One network with a head and what a treatment adds; it leaves gradients in its parts and moves nothing."""

    def __init__(self, treatment: Any, classes: int, groups: int) -> None:
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(12, FEATURES), torch.nn.BatchNorm1d(FEATURES), torch.nn.Tanh()
        )
        head = torch.nn.Linear(FEATURES, outputs_of([treatment], classes, groups))
        self.parts = {NETWORK: network.double().train(), HEAD: head.double()}
        context = treatment_cases.context((0,), classes=classes, groups=groups, width=FEATURES)
        self.callbacks = callbacks_of([[treatment]], lambda: replace(context, linear=self.linear))

    def linear(self, name: str, inputs: int, outputs: int) -> Part:
        module = self.parts[name] = torch.nn.Linear(inputs, outputs).double()
        return Part(list(module.parameters()), layer=LoneLinear(module, nullcontext))

    def output(self, given: Given) -> Any:
        return self.parts[HEAD](self.parts[NETWORK](given.pictures))

    def gradients(self, phase: str, given: Given) -> Any:
        """Leave the gradients of a step in the parts, and return the loss."""
        with nullcontext() if NETWORK in self.callbacks.moved(phase) else torch.no_grad():
            features = self.parts[NETWORK](given.pictures)[None]
            output = self.parts[HEAD](features)
        target, group, weight = given.target[None], given.group[None], given.weight[None]
        losses = self.callbacks.row_loss(output, target, group)
        losses = cross_entropy(output, target) if losses is None else losses
        batch = Batch(torch.arange(ROWS)[None], target, target, group, weight, features, output, losses)
        network = [leaf for name in (NETWORK, HEAD) for leaf in self.parts[name].parameters()]
        own = {name: list(part.parameters()) for name, part in self.parts.items() if name not in (NETWORK, HEAD)}
        (loss,) = self.callbacks.backward(phase, batch, Leaves({NETWORK: network, **own}, lone={NETWORK, DOMAIN}))
        return loss


def batch(classes: int, groups: int, seed: int = 0) -> Given:
    generator = torch.Generator().manual_seed(seed)
    return Given(
        torch.randn(ROWS, 3, 2, 2, generator=generator, dtype=torch.float64),
        torch.randint(0, classes, (ROWS,), generator=generator),
        torch.randint(0, groups, (ROWS,), generator=generator),
        torch.rand(ROWS, generator=generator, dtype=torch.float64) + 0.5,
    )


def log_softmax(values: Any) -> list[Any]:
    """One row, one entry after another."""
    total = sum(torch.exp(value) for value in values)
    return [value - torch.log(total) for value in values]


def gradient_of(loss: Any, parts: dict[str, Any]) -> dict[str, list[Any]]:
    """The gradient by every parameter of every part; None where there is none."""
    flat = [parameter for part in parts.values() for parameter in part.parameters()]
    found = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    return {name: [next(found) for _ in part.parameters()] for name, part in parts.items()}


def left(parts: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [parameter.grad for parameter in part.parameters()] for name, part in parts.items()}


def mean_by_hand(losses: list[Any], given: Given) -> Any:
    return sum(loss * weight for loss, weight in zip(losses, given.weight, strict=True)) / len(losses)


def heads_by_hand(parts: dict[str, Any], given: Given, reads: str) -> tuple[Any, Any, Any]:
    """The losses of the class and of the group, and the mean over groups of minus the log of what is guessed."""
    features = parts[NETWORK](given.pictures)
    output = parts[HEAD](features)
    guesses = parts[DOMAIN](features if reads == "features" else output)
    own, group, confusion = [], [], []
    for row in range(ROWS):
        own.append(-log_softmax(output[row])[given.target[row]])
        logs = log_softmax(guesses[row])
        group.append(-logs[given.group[row]])
        confusion.append(-sum(logs) / len(logs))
    return tuple(mean_by_hand(losses, given) for losses in (own, group, confusion))


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_confusion_moves_the_network_by_the_loss_of_a_loop_and_then_the_head_alone(
    classes: int, groups: int, strength: float
) -> None:
    lone, given = Lone(UniformConfusion(strength=strength), classes, groups), batch(classes, groups)
    parts = lone.parts
    assert (parts[DOMAIN].in_features, parts[DOMAIN].out_features) == (FEATURES, groups)
    twin = copy.deepcopy(parts)
    own, group, confusion = heads_by_hand(twin, given, "features")

    loss = lone.gradients(NETWORK_LEARNS, given)
    assert not loss.requires_grad
    assert loss.item() == pytest.approx((own + strength * confusion).item(), rel=1e-12)
    expected = gradient_of(own + strength * confusion, twin)
    assert lone.callbacks.moved(NETWORK_LEARNS) == (NETWORK,)
    compare(left(parts), {**expected, DOMAIN: [None, None]})

    clear(parts)
    loss = lone.gradients(NETWORK_RESTS, given)
    assert loss.item() == pytest.approx(group.item(), rel=1e-12)
    assert lone.callbacks.moved(NETWORK_RESTS) == (DOMAIN,)
    nothing = {name: [None] * len(list(parts[name].parameters())) for name in (NETWORK, HEAD)}
    compare(left(parts), {**nothing, DOMAIN: gradient_of(group, twin)[DOMAIN]})


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_projection_moves_every_tensor_by_the_rule_of_a_loop(classes: int, groups: int, strength: float) -> None:
    lone, given = Lone(GradientProjection(strength=strength), classes, groups), batch(classes, groups)
    parts = lone.parts
    assert (parts[DOMAIN].in_features, parts[DOMAIN].out_features) == (classes, groups)
    twin = copy.deepcopy(parts)
    own, group, _ = heads_by_hand(twin, given, "logits")
    by_class, by_group = gradient_of(own, twin), gradient_of(group, twin)

    loss = lone.gradients(NETWORK_LEARNS, given)
    assert loss.item() == pytest.approx(own.item(), rel=1e-12)
    assert lone.callbacks.moved(NETWORK_LEARNS) == (NETWORK, DOMAIN)
    expected = {
        name: [projected_by_hand(c, d, strength) for c, d in zip(by_class[name], by_group[name], strict=True)]
        for name in (NETWORK, HEAD)
    }
    compare(left(parts), {**expected, DOMAIN: by_group[DOMAIN]})

    clear(parts)
    loss = lone.gradients(NETWORK_RESTS, given)
    assert loss.item() == pytest.approx(group.item(), rel=1e-12)
    nothing = {name: [None] * len(list(parts[name].parameters())) for name in (NETWORK, HEAD)}
    compare(left(parts), {**nothing, DOMAIN: by_group[DOMAIN]})


def projected_by_hand(g_c: Any, g_d: Any, strength: float) -> Any:
    """Number by number."""
    pairs = list(zip(g_c.flatten().tolist(), g_d.flatten().tolist(), strict=True))
    length = math.sqrt(sum(d * d for _, d in pairs))
    inner = sum(c * d for c, d in pairs)
    made = []
    for c, d in pairs:
        value = c - strength * d
        if length > 1e-5:
            value -= (inner / length) * (d / length)
        made.append(value)
    return torch.tensor(made, dtype=g_c.dtype).reshape(g_c.shape)


@pytest.mark.parametrize("size", [0.0, 0.9 * SHORTEST, 1.1 * SHORTEST, 1.0])
def test_nothing_is_projected_on_a_gradient_that_is_too_short(size: float) -> None:
    (projection,) = Lone(GradientProjection(strength=0.5), 2, 2).callbacks
    g_c, g_d = torch.tensor([[3.0, -1.0], [0.5, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, -1.0]]) / 2 * size
    expected = projected_by_hand(g_c, g_d, 0.5)
    (found,) = projection.projected(g_c[None], g_d[None]).to(g_c)
    assert torch.allclose(found, expected, rtol=1e-5)
    if size > SHORTEST:
        left_over = (found + 0.5 * g_d) * g_d
        assert left_over.sum().item() == pytest.approx(0.0, abs=1e-5 * size), "what is left has no part along g_d"


@pytest.mark.parametrize("shape", [(), (4,), (3, 2), (2, 3, 2, 2)])
def test_trials_of_a_stack_are_projected_each_by_itself_whatever_the_shape_of_a_parameter(
    shape: tuple[int, ...],
) -> None:
    strengths = (0.5, 0.0, 3.0)
    stack = treatment_cases.context((0, 1, 2), groups=2)
    projection = GradientProjection.during([GradientProjection(strength=strength) for strength in strengths], stack)
    generator = torch.Generator().manual_seed(1)
    g_c, g_d = (torch.randn(3, *shape, generator=generator, dtype=torch.float64) for _ in range(2))
    found = projection.projected(g_c, g_d)
    for trial, strength in enumerate(strengths):
        torch.testing.assert_close(found[trial], projected_by_hand(g_c[trial], g_d[trial], strength))
    assert projection.projected(g_c, None) is g_c, "what has no gradient of the group moves by that of the class"


def compare(found: dict[str, list[Any]], expected: dict[str, list[Any]]) -> None:
    assert set(found) == set(expected)
    for name, gradients in expected.items():
        for one, other in zip(found[name], gradients, strict=True):
            if other is None:
                assert one is None, f"{name} does not move and has a gradient"
            else:
                torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def clear(parts: dict[str, Any]) -> None:
    for part in parts.values():
        part.zero_grad(set_to_none=True)


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_an_adversary_has_the_papers_recipe_and_lets_the_network_learn_in_167_of_500_epochs(kind: Any) -> None:
    assert kind().recipe() == OwnRecipe("adam", 1e-4, 3e-4, 2.5)
    phases = [Lone(kind(), 10, 2).callbacks.phase(epoch) for epoch in range(1, 501)]
    assert phases[:4] == [NETWORK_LEARNS, NETWORK_RESTS, NETWORK_RESTS, NETWORK_LEARNS]
    assert phases.count(NETWORK_LEARNS) == 167
    other = kind(learning_rate=1e-3, weight_decay=0.0, longer=1.0)
    assert other.recipe() == OwnRecipe("adam", 1e-3, 0.0, 1.0)


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_batch_statistics_go_on_while_the_network_rests_and_its_weights_do_not(kind: Any) -> None:
    given = squares.dataset()
    job = Job(torch.arange(96).numpy(), 0, treatments=(kind(),))
    trial = prepare_job(job, given, ImageNetwork.with_defaults({"network": "small", "batch_size": 32, "epochs": 3}))
    settings = Settings(precision="float64")
    run = Run(trial, given, Pictures(given.train.inputs, "cpu"), settings)
    run.begin(2)
    assert run.phase(2) == NETWORK_RESTS
    before = {name: value.clone() for part in (NETWORK, HEAD) for name, value in run.parts[part].state_dict().items()}
    guesses = [value.detach().clone() for value in run.parts[DOMAIN].parameters()]
    run.step(run.phase(2))
    after = {name: value for part in (NETWORK, HEAD) for name, value in run.parts[part].state_dict().items()}
    changed = {name.rpartition(".")[2] for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed == {"running_mean", "running_var", "num_batches_tracked"}
    for value, was in zip(run.parts[DOMAIN].parameters(), guesses, strict=True):
        assert not torch.equal(value, was), "the head that guesses the group learns"


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_a_discriminative_row_loses_by_its_class_in_its_group_among_all(classes: int, groups: int) -> None:
    lone, given = Lone(DomainDiscriminative(), classes, groups), batch(classes, groups)
    assert lone.parts[HEAD].out_features == classes * groups
    output = lone.output(given)
    (found,) = lone.callbacks.row_loss(output[None], given.target[None], given.group[None])
    for row in range(ROWS):
        # The outputs of a group stand side by side: grey adds ten.
        expected = -log_softmax(output[row])[given.group[row] * classes + given.target[row]]
        assert found[row].item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_an_independent_row_loses_by_its_class_among_those_of_its_group(classes: int, groups: int) -> None:
    lone, given = Lone(DomainIndependent(), classes, groups), batch(classes, groups)
    assert lone.parts[HEAD].out_features == classes * groups
    output = lone.output(given)
    (found,) = lone.callbacks.row_loss(output[None], given.target[None], given.group[None])
    for row in range(ROWS):
        start = int(given.group[row]) * classes
        expected = -log_softmax(output[row][start : start + classes])[given.target[row]]
        assert found[row].item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("missing", ["class", "group"])
def test_a_class_or_group_that_a_batch_lacks_leaves_other_rows_as_they_are(missing: str) -> None:
    lone, given = Lone(DomainIndependent(), 3, 4), batch(3, 4)
    if missing == "class":
        given.target[given.target == 1] = 0
    else:
        given.group[given.group == 2] = 3
    loss = lone.gradients("all", given)
    output = lone.output(given)
    rows = [
        -log_softmax(output[row][given.group[row] * 3 : given.group[row] * 3 + 3])[given.target[row]]
        for row in range(ROWS)
    ]
    assert loss.item() == pytest.approx(mean_by_hand(rows, given).item(), rel=1e-12)
    by_group = lone.parts[HEAD].weight.grad.reshape(4, 3, FEATURES).abs().sum(dim=(1, 2))
    assert torch.isfinite(by_group).all()
    if missing == "group":
        assert by_group[2] == 0, "a classifier whose group is not in the batch does not move"
        assert (by_group[[0, 1, 3]] > 0).all()


# A stack of perceptrons, whose trials have strengths of their own.


def stacked_by_hand(stack: Any, trial: int, rows: Any, reads: str) -> tuple[list[Any], list[Any], Any, Any, Any]:
    """The leaves of the network and of the guessing head of one trial, and the means of its three losses."""
    leaves = [parameter[trial].detach().clone().requires_grad_() for parameter in stack.network.parameters]
    guess = [tensor[trial].detach().clone().requires_grad_() for tensor in stack.callbacks.parts[DOMAIN].tensors]
    first, second, first_bias, second_bias = leaves
    hidden = torch.tanh(stack.inputs[rows.rows[trial]] @ first + first_bias)
    output = hidden @ second + second_bias
    guesses = (hidden if reads == "hidden" else output) @ guess[0] + guess[1]
    own, group, confusion = [], [], []
    for row in range(len(output)):
        own.append(-log_softmax(output[row])[rows.target[trial, row]])
        logs = log_softmax(guesses[row])
        group.append(-logs[rows.group[trial, row]])
        confusion.append(-sum(logs) / len(logs))
    return leaves, guess, *(sum(losses) / len(losses) for losses in (own, group, confusion))


@pytest.mark.parametrize("phase", [NETWORK_LEARNS, NETWORK_RESTS])
@pytest.mark.parametrize("kind", ADVERSARIES)
def test_every_trial_of_a_stack_moves_by_its_own_strength_as_a_loop_says(
    kind: Any, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, strengths = planted(96, groups=3), (1.0, 0.3, 4.0)
    jobs = [job for seed, strength in enumerate(strengths) for job in jobs_of(given, [seed], [kind(strength=strength)])]
    stack = stack_of(given, jobs, layers=1)
    for optimiser in stack.optimisers.values():
        monkeypatch.setattr(optimiser, "step", lambda: None)
    rows = stack.arranged(1).batch(slice(0, 32))
    made_smaller = stack.step(rows, phase)
    for trial, strength in enumerate(strengths):
        reads = "hidden" if kind is UniformConfusion else "logits"
        leaves, guess, own, group, confusion = stacked_by_hand(stack, trial, rows, reads)
        g_c = torch.autograd.grad(own, leaves, retain_graph=True)
        g_d = torch.autograd.grad(group, [*leaves, *guess], retain_graph=True, allow_unused=True)
        network: list[Any] = [None] * len(leaves)
        head: list[Any] = list(g_d[len(leaves) :])
        expected = own if phase == NETWORK_LEARNS else group
        if phase == NETWORK_LEARNS and kind is UniformConfusion:
            expected, head = own + strength * confusion, [None, None]
            network = list(torch.autograd.grad(expected, leaves))
        elif phase == NETWORK_LEARNS:
            network = [projected_by_hand(c, d, strength) for c, d in zip(g_c, g_d, strict=False)]
        assert made_smaller[trial].item() == pytest.approx(expected.item(), rel=1e-12)
        found = {
            NETWORK: [
                None if parameter.grad is None else parameter.grad[trial] for parameter in stack.network.parameters
            ],
            DOMAIN: [
                None if tensor.grad is None else tensor.grad[trial] for tensor in stack.callbacks.parts[DOMAIN].tensors
            ],
        }
        compare(found, {NETWORK: network, DOMAIN: head})
