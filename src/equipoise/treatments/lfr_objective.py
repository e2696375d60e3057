"""The objective of learned fair representations (Zemel et al. 2013, in AIF360's form) and its gradient.

K prototypes v_k with weights w_k; a row x belongs to prototype k with probability

    M_k(x) = exp(-|x - v_k|) / sum_j exp(-|x - v_j|),    x_hat = sum_k M_k v_k,    y_hat = sum_k M_k w_k (clipped)

    L   = individual * L_x + utility * L_y + group * L_z
    L_x = sum over the two groups of the mean of (x_hat - x)^2 over the group's rows and the features
    L_y = mean over rows of -[y log y_hat + (1 - y) log(1 - y_hat)]
    L_z = mean over k of |mean of M_k in one group - mean of M_k in the other|

With G groups L_x is 2/G times the sum over groups and L_z the mean over all pairs of groups: both are the lines above
when G = 2.

L depends on rows only through x, so equal rows count once, with weights. L has kinks where a difference of L_z is 0,
where a prototype lies on a row, and where y_hat meets its clip; there the gradient is a subgradient (0 for that part).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from equipoise.foundation import distinct_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

CLIP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Equal rows as one: the distinct rows of X, and how many people of each group and class stand behind each."""

    rows: Floats  # [pattern, feature]
    positives: Floats  # [pattern]: people of class 1
    negatives: Floats  # [pattern]
    shares: Floats  # [group, pattern]: the part of the group that has this pattern
    reconstruction: Floats  # [pattern]: what a squared error of this pattern counts in L_x
    pairs: tuple[tuple[int, int], ...]

    @property
    def people(self) -> float:
        """How many rows there were before equal ones were put together."""
        return float(self.positives.sum() + self.negatives.sum())


def patterns_of(rows: Floats, positive: NDArray[np.bool_], groups: Ints) -> Patterns:
    """Put equal rows together. ``groups`` numbers each row's group from 0."""
    distinct, inverse = distinct_rows(rows)
    count, size = int(groups.max()) + 1, len(distinct)
    members = np.bincount(groups * size + inverse, minlength=count * size).reshape(count, size).astype(np.float64)
    positives = np.asarray(np.bincount(inverse, weights=positive, minlength=size), dtype=np.float64)
    shares = members / members.sum(axis=1, keepdims=True)
    return Patterns(
        rows=distinct,
        positives=positives,
        negatives=members.sum(axis=0) - positives,
        shares=shares,
        reconstruction=shares.sum(axis=0) * 2.0 / count / rows.shape[1],
        pairs=tuple(combinations(range(count), 2)),
    )


@dataclass(frozen=True)
class Weights:
    """What each part of the objective counts: A_y, A_z and A_x of the paper."""

    utility: float
    group: float
    individual: float


@dataclass(frozen=True)
class Parts:
    """The three parts of the objective before they are weighted: L_y, L_z and L_x."""

    utility: float
    group: float
    individual: float

    def total(self, weights: Weights) -> float:
        """L: the weighted sum."""
        return weights.utility * self.utility + weights.group * self.group + weights.individual * self.individual


def memberships(rows: Floats, prototypes: Floats) -> Floats:
    """M ``[row, prototype]``: the softmax of minus the Euclidean distance."""
    return _softmax(cdist(prototypes, rows)).T


def objective_parts(outcome_weights: Floats, prototypes: Floats, patterns: Patterns) -> Parts:
    """Return L_y, L_z and L_x at a point."""
    member = memberships(patterns.rows, prototypes)
    guess = np.clip(member @ outcome_weights, CLIP, 1.0 - CLIP)
    error = member @ prototypes - patterns.rows
    means = patterns.shares @ member
    apart = [np.abs(means[one] - means[other]).mean() for one, other in patterns.pairs]
    logs = patterns.positives @ np.log(guess) + patterns.negatives @ np.log(1.0 - guess)
    return Parts(
        utility=float(-logs / patterns.people),
        group=float(np.mean(apart)),
        individual=float(patterns.reconstruction @ (error**2).sum(axis=1)),
    )


class Evaluation(NamedTuple):
    """L at a point; what the optimiser saw (L, or L with its |.| smoothed) and the gradient of that."""

    exact: float
    value: float
    gradient: Floats


class Objective:
    """L and its gradient as a function of one vector: the weights w, then the prototypes row by row.

    Arrays are kept as [prototype, pattern], so that what runs over patterns runs along memory.
    """

    def __init__(self, patterns: Patterns, prototypes: int, weights: Weights) -> None:
        self.weights = weights
        self.count = prototypes
        self.features = patterns.rows.shape[1]
        self._rows = patterns.rows
        self._columns = np.ascontiguousarray(patterns.rows.T)
        self._positives = patterns.positives / patterns.people
        self._negatives = patterns.negatives / patterns.people
        self._reconstruction = patterns.reconstruction
        one, other = (list(side) for side in zip(*patterns.pairs, strict=True))
        self._contrasts = patterns.shares[one] - patterns.shares[other]  # [pair, pattern]

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        """Return w and the prototypes of a point."""
        return point[: self.count], point[self.count :].reshape(self.count, self.features)

    def __call__(self, point: Floats, smoothing: float = 0.0) -> Evaluation:
        """Return L and its gradient; with ``smoothing`` s, of L with sqrt(t^2 + s^2) in place of |t| in L_z.

        The chain runs through M: with G = dL/dM and P = M (G - sum_k M G), dL/d|x - v_k| = -P, and
        d|x - v|/dv = (v - x)/|x - v|.
        """
        w, prototypes = self.split(point)
        distance = cdist(prototypes, self._rows)
        member = _softmax(distance)
        utility, by_weight, by_member = self._utility(w, member)
        individual, by_prototype, chained = self._individual(prototypes, member)
        by_member += chained
        apart, smoothed, chained = self._group(member, smoothing)
        by_member += chained
        by_member -= np.einsum("ku,ku->u", member, by_member)
        by_member *= member
        # At distance 0 the direction is not defined: the subgradient 0 is taken.
        pull = np.divide(by_member, distance, out=np.zeros_like(distance), where=distance > 0)
        by_prototype += pull @ self._rows - prototypes * pull.sum(axis=1)[:, None]
        plain = utility + individual
        return Evaluation(plain + apart, plain + smoothed, np.concatenate([by_weight, by_prototype.ravel()]))

    def _utility(self, w: Floats, member: Floats) -> tuple[float, Floats, Floats]:
        """A_y L_y, and its derivatives by w and by M."""
        raw = w @ member
        guess = np.minimum(np.maximum(raw, CLIP), 1.0 - CLIP)
        value = -float(self._positives @ np.log(guess) + self._negatives @ np.log(1.0 - guess))
        slope = self._negatives / (1.0 - guess) - self._positives / guess
        slope *= self.weights.utility * (raw == guess)  # where it is clipped, y_hat does not move
        return self.weights.utility * value, member @ slope, np.multiply.outer(w, slope)

    def _individual(self, prototypes: Floats, member: Floats) -> tuple[float, Floats, Floats | float]:
        """A_x L_x, and its derivatives by the prototypes (M fixed) and by M."""
        if self.weights.individual == 0:
            return 0.0, np.zeros_like(prototypes), 0.0
        error = prototypes.T @ member - self._columns  # [feature, pattern]
        scaled = error * (self.weights.individual * self._reconstruction)
        value = float(np.vdot(error, scaled))
        scaled *= 2.0
        return value, member @ scaled.T, prototypes @ scaled

    def _group(self, member: Floats, smoothing: float) -> tuple[float, float, Floats | float]:
        """A_z L_z, the same smoothed, and the derivative of that by M."""
        if self.weights.group == 0:
            return 0.0, 0.0, 0.0
        apart = self._contrasts @ member.T  # [pair, prototype]
        exact = float(np.abs(apart).mean())
        if smoothing:
            length = np.sqrt(apart**2 + smoothing**2)
            smoothed, slope = float(length.mean()), apart / length
        else:
            smoothed, slope = exact, np.sign(apart)
        chained = (slope.T * (self.weights.group / apart.size)) @ self._contrasts
        return self.weights.group * exact, self.weights.group * smoothed, chained


def _softmax(distance: Floats) -> Floats:
    """Return the softmax of minus the distances over the first axis."""
    member: Floats = np.exp(distance.min(axis=0) - distance)
    member /= member.sum(axis=0)
    return member
