"""One test for a change that rests on several independent sources of variance, such as seeds and test people.

A change c is estimated with the variance v1 + v2 + ..., each part with its own degrees of freedom. It is significant at
level a where

    |c| > h(a) = sqrt( q1(a)^2 v1 + q2(a)^2 v2 + ... ),   qi(a) = t(1 - a/2, degrees_i), z(1 - a/2) for infinite ones

p is the smallest such a, and the interval at level a is c - h(a) to c + h(a): verdict and interval are one test. The
form is Banerjee's (1960), who proved that of independent normal means it rejects a true null hypothesis in a share of
at most a, whatever the ratio of the variances. Satterthwaite's degrees of freedom do not keep that with 3 to 5 seeds,
and the larger of two p-values does not with any number.

Of a study: v1 = s2_paired / S, from the differences of S shared seeds (t with S - 1 degrees), and v2 = s2_people, the
variance that test people give to the mean over all seeds (z). What one seed does to one person is in s2_paired already
(it makes seeds differ on these people), so it is taken out of s2_people (``people_variance``).

**Variance components.** Variance components of seeds and of identical reruns, with intervals.

A run with seed s and repeat r gives y_sr = mu + a_s + e_sr. With k seeds, n_s reruns of each and N runs in all:

    reruns  s_e^2 = MSW = sum_sr (y_sr - y_s.)^2 / (N - k)
    seeds   s_a^2 = (MSB - MSW) / n_0,  MSB = sum_s n_s (y_s. - y_..)^2 / (k - 1)
            n_0 = (N - sum_s n_s^2 / N) / (k - 1)

**Intervals.** Of the reruns exactly, by chi-square. Of the seeds by modified large samples (Ting et al. 1990; Burdick
and Graybill 1992, 3.3), which is exact where either part is 0: with F(p; a, b) the upper p quantile of the F
distribution, q = alpha / 2, a = k - 1, b = N - k, and M the mean square of the seeds' means times the harmonic mean h
of the n_s (MSB in a balanced layout),

    low  = (M - MSW - sqrt(G1^2 M^2 + H2^2 MSW^2 + G12 M MSW)) / h
    high = (M - MSW + sqrt(H1^2 M^2 + G2^2 MSW^2 + H12 M MSW)) / h
    G1 = 1 - 1 / F(q; a, inf)     H1 = 1 / F(1 - q; a, inf) - 1     G2, H2 the same with b
    G12 = ((f - 1)^2 - G1^2 f^2 - H2^2) / f,  f = F(q; a, b)
    H12 = ((1 - g)^2 - H1^2 g^2 - G2^2) / g,  g = F(1 - q; a, b)

Ends below 0 are 0. Without reruns the seeds' variance is that of the runs, with its chi-square interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from equipoise.foundation import Floats
from equipoise.stats._proportions import find_root

POWER = 0.8
# Pairs that a verdict needs at least, and below how many it is marked.
MIN_SEEDS, FEW_SEEDS = 3, 5
# Numbers of seeds that are tried, and points of the distribution of an estimated variance.
MAX_SEEDS, NODES = 1_000, 64


class LimitedBy(StrEnum):
    """What keeps a comparison from detecting a change of a given size."""

    NOTHING = "nothing"
    SEEDS = "seeds"
    PEOPLE = "test people"
    BOTH = "seeds and test people"


def _floats(value: ArrayLike) -> Floats:
    return np.asarray(value, dtype=np.float64)


def _quantiles(level: Floats, degrees: Floats) -> Floats:
    """Return t(1 - level / 2) of finite degrees and z(1 - level / 2) of infinite ones."""
    finite = np.isfinite(degrees)
    t = -special.stdtrit(np.where(finite, np.maximum(degrees, 1e-3), 1.0), level / 2)
    return _floats(np.where(finite, t, -special.ndtri(level / 2)))


def banerjee_critical_value(variances: ArrayLike, degrees: ArrayLike, level: ArrayLike = 0.05) -> Floats:
    """Return the smallest change that is significant at a level, h(a) = sqrt(sum of q_i(a)^2 v_i).

    Parameters
    ----------
    variances : array of shape (..., n_sources)
        Variance that each source gives the estimated change.
    degrees : array of shape (..., n_sources)
        Degrees of freedom of each variance; ``inf`` where it is known.
    level : array of shape (...)
        Two-sided level.

    Returns
    -------
    array of shape (...)
        NaN where a variance is.

    Examples
    --------
    >>> round(float(banerjee_critical_value([1.0, 0.0], [4.0, float("inf")])), 3)
    2.776
    >>> round(float(banerjee_critical_value([0.5, 0.5], [4.0, float("inf")])), 3)
    2.403
    """
    v, n = np.broadcast_arrays(_floats(variances), _floats(degrees))
    # What has no variance adds nothing, whatever its degrees of freedom.
    q = np.where(v == 0, 0.0, _quantiles(_floats(level)[..., None], n))
    with np.errstate(over="ignore"):
        return _floats(np.sqrt((q**2 * v).sum(axis=-1)))


def banerjee_p(change: ArrayLike, variances: ArrayLike, degrees: ArrayLike) -> Floats:
    """Return the two-sided p-value of a change: the smallest level at which it is significant.

    Parameters
    ----------
    change : array of shape (...)
        Estimated change.
    variances, degrees : array of shape (..., n_sources)
        As of ``banerjee_critical_value``.

    Returns
    -------
    array of shape (...)
        0 where a change has no variance at all, 1 where there is no change either; NaN where something is undefined.

    Examples
    --------
    >>> round(float(banerjee_p(2.776, [1.0, 0.0], [4.0, float("inf")])), 4)
    0.05
    >>> float(banerjee_p(0.0, [1.0, 1.0], [4.0, float("inf")]))
    1.0
    """
    v, n = np.broadcast_arrays(_floats(variances), _floats(degrees))
    size = np.abs(_floats(change))
    size, total = np.broadcast_arrays(size, v.sum(axis=-1))
    v, n = np.broadcast_to(v, (*size.shape, v.shape[-1])), np.broadcast_to(n, (*size.shape, v.shape[-1]))
    used = np.where(v > 0, n, np.inf).min(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = size / np.sqrt(total)
        # Were all of the variance known, p would be at least this; had all of it the fewest degrees, at most that.
        low = np.log(np.maximum(2 * special.ndtr(-ratio), 1e-307))
        student = special.stdtr(np.where(np.isfinite(used), used, 1.0), -ratio)
        high = np.where(np.isfinite(used), np.log(np.maximum(2 * student, 1e-307)), low)
        if np.isfinite(used).any():
            high = find_root(lambda logarithm: size - banerjee_critical_value(v, n, np.exp(logarithm)), low, high)
    p = np.where(total > 0, np.exp(high), np.where(size > 0, 0.0, 1.0))
    return np.where(np.isnan(size) | np.isnan(total), np.nan, np.minimum(p, 1.0))


def sources_interval(
    change: ArrayLike, variances: ArrayLike, degrees: ArrayLike, level: ArrayLike = 0.05
) -> tuple[Floats, Floats]:
    """Return the interval of a change: every value that the test does not reject at a level (0.05 gives 95%).

    Examples
    --------
    >>> low, high = sources_interval(3.0, [1.0, 0.0], [4.0, float("inf")])
    >>> round(float(low), 3), round(float(high), 3)
    (0.224, 5.776)
    """
    half = banerjee_critical_value(variances, degrees, level)
    return _floats(_floats(change) - half), _floats(_floats(change) + half)


class Change(NamedTuple):
    """A change over seeds: its estimate, its variance by source and their degrees of freedom, ``[..., source]``.

    ``units`` is how many pairs of seeds it rests on, or of the smaller side where seeds are not shared. ``single`` is
    the variance of one pair (of two single seeds where they are not shared).
    """

    change: Floats
    variances: Floats
    degrees: Floats
    units: Floats
    single: Floats


def paired_change(treated: ArrayLike, baseline: ArrayLike) -> Change:
    """Return the change over shared seeds, ``[seed, ...]`` of both sides, repeats of a seed averaged already.

    A seed that is undefined on one side is no pair. The variance is s2 of the differences over their number, never
    pooled with that of other comparisons.
    """
    d = _floats(treated) - _floats(baseline)
    mean, s2, number = _moments(d)
    return Change(mean, (s2 / np.maximum(number, 1))[..., None], (number - 1)[..., None], number, s2)


def unpaired_change(treated: ArrayLike, baseline: ArrayLike) -> Change:
    """Return the change between runs that are not paired, ``[run, ...]``: two variances, each with its own degrees."""
    sides = [_moments(_floats(side)) for side in (treated, baseline)]
    variances = np.stack([s2 / np.maximum(number, 1) for _, s2, number in sides], axis=-1)
    degrees = np.stack([number - 1 for _, _, number in sides], axis=-1)
    units = np.minimum(sides[0][2], sides[1][2])
    return Change(sides[0][0] - sides[1][0], variances, degrees, units, sides[0][1] + sides[1][1])


def _moments(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and number of the defined values over the first axis; NaN of too few."""
    is_defined = ~np.isnan(values)
    number = is_defined.sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_defined, values, 0.0).sum(axis=0) / number
        s2 = np.where(is_defined, (values - mean) ** 2, 0.0).sum(axis=0) / (number - 1)
    size = np.where(is_defined, np.abs(values), 0.0).max(axis=0, initial=0.0)
    # What rounding leaves of equal values is no variance.
    return np.where(number > 0, mean, np.nan), np.where(
        number > 1, np.where(s2 < (1e-13 * size) ** 2, 0.0, s2), np.nan
    ), number  # fmt: skip


def add_people_variance(change: Change, people: ArrayLike) -> Change:
    """Return a change with the variance that test people give it as a further source, known as such (z)."""
    v = np.broadcast_to(_floats(people), change.change.shape)[..., None]
    return change._replace(
        variances=np.concatenate([change.variances, v], axis=-1),
        degrees=np.concatenate([change.degrees, np.full_like(v, np.inf)], axis=-1),
    )


def people_variance(of_mean: ArrayLike, of_single: ArrayLike, seeds: ArrayLike) -> Floats:
    """Return the variance that test people give a mean over seeds, without what single seeds do to single people.

    With u the variance over people of an effect that all seeds share and w that of what a seed adds to it, people give
    one seed's change the variance u + w and the mean of S seeds u + w / S. So

        u = of_mean - (of_single - of_mean) / (S - 1),

    where the second term is the seed x person residual over S. It is never taken below 0, and neither is u.

    Parameters
    ----------
    of_mean : array
        Variance over people of the mean over seeds.
    of_single : array
        Variance over people of one seed's change, averaged over seeds.
    seeds : array
        Number of seeds.

    Examples
    --------
    >>> float(people_variance(1.5, 3.0, 4))  # u = 1, w = 2
    1.0
    """
    mean, single, number = _floats(of_mean), _floats(of_single), _floats(seeds)
    with np.errstate(invalid="ignore", divide="ignore"):
        residual = np.maximum(single - mean, 0.0) / (number - 1)
    return np.where(number > 1, np.maximum(mean - np.nan_to_num(residual), 0.0), mean)


@cache
def _spread_nodes(degrees: int) -> Floats:
    """Return equally likely values of an estimated variance over the true one (chi-square over its degrees)."""
    quantiles = (np.arange(NODES) + 0.5) / NODES
    return _floats(special.gammaincinv(degrees / 2, quantiles) * 2 / degrees)


def detection_power(
    effect: ArrayLike, single: ArrayLike, people: ArrayLike, seeds: float, level: ArrayLike = 0.05
) -> Floats:
    """Return the power to detect a change of a given size with a number of seeds.

    Parameters
    ----------
    effect : array
        True change.
    single : array
        Variance of the difference of one pair of seeds.
    people : array
        Variance that test people give the change; seeds do not lower it.
    seeds : int or inf
        Pairs of seeds.
    level : array
        Two-sided level that decides, after correction.

    Notes
    -----
    The estimate is normal with variance single / S + people; the critical value rests on the estimated variance of
    seeds, which is averaged over its chi-square distribution (64 points).

    Examples
    --------
    >>> round(float(detection_power(0.02, 0.01**2, 0.0, 5)), 2)  # a paired t-test, 2 standard deviations
    0.91
    """
    size, s2, v, a = np.broadcast_arrays(np.abs(_floats(effect)), _floats(single), _floats(people), _floats(level))
    z = -special.ndtri(a / 2)
    if not np.isfinite(seeds):
        return _tails(size, z * np.sqrt(v), np.sqrt(v))
    nodes = _spread_nodes(int(seeds) - 1)
    t = -special.stdtrit(seeds - 1.0, a / 2)
    variance = v[..., None]
    critical = np.sqrt((t**2 * s2 / seeds)[..., None] * nodes + (z**2)[..., None] * variance)
    total = np.sqrt(s2 / seeds + v)[..., None]
    return _floats(_tails(size[..., None], critical, np.broadcast_to(total, critical.shape)).mean(axis=-1))


def _tails(size: Floats, critical: Floats, error: Floats) -> Floats:
    """Return the share of a normal about ``size`` beyond the critical value on either side."""
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = special.ndtr((size - critical) / error) + special.ndtr((-size - critical) / error)
    return np.where(error > 0, probability, np.where(np.isnan(error), np.nan, (size > critical).astype(np.float64)))


def seeds_to_detect(
    effect: ArrayLike, single: ArrayLike, people: ArrayLike, *, level: ArrayLike = 0.05, power: float = POWER
) -> Floats:
    """Return how many pairs of seeds detect a change with a power; inf where none of up to 1,000 do.

    Examples
    --------
    >>> float(seeds_to_detect(0.02, 0.02**2, 0.0))
    10.0
    >>> float(seeds_to_detect(0.02, 0.02**2, 0.02**2))
    inf
    """
    size, s2, v, a = np.broadcast_arrays(*(_floats(values) for values in (effect, single, people, level)))
    shape = size.shape
    size, s2, v, a = (values.reshape(-1) for values in (size, s2, v, a))
    low = np.full(len(size), MIN_SEEDS - 1)
    high = np.full(len(size), MAX_SEEDS)
    enough = detection_power(size, s2, v, MAX_SEEDS, a) >= power
    while (open_ := enough & (high - low > 1)).any():
        middle = (low + high) // 2
        for number in np.unique(middle[open_]).tolist():
            rows = open_ & (middle == number)
            is_enough = detection_power(size[rows], s2[rows], v[rows], number, a[rows]) >= power
            high[rows] = np.where(is_enough, number, high[rows])
            low[rows] = np.where(is_enough, low[rows], number)
    seeds = np.where(enough, high.astype(np.float64), np.inf)
    return np.where(np.isnan(s2) | np.isnan(v), np.nan, seeds).reshape(shape)


def limited_by(
    effect: float, single: float, people: float, seeds: int, *, level: float = 0.05, power: float = POWER
) -> LimitedBy:
    """Say what keeps a comparison from detecting a change of a given size.

    ``NOTHING`` where this many seeds and people detect it, ``SEEDS`` where more seeds would, ``PEOPLE`` where no number
    of seeds does but more people would, ``BOTH`` where neither does alone.

    Examples
    --------
    >>> limited_by(0.02, 0.02**2, 0.0, 5).value, limited_by(0.02, 0.001**2, 0.02**2, 5).value
    ('seeds', 'test people')
    """
    if float(detection_power(effect, single, people, seeds, level)) >= power:
        return LimitedBy.NOTHING
    if float(detection_power(effect, single, people, np.inf, level)) >= power:
        return LimitedBy.SEEDS
    alone = float(detection_power(effect, single, 0.0, seeds, level)) >= power
    return LimitedBy.PEOPLE if alone else LimitedBy.BOTH


@dataclass(frozen=True, eq=False)
class VarianceComponents:
    """Variances of reruns and of seeds, an entry a number, with the ends of their intervals; NaN is undefined.

    ``seeds`` may be below 0: reruns then vary as much as seeds do. Its interval never is.
    """

    reruns: Floats
    reruns_low: Floats
    reruns_high: Floats
    seeds: Floats
    seeds_low: Floats
    seeds_high: Floats
    runs: Floats
    number_of_seeds: Floats


def variance_components(values: ArrayLike, seeds: ArrayLike, level: float = 0.95) -> VarianceComponents:
    """Estimate how much of the variance over runs is due to seeds and how much to identical reruns.

    Parameters
    ----------
    values : array of shape (n_runs, n_numbers)
        A number of each run; runs in which it is undefined (NaN) do not count for it.
    seeds : array of shape (n_runs,)
        The seed of each run: runs of equal seeds are identical runs.
    level : float
        The level of the intervals.

    Returns
    -------
    VarianceComponents
        Variances, not standard deviations.

    Examples
    --------
    >>> found = variance_components([[1.0], [1.2], [2.0], [2.2], [3.0], [3.2]], [0, 0, 1, 1, 2, 2])
    >>> found.reruns.round(4).tolist(), found.seeds.round(4).tolist()
    ([0.02], [0.99])
    >>> found.seeds_low.round(2).tolist(), found.seeds_high.round(1).tolist()
    ([0.28], [39.5])
    """
    table, codes = np.asarray(values, dtype=np.float64), np.asarray(seeds)
    is_defined = ~np.isnan(table)
    filled = np.where(is_defined, table, 0.0)
    member = (codes[None, :] == np.unique(codes)[:, None]).astype(np.float64)
    n = member @ is_defined  # [seed, number]
    k, total = (n > 0).sum(axis=0).astype(np.float64), n.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(n > 0, (member @ filled) / n, 0.0)
        overall = filled.sum(axis=0) / total
        inside = (np.where(is_defined, table - member.T @ means, 0.0) ** 2).sum(axis=0)
        between = (n * (means - overall) ** 2).sum(axis=0) / (k - 1)
        within = np.where(total > k, inside / (total - k), np.nan)
        n0 = (total - (n**2).sum(axis=0) / total) / (k - 1)
        # Of the seeds' means, unweighted: their interval is right for any numbers of reruns (Thomas and Hultquist).
        harmonic = k / np.where(n > 0, 1.0 / np.where(n > 0, n, 1.0), 0.0).sum(axis=0)
        middle = means.sum(axis=0) / k
        mean_square = harmonic * (np.where(n > 0, means - middle, 0.0) ** 2).sum(axis=0) / (k - 1)
        variance = np.where(k > 1, np.where(np.isnan(within), between, (between - within) / n0), np.nan)
    # What rounding leaves of equal runs is no estimate.
    scale = 1e-12 * np.maximum(np.abs(overall), 1e-300) ** 2
    variance = np.where(np.abs(variance) < scale, 0.0, variance)
    within = np.where(within < scale, 0.0, within)
    low, high = _chi_square(within, total - k, level)
    alone = _chi_square(np.where(between < scale, 0.0, between), k - 1, level)
    nested = _modified_large_sample(np.where(mean_square < scale, 0.0, mean_square), within, k - 1, total - k, level)
    ends = [np.where(k > 1, np.where(np.isnan(within), *pair), np.nan) for pair in zip(alone, nested, strict=True)]
    per_run = [end / np.where(np.isnan(within), 1.0, harmonic) for end in ends]
    return VarianceComponents(within, low, high, variance, np.maximum(per_run[0], 0.0), np.maximum(per_run[1], 0.0),
                              total, k)  # fmt: skip


def _chi_square(variance: Floats, degrees: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the interval of a variance whose estimate has so many degrees of freedom."""
    tail, some = (1.0 - level) / 2.0, degrees > 0
    nu = np.where(some, degrees, 1.0)
    low, high = nu * variance / stats.chi2.isf(tail, nu), nu * variance / stats.chi2.ppf(tail, nu)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def _modified_large_sample(
    between: Floats, within: Floats, degrees: Floats, inner: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the interval of the difference of two mean squares; NaN where one has no degrees of freedom."""
    q, some = (1.0 - level) / 2.0, (degrees > 0) & (inner > 0)
    a, b = np.where(some, degrees, 1.0), np.where(some, inner, 1.0)
    first, second = np.where(some, between, 0.0), np.where(some, np.nan_to_num(within), 0.0)
    g1, g2 = (1.0 - nu / stats.chi2.isf(q, nu) for nu in (a, b))
    h1, h2 = (nu / stats.chi2.ppf(q, nu) - 1.0 for nu in (a, b))
    f, g = stats.f.isf(q, a, b), stats.f.ppf(q, a, b)
    g12 = ((f - 1.0) ** 2 - g1**2 * f**2 - h2**2) / f
    h12 = ((1.0 - g) ** 2 - h1**2 * g**2 - g2**2) / g
    down = np.sqrt(np.maximum(g1**2 * first**2 + h2**2 * second**2 + g12 * first * second, 0.0))
    up = np.sqrt(np.maximum(h1**2 * first**2 + g2**2 * second**2 + h12 * first * second, 0.0))
    low, high = first - second - down, first - second + up
    return np.where(some, low, np.nan), np.where(some, high, np.nan)
