"""Channels of zeros change nothing that a convolution says, nor its gradients."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from equipoise.networks._resnet import filled, picture_convolution_kind  # noqa: E402


@pytest.mark.parametrize(("channels", "then"), [(1, 8), (3, 8), (8, 8), (9, 16)])
def test_zeros_fill_channels_up_and_channels_lie_last(channels: int, then: int) -> None:
    x = torch.rand(2, channels, 5, 4)
    found = filled(x)
    assert found.shape == (2, then, 5, 4)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(found[:, :channels], x)
    assert not found[:, channels:].any()


def test_a_filled_convolution_says_the_same_and_has_the_same_gradient() -> None:
    convolution = picture_convolution_kind()(3, 16, 3, 1, 1, bias=False).double()
    x = torch.rand(4, 3, 6, 6, dtype=torch.float64)
    plain = convolution(x)
    gradient = torch.rand_like(plain)
    (wanted,) = torch.autograd.grad(plain, convolution.weight, gradient)
    found = torch.nn.functional.conv2d(filled(x), filled(convolution.weight), padding=1)
    assert torch.allclose(found, plain, rtol=1e-12)
    assert torch.allclose(torch.autograd.grad(found, convolution.weight, gradient)[0], wanted, rtol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_on_a_card_in_bfloat16_channels_are_filled() -> None:
    convolution = picture_convolution_kind()(3, 64, 3, 1, 1, bias=False).cuda()
    x = torch.rand(16, 3, 32, 32, device="cuda")
    exact = convolution.double()(x.double())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = convolution.float()(x)
    assert found.dtype == torch.bfloat16
    assert float((found.detach().double() - exact.detach()).abs().max() / exact.abs().max()) < 0.02
