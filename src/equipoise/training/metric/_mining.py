"""What a miner is and what it finds: random choice without loops, and what losses and miners ask of a batch.

One uniform number a row picks a column by the row's weights. Weights are whole numbers, so their running sums are exact
and the same on every device (running sums of floats are not, and torch has no deterministic ones for CUDA). A choice by
Gumbel noise needs a number for every pair instead of one for every row, which is most of the time of a step on a CPU
and too many to draw from a stream of each trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from equipoise.foundation import require, stream
from equipoise.training._parameters import Table, with_defaults

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class MinedTriplets:
    """Places in the batch, all ``[..., triplet]``; where ``mask`` is False no triplet was found and the rest is void.

    ``negatives`` is None where every sample of another class is one.
    """

    anchors: torch.Tensor
    positives: torch.Tensor
    negatives: torch.Tensor | None
    mask: torch.Tensor


class Miner:
    """Something that picks triplets, registered under its name; one subclass a file in ``miners``.

    It is called with embeddings ``[..., sample, dimension]``, labels ``[..., sample]`` and uniform numbers
    ``[..., 2, sample]`` (``drawing``), which decide alone: the same numbers give the same triplets. An anchor without a
    positive or without a negative has no triplet.
    """

    parameters: ClassVar[Table] = {}
    # "triplets", or "pairs" of an anchor and a positive.
    gives: ClassVar[str] = "triplets"

    def __init__(self, **values: Any) -> None:
        self.values = with_defaults(self.parameters, values, f"the miner {type(self).__name__}")

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return the triplets of a batch, without gradients."""
        raise NotImplementedError


def all_positions(labels: torch.Tensor) -> torch.Tensor:
    """Return every position in the batch: each sample is an anchor once.

    Parameters
    ----------
    labels : tensor of shape (..., samples)
        The classes of the batch, as codes.

    Returns
    -------
    tensor of shape (..., samples)
    """
    library = require("torch", extra="train", purpose="Mining")
    places: torch.Tensor = library.arange(labels.shape[-1], device=labels.device).expand(labels.shape)
    return places


# A miner has two uniform numbers a sample: one for its positive, one for its negative.
ROWS = 2
# The heaviest column of a row weighs 2^40; with 2^12 columns the sums stay below 2^53, where float64 is exact.
HEAVIEST = 2.0**40


def sample_columns(weights: torch.Tensor, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a column of each row by its weight.

    Column j is where the running sum first exceeds uniform x total, uniform in [0, 1): its chance is w_j / total.

    Parameters
    ----------
    weights : integer tensor of shape (..., rows, columns)
        Such as ``integer_weights`` returns, or a mask.
    uniforms : tensor of shape (..., rows)
        Uniform numbers in [0, 1), which decide alone.

    Returns
    -------
    tuple of tensors of shape (..., rows)
        The column, and whether any column of the row has weight.
    """
    library = require("torch", extra="train", purpose="Mining")
    heights = weights.cumsum(-1)
    total = heights[..., -1]
    aim = (uniforms * total).long()
    columns = library.searchsorted(heights, aim.unsqueeze(-1), right=True).squeeze(-1)
    return columns.clamp_max_(weights.shape[-1] - 1), total > 0


def integer_weights(log_weights: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return whole weights in proportion to exp(log_weights) where allowed, 0 elsewhere; no row underflows to 0.

    The largest of a row is subtracted first, after what is not allowed was left out. Of a row without any allowed
    column all weights are 0.
    """
    library = require("torch", extra="train", purpose="Mining")
    masked = log_weights.masked_fill(~allowed, -library.inf)
    highest = masked.amax(-1, keepdim=True).clamp_min_(library.finfo(masked.dtype).min)
    weights: torch.Tensor = (masked - highest).exp_().mul_(HEAVIEST).long()
    return weights


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
    tensor: torch.Tensor = library.from_numpy(numbers).to(device)
    return tensor


class UniformNumbers:
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
            numbers.copy_(self._numbers_of_epoch(name))

    def __call__(self, name: str | None, step: Any, rows: int) -> torch.Tensor:
        """Return the numbers of a step, ``[trial, 2, sample]``; the step may be a number, or a tensor on the device."""
        if name not in self._numbers:
            self._numbers[name] = self._numbers_of_epoch(name)
        numbers = self._numbers[name]
        tensor: torch.Tensor = numbers[step] if isinstance(step, int) else numbers.index_select(0, step)[0]
        return tensor[..., :rows]

    def _numbers_of_epoch(self, name: str | None) -> torch.Tensor:
        return uniforms_of_epoch(self._seeds, *self._epoch, self._device, name=name)


def uniforms_for(labels: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Return the numbers of one step for labels ``[..., sample]``, drawn from torch's generator (or the one given)."""
    library = require("torch", extra="train", purpose="Mining")
    shape = (*labels.shape[:-1], ROWS, labels.shape[-1])
    numbers: torch.Tensor = library.rand(shape, generator=generator, dtype=library.float64, device=labels.device)
    return numbers


def full_precision(values: torch.Tensor) -> torch.Tensor:
    """Return values in float32 at least: a difference of two close rows has no digits left in half precision.

    Parameters
    ----------
    values : tensor
        Numbers of any precision.

    Returns
    -------
    tensor of the same shape
    """
    return values.float() if values.dtype.itemsize == 2 else values


def pairs_of(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return who is another sample of the same class, and who is of another, both ``[..., sample, sample]``."""
    same_class = labels.unsqueeze(-1) == labels.unsqueeze(-2)
    different_class = ~same_class
    same_class.diagonal(dim1=-2, dim2=-1).fill_(False)
    return same_class, different_class


def squared_distances(embeddings: torch.Tensor) -> torch.Tensor:
    """Return d^2 of all pairs, ``[..., sample, sample]``, for mining: no gradient, off by 1e-6 (by 1e-3 in tf32)."""
    rows = full_precision(embeddings.detach())
    products = rows @ rows.mT
    squares = products.diagonal(dim1=-2, dim2=-1)
    return (squares.unsqueeze(-1) + squares.unsqueeze(-2)).sub_(products, alpha=2).clamp_min_(0)


def take_rows(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Return rows of each head by their indices.

    Plain indexing, whose gradient is summed in a fixed order on a GPU too (that of ``gather`` is not).

    Parameters
    ----------
    values : tensor of shape (..., samples, dimensions)
        The rows of each head.
    indices : integer tensor of shape (..., triplets)
        Which of its rows, for each triplet.

    Returns
    -------
    tensor of shape (..., triplets, dimensions)
    """
    if values.ndim == 2:
        return values[indices]
    library = require("torch", extra="train", purpose="Metric learning")
    heads, samples = values.shape[:-2], values.shape[-2]
    begins = library.arange(heads.numel(), device=values.device).view(*heads, 1) * samples
    rows: torch.Tensor = values.flatten(0, -2)[indices + begins]
    return rows


def take_entries(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Return one entry of each row by its index.

    Parameters
    ----------
    values : tensor of shape (..., rows, columns)
        The rows of each head.
    indices : integer tensor of shape (..., rows)
        Which column of each row.

    Returns
    -------
    tensor of shape (..., rows)
    """
    return values.gather(-1, indices.unsqueeze(-1)).squeeze(-1)
