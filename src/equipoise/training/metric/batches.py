"""What losses and miners ask of a batch: who shares a class, who lies how far, and the rows that were mined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch


def full(values: torch.Tensor) -> torch.Tensor:
    """Return values in float32 at least: a difference of two close rows has no digits left in half precision."""
    return values.float() if values.dtype.itemsize == 2 else values


def pairs_of(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return who is another sample of the same class, and who is of another, both ``[..., sample, sample]``."""
    same = labels.unsqueeze(-1) == labels.unsqueeze(-2)
    others = ~same
    same.diagonal(dim1=-2, dim2=-1).fill_(False)
    return same, others


def squared_distances(embeddings: torch.Tensor) -> torch.Tensor:
    """Return d^2 of all pairs, ``[..., sample, sample]``, for mining: no gradient, off by 1e-6 (by 1e-3 in tf32)."""
    rows = full(embeddings.detach())
    products = rows @ rows.mT
    squares = products.diagonal(dim1=-2, dim2=-1)
    return (squares.unsqueeze(-1) + squares.unsqueeze(-2)).sub_(products, alpha=2).clamp_min_(0)


def taken(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return rows of each head, ``values[..., place, :]`` for every place of ``[..., triplet]``.

    Plain indexing, whose gradient is summed in a fixed order on a GPU too (that of ``gather`` is not).
    """
    if values.ndim == 2:
        return values[places]
    library = require("torch", extra="train", purpose="Metric learning")
    heads, samples = values.shape[:-2], values.shape[-2]
    begins = library.arange(heads.numel(), device=values.device).view(*heads, 1) * samples
    rows: torch.Tensor = values.flatten(0, -2)[places + begins]
    return rows


def picked(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return one entry of each row, ``values[..., row, place]``, for the places ``[..., row]``."""
    return values.gather(-1, places.unsqueeze(-1)).squeeze(-1)
