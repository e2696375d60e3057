"""The epochs of a trial as bytes: exact, whatever the numbers are (a loss may be infinite, a fairness undefined)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.training.material import Epoch

# number, loss, performance, fairness
COLUMNS = 4


def history_array(history: Sequence[Epoch]) -> NDArray[np.float64]:
    """Return a row an epoch."""
    rows = [(epoch.number, epoch.loss, epoch.performance, epoch.fairness) for epoch in history]
    return np.array(rows, dtype="<f8").reshape(-1, COLUMNS)


def history_of(rows: NDArray[np.float64]) -> tuple[Epoch, ...]:
    """Read back what ``history_array`` made."""
    return tuple(
        Epoch(int(number), loss, performance, fairness) for number, loss, performance, fairness in rows.tolist()
    )


def history_bytes(history: Sequence[Epoch]) -> bytes | None:
    """Return the epochs as bytes, None where there are none."""
    return history_array(history).tobytes() if history else None


def history_from(content: bytes | None) -> tuple[Epoch, ...]:
    """Read back what ``history_bytes`` made."""
    return history_of(history_table(content))


def history_table(content: bytes | None) -> NDArray[np.float64]:
    """Read back what ``history_bytes`` made as a table, a row an epoch."""
    return np.frombuffer(content or b"", dtype="<f8").reshape(-1, COLUMNS)
