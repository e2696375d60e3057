"""Exact unconditional tests of two rates, for outcomes too rare for large-sample ones (Chan and Zhang 1999).

For the hypothesis p1 - p2 = d tables are ordered by Miettinen and Nurminen's score z. For p1 / p2 = r they are ordered
by the mid-p of x1 given x1 + x2, as if both were Poisson counts (in the manner of Boschloo 1970), since a score z calls
one success against none extreme; of frequent outcomes Koopman's score z orders them.

The p-value is the probability of the tables at least as extreme as the observed one, at the value of the nuisance rate
p2 that makes it largest. Only values of p2 in a Clopper-Pearson interval that misses with probability ``MISSED`` are
searched, and that probability is added (Berger and Boos 1994). Two one-sided tests of half the level give the interval,
so an interval of the difference at level 1 - a leaves out 0 exactly where p <= a.

The order is monotone in both counts, so that for each x1 the extreme tables are those with x2 up to a limit, which is
found by halving: no table of n1 x n2 is ever formed, and the larger sample may have millions of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from equipoise.foundation import Floats
from equipoise.stats._proportions import difference_interval, ratio_interval, ratio_statistic, score_statistic

# Rates outside the interval that is searched have this probability together; it is added to every p.
MISSED = 1e-7
# So many values of the nuisance rate are tried, and so many again around the worst of them.
GRID, FINE = 16, 8
# Counts of the smaller sample beyond these tails are left out.
TAIL = 1e-11
# Ratios are searched from exp(-20) to exp(20).
MOST_LOG_RATIO = 20.0


def exact_difference_p(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> Floats:
    """Return the exact two-sided p-value that two rates are the same; NaN where one has no trials.

    Counts are rounded to whole numbers, since effective counts of weighted rows need not be whole.

    Examples
    --------
    >>> float(exact_difference_p(0, 30, 6, 300).round(3))
    0.723
    >>> float(exact_difference_p(5, 30, 3, 300).round(5))
    0.00041
    """
    return _each(_p_of, x1, n1, x2, n2)[0]


def exact_difference_interval(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: ArrayLike = 0.95
) -> tuple[Floats, Floats]:
    """Return the exact interval of x1/n1 - x2/n2; NaN where one side has no trials.

    Examples
    --------
    >>> low, high = exact_difference_interval(5, 30, 3, 300)
    >>> float(low.round(3)), float(high.round(3))
    (0.051, 0.327)
    """
    low, high = _each(_interval_of, x1, n1, x2, n2, level)
    return low, high


def exact_ratio_interval(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, level: ArrayLike = 0.95
) -> tuple[Floats, Floats]:
    """Return the exact interval of the ratio of x1/n1 to x2/n2; NaN where a side has no trials, or neither a success.

    Without successes in the denominator the upper end is infinite.

    Examples
    --------
    >>> low, high = exact_ratio_interval(5, 30, 3, 300)
    >>> float(low.round(1)), float(high.round(1))
    (4.2, 76.8)
    """
    low, high = _each(_ratio_interval_of, x1, n1, x2, n2, level)
    return low, high


def exact_equivalence_p(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, margin: float) -> Floats:
    """Return the larger p of the two exact one-sided tests that the rates differ by the margin or more.

    Examples
    --------
    >>> float(exact_equivalence_p(1, 400, 3, 900, 0.05) < 0.001)
    1.0
    """
    return _each(_equivalence_p_of, x1, n1, x2, n2, margin)[0]


# The same small counts come again and again: of groups of one size, and of measures that share their rows.
@lru_cache(maxsize=8_192)
def _p_of(x1: float, n1: float, x2: float, n2: float) -> tuple[float, ...]:
    return (_Table(x1, n1, x2, n2).p(),)


@lru_cache(maxsize=8_192)
def _interval_of(x1: float, n1: float, x2: float, n2: float, level: float) -> tuple[float, ...]:
    return _Table(x1, n1, x2, n2).interval(level)


@lru_cache(maxsize=8_192)
def _ratio_interval_of(x1: float, n1: float, x2: float, n2: float, level: float) -> tuple[float, ...]:
    return _Table(x1, n1, x2, n2, of_ratio=True).ratio_interval(level)


@lru_cache(maxsize=8_192)
def _equivalence_p_of(x1: float, n1: float, x2: float, n2: float, margin: float) -> tuple[float, ...]:
    table = _Table(x1, n1, x2, n2)
    return (max(table.tail(-margin, above=True), table.tail(margin, above=False)),)


def _each(answer: Callable[..., tuple[float, ...]], *counts: ArrayLike) -> list[Floats]:
    """Answer for every table of whole counts; NaN where a side has no trials."""
    parts = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in counts))
    rows = np.stack([part.ravel() for part in parts], axis=1)
    rows[:, :4] = np.rint(rows[:, :4])
    nothing = (float("nan"), float("nan"))
    answers = [answer(*row) if min(row[1], row[3]) > 0 else nothing for row in rows.tolist()]
    width = min(map(len, answers), default=2)
    return [np.array([values[part_index] for values in answers]).reshape(parts[0].shape) for part_index in range(width)]


class _Table:
    """Two counts, the smaller sample first; ``sign`` is -1 where that turned them round.

    A hypothesis is a difference of the rates, or the logarithm of their ratio.
    """

    def __init__(self, x1: float, n1: float, x2: float, n2: float, *, of_ratio: bool = False) -> None:
        self.of_ratio, self.sign = of_ratio, 1.0
        if n1 > n2:
            x1, n1, x2, n2 = x2, n2, x1, n1
            self.sign = -1.0
        self.is_frequent = x1 + x2 > (n1 + n2) / 2
        # A frequent outcome is a rare one of its opposite; but the ratio of the opposites is another.
        if self.is_frequent and not of_ratio:
            x1, x2, self.sign = n1 - x1, n2 - x2, -self.sign
        self.x1, self.n1, self.x2, self.n2 = x1, n1, x2, n2
        # Clopper and Pearson's interval of the nuisance rate.
        self.low = float(special.betaincinv(x2, n2 - x2 + 1, MISSED / 2)) if x2 > 0 else 0.0
        self.high = float(special.betaincinv(x2 + 1, n2 - x2, 1 - MISSED / 2)) if x2 < n2 else 1.0

    def p(self) -> float:
        """Return twice the smaller one-sided p that the rates are the same."""
        return min(1.0, 2 * min(self._tail(0.0, above=True), self._tail(0.0, above=False)))

    def interval(self, level: float) -> tuple[float, float]:
        """Return every difference that neither one-sided test of half the level rejects."""
        near = difference_interval(self.x1, self.n1, self.x2, self.n2, level)
        estimate = self.x1 / self.n1 - self.x2 / self.n2
        low, high = self._edges(level, estimate, (float(near[0]), float(near[1])), 1.0, 1e-4)
        return (low, high) if self.sign > 0 else (-high, -low)

    def ratio_interval(self, level: float) -> tuple[float, float]:
        """Return every ratio that neither one-sided test of half the level rejects."""
        if self.x1 + self.x2 == 0:
            return float("nan"), float("nan")
        with np.errstate(divide="ignore"):
            near = np.log(np.array(ratio_interval(self.x1, self.n1, self.x2, self.n2, level)))
            estimate = float(np.log(self.x1 / self.n1) - np.log(self.x2 / self.n2))
        low, high = self._edges(level, estimate, (float(near[0]), float(near[1])), MOST_LOG_RATIO, 1e-3)
        low, high = (low, high) if self.sign > 0 else (-high, -low)
        lowest, highest = -MOST_LOG_RATIO, MOST_LOG_RATIO
        return 0.0 if low <= lowest else math.exp(low), math.inf if high >= highest else math.exp(high)

    def tail(self, d: float, *, above: bool) -> float:
        """Return the one-sided p that the rates, as they were given, differ by d or less (above) or by d or more."""
        return self._tail(d, above=above) if self.sign > 0 else self._tail(-d, above=not above)

    def _edges(
        self, level: float, estimate: float, near: tuple[float, float], most: float, least_step: float
    ) -> tuple[float, float]:
        """Return the hypotheses at which the one-sided p-values are half the level; -most and most where none is.

        ``near`` are the ends of the large-sample interval, where the search starts.
        """
        half, estimate = (1 - level) / 2, min(max(estimate, -most), most)
        low = self._edge(-1.0, half, estimate, max(near[0], -most), most, least_step)
        high = self._edge(1.0, half, estimate, min(near[1], most), most, least_step)
        return low, high

    def _edge(self, side: float, half: float, estimate: float, near: float, most: float, least_step: float) -> float:
        def over(hypothesis: float) -> float:
            return math.log(self._tail(hypothesis, above=side < 0)) - math.log(half)

        end = side * most * (1 - 1e-9)
        step = 0.3 * abs(near - estimate) + least_step
        inside, outside = near - side * step, near + side * step
        if (outside - end) * side > 0 or over(outside) > 0:
            if over(end) > 0:
                return side * most
            outside = end
        if (inside - estimate) * side < 0 or over(inside) <= 0:
            inside = estimate
            if over(inside) <= 0:  # the estimate of a table that is itself extreme by ties
                return inside
        return float(optimize.brentq(over, inside, outside, xtol=1e-5, rtol=1e-5))

    def _statistic(self, x1: Floats | float, x2: Floats | float, hypothesis: float) -> Floats:
        if self.of_ratio and self.is_frequent:
            return ratio_statistic(x1, self.n1, x2, self.n2, math.exp(hypothesis))
        if self.of_ratio:
            return _conditional_statistic(x1, x2, 1 / (1 + math.exp(-hypothesis) * self.n2 / self.n1))
        return score_statistic(x1, self.n1, x2, self.n2, hypothesis)

    def _first_rates(self, rates: Floats, hypothesis: float) -> Floats:
        """Return the rates of the smaller sample, given those of the larger one and the hypothesis."""
        return np.clip(rates * math.exp(hypothesis) if self.of_ratio else rates + hypothesis, 0.0, 1.0)

    def _tail(self, hypothesis: float, *, above: bool) -> float:
        """Return the largest probability, over the nuisance rate, of tables at least as far above (or below)."""
        if self.of_ratio:
            low, high = self.low, min(self.high, math.exp(-hypothesis))
        else:
            low, high = max(self.low, -hypothesis, 0.0), min(self.high, 1 - hypothesis, 1.0)
        if low > high:
            return min(1.0, MISSED)
        grid = np.linspace(low, high, GRID)
        counts, limits = self._extreme(hypothesis, grid, above=above)
        values = self._probability(grid, hypothesis, counts, limits, above=above)
        worst = int(values.argmax())
        edges = grid[max(worst - 1, 0)], grid[min(worst + 1, GRID - 1)]
        fine = np.linspace(*edges, FINE)
        best = max(float(values.max()), float(self._probability(fine, hypothesis, counts, limits, above=above).max()))
        return min(1.0, best + MISSED)

    def _extreme(self, hypothesis: float, grid: Floats, *, above: bool) -> tuple[Floats, Floats]:
        """Return counts of the smaller sample, and for each the limit of the larger one's that is still as extreme."""
        rates = self._first_rates(grid, hypothesis)
        start = float(special.bdtrik(TAIL, self.n1, rates.min())) if rates.min() > 0 else 0.0
        stop = float(special.bdtrik(1 - TAIL, self.n1, rates.max())) if rates.max() > 0 else 0.0
        start = 0.0 if np.isnan(start) else max(np.floor(start) - 1, 0.0)
        stop = self.n1 if np.isnan(stop) else min(np.ceil(stop) + 1, self.n1)
        counts = np.arange(min(start, self.x1), max(stop, self.x1) + 1)
        observed = float(self._statistic(self.x1, self.x2, hypothesis))
        # Above: z falls as x2 rises, so the extreme x2 are 0 to a limit; below: from a limit to n2.
        inside, outside = np.full(len(counts), -1.0), np.full(len(counts), self.n2 + 1.0)
        while (outside - inside).max() > 1:
            middle = np.floor((inside + outside) / 2)
            z = self._statistic(counts, np.clip(middle, 0, self.n2), hypothesis)
            is_high = z >= observed - 1e-9 if above else z > observed + 1e-9
            move = (outside - inside) > 1
            inside = np.where(move & is_high, middle, inside)
            outside = np.where(move & ~is_high, middle, outside)
        return counts, inside

    def _probability(self, rates: Floats, hypothesis: float, counts: Floats, limits: Floats, *, above: bool) -> Floats:
        first = self._first_rates(rates, hypothesis)
        mass = _binomial(counts, self.n1, first[:, None])
        k = np.clip(limits, -1, self.n2)
        # P(X2 <= k) and P(X2 > k) by the incomplete beta function; beyond 0 to n2 they are 0 or 1.
        a, b = np.maximum(k, 0) + 1.0, np.maximum(self.n2 - k, 1e-300)
        beyond = np.where(k < 0, 1.0, np.where(k >= self.n2, 0.0, special.betainc(a, b, rates[:, None])))
        if not above:
            return np.asarray((mass * beyond).sum(axis=1), dtype=np.float64)
        up_to = np.where(k < 0, 0.0, np.where(k >= self.n2, 1.0, special.betaincc(a, b, rates[:, None])))
        return np.asarray((mass * up_to).sum(axis=1), dtype=np.float64)


def _conditional_statistic(x1: Floats | float, x2: Floats | float, share: float) -> Floats:
    """Return a statistic that rises with how many of x1 + x2 successes fell to the first, whose share is expected."""
    first, second = np.asarray(x1, dtype=np.float64), np.asarray(x2, dtype=np.float64)
    at_least = np.where(first > 0, special.betainc(np.maximum(first, 1), second + 1, share), 1.0)
    more = np.where(second > 0, special.betainc(first + 1, np.maximum(second, 1), share), 0.0)
    at_most = np.where(second > 0, special.betaincc(first + 1, np.maximum(second, 1), share), 1.0)
    fewer = np.where(first > 0, special.betaincc(np.maximum(first, 1), second + 1, share), 0.0)
    above, below = (at_least + more) / 2, (at_most + fewer) / 2
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(above < below, -np.log(above), np.log(below)), dtype=np.float64)


def _binomial(x: Floats, n: float, p: Floats) -> Floats:
    """Return the binomial probabilities of x in n."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = (
            special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
            + special.xlogy(x, p) + special.xlog1py(n - x, -p)
        )  # fmt: skip
    return np.asarray(np.exp(log), dtype=np.float64)
