"""What treatments keep of a trial beside its embedding: read from their own heads when the training has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.training.callback import TrainingCallback
from equipoise.training.finishing import failed
from equipoise.training.material import Outcome
from equipoise.training.metric.objective import kept_by

# Heads of treatments keep no best epoch.
OTHER_EPOCH = "What a treatment kept of its heads is from the last epoch; the embedding is of epoch {epoch}."


def with_kept(
    one: Outcome,
    callbacks: Sequence[TrainingCallback],
    trial: int,
    dev: NDArray[np.float32],
    *,
    epochs: int,
    frozen: bool,
) -> Outcome:
    """Return an outcome with what treatments keep of the trial.

    ``frozen`` tells that features are the same in every epoch. Where they are not, heads of the last epoch fit the
    features of no other, and nothing is kept of a trial whose chosen epoch is another.
    """
    last = one.best_epoch == epochs
    if one.failure is not None or not (last or frozen):
        return one
    try:
        more = kept_by(callbacks, trial, {"dev": dev})
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed(error, replace(one, dev=None, test=None, kept={}, model=None))
    notes = one.notes if last or not more else (*one.notes, OTHER_EPOCH.format(epoch=one.best_epoch))
    return replace(one, kept={**one.kept, **more}, notes=notes)
