"""The Hessian penalty (Peebles et al. 2020): directions that do not interact, estimated by second differences.

For directions b of a basis B and signs v drawn from {-1, 1}, the second difference of a function f along v B is about
v H v, where H holds f's second derivatives in that basis; its variance over v is 2 x the sum over i != j of H(i, j)^2,
which is 0 where no direction changes what another does. As in the authors' release: k = 2 draws, step 0.1, unbiased
variance, and the largest over all outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

DRAWS = 2
STEP = 0.1


def hessian_penalty(
    function: Callable[[Any], Any], latents: torch.Tensor, basis: torch.Tensor, signs: torch.Tensor, step: float = STEP
) -> Any:
    """Return the penalty of a function at latents ``[n, d]`` in a basis ``[m, d]``, for signs ``[draw, m]``."""
    middle = function(latents)
    seconds = [
        (function(latents + step * move) - 2.0 * middle + function(latents - step * move)) / step**2
        for move in signs @ basis
    ]
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    return torch.stack(seconds).var(0).amax()


def drawn_signs(number: int, stream: torch.Generator, draws: int = DRAWS) -> Any:
    """Return signs -1 and 1, ``[draw, number]``, no two draws alike or opposite where that can be.

    Draws that are alike or opposite have the same second difference: they would say nothing.
    """
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    signs = 2.0 * torch.randint(2, (draws, number), generator=stream).double() - 1.0
    if number > 1 and draws == DRAWS and bool((signs[0] == signs[1]).all() | (signs[0] == -signs[1]).all()):
        signs[1, int(torch.randint(number, (1,), generator=stream))] *= -1.0
    return signs
