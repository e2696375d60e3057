"""The loss of each row, for networks that train together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def cross_entropy(logits: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of every row, ``[trial, row]``, from logits ``[trial, row, class]`` and class codes."""
    return -logits.log_softmax(-1).gather(-1, codes.unsqueeze(-1)).squeeze(-1)
