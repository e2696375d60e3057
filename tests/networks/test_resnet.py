"""Architectures: shapes and sizes, known from the papers, and blocks against their formula."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.foundation import BadInput
from equipoise.networks import DRAWING_NOTHING, build, resnet, resnet18
from equipoise.networks._resnet import block_kinds

torch = pytest.importorskip("torch")


def size(network: Any) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_resnet18_for_small_pictures_has_the_known_number_of_weights() -> None:
    network: Any = resnet18(10)
    assert size(network) == 11_173_962
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert network[:-1](torch.zeros(2, 3, 32, 32)).shape == (2, 512)


@pytest.mark.parametrize(("name", "weights"), [("resnet18", 11_689_512), ("resnet50", 25_557_032)])
def test_the_networks_of_imagenet_have_the_known_number_of_weights(name: str, weights: int) -> None:
    network: Any
    network, features = resnet(name, large=True)
    assert size(network) + (features + 1) * 1000 == weights
    network.eval()
    with torch.no_grad():
        assert network(torch.zeros(1, 3, 64, 64)).shape == (1, features)
        assert network.stem(torch.zeros(1, 3, 224, 224)).shape == (1, 64, 56, 56)


@pytest.mark.parametrize("name", DRAWING_NOTHING)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_network_turns_pictures_of_any_channels_into_its_features(name: str, channels: int) -> None:
    network, features = build(name, channels)
    network.eval()
    with torch.no_grad():
        assert network(torch.zeros(2, channels, 32, 32)).shape == (2, features)
    assert not hasattr(network, "head")


def test_the_small_network_is_small() -> None:
    network, features = build("small", 3)
    assert (size(network), features) == (97_680, 128)


def test_classes_of_blocks_are_made_once() -> None:
    networks: list[Any] = [resnet("resnet18")[0] for _ in range(2)]
    assert {type(network.stage2[0]) for network in networks} == {block_kinds()["plain"]}


def convolved(x: Any, conv: Any) -> Any:
    """A convolution as a sum over the places of its window, written out."""
    weight, (step, _), (edge, _) = conv.weight, conv.stride, conv.padding
    padded = torch.nn.functional.pad(x, (edge,) * 4)
    high, wide = ((side + 2 * edge - weight.shape[2]) // step + 1 for side in x.shape[2:])
    total = torch.zeros(len(x), len(weight), high, wide, dtype=x.dtype)
    for down in range(weight.shape[2]):
        for right in range(weight.shape[3]):
            seen = padded[:, :, down : down + step * high : step, right : right + step * wide : step]
            total += torch.einsum("nchw,oc->nohw", seen, weight[:, :, down, right])
    return total


def normalised(x: Any, norm: Any) -> Any:
    mean = x.mean((0, 2, 3), keepdim=True)
    spread = ((x - mean) ** 2).mean((0, 2, 3), keepdim=True)
    scale, shift = (one[:, None, None] for one in (norm.weight, norm.bias))
    return (x - mean) / (spread + 1e-5).sqrt() * scale + shift


@pytest.mark.parametrize(("kind", "steps", "wider"), [("plain", 2, 1), ("bottleneck", 3, 4)])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_block_is_what_its_formula_says(kind: str, steps: int, wider: int, stride: int) -> None:
    torch.manual_seed(3)
    block = block_kinds()[kind](4 * wider, 4, stride, torch.nn.BatchNorm2d).double()
    for parameter in block.parameters():
        parameter.data = torch.randn_like(parameter)
    x = torch.randn(3, 4 * wider, 6, 6, dtype=torch.float64)
    y = x
    for number in range(1, steps + 1):
        y = normalised(convolved(y, getattr(block, f"conv{number}")), getattr(block, f"norm{number}"))
        y = y.clamp(min=0) if number < steps else y
    past = x if stride == 1 else normalised(convolved(x, block.past[0]), block.past[1])
    assert torch.allclose(block(x), (y + past).clamp(min=0), rtol=0, atol=1e-12)


def test_a_frozen_normalisation_neither_learns_nor_counts() -> None:
    network, features = build("small", 3, frozen_norm=True)
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items() if "norm" in name}
    x = torch.randn(8, 3, 16, 16)
    network(x).sum().backward()
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in before.items())
    trained = [name for name, one in network.named_parameters() if one.grad is not None]
    assert trained == [f"block{number}.conv.weight" for number in (1, 2, 3, 4)]
    # One picture is seen as it is seen among others: nothing is taken from the batch.
    assert torch.allclose(network(x)[:1], network(x[:1]), atol=1e-6)
    assert set(network.state_dict()) == set(build("small", 3)[0].state_dict())
    assert features == 128


def test_an_unknown_network_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="available: resnet18"):
        build("resnet19", 3)
    with pytest.raises(BadInput, match="no variant for large pictures"):
        build("small", 3, large=True)
