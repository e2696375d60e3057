"""What a network says of rows it did not learn from: outputs in parts, and a readout for each trial that shares it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.training.images.pictures import check_pictures
from equipoise.training.images.run import Run
from equipoise.training.material import Material, Predicted, Rows
from equipoise.training.preparing import Prepared, overrides, training_rows
from equipoise.training.treatment import Afterwards, Outputs

# Pictures at once, and their pixels: they bound the memory that reading takes.
AT_ONCE, PIXELS = 1_000, 4_000_000

Logits = NDArray[np.float32]


def logits_of(run: Run, rows: Rows, what: str) -> Logits:
    """Return the outputs of every row, ``[row, output]``; the network is as it is, its batch statistics fixed."""
    torch = run.torch
    check_pictures(rows.inputs, what)
    if rows.inputs.shape[1:] != run.material.train.inputs.shape[1:]:
        raise BadInput(
            f"The pictures of {what} have the shape {rows.inputs.shape[1:]}, and those of the training rows "
            f"{run.material.train.inputs.shape[1:]}",
            available="one size and number of channels for all",
        )
    number = at_once(*rows.inputs.shape[1:3])
    for part in run.parts.values():
        part.eval()
    found = []
    with torch.inference_mode():
        for start in range(0, len(rows), number):
            here = torch.from_numpy(rows.inputs[start : start + number]).to(run.settings.device)
            pictures = run.shown(here.permute(0, 3, 1, 2))
            # They stay on the device until all are there: nobody waits between two parts.
            found.append(run.teaching.said(run.parts, pictures)[1].float())
    for part in run.parts.values():
        part.train()
    joined: Logits = torch.cat(found).cpu().numpy() if found else np.zeros((0, run.teaching.outputs), dtype=np.float32)
    return joined


def at_once(height: int, width: int) -> int:
    """Return how many pictures of a size are read at once."""
    return min(AT_ONCE, max(PIXELS // (height * width), 1))


def read(trial: Prepared, material: Material, dev: Logits, test: Logits) -> Afterwards:
    """Return what a trial says: by its treatment's readout, or the class with the highest output."""
    acting = overrides(trial.treatments, "read")
    if len(acting) > 1:
        raise BadInput(f"Two treatments read the network ({', '.join(acting)})", available="one at most")
    for treatment in trial.treatments:
        found = treatment.read(_outputs(treatment, trial, material, dev, test))
        if found is not None:
            return found
    return Afterwards(_plain(dev), _plain(test))


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


def _plain(outputs: Logits) -> Predicted:
    shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return Predicted(outputs.argmax(axis=1), (shifted / shifted.sum(axis=1, keepdims=True)).astype(np.float32))
