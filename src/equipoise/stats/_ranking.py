"""Which of several is the best: Hsu's comparisons with the best (1984), and what equal ones would show.

Of k means with differences D_ij = m_i - m_j (larger is better) and half-widths h_ij, one of them may be the best unless
another is significantly better. With probability 1 - a, for all of them together, m_i less the best of the others is in

    [ -( min over j of D_ij - h_ij )^- ,  ( min over j of D_ij + h_ij )^+ ]

and the set of those whose upper end is above 0 contains the best. The half-widths are those of one-sided tests at level
a / (k - 1) (Bonferroni), which needs no equal variances and no correlation to be known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class WithBest(NamedTuple):
    """Of each mean: whether it may be the best, and the simultaneous interval of it minus the best of the others."""

    may_be_best: NDArray[np.bool_]
    low: Floats
    high: Floats


def compare_with_best(differences: Floats, half_widths: Floats) -> WithBest:
    """Compare each of k means with the best of the others (Hsu 1984), constrained intervals.

    Parameters
    ----------
    differences : array of shape (k, k)
        m_i - m_j, larger is better.
    half_widths : array of shape (k, k)
        Half-widths of one-sided intervals of these differences at level a / (k - 1); infinite where a difference was
        not tested.

    Returns
    -------
    WithBest
        A single mean is the best of one, with the interval 0 to 0.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([1.0, 0.9, 0.2])
    >>> found = compare_with_best(means[:, None] - means[None], np.full((3, 3), 0.3))
    >>> found.may_be_best.tolist()
    [True, True, False]
    """
    number = len(differences)
    if number < 2:
        return WithBest(np.ones(number, dtype=bool), np.zeros(number), np.zeros(number))
    apart = ~np.eye(number, dtype=bool)
    upper = np.where(apart, differences + half_widths, np.inf).min(axis=1)
    may = upper > 0
    lower = np.where(apart & may[None], differences - half_widths, np.inf).min(axis=1)
    # The only one that may be the best is the best: the others are no better.
    alone = may & (may.sum() == 1)
    return WithBest(may, np.where(alone, 0.0, np.minimum(lower, 0.0)), np.maximum(upper, 0.0))


def winner_if_equal(deviations: Floats, times: int = 64) -> Floats:
    """Return how often the winner of equal means would be drawn as the best: the median over simulated studies.

    Parameters
    ----------
    deviations : array of shape (k, draws, ...)
        How far each of k means moves when the study is drawn again.
    times : int
        Simulated studies. Each takes one draw as its means, and draws it again with all deviations.

    Returns
    -------
    array of shape (...)
        1 of a single mean, 1 / k where means do not move.

    Examples
    --------
    >>> import numpy as np
    >>> deviations = np.random.default_rng(0).normal(size=(4, 400))
    >>> 0.5 < float(winner_if_equal(deviations)) < 0.7
    True
    """
    number, draws = deviations.shape[:2]
    places = np.linspace(0, draws - 1, min(times, draws)).round().astype(int)
    # Means that differ by rounding alone are equal: how sums are rounded depends on the processor.
    rounding = 1e-12 * np.abs(deviations).max(axis=(0, 1), initial=0.0)
    shares = []
    for place in places.tolist():
        values = deviations + deviations[:, place : place + 1]
        top = values >= values.max(axis=0) - rounding
        shares.append((top / np.maximum(top.sum(axis=0), 1)).mean(axis=1).max(axis=0))
    made: Floats = np.median(np.stack(shares), axis=0)
    return np.where(np.isnan(deviations).any(axis=(0, 1)), np.nan, made) if number else made
