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

# Values are tied if they differ by no more than this part of the largest of them. How a sum is rounded depends on the
# processor, about 1e-16 of the values for each term; what counts of people differ by is far more.
TIED_WITHIN = 1e-12


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


def tie_tolerance(values: Floats, axis: int | tuple[int, ...] = 0) -> Floats:
    """Return within how much values are tied: ``TIED_WITHIN`` of the largest of them, infinite and undefined left out.

    Examples
    --------
    >>> float(tie_tolerance(np.array([0.5, -2.0, np.nan])))
    2e-12
    """
    largest: Floats = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=axis, initial=0.0)
    return TIED_WITHIN * largest


def share_of_best(values: Floats, tolerance: Floats | float = 0.0) -> Floats:
    """Return how often each of k is the best, which is the highest.

    Parameters
    ----------
    values : array of shape (k, draws, ...)
        Undefined ones are never the best.
    tolerance : array of shape (...) or float
        Those within it of the highest are tied, and share the draw equally.

    Returns
    -------
    array of shape (k, ...)
        They add up to 1; undefined for one that is undefined in every draw.

    Examples
    --------
    >>> import numpy as np
    >>> share_of_best(np.array([[0.3, 0.5], [0.1 + 0.2, 0.4]]), 1e-12).tolist()
    [0.75, 0.25]
    """
    known = ~np.isnan(values)
    filled = np.where(known, values, -np.inf)
    top = (filled >= filled.max(axis=0) - tolerance) & known
    share = (top / np.maximum(top.sum(axis=0), 1)).mean(axis=1)
    return np.where(known.any(axis=1), share, np.nan)


def winner_if_equal(deviations: Floats, times: int = 64, tolerance: Floats | float | None = None) -> Floats:
    """Return how often the winner of equal means would be drawn as the best: the median over simulated studies.

    Parameters
    ----------
    deviations : array of shape (k, draws, ...)
        How far each of k means moves when the study is drawn again.
    times : int
        Simulated studies. Each takes one draw as its means, and draws it again with all deviations.
    tolerance : array of shape (...) or float, optional
        Within how much means are tied; without it, what ``tie_tolerance`` says of the deviations. Deviations of means
        that hardly move are rounded as the means are, so who has the means gives theirs.

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
    within = tie_tolerance(deviations, (0, 1)) if tolerance is None else tolerance
    shares = [
        share_of_best(deviations + deviations[:, place : place + 1], within).max(axis=0) for place in places.tolist()
    ]
    made: Floats = np.median(np.stack(shares), axis=0)
    return np.where(np.isnan(deviations).any(axis=(0, 1)), np.nan, made) if number else made
