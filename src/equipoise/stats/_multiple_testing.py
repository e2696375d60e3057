"""Corrections for how many tests were made. An undefined p (NaN) is no test: it is neither counted nor changed.

With the m defined p-values in rising order p(1) <= ... <= p(m):

- ``holm`` (Holm 1979) keeps the chance of any false finding at the threshold:
  adjusted p(i) = max over j <= i of min(1, (m - j + 1) p(j))
- ``bh`` (Benjamini and Hochberg 1995) keeps the expected share of false findings among the findings at the threshold:
  adjusted p(i) = min over j >= i of min(1, m p(j) / j)
"""

from __future__ import annotations

import math
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

LEVEL = 0.05


def deciding_level(p: ArrayLike, correction: str = "bh", level: float = LEVEL) -> float:
    """Return the largest uncorrected p that is a finding after the correction.

    With m defined p-values of which R are findings: level R / m by ``bh``, level / (m - R + 1) by ``holm`` (R at least
    1 in both), and the level itself by ``none``. An interval at 1 minus this level excludes no difference exactly where
    its test is a finding.

    Parameters
    ----------
    p : array
        The p-values that are corrected together; NaN does not count.
    correction : {"none", "bh", "holm"}
        The correction.
    level : float
        The largest corrected p of a finding.

    Returns
    -------
    float
        Every p up to it is a finding after correction, and no other.

    Examples
    --------
    >>> deciding_level([0.001, 0.02, 0.5, 0.6]), deciding_level([0.001, 0.02, 0.5, 0.6], "holm")
    (0.025, 0.0125)
    >>> deciding_level([0.001, 0.02, 0.021, 0.6])
    0.0375
    """
    values, known = _known(p)
    tests = max(int(known.sum()), 1)
    findings = max(int((CORRECTIONS[correction](values)[known] <= level * (1 + 1e-12)).sum()), 1)
    if correction == "none":
        return level
    return level * findings / tests if correction == "bh" else level / (tests - findings + 1)


def excludes(low: float | None, high: float | None, null: float = 0.0) -> bool:
    """Tell whether an interval, or a bound on one side alone, leaves out the value of no difference.

    Without any interval there is nothing that could contradict a test, and the answer is yes.
    """
    above, below = (end is not None and not math.isnan(end) for end in (low, high))
    if not above and not below:
        return True
    return (above and low is not None and low > null) or (below and high is not None and high < null)


def is_finding(
    p_adjusted: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    null: float = 0.0,
    level: float = LEVEL,
) -> bool | None:
    """Tell whether a difference is confirmed: corrected p within the level, and its interval leaves out the null.

    Parameters
    ----------
    p_adjusted : float or None
        The p-value after correction for the number of tests; None or NaN where there was no test.
    low, high : float or None
        The interval as it is shown, or one end of it for a bound; None where there is none.
    null : float
        The value of no difference: 0 of a difference, 1 of a ratio, 0.5 of an AUC.
    level : float
        The largest corrected p of a finding.

    Returns
    -------
    bool or None
        None where nothing was tested.

    Examples
    --------
    >>> is_finding(0.001, -30.28, 1.22)
    False
    >>> is_finding(0.001, 0.15, 0.18)
    True
    """
    if p_adjusted is None or math.isnan(p_adjusted):
        return None
    return p_adjusted <= level and excludes(low, high, null)
