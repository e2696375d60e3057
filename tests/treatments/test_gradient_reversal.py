"""Gradient reversal at a block against torch's own layers: gradients, warm-up, layers by name, trials alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.testing import planted_pictures
from equipoise.training import NETWORK, Job, Settings, train
from equipoise.treatments import GradientReversal
from equipoise.treatments.gradient_reversal import PLAIN, REVERSED
from helpers.cases.training import Learns, planted, stack_of
from helpers.cases.treatment import batch, context, one_of

torch = pytest.importorskip("torch")

FLOAT64 = Settings(precision="float64")
SHAPES = [(2, 2), (3, 4)]


def as_modules(part: Any, trial: int) -> Any:
    """The adversary of a trial, of torch's own layers."""
    layers: list[Any] = []
    for linear, norm in zip(part.hidden, part.norms, strict=True):
        layers += [own_linear(linear, trial), own_norm(norm, trial), torch.nn.LeakyReLU()]
    return torch.nn.Sequential(*layers, own_linear(part.output, trial)).double().train()


def own_linear(linear: Any, trial: int) -> Any:
    weight, bias = (tensor[trial].detach() for tensor in linear.tensors)
    made = torch.nn.Linear(*weight.shape)
    made.weight.data, made.bias.data = weight.T.clone(), bias[0].clone()
    return made


def own_norm(norm: Any, trial: int) -> Any:
    scale, shift = (tensor[trial, 0].detach().clone() for tensor in norm.tensors)
    made = torch.nn.BatchNorm1d(len(scale))
    made.weight.data, made.bias.data = scale, shift
    return made


def adversary(trials: list[GradientReversal], stack: Any, epochs: int = 10) -> Any:
    return GradientReversal.during(trials, replace(stack, epochs=epochs))


def leaves_of(part: Any) -> list[Any]:
    blocks = zip(part.hidden, part.norms, strict=True)
    return [leaf for linear, norm in blocks for one in (linear, norm) for leaf in one.tensors] + [*part.output.tensors]


@pytest.mark.parametrize("phase", [PLAIN, REVERSED])
@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_losses_and_gradients_are_those_of_torchs_own_layers_and_the_network_gets_minus_lambda_times_its_share(
    classes: int, groups: int, phase: str
) -> None:
    stack = context((1, 2, 3), classes=classes, groups=groups)
    strengths = [1.0, 0.3, 2.0]
    part = adversary([GradientReversal(strength=strength, width=8) for strength in strengths], stack)
    with torch.no_grad():
        for norm in part.norms:
            for leaf in norm.tensors:
                leaf += 0.2 * torch.rand(leaf.shape, dtype=leaf.dtype)
    given = batch(stack)
    given = replace(given, weight=0.5 + torch.rand(given.loss.shape, dtype=torch.float64))
    found = part.objective(phase, given, given.mean(given.loss))
    slopes = torch.autograd.grad(found.sum(), [given.hidden, *leaves_of(part)], allow_unused=True)
    for index, strength in enumerate(strengths):
        alone, slow = one_of(given, index), as_modules(part, index)
        errors = torch.nn.functional.cross_entropy(slow(alone.hidden[0]), alone.group[0], reduction="none")
        guessed = (errors * alone.weight[0]).mean()
        own = (alone.loss[0] * alone.weight[0]).mean()
        assert found[index].item() == pytest.approx((own + guessed).item(), rel=1e-10)
        to_hidden, *to_parts = torch.autograd.grad(guessed, [alone.hidden, *slow.parameters()])
        if phase == PLAIN:
            assert slopes[0] is None, "before the reversal begins, the network feels nothing of the adversary"
        else:
            assert torch.allclose(slopes[0][index], -strength * to_hidden[0], rtol=1e-8, atol=1e-12)
        for mine, other in zip(slopes[1:], to_parts, strict=True):
            # A stack keeps weights [input, output] and biases [1, output].
            expected = other.mT if other.ndim == 2 else other[None]
            assert torch.allclose(mine[index], expected, rtol=1e-8, atol=1e-12)


def test_the_adversary_has_three_hidden_layers_of_300_which_learn_as_the_network_does() -> None:
    part = adversary([GradientReversal()], context((1,), groups=4))
    assert [tuple(linear.tensors[0].shape[1:]) for linear in part.hidden] == [(5, 300), (300, 300), (300, 300)]
    assert tuple(part.output.tensors[0].shape[1:]) == (300, 4)
    assert [one.rate for one in part.parts().values()] == [None] * 7


def test_the_reversal_begins_after_the_first_share_of_the_epochs_and_only_then_an_epoch_may_be_chosen() -> None:
    for share, epochs, plain in ((0.5, 10, 5), (0.0, 10, 0), (0.5, 1, 0), (0.25, 10, 2), (0.95, 10, 9)):
        part = adversary([GradientReversal(warm_up=share)], context((1,)), epochs)
        phases = [part.phase(epoch) for epoch in range(1, epochs + 1)]
        assert phases == [PLAIN] * plain + [REVERSED] * (epochs - plain)
        assert [part.eligible(epoch) for epoch in range(1, epochs + 1)] == [phase == REVERSED for phase in phases]


@pytest.mark.parametrize("learner", ["mlp", "image_network", "metric_learner"])
def test_no_learner_chooses_an_epoch_of_the_warm_up_nor_runs_out_of_patience_in_it(learner: str) -> None:
    settings: dict[str, Any] = {
        "mlp": {"width": 8, "epochs": 10, "patience": 2},
        "image_network": {"network": "small", "batch_size": 50, "epochs": 4, "augmentation": False},
        "metric_learner": {"embedding_size": 4, "batch_size": 16, "epochs": 4},
    }[learner]
    dataset = planted_pictures(rows=100).dataset if learner == "image_network" else planted(100)
    job = Job(np.arange(100), 1, treatments=(GradientReversal(width=300, strength=0.1),))
    (ended,) = train(dataset, Learns(learner, settings), [job], Settings())
    assert ended.failure is None, ended.failure
    assert ended.best_epoch > settings["epochs"] // 2
    assert len(ended.history) > settings["epochs"] // 2


def test_a_stack_trains_as_a_plain_loop_does() -> None:
    dataset = planted(120)
    jobs = [Job(np.arange(120), seed, treatments=(GradientReversal(warm_up=0.5),)) for seed in (1, 2)]
    stack = stack_of(dataset, jobs, learning_rate=0.01, epochs=2)
    (part,) = stack.callbacks
    slow = []
    for place in (0, 1):
        leaves = [value[place].clone().requires_grad_() for value in stack.network.values]
        rival = as_modules(part, place)
        slow.append((leaves, rival, torch.optim.Adam([*leaves, *rival.parameters()], lr=0.01)))
    for epoch in (1, 2):
        arranged = stack.arranged(epoch)
        found = stack.follow(arranged, phase=stack.callbacks.phase(epoch))
        for index, (leaves, rival, descent) in enumerate(slow):
            for step, begin in enumerate(range(0, 120, arranged.size)):
                cut = slice(begin, begin + arranged.size)
                inputs = stack.inputs[arranged.rows[index, cut]]
                first, second, last, *biases = leaves
                hidden = torch.tanh(torch.tanh(inputs @ first + biases[0][0]) @ second + biases[1][0])
                output = hidden @ last + biases[2][0]
                own = torch.nn.functional.cross_entropy(output, arranged.target[index, cut])
                group = arranged.group[index, cut]
                guessed = torch.nn.functional.cross_entropy(rival(hidden), group)
                of_network = torch.autograd.grad(own - (epoch > 1) * guessed, leaves, retain_graph=True)
                of_rival = torch.autograd.grad(guessed, list(rival.parameters()))
                for leaf, slope in zip((*leaves, *rival.parameters()), (*of_network, *of_rival), strict=True):
                    leaf.grad = slope
                descent.step()
                assert found[step, index].item() == pytest.approx((own + guessed).item(), rel=1e-6)
            for leaf, now in zip(leaves, stack.network.values, strict=True):
                assert torch.allclose(leaf, now[index], rtol=1e-5, atol=1e-7)


def picture_run(treatment: GradientReversal, rows: int = 40) -> Any:
    from equipoise.training import prepare_job
    from equipoise.training.images import Pictures, Run
    from equipoise.training.learners.image_network import ImageNetwork

    dataset = planted_pictures(rows=rows).dataset
    quick = {"network": "small", "batch_size": 20, "epochs": 2, "learning_rate": 0.02, "schedule": "constant",
             "augmentation": False}  # fmt: skip
    trial = prepare_job(
        Job(np.arange(rows), 3, treatments=(treatment,)), dataset, ImageNetwork.with_defaults(quick, "class")
    )
    return Run(trial, dataset, Pictures(dataset.train.inputs, "cpu"), FLOAT64)


@pytest.mark.parametrize("layer", ["last", "block3", "block4.conv"])
def test_maps_of_a_block_are_read_number_by_number_and_only_what_stands_under_it_is_changed(layer: str) -> None:
    run, plain = picture_run(GradientReversal(layer=layer, warm_up=0.0, width=300)), picture_run(GradientReversal())
    (part,) = run.callbacks
    run.begin(1)
    plain.begin(1)
    places = run.positions[0]
    seen = run._batch(REVERSED, places, 0)
    read = seen.layer(layer)
    assert part.hidden[0].tensors[0].shape[-1] == read.flatten(2).shape[-1], "torch keeps [output, input]"
    if layer != "last":
        assert read.ndim == 5
    run._gradients(REVERSED, places, 0)
    plain._gradients(PLAIN, places, 0)
    names = [name for name, _ in run.parts[NETWORK].named_parameters()]
    changed = {
        name.split(".")[0]
        for name, parameter, other in zip(
            names, run.parts[NETWORK].parameters(), plain.parts[NETWORK].parameters(), strict=True
        )
        if not torch.allclose(parameter.grad, other.grad, rtol=1e-9, atol=1e-12)
    }
    under = {"last": {"block1", "block2", "block3", "block4"}, "block3": {"block1", "block2", "block3"},
             "block4.conv": {"block1", "block2", "block3", "block4"}}  # fmt: skip
    assert changed == under[layer]


def test_a_layer_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadInput, match="block3"):
        picture_run(GradientReversal(layer="blok3"))
    dataset = planted(60)
    with pytest.raises(BadInput, match="last hidden layer"):
        stack_of(dataset, [Job(np.arange(60), 1, treatments=(GradientReversal(layer="conv4"),))])
    for layer in (4, ""):
        with pytest.raises(BadInput, match="layer is"):
            GradientReversal(layer=layer)


def a_module(features: int, classes: int) -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(features, 6),
        torch.nn.Tanh(),
        torch.nn.Linear(6, 5),
        torch.nn.Tanh(),
        torch.nn.Linear(5, classes),
    )


@pytest.mark.parametrize("task", ["class", "regression"])
@pytest.mark.parametrize("layer", ["last", "1"])
def test_a_module_of_ones_own_is_read_at_a_layer_by_its_name_and_trials_beside_it_change_nothing(
    layer: str, task: str
) -> None:
    dataset = planted(100, task=task)
    learner = Learns("module", {"factory": a_module, "epochs": 4, "batch_size": 50})
    treatment = GradientReversal(layer=layer, warm_up=0.25)
    jobs = [Job(np.arange(100), seed, treatments=(treatment,)) for seed in (1, 2, 3)]
    together = train(dataset, learner, jobs, FLOAT64)
    for job, ended in zip(jobs, together, strict=True):
        (alone,) = train(dataset, learner, [job], FLOAT64)
        assert ended.failure is None, ended.failure
        assert [one.loss for one in ended.history] == pytest.approx([one.loss for one in alone.history], rel=1e-6)


def test_trials_that_stopped_are_let_go() -> None:
    stack = context((1, 2, 3))
    part = adversary([GradientReversal(strength=strength) for strength in (0.1, 0.5, 2.0)], stack)
    part.select_trials(torch.tensor([2, 0]))
    assert part.strengths.flatten().tolist() == [2.0, 0.1]
    with pytest.raises(BadInput, match="layer = block4, last"):
        adversary([GradientReversal(), GradientReversal(layer="block4")], context((1, 2)))


def test_the_group_is_told_less_well_from_what_is_left() -> None:
    from sklearn.linear_model import LogisticRegression

    dataset = planted(8000)
    told = {}
    for strength in (0.0, 1.0):
        treatment = GradientReversal(strength=strength, warm_up=0.0, width=64)
        jobs = [Job(np.arange(8000), seed, treatments=(treatment,)) for seed in (1, 2)]
        stack = stack_of(dataset, jobs, batch_size=200, layers=1, width=16, learning_rate=0.01)
        for epoch in range(1, 13):
            stack.follow(stack.arranged(epoch), phase=REVERSED)
        with torch.no_grad():
            _, hidden = stack.network(stack.inputs[stack.rows])
        found = zip(hidden.numpy(), stack.group.numpy(), strict=True)
        told[strength] = [LogisticRegression(max_iter=1000).fit(*one).score(*one) for one in found]
    # Chance is 0.5; without the reversal 0.84 of the groups are told.
    assert max(told[1.0]) < min(told[0.0]) - 0.05, told
