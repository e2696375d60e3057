"""How outputs of a class in a group are read: arranged, weighted by priors, and turned into predictions.

Chances of two classes become predictions by a draw for each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training import (
    Codes,
    Outputs,
    PostProcessor,
    Predicted,
    Reads,
    Treatment,
    checked_settings,
    copies_of,
    sample_uniforms,
)

Floats = NDArray[np.float64]


def arranged(outputs: NDArray[np.float32], groups: int, classes: int) -> Floats:
    """Return outputs ``[row, group, class]``: the outputs of a group stand side by side, as the authors have them."""
    if outputs.ndim != 2 or outputs.shape[1] != groups * classes:
        raise BadInput(
            f"The outputs have the shape {outputs.shape}", available=f"{classes} classes in each of {groups} groups"
        )
    return outputs.astype(np.float64).reshape(len(outputs), groups, classes)


def softmax(logits: Floats, axes: int | tuple[int, ...]) -> Floats:
    """Return probabilities over one axis, or over several together."""
    if not logits.size:
        return logits
    raised = np.exp(logits - logits.max(axis=axes, keepdims=True))
    return np.asarray(raised / raised.sum(axis=axes, keepdims=True))


def prior_shift(counts: Codes) -> Floats:
    """Return the inverse of each cell's share of the training rows, ``[group, class]``.

    A cell without training rows weighs nothing: the network has never seen it, and says next to nothing of it.
    """
    counts_by_class = counts.T.astype(np.float64)
    shift: Floats = np.divide(
        counts_by_class.sum(), counts_by_class, out=np.zeros_like(counts_by_class), where=counts_by_class > 0
    )
    return shift


def predicted(scores: Floats) -> Predicted:
    """Return the class of the highest score, and scores that add up to 1 in the same order.

    Where some are negative all of a row are raised by the lowest.
    """
    raised = scores - np.minimum(scores.min(axis=1, keepdims=True, initial=0.0), 0.0)
    total = raised.sum(axis=1, keepdims=True)
    even = np.full_like(raised, 1 / max(scores.shape[1], 1))
    shares = np.divide(raised, total, out=even, where=total > 0)
    return Predicted(scores.argmax(axis=1), shares.astype(np.float32))


class OutputsByGroup(Treatment):
    """A treatment whose network has an output for each class in each group; those of a group stand side by side."""

    tasks: ClassVar[tuple[str, ...]] = ("class",)
    not_for_labels: ClassVar[str] = "its softmax is over exclusive classes, and a row may have several labels"

    def outputs(self, classes: int, groups: int) -> int:
        """Return an output for each class in each group."""
        return classes * groups


class ByCell(PostProcessor):
    """A readout of a softmax with an output for each class in each group.

    Parameters
    ----------
    readout : str
        How a class is read.
    groups, classes : int
        How many there are; the outputs of a group stand side by side.
    """

    reads: ClassVar[Reads] = "outputs"
    readouts: ClassVar[tuple[str, ...]]

    def __init__(self, readout: str, groups: int, classes: int) -> None:
        self.readout, self.groups, self.classes = readout, groups, classes

    def state(self) -> dict[str, Any]:
        """Return the readout and its numbers."""
        return {"readout": self.readout, "groups": self.groups, "classes": self.classes}

    @classmethod
    def numbers_of(cls, state: Mapping[str, Any]) -> tuple[str, int, int]:
        """Return readout, groups and classes of a state, checked."""
        settings = checked_settings(state, {"readout": str, "groups": int, "classes": int}, "the readout")
        if settings["readout"] not in cls.readouts or min(settings["groups"], settings["classes"]) < 1:
            raise BadInput(f"The saved readout is {settings!r}", available=", ".join(cls.readouts))
        return settings["readout"], settings["groups"], settings["classes"]


def groups_of_test(outputs: Outputs, readout: str) -> Codes:
    """Return the groups of test rows, which a readout needs."""
    if outputs.test_group is None and not len(outputs.test):
        return np.zeros(0, dtype=np.int64)  # nothing is asked of test rows yet
    if outputs.test_group is None:
        raise BadInput(
            f"The readout {readout!r} needs the groups of test rows, and they are not known",
            help="choose a readout that does not need them.",
        )
    return outputs.test_group


def randomly_decided(chance: Floats, seed: int, purpose: str, ids: Codes) -> Predicted:
    """Return the second of two classes with each row's chance, and the chances as scores.

    What is drawn for a row depends on the seed, the purpose and the row's id, and on no other row.
    """
    uniforms = sample_uniforms(seed, 0, ids, copies_of(ids), purpose)
    scores = np.stack([1.0 - chance, chance], axis=1)
    return Predicted((uniforms < chance).astype(np.int64), scores.astype(np.float32))
