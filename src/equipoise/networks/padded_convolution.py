"""A convolution of pictures: in bfloat16 on a graphics card zeros fill their channels up to eight.

Libraries have their fast kernels for channels by the eight; a picture has three.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch

EIGHT = 8


@cache
def picture_convolution_kind() -> Any:
    """Return the class of a convolution of pictures; it is made once."""
    torch = require("torch", extra="train", purpose="A network")

    class PictureConvolution(torch.nn.Conv2d):  # type: ignore[misc, name-defined]
        """A convolution whose channels are filled up where that is faster; its weights have the same shape."""

        def forward(self, x: Any) -> Any:
            if x.is_cuda and torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16:
                return self._conv_forward(filled(x.bfloat16()), filled(self.weight), self.bias)
            return super().forward(x)

    return PictureConvolution


def filled(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with zeros behind its channels (its second dimension), to a multiple of eight, channels last."""
    library = require("torch", extra="train", purpose="A network")
    more: torch.Tensor = library.nn.functional.pad(tensor, (0, 0, 0, 0, 0, -tensor.shape[1] % EIGHT))
    return more.contiguous(memory_format=library.channels_last)
