"""Variance components of seeds and of identical reruns, with intervals.

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

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]


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
    given, codes = np.asarray(values, dtype=np.float64), np.asarray(seeds)
    known = ~np.isnan(given)
    filled = np.where(known, given, 0.0)
    member = (codes[None, :] == np.unique(codes)[:, None]).astype(np.float64)
    n = member @ known  # [seed, number]
    k, total = (n > 0).sum(axis=0).astype(np.float64), n.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(n > 0, (member @ filled) / n, 0.0)
        overall = filled.sum(axis=0) / total
        inside = (np.where(known, given - member.T @ means, 0.0) ** 2).sum(axis=0)
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
