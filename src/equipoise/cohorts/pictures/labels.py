"""Class numbers as files have them: whole, and each one that of a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural


def checked_labels(labels: NDArray[Any], classes: int, file: str) -> NDArray[np.int64]:
    """Return class numbers; the first one out of range is named with its row."""
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise BadInput(
            f"The labels of {file} are {labels.dtype} of the shape {labels.shape}",
            available="one whole number per picture",
        )
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(outside):
        raise BadInput(
            f"{plural(len(outside), 'label')} of {file} out of range: the first is {int(labels[outside[0]])} in row "
            f"{int(outside[0]):,} (counted from 0)",
            available=f"0 to {classes - 1}",
            help="the file is damaged or of another data set; get it again.",
        )
    return labels.astype(np.int64)
