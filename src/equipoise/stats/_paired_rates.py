"""Did a rate change? Intervals and tests for one rate before and after, and for the change of a difference.

The same rows judged twice: Tango's (1998) score interval, which agrees with McNemar's test. Two samples of people:
Miettinen and Nurminen's, as between groups (see ``proportions``). The change of a difference adds the changes of two
sides that share nobody: each is estimated with a little added to its counts (Bonett and Price 2012 for pairs, Price and
Bonett 2004 for samples); without that the interval is too narrow where few judgements changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from equipoise.stats._proportions import crossing, quantile

Floats = NDArray[np.float64]

# In front of a table of pairs: was the row counted (after, before), and did it count as a success (after, before)?
CASES = [(a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)]
COUNTED_AFTER, COUNTED_BEFORE, SUCCESS_AFTER, SUCCESS_BEFORE = np.array(CASES, dtype=np.float64).T


@dataclass(frozen=True)
class Estimate:
    """A normal estimate: where it is, and its standard error."""

    centre: Floats
    spread: Floats

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference of two estimates that share no rows."""
        return Estimate(self.centre - other.centre, np.hypot(self.spread, other.spread))

    def interval(self, level: ArrayLike) -> tuple[Floats, Floats]:
        """Return the interval at a level."""
        half = quantile(level) * self.spread
        return self.centre - half, self.centre + half

    @property
    def p(self) -> Floats:
        """The two-sided p-value that it is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.abs(self.centre) / self.spread
        return np.asarray(2 * special.ndtr(-np.where(self.spread > 0, z, 0.0)), dtype=np.float64)


def pair_statistic(gained: ArrayLike, lost: ArrayLike, n: ArrayLike, d: ArrayLike = 0.0) -> Floats:
    """Return Tango's z for the hypothesis that the rate changed by d; for d = 0 it is McNemar's, (b - c) / sqrt(b + c).

    Of n rows b became a success and c ceased to be one. Under the hypothesis the share of the lost is estimated by
    maximum likelihood, the larger root q of 2n q^2 + (d (2n - b + c) - b - c) q - c d (1 - d) = 0.
    """
    b, c, size, change = (np.asarray(part, dtype=np.float64) for part in (gained, lost, n, d))
    linear = change * (2 * size - b + c) - b - c
    constant = -c * change * (1 - change)
    with np.errstate(invalid="ignore", divide="ignore"):
        q = (np.sqrt(np.maximum(linear**2 - 8 * size * constant, 0.0)) - linear) / (4 * size)
        variance = size * (2 * q + change * (1 - change))
        distance = b - c - size * change
        z = distance / np.sqrt(np.maximum(variance, 0.0))
    certain = np.where(np.abs(distance) < 1e-9, 0.0, np.where(distance > 0, np.inf, -np.inf))
    return np.asarray(np.where(variance > 1e-12, z, certain), dtype=np.float64)


def pair_p(gained: ArrayLike, lost: ArrayLike, n: ArrayLike) -> Floats:
    """Return the two-sided p-value that a rate of the same rows did not change; 1 where no row changed."""
    size = np.asarray(n, dtype=np.float64)
    p = 2 * special.ndtr(-np.abs(pair_statistic(gained, lost, size)))
    return np.asarray(np.where(size > 0, p, np.nan), dtype=np.float64)


def pair_interval(gained: ArrayLike, lost: ArrayLike, n: ArrayLike, level: ArrayLike = 0.95) -> tuple[Floats, Floats]:
    """Return Tango's interval of (b - c) / n: every change that the score test does not reject."""
    b, c, size = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (gained, lost, n)))
    z = quantile(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = (b - c) / size

    low, high = crossing(
        lambda d: np.abs(pair_statistic(b, c, size, d)) - z,
        np.stack([estimate, estimate]),
        np.stack([np.full_like(estimate, -1.0), np.full_like(estimate, 1.0)]),
    )
    known = size > 0
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def pair_estimate(table: Floats) -> Estimate:
    """Estimate the change of a rate from a table of pairs ``[..., case]`` of counts, in the order of ``CASES``.

    A rate is a ratio of counts; a row moves it by (success - rate) / trials, and the variance of the change is the sum
    of the squares of what each row moves. Where a rate is of the same rows before and after, one row is added to the
    gained and one to the lost (Bonett and Price); where a row may be counted once only, half a row to each of the four
    ways in which that happens.
    """
    added = np.asarray(table + _added(table), dtype=np.float64)
    trials_after, trials_before = added @ COUNTED_AFTER, added @ COUNTED_BEFORE
    rate_after, rate_before = added @ SUCCESS_AFTER / trials_after, added @ SUCCESS_BEFORE / trials_before
    moves = (SUCCESS_AFTER - COUNTED_AFTER * rate_after[..., None]) / trials_after[..., None]
    moves = moves - (SUCCESS_BEFORE - COUNTED_BEFORE * rate_before[..., None]) / trials_before[..., None]
    return Estimate(rate_after - rate_before, np.sqrt((added * moves**2).sum(axis=-1)))


def _added(table: Floats) -> Floats:
    once = np.flatnonzero((COUNTED_AFTER != COUNTED_BEFORE) & (SUCCESS_AFTER <= COUNTED_AFTER)
                          & (SUCCESS_BEFORE <= COUNTED_BEFORE))  # fmt: skip
    both = np.flatnonzero((COUNTED_AFTER + COUNTED_BEFORE == 2) & (SUCCESS_AFTER != SUCCESS_BEFORE))
    same_rows = table[..., once].sum(axis=-1, keepdims=True) == 0
    added = np.zeros_like(table)
    added[..., both] = np.where(same_rows, 1.0, 0.0)
    added[..., once] = np.where(same_rows, 0.0, 0.5)
    return added


def sample_estimate(x_after: ArrayLike, n_after: ArrayLike, x_before: ArrayLike, n_before: ArrayLike) -> Estimate:
    """Estimate the change of a rate between two samples, as one side of a difference of changes.

    Of four rates in all, half a success and half a failure are added to each (Price and Bonett).
    """
    rates, variances = [], []
    for successes, trials in ((x_after, n_after), (x_before, n_before)):
        size = np.asarray(trials, dtype=np.float64) + 1.0
        rate = (np.asarray(successes, dtype=np.float64) + 0.5) / size
        rates.append(rate)
        variances.append(rate * (1 - rate) / size)
    return Estimate(rates[0] - rates[1], np.sqrt(variances[0] + variances[1]))
