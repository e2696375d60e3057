"""Stacked perceptrons against torch's own layers."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.networks import StackedMLP, stacked_mlp

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(5, 3), (5, 8, 3), (5, 8, 8, 1)])
def test_a_stack_says_what_its_networks_say_one_by_one(activation: str, sizes: tuple[int, ...]) -> None:
    network = stacked_mlp(sizes, [0, 1, 2], activation=activation, dtype=torch.float64)
    inputs = torch.randn(3, 11, 5, dtype=torch.float64)
    output, hidden = network(inputs)
    for trial in range(3):
        values = inputs[trial]
        for index, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            before = values
            values = values @ weight[trial] + bias[trial]
            if index < len(sizes) - 2:
                values = getattr(torch, activation)(values)
        assert torch.allclose(output[trial], values, rtol=0, atol=1e-12)
        assert torch.allclose(hidden[trial], before, rtol=0, atol=1e-12)


def test_a_network_begins_by_its_seed_and_part_alone() -> None:
    wide = stacked_mlp((5, 8, 3), [4, 7], dtype=torch.float64)
    alone = stacked_mlp((5, 8, 3), [7])
    for stacked, parameter in zip(wide.parameters, alone.parameters, strict=True):
        assert torch.equal(stacked[1].float(), parameter[0])
        assert not torch.equal(stacked[0], stacked[1])
        assert parameter.is_leaf
        assert parameter.requires_grad
        assert parameter.abs().max() <= stacked.shape[1] ** -0.5 or parameter.shape[1] == 1
    other = stacked_mlp((5, 8, 3), [7], part="discriminator")
    assert not torch.equal(other.weights[0], alone.weights[0])


def chained(network: StackedMLP, inputs: Any) -> tuple[Any, Any]:
    """The same network as a chain of torch's own operations, which autograd follows."""
    hidden = inputs
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        hidden = getattr(torch, network.activation)(hidden @ weight + bias)
    return hidden @ network.weights[-1] + network.biases[-1], hidden


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("learns", [True, False])
def test_gradients_are_those_of_autograd(activation: str, learns: bool) -> None:
    torch.manual_seed(0)
    network = stacked_mlp((5, 8, 6, 3), [0, 1], activation=activation, dtype=torch.float64)
    if not learns:  # as a discriminator that only passes on what the network would learn from it
        network.set_parameters([parameter.detach() for parameter in network.parameters])
    inputs = torch.randn(2, 11, 5, dtype=torch.float64, requires_grad=not learns)
    leaves = network.parameters if learns else [inputs]
    directions = torch.randn(2, 11, 3, dtype=torch.float64), torch.randn(2, 11, 6, dtype=torch.float64)
    for used in ((1, 0), (0, 1), (1, 1)):  # by the output, by the hidden layer, by both
        found = []
        for call in (network, lambda rows: chained(network, rows)):
            said = call(inputs)
            total = sum(use * (one * way).sum() for use, one, way in zip(used, said, directions, strict=True) if use)
            found.append(torch.autograd.grad(total, leaves, allow_unused=True))
        for ours, theirs in zip(*found, strict=True):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_tanh_is_as_exact_as_float32_allows() -> None:
    network = stacked_mlp((1, 1, 1), [0])
    network.set_values([torch.ones(1, 1, 1), torch.ones(1, 1, 1), torch.zeros(1, 1, 1), torch.zeros(1, 1, 1)])
    rows = torch.cat([torch.linspace(-100, 100, 20_001), torch.logspace(-8, 0, 100)])[None, :, None]
    assert (network(rows)[0].double() - rows.double().tanh()).abs().max() <= 2.5e-7
