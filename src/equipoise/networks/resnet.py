"""ResNet-18 for pictures of 32 x 32 (He et al. 2016): its first step keeps the size, without pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

WIDTHS = (64, 128, 256, 512)


def resnet18(classes: int, channels: int = 3) -> torch.nn.Module:
    """Build the network. Its parts are ``stem``, ``stage1`` to ``stage4``, ``pool`` (512 features) and ``head``."""
    library = require("torch", extra="train", purpose="A ResNet")
    nn = library.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        """Two convolutions and the way past them."""

        def __init__(self, width_in: int, width: int, stride: int) -> None:
            super().__init__()
            self.steps = nn.Sequential(
                nn.Conv2d(width_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width),
            )  # fmt: skip
            same = stride == 1 and width_in == width
            self.past = nn.Identity() if same else nn.Sequential(
                nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return library.relu(self.steps(x) + self.past(x))

    network = nn.Sequential()
    network.add_module(
        "stem", nn.Sequential(nn.Conv2d(channels, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    )
    before = WIDTHS[0]
    for number, width in enumerate(WIDTHS, start=1):
        stride = 1 if number == 1 else 2
        network.add_module(f"stage{number}", nn.Sequential(Block(before, width, stride), Block(width, width, 1)))
        before = width
    network.add_module("pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    network.add_module("head", nn.Linear(before, classes))
    built: torch.nn.Module = network
    return built
