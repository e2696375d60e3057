"""Tests of a study that grows until it is decided: fixed looks with one boundary, or a confidence sequence at any time.

**Fixed looks (Pocock).** A change is tested after n_1 < n_2 < ... < n_K pairs of seeds, each time at the same nominal
level a', and the study may stop at the first that is significant. a' is chosen so that a true null hypothesis is
rejected at any of the K looks with probability a. Pocock (1977) gives a' for known variances. Here it is exact for
Student's t of normal differences, whose looks are less alike with few pairs: with S the sum and Q the sum of squares
of n differences, r = S / sqrt(Q) is independent of Q under the null hypothesis (Basu), so the sequence of r is Markov,

    r' = sqrt(b) r + sqrt((1 - b) m) v,    b ~ Beta(n / 2, m / 2),    v = sin(theta), density ~ cos(theta)^(m - 2),

where m differences are added (v is the cosine between a random direction and (1, ..., 1)). The probability of ever
crossing the boundary follows backward from the last look by quadrature. It belongs to the smallest p over the looks as
a p-value does to p: ``looks_p`` is valid whenever one stops at a look, for whatever reason.

**Anytime.** The confidence sequence of the t e-process (a normal mixture with g = 1 over the standardised effect), with
n pairs, their mean d and the sum of squares V = sum (d_i - d)^2:

    d +- sqrt( V / n * (B - 1) / (1 - B / (1 + n g)) ),    B = (sqrt(1 + n g) / a1)^(2 / n),

    infinite while B >= 1 + n g

It covers a fixed true mean of all n at once with probability 1 - a1. To it z(a2) times the standard error over test
people is added, with a1 + a2 = a: those who are tested are the same at every n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, special

from equipoise.foundation import BadInput, Floats
from equipoise.stats._proportions import find_root

# The looks of a growing study, in pairs of seeds; the first that can decide anything after correction is the fifth.
LOOKS = (5, 10, 15, 20)
# The prior variance of the standardised effect, and the part of the level that seeds have of a sum of two.
PRIOR, SEEDS_SHARE = 1.0, 0.8
SMALLEST_P = 1e-300
# Nodes of the quadrature over r, over b and over theta.
NODES_R, NODES_B, NODES_V = 61, 36, 36
# What is left out of a probability that is to be interpolated, as a share of the largest.
LEAST_SHARE, NEGLIGIBLE = 1e-12, 1e-18
# Nominal p-values, as powers of 10, at which the probability of crossing is worked out, and the one from which on two
# looks are hardly ever significant together: it is then as many times p as there are looks, which is never too little.
LOWEST_POWER, POWERS, APART_POWER = -5.0, 36, -12.0


def check_looks(looks: Sequence[int]) -> tuple[int, ...]:
    """Return looks that rise from at least 3 pairs by at least 2 each; others are refused."""
    numbers = tuple(looks)
    is_whole = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not numbers or not is_whole or numbers[0] < 3 or any(b < a + 2 for a, b in pairwise(numbers)):
        raise BadInput(
            f"The looks are {list(looks)!r}",
            available="whole numbers of seeds from 3 on, each at least 2 more than the last, such as 5, 10, 15, 20",
        )
    return numbers


def looks_p(p: ArrayLike, looks: Sequence[int] = LOOKS) -> Floats:
    """Return the p-value of the smallest nominal p over looks that were planned.

    Parameters
    ----------
    p : array
        The smallest p of Student's t over the looks so far.
    looks : sequence of int
        All looks that were planned, in pairs of seeds.

    Returns
    -------
    array
        The probability, under the null hypothesis, that any of the looks has a p as small; NaN stays.

    Examples
    --------
    >>> round(float(looks_p(0.05, (10,))), 4), round(float(looks_p(0.05)), 3)
    (0.05, 0.13)
    """
    p = np.asarray(p, dtype=np.float64)
    numbers = check_looks(looks)
    if len(numbers) == 1:
        return p
    return np.where(np.isnan(p), np.nan, np.exp(_log_crossing(np.log(np.maximum(p, SMALLEST_P)), numbers)))


def nominal_level(level: ArrayLike, looks: Sequence[int] = LOOKS) -> Floats:
    """Return the level of each look at which the level of all looks together is ``level``.

    Examples
    --------
    >>> round(float(nominal_level(0.05)), 4)
    0.0169
    """
    levels = np.asarray(level, dtype=np.float64)
    numbers = check_looks(looks)
    if len(numbers) == 1:
        return levels
    requested = np.log(np.maximum(levels, SMALLEST_P))
    # Between the level shared out to the looks, and the level itself.
    nominal = find_root(
        lambda logarithm: _log_crossing(logarithm, numbers) - requested, requested - math.log(len(numbers)), requested
    )
    return np.where(np.isnan(levels), np.nan, np.exp(nominal))


def _log_crossing(logarithm: Floats, looks: tuple[int, ...]) -> Floats:
    """Return the logarithm of the probability that any look has a p as small, from that of p."""
    logarithms, times = _crossing_table(looks)
    more = interpolate.PchipInterpolator(logarithms, times)(np.clip(logarithm, logarithms[0], 0.0))
    # Of all looks together it is at least that of one, and at most the sum.
    crossing = logarithm + np.clip(more, 0.0, math.log(len(looks)))
    return np.asarray(np.minimum(crossing, 0.0), dtype=np.float64)


@cache
def _crossing_table(looks: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return logarithms of nominal p-values, and of how many times as probable it is that any look has a p as small."""
    powers = np.linspace(LOWEST_POWER, 0.0, POWERS, endpoint=False)
    crossings = np.log([crossing_probability(10.0**power, looks) for power in powers.tolist()])
    lowest = APART_POWER * math.log(10.0)
    logarithms = np.concatenate([[lowest], powers * math.log(10.0), [0.0]])
    crossings = np.concatenate([[lowest + math.log(len(looks))], crossings, [0.0]])
    # The smaller p, the more looks it counts for; where the quadrature falls below that, the larger holds.
    times = np.maximum.accumulate((crossings - logarithms)[::-1])[::-1]
    return logarithms, times


def crossing_probability(nominal: float, looks: Sequence[int]) -> float:
    """Return how probable it is, under the null hypothesis, that Student's t has a p up to ``nominal`` at any look."""
    numbers = check_looks(looks)
    bounds = [_boundary(nominal, number) for number in numbers]
    # after[i]: the probability to cross later, from r = sqrt(n) sin(x) of a look, at nodes x from 0 to its boundary.
    later: interpolate.PchipInterpolator | None = None
    for earlier, number, bound_earlier, bound in zip(
        numbers[-2::-1], numbers[:0:-1], bounds[-2::-1], bounds[:0:-1], strict=True
    ):
        x = _chebyshev(bound_earlier, NODES_R)
        values = _crosses_next(np.sqrt(earlier) * np.sin(x), earlier, number, bound, later)
        later = interpolate.PchipInterpolator(x, np.log(np.maximum(values, LEAST_SHARE * values.max())))
    first = numbers[0]
    if later is None:
        return nominal
    # r = sqrt(n) sin(x) has the density cos(x)^(n - 2) / B(1/2, (n - 1)/2) in x.
    x, weights = _legendre(0.0, bounds[0], 4 * NODES_V)
    density = 2.0 * np.exp((first - 2) * np.log(np.cos(x)) - special.betaln(0.5, (first - 1) / 2))
    return float(min(nominal + (weights * density * np.exp(later(x))).sum(), 1.0))


def _boundary(nominal: float, number: int) -> float:
    """Return x = arcsin(r / sqrt(n)) where Student's t of n differences has the p ``nominal``."""
    t = -special.stdtrit(number - 1.0, nominal / 2)
    return float(math.atan2(t, math.sqrt(number - 1.0)))


def _crosses_next(
    r: Floats, number: int, later: int, bound: float, after: interpolate.PchipInterpolator | None
) -> Floats:
    """Return the probability to cross at the next look or at a later one, from r at this one."""
    added = later - number
    # b = sin(y)^2 has the density 2 sin(y)^(n - 1) cos(y)^(m - 1) / B(n/2, m/2) in y.
    start = math.asin(math.sqrt(special.betaincinv(number / 2, added / 2, NEGLIGIBLE)))
    last = math.pi / 2 - math.asin(math.sqrt(special.betaincinv(added / 2, number / 2, NEGLIGIBLE)))
    y, weights_b = _legendre(start, last, NODES_B)
    log_density = (number - 1) * np.log(np.sin(y)) + (added - 1) * np.log(np.cos(y))
    density_b = 2.0 * np.exp(log_density - special.betaln(number / 2, added / 2))
    centre = np.sin(y) * r[:, None]  # [r, b]
    spread = np.broadcast_to(np.cos(y) * math.sqrt(added), centre.shape)
    edge = math.sqrt(later) * math.sin(bound)
    low, high = np.clip((-edge - centre) / spread, -1.0, 1.0), np.clip((edge - centre) / spread, -1.0, 1.0)
    outside = _below(low, added) + _below(-high, added)
    if after is not None:
        outside = outside + _goes_on(centre, spread, low, high, added, later, bound, after)
    return np.asarray((outside * density_b * weights_b).sum(axis=1))


def _goes_on(
    centre: Floats, spread: Floats, low: Floats, high: Floats, added: int, number: int, bound: float,
    after: interpolate.PchipInterpolator,
) -> Floats:  # fmt: skip
    """Return the probability to stay inside at a look and to cross later."""
    nodes, node_weights = np.polynomial.legendre.leggauss(NODES_V)
    # Of many dimensions nearly all directions are at right angles with (1, ..., 1).
    most = math.pi / 2 - math.asin(math.sqrt(special.betaincinv((added - 1) / 2, 0.5, NEGLIGIBLE)))
    first, last = (np.clip(np.arcsin(end), -most, most)[..., None] for end in (low, high))
    theta = first + (nodes + 1.0) / 2 * (last - first)
    log_density = (added - 2) * np.log(np.cos(theta)) - special.betaln(0.5, (added - 1) / 2)
    weights = node_weights / 2 * (last - first) * np.exp(log_density)
    sine = np.abs(centre[..., None] + spread[..., None] * np.sin(theta)) / math.sqrt(number)
    x = np.minimum(np.arcsin(np.minimum(sine, 1.0)), bound)
    return np.asarray((np.exp(after(x)) * weights).sum(axis=-1))


def _below(v: Floats, added: int) -> Floats:
    """Return how probable a cosine with (1, ..., 1) of at most v is, for a random direction of so many dimensions."""
    half = special.betainc((added - 1) / 2, 0.5, np.clip(1.0 - v**2, 0.0, 1.0)) / 2
    return np.asarray(np.where(v < 0, half, 1.0 - half), dtype=np.float64)


def _chebyshev(end: float, nodes: int) -> Floats:
    """Return nodes from 0 to ``end``, both included, that lie closer together near the end."""
    return np.asarray(end * np.sin(np.linspace(0.0, math.pi / 2, nodes)))


def _legendre(low: float, high: float, nodes: int) -> tuple[Floats, Floats]:
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return low + (x + 1.0) / 2 * (high - low), weights / 2 * (high - low)


def anytime_critical(
    squares: ArrayLike, people: ArrayLike, seeds: ArrayLike, level: ArrayLike = 0.05, *, share: float = SEEDS_SHARE
) -> Floats:
    """Return half the width of the interval that holds at every number of seeds at once.

    Parameters
    ----------
    squares : array
        Variance of the difference of one pair of seeds, s2.
    people : array
        Variance that test people give the change.
    seeds : array
        Pairs of seeds so far.
    level : array
        Level of seeds and people together.
    share : float
        The part of the level that seeds have, fixed before anything is read.

    Returns
    -------
    array
        ``inf`` while there are too few pairs for the level.

    Examples
    --------
    >>> float(anytime_critical(1.0, 0.0, 4, 0.05)), round(float(anytime_critical(1.0, 0.0, 20, 0.05, share=1.0)), 3)
    (inf, 0.766)
    """
    s2, v, n, a = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (squares, people, seeds, level))
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        prior = 1.0 + n * PRIOR
        b = (np.sqrt(prior) / (share * a)) ** (2.0 / n)
        width = np.sqrt(s2 * (n - 1) / n * (b - 1.0) / (1.0 - b / prior))
        over_seeds = np.where(b < prior, width, np.inf)
        over_people = np.where(v > 0, -special.ndtri((1.0 - share) * a / 2) * np.sqrt(v), 0.0)
    undefined = np.isnan(s2) | np.isnan(v) | np.isnan(n)
    return np.where(undefined, np.nan, over_seeds + over_people)


def anytime_p(
    change: ArrayLike, squares: ArrayLike, people: ArrayLike, seeds: ArrayLike, *, share: float = SEEDS_SHARE
) -> Floats:
    """Return the smallest level at which the interval of ``anytime_critical`` leaves out 0.

    The smallest over all looks is a p-value, whenever one stops.

    Examples
    --------
    >>> round(float(anytime_p(0.7659, 1.0, 0.0, 20, share=1.0)), 3)
    0.05
    """
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (change, squares, people, seeds)))
    size, s2, v, n = np.abs(arrays[0]), *arrays[1:]
    low, high = np.full(size.shape, np.log(SMALLEST_P)), np.zeros(size.shape)

    def excess(logarithm: Floats) -> Floats:
        half = anytime_critical(s2, v, n, np.exp(logarithm), share=share)
        return np.where(np.isnan(half) | np.isnan(size), 0.0, np.maximum(size, 0.0) - np.minimum(half, 1e300))

    p = np.exp(find_root(excess, low, high))
    p = np.where(excess(high) <= 0, 1.0, np.where(excess(low) > 0, 0.0, p))
    return np.where(np.isnan(size + s2 + v + n), np.nan, p)
