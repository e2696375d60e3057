"""Groups compared by the mean of a number: means, their intervals, differences with errors, and what chance gives.

Two designs share one interface:

- ``RowMeans``: rows with fixed numbers in one sample, such as the exposures of one ranking. A difference is studentised
  with the variances of both sides (Welch), and chance permutes the groups over the rows (Chung and Romano 2013: exact
  where rows are exchangeable, right in large samples where only the means are equal).
- ``ClusterMeans``: whole clusters of rows are the sample, such as queries. The number of a group is its mean within
  each cluster, averaged over the clusters that have the group; a difference is taken within each cluster that has both
  sides, and tested by Student's t over clusters, whose degrees of freedom fall where few clusters make the variance.
  Chance changes the sign of a whole cluster's differences.

Several numbers are compared at once. ``ComparisonSides`` say which groups stand against which: ``left`` and ``right``
``[comparison, group]`` are 1 for the groups of a side. A number that is undefined is NaN.

Rates of rows that come in clusters: their variance, and how many clusters it is really known from.

With x_c successes among n_c rows of cluster c, the rate p = sum x_c / sum n_c and the residuals e_c = x_c - p n_c,

    variance = k / (k - 1) * sum e_c^2 / (sum n_c)^2        of k clusters that have any rows.

That variance is itself estimated, and of a rare outcome from few clusters only: those in which it occurs. The effective
number of clusters is k* = (sum e_c^2)^2 / sum e_c^4, k where all residuals are of one size and about k / 3 where they
are normal; the degrees of freedom taken are 2 k* - 1, at least 1 and at most k - 1. With k - 1 instead, 8 clusters of
10 rows at a rate of 10% and an intra-cluster correlation of 0.5 give an interval that covers 89% (these: 98%), of 50
rows 85% (90%). Below 30 clusters an interval is approximate all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from equipoise.foundation import Floats

# From so many clusters on an interval holds its level within 2 points, whatever the outcome.
ENOUGH_CLUSTERS = 30


def clustered_rate(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return a rate, the variance that clusters give it, and the degrees of freedom of that variance.

    Parameters
    ----------
    successes, trials : array of shape (n_clusters, ...)
        Sums of each cluster; a cluster without trials does not count.

    Returns
    -------
    rate, variance, degrees : arrays of shape (...)
        NaN without trials; variance and degrees are NaN with fewer than two clusters.

    Examples
    --------
    >>> rate, variance, degrees = clustered_rate([[3.0], [1.0], [0.0], [2.0]], [[4.0], [4.0], [4.0], [4.0]])
    >>> round(float(rate[0]), 3), round(float(variance[0]), 4), round(float(degrees[0]), 2)
    (0.375, 0.026, 3.0)
    """
    x, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    total, k = n.sum(axis=0), (n > 0).sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = x.sum(axis=0) / total
        squares = (x - rate * n) ** 2
        variance = k / (k - 1) * squares.sum(axis=0) / total**2
        effective = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
    # Where nothing varies there is nothing to tell clusters apart by: they count one by one.
    varies = squares.sum(axis=0) > 1e-24 * total**2
    degrees = np.where(varies, np.clip(2.0 * effective - 1.0, 1.0, np.maximum(k - 1, 1.0)), k - 1)
    some = k > 1
    return rate, np.where(some, np.where(varies, variance, 0.0), np.nan), np.where(some, degrees, np.nan)


def clustered_trials(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Floats:
    """Return so many independent trials as give a rate of clustered rows its interval at a level.

    With z and t the quantiles of the normal and of Student's distribution at the degrees of freedom, it is
    p (1 - p) / variance * (z / t)^2, at most the number of rows: Wilson's interval of so many trials then reaches t
    standard errors. A rate of 0 or 1 has no variance: each cluster counts as one trial.

    Examples
    --------
    >>> x, n = [[3.0], [1.0], [0.0], [2.0]], [[4.0], [4.0], [4.0], [4.0]]
    >>> round(float(clustered_trials(x, n)[0]), 2)
    3.41
    """
    rate, variance, degrees = clustered_rate(successes, trials)
    n = np.asarray(trials, dtype=np.float64)
    tail = (1.0 - level) / 2.0
    is_defined = ~np.isnan(degrees)
    narrower = (stats.norm.isf(tail) / stats.t.isf(tail, np.where(is_defined, degrees, 1.0))) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(variance > 0, rate * (1 - rate) / variance, (n > 0).sum(axis=0))
    return np.where(is_defined, np.minimum(effective * narrower, n.sum(axis=0)), np.nan)


Codes = NDArray[np.int64]
Sampler = Callable[[int], Floats]

# Up to so many rows a permutation is made row by row. Beyond, the rows that stand out most are permuted one by one and
# the sums of all others have their normal limit: those are so many and so alike that no single one matters.
MOST_PERMUTED, MOST_OUTSTANDING = 4_000, 2_000
# A difference of groups without spread is studentised by this share of the variance over all rows.
LEAST_VARIANCE = 0.1
# A difference without any spread is this many standard errors wide.
LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class ComparisonSides:
    """Which groups are compared with which, ``[comparison, group]``."""

    left: Floats
    right: Floats

    @classmethod
    def of(cls, comparisons: Sequence[tuple[Sequence[int], Sequence[int]]], groups: int) -> ComparisonSides:
        """Build them from places of groups."""
        left, right = np.zeros((2, len(comparisons), groups))
        for row, (members, others) in enumerate(comparisons):
            left[row, list(members)] = 1.0
            right[row, list(others)] = 1.0
        return cls(left, right)

    @classmethod
    def pairs(cls, compared: NDArray[np.bool_]) -> ComparisonSides:
        """Every two of the groups that are kept."""
        indices = np.flatnonzero(compared).tolist()
        return cls.of([([low], [high]) for at, low in enumerate(indices) for high in indices[at + 1 :]], len(compared))

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, eq=False)
class MeanDifferences:
    """Means of both sides, their difference, its standard error and degrees of freedom: ``[comparison, number]``.

    ``units`` is how many rows or clusters the smaller side is known from, ``skewness`` that of the differences over
    clusters (0 for rows, whose null needs no normal limit).
    """

    left: Floats
    right: Floats
    error: Floats
    degrees: Floats
    units: Floats
    skewness: Floats

    def p(self) -> Floats:
        """The two-sided p of Student's t, and of Hall's transformation of it where that is larger (Hall 1992).

        With the skewness g over n clusters that is t + g (1 + 2 t^2) / (6 sqrt(n)) + g^2 t^3 / (27 n): a mean of skewed
        numbers is off in one direction more easily than in the other.
        """
        t, degrees = self.statistic, np.maximum(self.degrees, 1.0)
        n = np.maximum(self.units, 1.0)
        turned = t + self.skewness * (1.0 + 2.0 * t**2) / (6.0 * np.sqrt(n)) + self.skewness**2 * t**3 / (27.0 * n)
        turned = np.where(np.sign(turned) == np.sign(t), turned, 0.0)
        return np.asarray(2.0 * stats.t.sf(np.minimum(np.abs(t), np.abs(turned)), degrees), dtype=np.float64)

    @property
    def value(self) -> Floats:
        """Left minus right."""
        return self.left - self.right

    @property
    def statistic(self) -> Floats:
        """The difference over its standard error; 0 where neither is anything."""
        return _studentised(self.value, self.error)


def _studentised(value: Floats, error: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.clip(value / error, -LARGEST, LARGEST)
    return np.where((error == 0) & (value == 0), 0.0, ratios)


class GroupMeans(Protocol):
    """What both designs can tell."""

    @property
    def values(self) -> Floats:
        """The mean of each group, ``[group, number]``."""

    @property
    def people(self) -> Floats:
        """How many rows each group has."""

    @property
    def units(self) -> Floats:
        """How many rows or clusters the mean of each group is known from, ``[group, number]``."""

    def only(self, groups: Sequence[int]) -> GroupMeans:
        """Return the same with some groups only."""

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Both ends of Student's interval of each mean, ``[group, number]``."""

    def trials(self, level: float) -> Floats:
        """How many independent people would know a share as well, at a level, ``[group, number]``."""

    def differences(self, sides: ComparisonSides) -> MeanDifferences:
        """The difference of each comparison."""

    def null(self, sides: ComparisonSides, generator: np.random.Generator) -> Sampler:
        """Return what draws statistics of differences as chance gives them, ``[draw, comparison, number]``."""


def _student(values: Floats, errors: Floats, degrees: Floats, level: float) -> tuple[Floats, Floats]:
    is_defined = degrees > 0
    reach = stats.t.isf((1.0 - level) / 2.0, np.where(is_defined, degrees, 1.0)) * errors
    reach = np.where(is_defined, reach, np.nan)
    return values - reach, values + reach


@dataclass(frozen=True, eq=False)
class RowMeans:
    """Rows with fixed numbers ``[row, number]``, each in one group."""

    numbers: Floats
    codes: Codes
    groups: int

    @cached_property
    def people(self) -> Floats:
        """How many rows each group has."""
        return np.bincount(self.codes, minlength=self.groups).astype(np.float64)

    @cached_property
    def _centre(self) -> Floats:
        return self.numbers.mean(axis=0) if len(self.numbers) else np.zeros(self.numbers.shape[1])

    @cached_property
    def _moments(self) -> Floats:
        """Every row's numbers about their mean, and their squares, ``[row, 2 x number]``."""
        around = self.numbers - self._centre
        return np.concatenate([around, around**2], axis=1)

    @cached_property
    def _sums(self) -> Floats:
        return np.stack(
            [np.bincount(self.codes, weights=column, minlength=self.groups) for column in self._moments.T], axis=1
        )

    @property
    def values(self) -> Floats:
        """The mean of each group, ``[group, number]``."""
        return self._plain_means(np.eye(self.groups))

    def _plain_means(self, side: Floats) -> Floats:
        """Return the means of sides, from sums that are not moved to their centre: what is 0 stays 0."""
        sums = [np.bincount(self.codes, weights=column, minlength=self.groups) for column in self.numbers.T]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(side @ np.stack(sums, axis=1) / (side @ self.people)[:, None], dtype=np.float64)

    @property
    def units(self) -> Floats:
        """How many rows each mean is known from, ``[group, number]``."""
        return np.broadcast_to(self.people[:, None], (self.groups, self.numbers.shape[1]))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Both ends of Student's interval of each mean, ``[group, number]``."""
        mean, variance = self._side(np.eye(self.groups), self.people, self._sums)
        return _student(mean + self._centre, np.sqrt(variance), self.units - 1.0, level)

    def only(self, groups: Sequence[int]) -> RowMeans:
        """Return the same with some groups only."""
        code_of = np.full(self.groups, -1, dtype=np.int64)
        code_of[list(groups)] = np.arange(len(groups))
        codes = code_of[self.codes]
        return RowMeans(self.numbers[codes >= 0], codes[codes >= 0], len(groups))

    def trials(self, level: float) -> Floats:
        """The rows of each group, ``[group, number]``."""
        return np.array(self.units)

    def _side(self, side: Floats, people: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """Return the means of sides and the variances of those means, ``[..., comparison, number]``."""
        width = self.numbers.shape[1]
        n = (side @ people)[:, None]
        totals = side @ sums
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals[..., :width] / n
            variance = np.maximum(totals[..., width:] / n - mean**2, 0.0) / (n - 1.0)
        return mean, np.where(variance < 1e-18, 0.0, variance)

    def _compared(self, sides: ComparisonSides, people: Floats, sums: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the means of both sides about the centre, and the error of their difference."""
        (left, left_part), (right, right_part) = (self._side(side, people, sums) for side in (sides.left, sides.right))
        every = self._moments[:, self.numbers.shape[1] :].sum(axis=0) / max(len(self.numbers) - 1, 1)
        with np.errstate(divide="ignore"):
            inverse = (1.0 / (sides.left @ people) + 1.0 / (sides.right @ people))[:, None]
        return left, right, np.sqrt(np.maximum(left_part + right_part, LEAST_VARIANCE * every * inverse))

    def differences(self, sides: ComparisonSides) -> MeanDifferences:
        """The difference of each comparison."""
        _, _, error = self._compared(sides, self.people, self._sums)
        units = np.minimum(sides.left @ self.people, sides.right @ self.people)[:, None]
        left, right = self._plain_means(sides.left), self._plain_means(sides.right)
        return MeanDifferences(
            left, right, error, np.full(error.shape, np.inf),
            np.broadcast_to(units, error.shape), np.zeros(error.shape),
        )  # fmt: skip

    def null(self, sides: ComparisonSides, generator: np.random.Generator) -> Sampler:
        """Return what draws statistics of differences with the groups permuted, ``[draw, comparison, number]``."""
        dealt = _DealtSums(self._moments, self.people, generator)

        def draw(number: int) -> Floats:
            left, right, error = self._compared(sides, self.people, dealt(number))
            return _studentised(left - right, error)

        return draw


class _DealtSums:
    """Sums over groups whose members are drawn at random, their sizes kept: ``[draw, group, column]``."""

    def __init__(self, columns: Floats, people: Floats, generator: np.random.Generator) -> None:
        self.generator, self.people = generator, people.astype(np.int64)
        self.head, self.tail, self.spread = columns, np.zeros(columns.shape[1]), None
        self.rest = 0
        if len(columns) > MOST_PERMUTED:
            scale = np.maximum(columns.std(axis=0), 1e-300)
            outstanding = np.abs((columns - columns.mean(axis=0)) / scale).max(axis=1)
            order = np.argsort(-outstanding, kind="stable")
            self.head, others = columns[order[:MOST_OUTSTANDING]], columns[order[MOST_OUTSTANDING:]]
            self.tail, self.rest = others.mean(axis=0), len(others)
            values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(others.T)))
            self.spread = (vectors * np.sqrt(np.maximum(values, 0.0))).T

    def __call__(self, number: int) -> Floats:
        """Draw so many times."""
        groups, head = len(self.people), len(self.head)
        counts = self.generator.multivariate_hypergeometric(self.people, head, size=number, method="marginals")
        labels = np.repeat(np.tile(np.arange(groups), number), counts.ravel()).reshape(number, head)
        labels = self.generator.permuted(labels, axis=1)
        sums = np.stack([(labels == group).astype(np.float64) @ self.head for group in range(groups)], axis=1)
        if self.spread is None:
            return sums
        left = (self.people - counts).astype(np.float64)[..., None]
        wild = np.sqrt(left) * (self.generator.standard_normal((number, groups, len(self.spread))) @ self.spread)
        return np.asarray(sums + left * self.tail + wild - left / self.rest * wild.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ClusterMeans:
    """Sums of numbers ``[cluster, group, number]`` and how many rows they are of, ``[cluster, group]``.

    A number that is undefined in a cluster is NaN there, and the cluster does not count for it.
    """

    sums: Floats
    counts: Floats

    @property
    def people(self) -> Floats:
        """How many rows each group has."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64)

    def _means(self, side: Floats) -> Floats:
        """Return the mean of each side in each cluster, ``[cluster, comparison, number]``; NaN without rows."""
        rows = self.counts @ side.T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(rows[..., None] > 0, side @ self.sums / rows[..., None], np.nan)

    @staticmethod
    def _over_clusters(values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the mean over clusters, its standard error, degrees of freedom, and how many clusters count.

        Degrees of freedom are 2 k* - 1 with the effective number of clusters k* = (sum e^2)^2 / sum e^4 (as in
        ``_clusters``), at most k - 1: where few clusters make the variance, it is known from few.
        """
        is_defined = ~np.isnan(values)
        number = is_defined.sum(axis=0).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(is_defined, values, 0.0).sum(axis=0) / number
            deviations = np.where(is_defined, (values - mean) ** 2, 0.0)
            squares = deviations.sum(axis=0)
            error = np.sqrt(squares / (number - 1.0) / number)
            effective = np.nan_to_num(squares**2 / (deviations**2).sum(axis=0), nan=0.0)
        degrees = np.clip(2.0 * effective - 1.0, 1.0, np.maximum(number - 1.0, 1.0))
        return mean, np.where(error < 1e-12, 0.0, error), np.where(number > 1, degrees, 0.0), number

    @cached_property
    def _groups(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self._over_clusters(self._means(np.eye(self.counts.shape[1])))

    @property
    def values(self) -> Floats:
        """The mean of each group, ``[group, number]``."""
        return self._groups[0]

    @property
    def units(self) -> Floats:
        """How many clusters each mean is known from, ``[group, number]``."""
        return self._groups[3]

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Both ends of Student's interval of each mean, ``[group, number]``."""
        mean, error, degrees, _ = self._groups
        return _student(mean, error, degrees, level)

    def only(self, groups: Sequence[int]) -> ClusterMeans:
        """Return the same with some groups only."""
        return ClusterMeans(self.sums[:, list(groups)], self.counts[:, list(groups)])

    def trials(self, level: float) -> Floats:
        """How many independent people would know a share as well as the clusters do, ``[group, number]``."""
        means = self._means(np.eye(self.counts.shape[1]))
        is_defined = ~np.isnan(means)
        # Each cluster counts alike, as if all had the same number of rows.
        rows = is_defined * (self.people[:, None] / np.maximum(is_defined.sum(axis=0), 1))
        return clustered_trials(np.where(is_defined, means, 0.0) * rows, rows, level)

    def differences(self, sides: ComparisonSides) -> MeanDifferences:
        """The difference of each comparison, over the clusters that have both sides."""
        left, right = self._means(sides.left), self._means(sides.right)
        _, error, degrees, number = self._over_clusters(left - right)
        both = np.isnan(left - right)
        means = [self._over_clusters(np.where(both, np.nan, side))[0] for side in (left, right)]
        deviations = left - right - (means[0] - means[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            cubes = np.nan_to_num(deviations**3).sum(axis=0) / number
            skewness = np.nan_to_num(cubes / (np.nan_to_num(deviations**2).sum(axis=0) / number) ** 1.5)
        return MeanDifferences(means[0], means[1], error, degrees, number, skewness)

    def null(self, sides: ComparisonSides, generator: np.random.Generator) -> Sampler:
        """Return what draws statistics of differences with the signs of clusters changed.

        A sum of signed differences over the root of their squares is Student's t in another form: it has the same
        p-value, and its denominator does not change with the signs.
        """
        differences = self._means(sides.left) - self._means(sides.right)
        clusters, *shape = differences.shape
        flat = np.nan_to_num(differences).reshape(clusters, -1)
        root = np.sqrt((flat**2).sum(axis=0))
        number = (~np.isnan(differences)).sum(axis=0).reshape(-1).astype(np.float64)

        def draw(draws: int) -> Floats:
            signs = generator.integers(0, 2, (draws, clusters), dtype=np.int8) * 2.0 - 1.0
            return _as_t(signs @ flat, root, number).reshape(draws, *shape)

        return draw


def _as_t(sums: Floats, root: Floats, number: Floats) -> Floats:
    """Return Student's t of sums over so many parts with this root of squares: r = sum / root, then
    t = r sqrt((n - 1) / (n - r^2)).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        r = sums / root
        t = r * np.sqrt(np.maximum(number - 1.0, 0.0) / np.maximum(number - r**2, 0.0))
    return np.where(root > 0, np.clip(np.nan_to_num(t, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST), 0.0)
