"""A t test of differences over overlapping training sets, as k-fold cross-validation gives them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


class ResampledT(NamedTuple):
    """The mean of the differences with its interval, and the p-value of no difference; NaN where undefined."""

    mean: float
    low: float
    high: float
    p: float


def corrected_resampled_t(differences: ArrayLike, test_ratio: float, level: float = 0.95) -> ResampledT:
    """Return the corrected resampled t test (Nadeau and Bengio 2003).

    With J differences of variance s2, and test sets that have ``test_ratio`` times the rows of their training sets,

        t = mean / sqrt((1 / J + test_ratio) s2),  J - 1 degrees of freedom

    The plain test has 1 / J alone, as if the J training sets shared no rows; in k-fold they share most of them, and it
    rejects far too often. The correction is a heuristic that keeps close to the level; it is not exact.

    Parameters
    ----------
    differences : array of shape (n_folds,)
        One paired difference for each fold.
    test_ratio : float
        Test rows over training rows: 1 / (k - 1) of k folds without dev rows.
    level : float
        The level of the interval.

    Examples
    --------
    >>> corrected_resampled_t([0.02, 0.03, 0.01, 0.04, 0.02], 1 / 4).p > 0.05
    True
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return ResampledT(*[float("nan")] * 4)
    degrees, mean = len(values) - 1, float(values.mean())
    error = float(np.sqrt((1 / len(values) + test_ratio) * values.var(ddof=1)))
    if error <= np.finfo(np.float64).eps * float(np.abs(values).max()):  # all folds agree to the last digit
        return ResampledT(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    half = float(stats.t.ppf((1 + level) / 2, degrees)) * error
    return ResampledT(mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, degrees)))
