"""The loss of each row, for networks that train together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def label_loss(logits: torch.Tensor, present: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Return the mean over labels of the binary cross-entropy of every row, ``[trial, row]``.

    Parameters
    ----------
    logits, present : tensor of shape (n_trials, n_rows, n_labels)
        Of each label; 1 where it is present, 0 where not.
    weights : tensor of shape (n_trials, 2, n_labels), optional
        What the terms of present and of absent rows weigh.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits

    present = present.to(logits.dtype)
    losses = binary_cross_entropy_with_logits(logits, present, reduction="none")
    if weights is not None:
        losses = losses * (present * weights[:, :1] + (1 - present) * weights[:, 1:])
    return losses.mean(-1)


def cross_entropy(logits: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of every row, ``[trial, row]``, from logits ``[trial, row, class]`` and class codes."""
    return -logits.log_softmax(-1).gather(-1, codes.unsqueeze(-1)).squeeze(-1)
