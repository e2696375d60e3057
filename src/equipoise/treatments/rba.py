"""Reducing bias amplification (paper 004, S-DD4; Zhao et al. 2017): scores lowered until predictions are in balance.

Of the rows that are said to be of class y, each group g shall have the share r = 1/G, give or take a margin m. With
n_yg rows of group g said to be of class y, two constraints hold a group d in its bounds:

    sum_g n_yg c_g <= 0    with    c_g = (r - m) - [g = d]    and    c_g = [g = d] - (r + m)

With two groups those of the first speak for both. Each has a multiplier, 0 at first; a round adds 3 times the sum to it
(never below 0), and lowers the score of the class that a row is said to be of by the sum of multiplier times c_g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.training.material import Codes

Floats = NDArray[np.float64]

# The authors' numbers.
MARGIN, STEP, ROUNDS = 0.05, 3.0, 100
# Sums of fractions that are 0 but for rounding violate nothing.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Balance:
    """Scores that were lowered, and how: the multipliers ``[round, class, constraint]`` of every round.

    ``residuals`` ``[class, constraint]`` say how far beyond its bound a share is in the end: the sum of a constraint
    over the rows that are said to be of the class. Positive is unmet; a class that no row is said to be of has 0.
    """

    scores: Floats
    multipliers: Floats
    residuals: Floats

    @property
    def met(self) -> bool:
        """Whether every constraint holds in the end."""
        return not bool((self.residuals > 0).any())


def constraints(groups: int) -> Floats:
    """Return c, ``[constraint, group]``: two for each group, for the first only where there are two."""
    share = 1.0 / groups
    held = np.eye(groups)[: 1 if groups <= 2 else groups]
    return np.concatenate([share - MARGIN - held, held - share - MARGIN])


def constraint_count(groups: int) -> int:
    """Return how many constraints there are for so many groups."""
    return 2 if groups <= 2 else 2 * groups


def balanced(scores: Floats, group: Codes, groups: int, weights: Floats | None = None) -> Balance:
    """Find multipliers on rows whose groups are known, and lower the scores ``[row, class]`` by them, round by round.

    A row of no group (-1) counts nowhere and stays as it is. ``weights`` say how many rows each stands for.
    """
    bounds = constraints(groups)
    counted = (group >= 0) * (1.0 if weights is None else weights)
    now = scores.copy()
    multipliers = np.zeros((scores.shape[1], len(bounds)))
    path: list[Floats] = []
    while True:
        said = now.argmax(axis=1)
        places = said * groups + np.maximum(group, 0)
        numbers = np.bincount(places, counted, minlength=scores.shape[1] * groups).reshape(-1, groups)
        excess = numbers @ bounds.T
        if len(path) == ROUNDS or not (excess > ROUNDING).any():
            named = numbers.sum(axis=1, keepdims=True)
            beyond = np.where(np.abs(excess) <= ROUNDING, 0.0, excess)
            residuals = np.divide(beyond, named, out=np.zeros_like(beyond), where=named > 0)
            return Balance(now, _stacked(path, multipliers), residuals)
        multipliers = np.maximum(multipliers + STEP * excess, 0.0)
        path.append(multipliers)
        _lower(now, scores, said, group, multipliers @ bounds)


def replayed(scores: Floats, group: Codes, groups: int, path: Floats) -> Floats:
    """Lower the scores of other rows, each by itself, as the rounds of a balance that was found lower them."""
    now, bounds = scores.copy(), constraints(groups)
    for multipliers in path:
        _lower(now, scores, now.argmax(axis=1), group, multipliers @ bounds)
    return now


def _lower(now: Floats, scores: Floats, said: Codes, group: Codes, by: Floats) -> None:
    """Set the score of the class that each row is said to be of: its first score, lowered by ``[class, group]``."""
    rows = np.flatnonzero(group >= 0)
    now[rows, said[rows]] = scores[rows, said[rows]] - by[said[rows], group[rows]]


def _stacked(path: list[Floats], like: Floats) -> Floats:
    return np.array(path).reshape(-1, *like.shape)
