"""How outputs of a class in a group are read: arranged, weighted by priors, and turned into predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.training.material import Codes, Predicted
from equipoise.training.treatment import Outputs

Floats = NDArray[np.float64]


def arranged(outputs: NDArray[np.float32], said: Outputs) -> Floats:
    """Return outputs ``[row, group, class]``: the outputs of a group stand side by side, as the authors have them."""
    return outputs.astype(np.float64).reshape(len(outputs), len(said.groups), len(said.classes))


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
    whole = counts.T.astype(np.float64)
    shift: Floats = np.divide(whole.sum(), whole, out=np.zeros_like(whole), where=whole > 0)
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


def groups_of_test(said: Outputs, readout: str) -> Codes:
    """Return the groups of test rows, which a readout needs."""
    if said.test_group is None and not len(said.test):
        return np.zeros(0, dtype=np.int64)  # nothing is asked of test rows yet
    if said.test_group is None:
        raise BadInput(
            f"The readout {readout!r} needs the groups of test rows, and they are not known",
            help="choose a readout that does not need them.",
        )
    return said.test_group
