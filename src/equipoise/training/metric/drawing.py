"""Random choice without loops: one uniform number a row picks a column by the row's weights.

Weights are whole numbers, so their running sums are exact and the same on every device (running sums of floats are
not, and torch has no deterministic ones for CUDA). A choice by Gumbel noise needs a number for every pair instead of
one for every row, which is most of the time of a step on a CPU and too many to draw from a stream of each trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import require, stream

if TYPE_CHECKING:
    import torch

# A miner has two uniform numbers a sample: one for its positive, one for its negative.
ROWS = 2
# The heaviest column of a row weighs 2^40; with 2^12 columns the sums stay below 2^53, where float64 is exact.
HEAVIEST = 2.0**40


def drawn(weights: torch.Tensor, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a column of each row of whole ``weights [..., row, column]``, and whether any column of it has weight.

    Column j is where the running sum first exceeds uniform x total, uniform in [0, 1): its chance is w_j / total.
    """
    library = require("torch", extra="train", purpose="Mining")
    heights = weights.cumsum(-1)
    total = heights[..., -1]
    aim = (uniforms * total).long()
    columns = library.searchsorted(heights, aim.unsqueeze(-1), right=True).squeeze(-1)
    return columns.clamp_max_(weights.shape[-1] - 1), total > 0


def whole_weights(log_weights: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return whole weights in proportion to exp(log_weights) where allowed, 0 elsewhere; no row underflows to 0.

    The largest of a row is subtracted first, after what is not allowed was left out. Of a row without any allowed
    column all weights are 0.
    """
    library = require("torch", extra="train", purpose="Mining")
    masked = log_weights.masked_fill(~allowed, -library.inf)
    highest = masked.amax(-1, keepdim=True).clamp_min_(library.finfo(masked.dtype).min)
    whole: torch.Tensor = (masked - highest).exp_().mul_(HEAVIEST).long()
    return whole


def uniforms_of_epoch(
    seeds: int | Sequence[int], epoch: int, steps: int, batch_size: int, device: str = "cpu", name: str | None = None
) -> torch.Tensor:
    """Return the numbers of an epoch, ``[step, 2, sample]`` of one seed or ``[step, head, 2, sample]`` of several.

    Each head's come from its own stream of (seed, epoch): the same whichever heads train beside it, on any device.
    Under a ``name`` there is another set, independent of the first.
    """
    library = require("torch", extra="train", purpose="Mining")
    shape = (steps, ROWS, batch_size)
    names = ("mining", epoch) if name is None else ("mining", epoch, name)
    if isinstance(seeds, int):
        numbers = stream(seeds, *names).random(shape)
    else:
        numbers = np.stack([stream(seed, *names).random(shape) for seed in seeds], axis=1)
    there: torch.Tensor = library.from_numpy(numbers).to(device)
    return there


class Draws:
    """The uniform numbers of an epoch by name: made when they are first asked for, renewed in place by each epoch.

    A recorded step reads them where they lie. ``None`` names those of the miner of the target.
    """

    def __init__(self, seeds: Sequence[int], device: str) -> None:
        self._seeds, self._device = list(seeds), device
        self._epoch = (1, 0, 0)
        self._numbers: dict[str | None, torch.Tensor] = {}

    def begin(self, epoch: int, steps: int, batch_size: int) -> None:
        """Draw the numbers of an epoch (they count from 1)."""
        self._epoch = (epoch, steps, batch_size)
        for name, numbers in self._numbers.items():
            numbers.copy_(self._drawn(name))

    def __call__(self, name: str | None, step: Any, rows: int) -> torch.Tensor:
        """Return the numbers of a step, ``[trial, 2, sample]``; the step may be a number, or a tensor on the device."""
        if name not in self._numbers:
            self._numbers[name] = self._drawn(name)
        numbers = self._numbers[name]
        own: torch.Tensor = numbers[step] if isinstance(step, int) else numbers.index_select(0, step)[0]
        return own[..., :rows]

    def _drawn(self, name: str | None) -> torch.Tensor:
        return uniforms_of_epoch(self._seeds, *self._epoch, self._device, name=name)


def uniforms_for(labels: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Return the numbers of one step for labels ``[..., sample]``, drawn from torch's generator (or the one given)."""
    library = require("torch", extra="train", purpose="Mining")
    shape = (*labels.shape[:-1], ROWS, labels.shape[-1])
    numbers: torch.Tensor = library.rand(shape, generator=generator, dtype=library.float64, device=labels.device)
    return numbers
