"""Gradient reversal and the network of adversarial separation."""

from __future__ import annotations

import pytest

from equipoise.networks import gradient_reversal, separation

torch = pytest.importorskip("torch")


def test_values_stay_and_the_gradient_turns_round() -> None:
    values = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    turned = gradient_reversal()(values)
    assert torch.equal(turned, values)
    (slope,) = torch.autograd.grad((turned * torch.arange(3.0, dtype=torch.float64)).sum(), values)
    assert slope.tolist() == [[0.0, -1.0, -2.0]] * 2


def test_the_network_is_the_one_of_the_base_code() -> None:
    made = separation(128, [0, 1], dtype=torch.float64)
    assert sorted(tuple(parameter.shape) for parameter in made.parameters) == [
        (2, 1, 128), (2, 1, 512), (2, 128, 512), (2, 512, 128),
    ]  # fmt: skip
    target, source = (torch.randn(2, 5, 128, dtype=torch.float64) for _ in range(2))
    first, second, first_bias, second_bias = made.parameters
    for trial in range(2):
        xi = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.ReLU(), torch.nn.Linear(512, 128)).double()
        xi[0].weight.data, xi[0].bias.data = first[trial].detach().T, first_bias[trial, 0].detach()
        xi[2].weight.data, xi[2].bias.data = second[trial].detach().T, second_bias[trial, 0].detach()
        aimed, read = (torch.nn.functional.normalize(one[trial], dim=-1) for one in (target, source))
        expected = (aimed * torch.nn.functional.normalize(xi(read), dim=-1)).square().sum(-1)
        assert torch.allclose(made(target, source)[trial], expected, atol=1e-12)


def test_one_step_raises_the_correlation_for_the_network_and_lowers_it_for_the_embeddings() -> None:
    made = separation(8, [0], dtype=torch.float64)
    target, source = (torch.randn(1, 20, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    before = made(target, source).mean()
    slopes = torch.autograd.grad(-before, [target, source, *made.parameters])
    with torch.no_grad():
        moved = made(target - 0.1 * slopes[0], source).mean(), made(target, source - 0.1 * slopes[1]).mean()
        for one, slope in zip(made.parameters, slopes[2:], strict=True):
            one -= 0.01 * slope
        assert made(target, source).mean() > before > max(moved)
