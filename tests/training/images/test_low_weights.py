"""Weights cast all at once: what a layer reads, where gradients arrive, and the same numbers as by autocast."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from equipoise.networks import resnet18  # noqa: E402
from equipoise.training.images._optimisation import low_weights  # noqa: E402

on_each = pytest.mark.parametrize(
    "device",
    ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card"))],
)


def network_on(device: str) -> Any:
    torch.manual_seed(3)
    network: Any = resnet18(10)
    return network.to(device, memory_format=torch.channels_last).eval()


def learnt(network: Any, cast: Any, times: int = 1) -> tuple[Any, list[Any]]:
    device = next(network.parameters()).device
    pictures = torch.linspace(-1, 1, 8 * 3 * 16 * 16, device=device).sin().view(8, 3, 16, 16)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    network.zero_grad()
    with cast:
        for _ in range(times):
            with torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False):
                said = network(pictures).float()
            torch.nn.functional.cross_entropy(said, torch.arange(8, device=device)).backward()
    return said.detach(), [parameter.grad.clone() for parameter in network.parameters()]


@on_each
def test_outputs_and_gradients_are_autocasts_to_the_last_bit(device: str) -> None:
    network = network_on(device)
    plain, wanted = learnt(network, contextlib.nullcontext())
    said, found = learnt(network, low_weights([network]))
    assert torch.equal(said, plain)
    assert all(one.dtype == torch.float32 for one in found)
    if device == "cpu":
        assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    else:
        # A card adds up in an order of its own.
        for one, other in zip(found, wanted, strict=True):
            assert float((one - other).norm()) <= 0.01 * float(other.norm())


def test_gradients_of_several_passes_are_added_up() -> None:
    network = network_on("cpu")
    _, wanted = learnt(network, contextlib.nullcontext(), times=2)
    _, found = learnt(network, low_weights([network]), times=2)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_a_layer_reads_the_cast_weight_only_inside_and_its_parameter_stays() -> None:
    network = network_on("cpu")
    before = dict(network.named_parameters())
    with pytest.raises(RuntimeError, match="amiss"), low_weights([network]):  # noqa: PT012
        assert network.head.weight.dtype == torch.bfloat16
        assert network.stem.norm.weight.dtype == torch.float32
        assert all(before[name] is one for name, one in network.named_parameters())
        assert network.state_dict()["head.weight"].dtype == torch.float32
        raise RuntimeError("amiss")
    assert network.head.weight is before["head.weight"]


def test_a_weight_that_nothing_used_has_no_gradient() -> None:
    used, unused = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    with low_weights([used, unused]):
        used(torch.ones(4, 3, dtype=torch.bfloat16)).sum().backward()
    assert used.weight.grad is not None
    assert unused.weight.grad is None


def test_parts_without_products_are_left_alone() -> None:
    norm = torch.nn.BatchNorm2d(4)
    with low_weights([norm]):
        assert norm.weight.dtype == torch.float32
