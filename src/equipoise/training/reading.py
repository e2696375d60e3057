"""How the outputs of a network are read: by a treatment's readout, or as the class with the highest output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training.material import Material, Predicted
from equipoise.training.preparing import Prepared, overrides, training_rows
from equipoise.training.stack_parts import Scale
from equipoise.training.treatment import Afterwards, Outputs

if TYPE_CHECKING:
    import torch

Logits = NDArray[np.float32]


def read(trial: Prepared, material: Material, dev: Logits, test: Logits) -> Afterwards:
    """Return what a trial says: by its treatment's readout, or the class with the highest output."""
    acting = overrides(trial.treatments, "read")
    if len(acting) > 1:
        raise BadInput(f"Two treatments read the network ({', '.join(acting)})", available="one at most")
    for treatment in trial.treatments:
        found = treatment.read(_outputs(treatment, trial, material, dev, test))
        if found is not None:
            return found
    return Afterwards(plain_predictions(dev, material.task), plain_predictions(test, material.task))


def _outputs(treatment: object, trial: Prepared, material: Material, dev: Logits, test: Logits) -> Outputs:
    rows = material.dev
    assert rows.target is not None
    assert rows.group is not None
    shown = material.test.group if getattr(treatment, "needs_group_at_prediction", False) else None
    if shown is not None and not len(test):
        shown = shown[:0]
    return Outputs(
        dev=dev, test=test, dev_target=rows.target, dev_group=rows.group, test_group=shown,
        counts=training_rows(trial.rows, material).counts, classes=material.classes, groups=material.groups,
    )  # fmt: skip


def plain_predictions(outputs: Logits, task: str) -> Predicted:
    """Return the class with the highest output of each row, with probabilities; of several labels, each by itself."""
    if task == "multilabel":
        return labels_of(outputs)
    shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return Predicted(outputs.argmax(axis=1), (shifted / shifted.sum(axis=1, keepdims=True)).astype(np.float32))


def labels_of(outputs: Logits) -> Predicted:
    """Return the labels of rows by their logits ``[row, label]``: those whose probability is at least 0.5."""
    with np.errstate(over="ignore"):
        scores = 1.0 / (1.0 + np.exp(-outputs.astype(np.float64)))
    return Predicted((outputs >= 0).astype(np.int64), scores.astype(np.float32))


def codes_of(outputs: torch.Tensor, task: str) -> torch.Tensor:
    """Return what outputs say: the class with the highest, or 1 for each label whose probability is at least 0.5."""
    return (outputs >= 0).long() if task == "multilabel" else outputs.argmax(-1)


def probabilities(outputs: torch.Tensor, task: str) -> torch.Tensor:
    """Return the probability of each class, or of each label by itself."""
    return outputs.sigmoid() if task == "multilabel" else outputs.softmax(-1)


def predictions_of(outputs: torch.Tensor, task: str, scale: Scale) -> list[Predicted]:
    """Return what each network says by its outputs ``[trial, row, output]``: the class with most, numbers or labels."""
    if task == "regression":
        numbers: NDArray[Any] = outputs[..., 0].double().numpy() * scale.spread + scale.mean
        return [Predicted(one.astype(np.float32)) for one in numbers]
    codes, scores = codes_of(outputs, task).numpy(), probabilities(outputs, task).float().numpy()
    return [Predicted(one, score) for one, score in zip(codes, scores, strict=True)]
