"""The loss of each row of networks that train together, and what each of several labels weighs in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, unknown_name
from equipoise.training._dataset import EncodedDataset, check_labels_vary
from equipoise.training._parameters import FreeParameter, Table

if TYPE_CHECKING:
    import torch

    from equipoise.training._preparation import PreparedJob


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


LABEL_WEIGHTS = "label_weights"
NONE, BALANCED, POSITIVE = "none", "balanced", "positive"
ALLOWED = (
    '"none"; "balanced": both terms of a label by its absent / present rows (Wang et al. 2019); "positive": the term '
    'of present rows alone by that; or numbers by label, such as {"cat": 2.0}'
)


@dataclass(frozen=True)
class WeightsOfLabels(FreeParameter):
    """Weights of labels: one of three words, or a number above 0 for each of some labels."""

    def check(self, name: str, value: object) -> None:
        """Refuse what is neither; whether the labels exist is found out where they are known."""
        if isinstance(value, str) and value in (NONE, BALANCED, POSITIVE):
            return
        numbers = list(value.values()) if isinstance(value, Mapping) else [None]
        for number in numbers or [None]:
            if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < math.inf:
                raise BadInput(f"{name} is {value!r}", available=self.allowed)


# Of the networks that have an output for each label.
FOR_LABELS: Table = {LABEL_WEIGHTS: WeightsOfLabels("what each label weighs in the loss", ALLOWED, NONE, grid=True)}


def weights_of_trials(trials: Sequence[PreparedJob], dataset: EncodedDataset) -> NDArray[np.float64] | None:
    """Return what the terms of each label weigh in each trial, ``[trial, 2, label]``; None where they weigh the same.

    Trials that train together agree in it: it is no number that may differ.
    """
    if dataset.task != "multilabel":
        return None
    assert dataset.train.target is not None
    target = dataset.train.target
    trial_weights = [
        weights_of_labels(trial.values[LABEL_WEIGHTS], target[trial.rows], dataset.labels) for trial in trials
    ]
    present_weights = [weights for weights in trial_weights if weights is not None]
    return np.stack(present_weights) if present_weights else None


def weights_of_labels(
    label_weights: str | Mapping[str, float], present: NDArray[Any], labels: Sequence[str]
) -> NDArray[np.float64] | None:
    """Return what the terms of present and of absent rows weigh, ``[2, label]``; None where all weigh 1.

    Parameters
    ----------
    label_weights : str or mapping
        The hyper-parameter.
    present : array of shape (n_rows, n_labels)
        The training rows of the trial. A label that none of them has, or all, has no such ratio and is refused.
    labels : sequence of str
        Their names.
    """
    if label_weights == NONE:
        return None
    if isinstance(label_weights, Mapping):
        for name in label_weights:
            if name not in labels:
                raise unknown_name("label", name, labels, "the target")
        per_label = np.array([float(label_weights.get(name, 1.0)) for name in labels])
        return np.stack([per_label, per_label])
    check_labels_vary(present, labels, f"the {len(present):,} training rows of the trial")
    number = (present > 0).sum(axis=0)
    ratio = (len(present) - number) / number
    return np.stack([ratio, ratio if label_weights == BALANCED else np.ones(len(labels))])
