"""Networks for pictures by name, each without a head: ``build("resnet18", 3)`` -> (network, number of features)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.networks.resnet import SHAPES, resnet
from equipoise.networks.small_convolutional import small_convolutional

if TYPE_CHECKING:
    import torch

SMALL = "small"
NETWORKS = (*SHAPES, SMALL)


def build(
    name: str, channels: int = 3, *, large: bool = False, frozen_norm: bool = False
) -> tuple[torch.nn.Module, int]:
    """Build a network from pictures ``[row, channel, height, width]`` to features ``[row, feature]``.

    ``large`` is the first step for pictures of about 224 x 224. What is drawn comes from torch's generator, which the
    caller has fixed.
    """
    if name not in NETWORKS:
        raise unknown_name("network", name, NETWORKS, "the networks for pictures")
    if name != SMALL:
        return resnet(name, channels, large=large, frozen_norm=frozen_norm)
    if large:
        raise BadInput("The network 'small' has no variant for large pictures", available="large = False")
    return small_convolutional(channels, frozen_norm=frozen_norm)
