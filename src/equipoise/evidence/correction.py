"""Corrections for how many tests were made. An undefined p (NaN) is no test: it is neither counted nor changed.

With the m defined p-values in rising order p(1) <= ... <= p(m):

- ``holm`` (Holm 1979) keeps the chance of any false finding at the threshold:
  adjusted p(i) = max over j <= i of min(1, (m - j + 1) p(j))
- ``bh`` (Benjamini and Hochberg 1995) keeps the expected share of false findings among the findings at the threshold:
  adjusted p(i) = min over j >= i of min(1, m p(j) / j)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]


def uncorrected(p: ArrayLike) -> Floats:
    """Return the p-values as they are."""
    return np.array(p, dtype=np.float64)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return Benjamini-Hochberg adjusted p-values; NaN stays NaN and does not count."""
    adjusted, known = _known(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(adjusted[known], method="bh")
    return adjusted


def holm(p: ArrayLike) -> Floats:
    """Return Holm's adjusted p-values; NaN stays NaN and does not count."""
    adjusted, known = _known(p)
    values = adjusted[known]
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    values[order] = np.minimum(stepped, 1.0)
    adjusted[known] = values
    return adjusted


def _known(p: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    values = np.array(p, dtype=np.float64)
    return values, ~np.isnan(values)


CORRECTIONS: dict[str, Callable[[ArrayLike], Floats]] = {
    "none": uncorrected,
    "bh": benjamini_hochberg,
    "holm": holm,
}
