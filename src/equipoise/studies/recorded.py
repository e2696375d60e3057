"""What is kept of a trial: predictions by split, counts made from them, how long it took and on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from equipoise.studies.trial import Trial
from equipoise.training.material import Epoch, Predicted

State = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A trial that ended: done, with predictions of dev and test rows, or failed, with the reason in words.

    ``predictions`` has the splits "dev" and "test"; their rows are those of the cohort's split, in order.
    ``environment`` says packages and hardware: it stands beside the identity, not in it. ``kept`` are further arrays by
    name, such as ``embedding.test``, whose rows are in the same order. ``traceback`` is where an error came from that
    failed it.
    """

    trial: Trial
    state: Literal["done", "failed"]
    predictions: Mapping[str, Predicted] = field(default_factory=dict)
    history: tuple[Epoch, ...] = ()
    best_epoch: int = 0
    notes: tuple[str, ...] = ()
    failure: str | None = None
    seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict)
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    traceback: str | None = None
