"""When a difference is a finding: its corrected test and the interval that is shown beside it both say so."""

from __future__ import annotations

import math

LEVEL = 0.05


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
