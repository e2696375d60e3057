"""How two tensors differ, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

    Pair = tuple[torch.Tensor, torch.Tensor]

# The whole numbers that have as many bytes as a number with a point.
WHOLE = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


@dataclass(frozen=True)
class Difference:
    """How far apart two tensors are.

    ``largest`` is the largest absolute difference of two numbers, ``units`` how many representable numbers these two
    are apart, and ``relative`` the length of the difference over that of the first tensor. All are NaN where the
    tensors have different shapes, and ``units`` where the numbers are not finite.
    """

    largest: float
    relative: float
    units: float


def differing(pairs: Sequence[Pair]) -> list[bool]:
    """Tell of each pair whether any bit differs (a shape or a type may too); the device is asked once for all."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    found = [_alike(*pair) for pair in pairs]
    asked = [_any_bit(*pair) for pair, alike in zip(pairs, found, strict=True) if alike]
    answers = iter(library.stack(asked).tolist() if asked else [])
    return [next(answers) if alike else True for alike in found]


def difference(one: torch.Tensor, other: torch.Tensor) -> Difference:
    """Measure how two tensors differ."""
    if not _alike(one, other):
        return Difference(math.nan, math.nan, math.nan)
    first, second = (tensor.detach().double() for tensor in (one, other))
    apart = (first - second).abs()
    place = int(apart.argmax())
    pair = [tensor.detach().reshape(-1)[place] for tensor in (one, other)]
    length = float(first.norm())
    relative = float(apart.norm()) / length if length else math.nan
    return Difference(float(apart.reshape(-1)[place]), relative, _units(*pair))


def lengths(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the length of the difference of many tensors together, and that of the first ones."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    squares = []
    for one, other in pairs:
        first, second = one.detach().double(), other.detach().double()
        squares.append(library.stack([(first - second).square().sum(), first.square().sum()]))
    apart, length = library.stack(squares).sum(0).sqrt().tolist()
    return apart, length


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype)


def _any_bit(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (_bits(one) != _bits(other)).any()


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bits as whole numbers: equal NaNs are then equal, and the two zeros are not."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    plain = tensor.detach()
    return plain.view(getattr(library, WHOLE[plain.element_size()])) if plain.is_floating_point() else plain


def _units(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return how many steps from one representable number to the next lie between two."""
    if not one.is_floating_point() or not (bool(one.isfinite()) and bool(other.isfinite())):
        return math.nan
    return float(abs(_rank(one) - _rank(other)))


def _rank(number: torch.Tensor) -> int:
    """Number the representable numbers in order, both zeros 0: the bits of a negative one count downwards."""
    bits = int(_bits(number))
    return bits if bits >= 0 else -(bits + 2 ** (8 * number.element_size() - 1))
