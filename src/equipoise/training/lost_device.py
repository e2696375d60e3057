"""A graphics card that a process can no longer use: all that is tried on it next would fail, so nothing more is."""

from __future__ import annotations

from equipoise.foundation.errors import EquipoiseError
from equipoise.foundation.imports import require
from equipoise.training.material import Settings


class LostDevice(EquipoiseError):
    """The device failed under one trial, and with it every trial that would come after in this process."""


def check_not_lost(settings: Settings, error: Exception) -> None:
    """Raise where an error has left the device unusable: trials must not be recorded as failed for that.

    Memory that ran out, or a trial's own fault, leaves a card as it was; a fault inside a kernel does not.
    """
    if settings.device == "cpu":
        return
    torch = require("torch", extra="train", purpose="Training")
    if not torch.cuda.is_initialized():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as lost:
        raise LostDevice(
            f"The graphics card can no longer be used by this process ({str(lost).splitlines()[0]}); it began with "
            f"{type(error).__name__}",
            help="run the study again. What was recorded is kept, and trials in progress are waiting.",
        ) from error
