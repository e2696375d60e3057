"""Equal rows as one: the distinct rows of an array of numbers, and which of them each row is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct_rows(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the distinct rows and, for each row, which of them it is: by a hash, far faster than sorting rows."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # adding 0 makes -0.0 the same as 0.0
    odd = np.random.default_rng(0).integers(0, 2**63, rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashed = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    _, first, inverse = np.unique(hashed, return_index=True, return_inverse=True)
    distinct = rows[first]
    if not np.array_equal(distinct[inverse], rows):  # two different rows share a hash
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)
