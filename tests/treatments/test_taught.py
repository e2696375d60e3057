"""How one network is taught by the treatments of paper 004, against slow loops in float64."""

from __future__ import annotations

import copy
import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from equipoise.training.images.teaching import HEAD, NETWORK, NetworkContext, OwnRecipe, PictureBatch, Teaching
from equipoise.treatments.domain_discriminative import DomainDiscriminative
from equipoise.treatments.domain_heads import DOMAIN, NETWORK_LEARNS, NETWORK_RESTS
from equipoise.treatments.domain_independent import DomainIndependent
from equipoise.treatments.gradient_projection import SHORTEST, GradientProjection
from equipoise.treatments.uniform_confusion import UniformConfusion
from treatment_cases import names

torch = pytest.importorskip("torch")

ADVERSARIES = [UniformConfusion, GradientProjection]
SHAPES = [(2, 2), (10, 2), (3, 4)]
FEATURES, ROWS = 5, 12


def context(classes: int, groups: int) -> NetworkContext:
    counts = np.ones((classes, groups), dtype=np.int64)
    return NetworkContext(FEATURES, names("class ", classes), names("group ", groups), counts, nullcontext)


def parts_of(teaching: Teaching, seed: int = 0) -> dict[str, Any]:
    torch.manual_seed(seed)
    network = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(12, FEATURES), torch.nn.BatchNorm1d(FEATURES), torch.nn.Tanh()
    )
    return {name: part.double().train() for name, part in {NETWORK: network, **teaching.parts()}.items()}


def batch(classes: int, groups: int, seed: int = 0) -> PictureBatch:
    generator = torch.Generator().manual_seed(seed)
    return PictureBatch(
        torch.randn(ROWS, 3, 2, 2, generator=generator, dtype=torch.float64),
        torch.randint(0, classes, (ROWS,), generator=generator),
        torch.randint(0, groups, (ROWS,), generator=generator),
        torch.rand(ROWS, generator=generator, dtype=torch.float64) + 0.5,
    )


def log_softmax(values: Any) -> list[Any]:
    """One row, one entry after another."""
    total = sum(torch.exp(one) for one in values)
    return [one - torch.log(total) for one in values]


def gradient_of(loss: Any, parts: dict[str, Any]) -> dict[str, list[Any]]:
    """The gradient by every parameter of every part; None where there is none."""
    flat = [one for part in parts.values() for one in part.parameters()]
    found = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    return {name: [next(found) for _ in part.parameters()] for name, part in parts.items()}


def left(parts: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [one.grad for one in part.parameters()] for name, part in parts.items()}


def mean_by_hand(losses: list[Any], given: PictureBatch) -> Any:
    return sum(loss * weight for loss, weight in zip(losses, given.weight, strict=True)) / len(losses)


def heads_by_hand(parts: dict[str, Any], given: PictureBatch, reads: str) -> tuple[Any, Any, Any]:
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
    teaching = UniformConfusion(strength=strength).taught(context(classes, groups))
    parts, given = parts_of(teaching), batch(classes, groups)
    assert (parts[DOMAIN].in_features, parts[DOMAIN].out_features) == (FEATURES, groups)
    twin = copy.deepcopy(parts)
    own, group, confusion = heads_by_hand(twin, given, "features")

    loss = teaching.gradients(NETWORK_LEARNS, parts, given)
    assert not loss.requires_grad
    assert loss.item() == pytest.approx((own + strength * confusion).item(), rel=1e-12)
    expected = gradient_of(own + strength * confusion, twin)
    assert teaching.moved(NETWORK_LEARNS) == (NETWORK, HEAD)
    compare(left(parts), {**expected, DOMAIN: [None, None]})

    clear(parts)
    loss = teaching.gradients(NETWORK_RESTS, parts, given)
    assert loss.item() == pytest.approx(group.item(), rel=1e-12)
    assert teaching.moved(NETWORK_RESTS) == (DOMAIN,)
    nothing = {name: [None] * len(list(parts[name].parameters())) for name in (NETWORK, HEAD)}
    compare(left(parts), {**nothing, DOMAIN: gradient_of(group, twin)[DOMAIN]})


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_projection_moves_every_tensor_by_the_rule_of_a_loop(classes: int, groups: int, strength: float) -> None:
    teaching = GradientProjection(strength=strength).taught(context(classes, groups))
    parts, given = parts_of(teaching), batch(classes, groups)
    assert (parts[DOMAIN].in_features, parts[DOMAIN].out_features) == (classes, groups)
    twin = copy.deepcopy(parts)
    own, group, _ = heads_by_hand(twin, given, "logits")
    by_class, by_group = gradient_of(own, twin), gradient_of(group, twin)

    loss = teaching.gradients(NETWORK_LEARNS, parts, given)
    assert loss.item() == pytest.approx(own.item(), rel=1e-12)
    assert teaching.moved(NETWORK_LEARNS) == (NETWORK, HEAD, DOMAIN)
    expected = {
        name: [projected_by_hand(c, d, strength) for c, d in zip(by_class[name], by_group[name], strict=True)]
        for name in (NETWORK, HEAD)
    }
    compare(left(parts), {**expected, DOMAIN: by_group[DOMAIN]})

    clear(parts)
    loss = teaching.gradients(NETWORK_RESTS, parts, given)
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
    teaching = GradientProjection(strength=0.5).taught(context(2, 2))
    g_c, g_d = torch.tensor([[3.0, -1.0], [0.5, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, -1.0]]) / 2 * size
    expected = projected_by_hand(g_c, g_d, 0.5)
    assert torch.allclose(teaching.projected(g_c, g_d), expected, rtol=1e-5)
    if size > SHORTEST:
        left_over = (teaching.projected(g_c, g_d) + 0.5 * g_d) * g_d
        assert left_over.sum().item() == pytest.approx(0.0, abs=1e-5 * size), "what is left has no part along g_d"


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
    teaching = kind().taught(context(10, 2))
    assert teaching.recipe == OwnRecipe("adam", 1e-4, 3e-4, 2.5)
    phases = [teaching.phase(epoch) for epoch in range(1, 501)]
    assert phases[:4] == [NETWORK_LEARNS, NETWORK_RESTS, NETWORK_RESTS, NETWORK_LEARNS]
    assert phases.count(NETWORK_LEARNS) == 167
    other = kind(learning_rate=1e-3, weight_decay=0.0, longer=1.0).taught(context(10, 2))
    assert other.recipe == OwnRecipe("adam", 1e-3, 0.0, 1.0)


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_batch_statistics_go_on_while_the_network_rests_and_its_weights_do_not(kind: Any) -> None:
    teaching = kind().taught(context(3, 2))
    parts, given = parts_of(teaching), batch(3, 2)
    before = {name: value.clone() for name, value in parts[NETWORK].state_dict().items()}
    teaching.gradients(NETWORK_RESTS, parts, given)
    changed = {name for name, value in parts[NETWORK].state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"2.running_mean", "2.running_var", "2.num_batches_tracked"}


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_a_discriminative_row_loses_by_its_class_in_its_group_among_all(classes: int, groups: int) -> None:
    teaching = DomainDiscriminative().taught(context(classes, groups))
    parts, given = parts_of(teaching), batch(classes, groups)
    assert teaching.outputs == parts[HEAD].out_features == classes * groups
    _, output = teaching.said(parts, given.pictures)
    found = teaching.row_loss(output, given.target, given.group)
    for row in range(ROWS):
        # The outputs of a group stand side by side: grey adds ten.
        expected = -log_softmax(output[row])[given.group[row] * classes + given.target[row]]
        assert found[row].item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_an_independent_row_loses_by_its_class_among_those_of_its_group(classes: int, groups: int) -> None:
    teaching = DomainIndependent().taught(context(classes, groups))
    parts, given = parts_of(teaching), batch(classes, groups)
    assert teaching.outputs == classes * groups
    _, output = teaching.said(parts, given.pictures)
    found = teaching.row_loss(output, given.target, given.group)
    for row in range(ROWS):
        start = int(given.group[row]) * classes
        expected = -log_softmax(output[row][start : start + classes])[given.target[row]]
        assert found[row].item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("missing", ["class", "group"])
def test_a_class_or_group_that_a_batch_lacks_leaves_other_rows_as_they_are(missing: str) -> None:
    teaching = DomainIndependent().taught(context(3, 4))
    parts, given = parts_of(teaching), batch(3, 4)
    if missing == "class":
        given.target[given.target == 1] = 0
    else:
        given.group[given.group == 2] = 3
    loss = teaching.gradients("all", parts, given)
    _, output = teaching.said(parts, given.pictures)
    rows = [
        -log_softmax(output[row][given.group[row] * 3 : given.group[row] * 3 + 3])[given.target[row]]
        for row in range(ROWS)
    ]
    assert loss.item() == pytest.approx(mean_by_hand(rows, given).item(), rel=1e-12)
    by_group = parts[HEAD].weight.grad.reshape(4, 3, FEATURES).abs().sum(dim=(1, 2))
    assert torch.isfinite(by_group).all()
    if missing == "group":
        assert by_group[2] == 0, "a classifier whose group is not in the batch does not move"
        assert (by_group[[0, 1, 3]] > 0).all()
