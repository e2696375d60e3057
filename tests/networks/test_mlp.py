"""Stacked perceptrons against torch's own layers."""

from __future__ import annotations

import pytest

from equipoise.networks.mlp import stacked_mlp

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(5, 3), (5, 8, 3), (5, 8, 8, 1)])
def test_a_stack_says_what_its_networks_say_one_by_one(activation: str, sizes: tuple[int, ...]) -> None:
    network = stacked_mlp(sizes, [0, 1, 2], activation=activation, dtype=torch.float64)
    inputs = torch.randn(3, 11, 5, dtype=torch.float64)
    output, hidden = network(inputs)
    for trial in range(3):
        values = inputs[trial]
        for place, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            before = values
            values = values @ weight[trial] + bias[trial]
            if place < len(sizes) - 2:
                values = getattr(torch, activation)(values)
        assert torch.allclose(output[trial], values, rtol=0, atol=1e-12)
        assert torch.allclose(hidden[trial], before, rtol=0, atol=1e-12)


def test_a_network_begins_by_its_seed_and_part_alone() -> None:
    wide = stacked_mlp((5, 8, 3), [4, 7], dtype=torch.float64)
    alone = stacked_mlp((5, 8, 3), [7])
    for stacked, own in zip(wide.parameters, alone.parameters, strict=True):
        assert torch.equal(stacked[1].float(), own[0])
        assert not torch.equal(stacked[0], stacked[1])
        assert own.is_leaf
        assert own.requires_grad
        assert own.abs().max() <= stacked.shape[1] ** -0.5 or own.shape[1] == 1
    other = stacked_mlp((5, 8, 3), [7], part="discriminator")
    assert not torch.equal(other.weights[0], alone.weights[0])
