"""A treatment that acts during training does the same in a stack of networks as in a network by itself.

Both take the steps of one tiny problem, from the same parameters and on the same batches, in float64: losses, gradients
of all that moves and what treatments remember are compared after every step. The optimisers of the two differ, so plain
gradient steps are taken in place of theirs.
"""

from __future__ import annotations

import itertools
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import registry
from equipoise.testing import planted_pictures
from equipoise.training import NETWORK, Job, Settings, compatibility_matrix, has_hook

torch = pytest.importorskip("torch")

FLOAT64 = Settings(precision="float64")
ROWS, STEP = 60, 0.05
ACTING = [
    name for name, row in compatibility_matrix().items()
    if row["mlp"] is None and row["image_network"] is None
    and registry.get("treatment", name).module.startswith("equipoise.")
    and (has_hook(registry.get("treatment", name).implementation, "during") or name == "untreated")
]  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "gradient_reversal": {"layer": "network.block3", "warm_up": 0.5, "strength": 0.5},
    "group_dro": {"step": 0.5, "adjustment": 1.0},
    "fairalm": {"strength": 2.0},
    "adversarial": {"conditional_on_class": True, "width": 16},
    "diverse_adversarial": {"width": 16},
}


class Whole(torch.nn.Module):
    """Network and head of a run as one module, which shows its hidden layer."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.network, self.head = deepcopy(run.parts[NETWORK]), deepcopy(run.parts["head"])

    def forward(self, pictures: Any) -> Any:
        features = self.network(pictures)
        return self.head(features), features


def alone_and_stacked(name: str) -> tuple[Any, Any]:
    """A run and a stack of one, which begin with the same parameters."""
    from equipoise.networks import StackedModule
    from equipoise.training import Stack, prepare_job
    from equipoise.training._stack import Recipe
    from equipoise.training.images import Pictures, Run
    from equipoise.training.learners.image_network import ImageNetwork

    dataset = planted_pictures(3, 2, rows=ROWS).dataset
    kind: Any = registry.get("treatment", name).implementation
    values = {"network": "small", "batch_size": 20, "epochs": 2, "augmentation": False, "schedule": "constant"}
    own = SETTINGS.get(name, {})
    # The layer of the run's network is one of the network inside the module.
    inner = {**own, "layer": "block3"} if "layer" in own else own
    trials = [
        prepare_job(Job(np.arange(ROWS), 3, treatments=(kind(**given),)), dataset, ImageNetwork.with_defaults(values))
        for given in (inner, own)
    ]
    run = Run(trials[0], dataset, Pictures(dataset.train.inputs, "cpu"), FLOAT64)
    everything = torch.arange(ROWS)
    inputs = run.scaled_inputs(run.pictures.crops(everything, run.crop.of(everything))).detach()
    network = StackedModule([Whole(run)], dtype=torch.float64, device="cpu")
    stack = Stack(
        network, trials[1:], dataset, Recipe(run.recipe.epochs, 20, None, (0.01,), (0.0,)), FLOAT64, inputs=inputs
    )
    assert set(stack.callbacks.parts) == set(run.callbacks.parts)
    for name_of_part in stack.callbacks.parts:
        for one, same in part_leaves(run, stack, name_of_part):
            same.data.copy_(as_stacked(one.data, same))
    return run, stack


def part_leaves(run: Any, stack: Any, name: str) -> list[tuple[Any, Any]]:
    """The leaves of a part of the treatment, in the run and in the stack."""
    alone = run.parts[run._names[name]].parameters()
    return list(zip(alone, stack.callbacks.parts[name].layer.parameters, strict=True))


def network_leaves(run: Any, stack: Any) -> list[tuple[Any, Any]]:
    alone = [*run.parts[NETWORK].parameters(), *run.parts["head"].parameters()]
    return list(zip(alone, stack.network.parameters, strict=True))


def as_stacked(tensor: Any, like: Any) -> Any:
    """A tensor of a linear layer as a stack has it, ``[trial, input, output]`` and ``[trial, 1, output]``."""
    if tensor.ndim == like.ndim:
        return tensor
    return tensor.mT[None] if tensor.ndim == 2 else tensor[None, None]


def stacked_batch(stack: Any, places: Any) -> Any:
    from equipoise.training._stack import Arranged

    rows = places[None]
    codes = (one.gather(1, rows) for one in (stack.target, stack.cell, stack.group))
    return Arranged(places.shape[0], rows, stack.rows.gather(1, rows), *codes, None)


def stacked_step(stack: Any, places: Any, phase: str, number: int, repeat: int) -> Any:
    """Leave the gradients of a step of the stack in its leaves; return the loss. Its optimisers do not move."""

    class Nothing:
        def step(self, *_: Any) -> None:
            pass

    kept = dict(stack.optimisers)
    leaves = stack._leaves
    frozen = leaves()
    stack._leaves = lambda: frozen
    stack.optimisers = {name: Nothing() for name in kept}
    try:
        rows = stacked_batch(stack, places)
        return stack._step(rows, stack.gathered(stack.inputs, rows.rows), phase, number, repeat)
    finally:
        stack.optimisers, stack._leaves = kept, leaves


@pytest.mark.parametrize("name", ACTING)
def test_losses_gradients_and_what_is_remembered_are_the_same(name: str) -> None:
    run, stack = alone_and_stacked(name)
    stack.network.training(True)
    parts = {part: part_leaves(run, stack, part) for part in stack.callbacks.parts}
    leaves = [leaf for pairs in (network_leaves(run, stack), *parts.values()) for pair in pairs for leaf in pair]
    for epoch in (1, 2):
        run.begin(epoch)
        stack.callbacks.begin(epoch)
        given = stack._given(epoch)
        stack.network.training(True)
        if given is not None:
            assert given[0].tolist() == run.positions.tolist(), "batches are made of the same rows"
        phase = run.phase(epoch)
        assert phase == stack.callbacks.phase(epoch)
        moved = stack.callbacks.moved(phase)
        for number, repeat in itertools.product(range(2), range(run.callbacks.repeats)):
            where = f"{name}, epoch {epoch}, step {number}, repeat {repeat}"
            for leaf in leaves:
                leaf.grad = None
            alone = run._gradients(phase, run.positions[number], repeat)
            together = stacked_step(stack, run.positions[number], phase, number, repeat)
            assert together.item() == pytest.approx(alone.item(), rel=1e-9), where
            pairs = [(one, other, one.grad[None], other.grad)
                     for one, other in (network_leaves(run, stack) if NETWORK in moved else [])]  # fmt: skip
            pairs += [(one, other, as_stacked(one.grad, other), other.grad)
                      for part in parts if part in moved for one, other in parts[part]]  # fmt: skip
            assert pairs
            with torch.no_grad():
                for one, other, mine, theirs in pairs:
                    assert torch.allclose(mine, theirs, rtol=1e-8, atol=1e-10), where
                    one -= STEP * one.grad
                    other -= STEP * other.grad
            remembered = stack.callbacks.state()
            for key, value in run.callbacks.state().items():
                assert torch.allclose(value, remembered[key], rtol=1e-7, atol=1e-9), f"{where}: {key}"
