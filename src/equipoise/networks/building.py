"""Networks for pictures by name, each without a head: ``build("resnet18", 3)`` -> (network, number of features)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import (
    BadInput,
    unknown_name,
)
from equipoise.networks.efficientnet_lite import FEATURES, efficientnet_lite0
from equipoise.networks.norms import freeze_norms
from equipoise.networks.resnet import SHAPES, resnet
from equipoise.networks.small_convolutional import small_convolutional

if TYPE_CHECKING:
    import torch

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
