"""Whether a training was too short to judge its treatment by: the loss was still falling, or a constraint was not met.

The loss that a trial recorded after each epoch (on training pictures, or on dev rows: whichever the learner follows) is
compared in two windows, the last fifth of the epochs and the fifth before, an epoch each at least:

    late decline = (mean loss of the fifth before - mean loss of the last fifth) / (first loss - mean loss of the last)

It is the share of the whole decline that the last fifth of the training brought. Above ``STILL_FALLING`` the loss was
still falling: a straight line has about 20%, and a loss that decays exponentially 5% after a little more than three
time constants, 96% of the way. Windows are as long as a fifth because a rate that is lowered to 0 flattens the end.
Only epochs count in which the network itself learns: adversaries take turns with it. Where dev rows choose the epoch,
a training is unfinished only if they chose one of the last fifth, for otherwise it went on long enough to be stopped.

A constraint is unmet if a residual that the treatment kept is positive (``equipoise.training.treatment.CONSTRAINTS``).
A cell is unfinished, for a reason, if at least half of its runs are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.registry import registry
from equipoise.studies.storage.stored import StoredTrial

STILL_FALLING = 0.05
# Windows in a training.
WINDOWS = 5
# A first epoch, and two windows after it.
FEWEST_EPOCHS = 3
# The share of a cell's runs that must be unfinished for the cell to be.
SHARE = 0.5
NUMBER, LOSS = 0, 1

Floats = NDArray[np.float64]


class Unfinished(StrEnum):
    """Why a training is too short to judge its treatment by."""

    LOSS_STILL_FALLING = "loss_still_falling"
    CONSTRAINT_UNMET = "constraint_unmet"


WORDS = {
    Unfinished.LOSS_STILL_FALLING: "loss still falling",
    Unfinished.CONSTRAINT_UNMET: "constraint unmet",
}


@dataclass(frozen=True)
class TrainingEnd:
    """How one training ended: the share of its decline in loss that came last, and the largest residual.

    None where it cannot be told: too few epochs, a loss that never fell, or a treatment without constraints.
    """

    reasons: tuple[Unfinished, ...] = ()
    late_decline: float | None = None
    residual: float | None = None


@dataclass(frozen=True)
class CellEnd:
    """How the trainings of a cell ended: reasons that hold for half of its runs, how many runs have any, and means."""

    reasons: tuple[Unfinished, ...] = ()
    runs: int = 0
    late_decline: float | None = None
    residual: float | None = None


def late_decline(losses: Floats) -> float | None:
    """Return the share of the whole decline in loss that the last fifth of the epochs brought.

    Parameters
    ----------
    losses : array of shape (n_epochs,)
        The loss after each epoch in which the network learns.

    Returns
    -------
    float or None
        None with fewer than three epochs, a loss that is not finite, or one that is no lower in the end.

    Examples
    --------
    >>> round(late_decline(np.linspace(2.0, 1.0, 100)), 3)  # a straight line
    0.223
    >>> round(late_decline(np.exp(-np.arange(1, 101) / 10.0)), 3)  # ten time constants
    0.001
    """
    if len(losses) < FEWEST_EPOCHS or not np.isfinite(losses).all():
        return None
    window = _window(len(losses))
    last, before = float(losses[-window:].mean()), float(losses[-2 * window : -window].mean())
    whole = float(losses[0]) - last
    return (before - last) / whole if whole > 0 else None


def _window(epochs: int) -> int:
    """Return how many epochs a window has."""
    return max(round(epochs / WINDOWS), 1)


def training_end(
    epochs: Floats, best_epoch: int, selection: str, *, every: int = 1, residuals: NDArray[Any] | None = None
) -> TrainingEnd:
    """Judge one training.

    Parameters
    ----------
    epochs : array of shape (n_epochs, columns)
        The number and the loss of each epoch, in the first two columns.
    best_epoch : int
        The number of the epoch whose network was kept.
    selection : str
        What chose it: "last", or something that dev rows say.
    every : int
        The network learns in the first of so many epochs.
    residuals : array, optional
        By how much each constraint of the treatment is missed in the end; positive is unmet.
    """
    own = epochs[(epochs[:, NUMBER].astype(np.int64) - 1) % every == 0] if len(epochs) else epochs
    decline = late_decline(own[:, LOSS]) if len(own) else None
    reasons = []
    at_the_end = selection == "last" or (len(own) > 0 and best_epoch >= own[-_window(len(own)), NUMBER])
    if decline is not None and decline > STILL_FALLING and at_the_end:
        reasons.append(Unfinished.LOSS_STILL_FALLING)
    worst = None if residuals is None or not residuals.size else float(residuals.max())
    if worst is not None and worst > 0:
        reasons.append(Unfinished.CONSTRAINT_UNMET)
    return TrainingEnd(tuple(reasons), decline, worst)


def training_ends(stored: Sequence[StoredTrial], residuals: Mapping[str, NDArray[Any]]) -> tuple[TrainingEnd, ...]:
    """Judge the trainings of stored trials, each by its epochs and by the residuals it kept, by key."""
    # A treatment that is not registered here (a function of one's own) lets the network learn in every epoch.
    every = {entry.name: int(getattr(entry.thing, "network_every", 1)) for entry in registry.entries("treatment")}
    return tuple(
        training_end(
            one.epochs, one.best_epoch, one.trial.selection, residuals=residuals.get(one.key),
            every=max((every.get(named.name, 1) for named in one.trial.treatments), default=1),
        )
        for one in stored
    )  # fmt: skip


def cell_end(ends: Sequence[TrainingEnd]) -> CellEnd:
    """Judge a cell by its runs."""
    reasons = tuple(
        reason for reason in Unfinished if ends and sum(reason in end.reasons for end in ends) >= SHARE * len(ends)
    )
    return CellEnd(
        reasons, sum(bool(end.reasons) for end in ends),
        _mean([end.late_decline for end in ends]), _mean([end.residual for end in ends]),
    )  # fmt: skip


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
