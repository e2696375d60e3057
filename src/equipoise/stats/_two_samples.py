"""Two samples of runs, or pairs of runs: studentised permutation tests, and the t intervals that belong to them.

**Two samples.** Welch's statistic,

    T = (mean_x - mean_y) / sqrt(s_x^2 / n_x + s_y^2 / n_y),

under permutations of the pooled values, two-sided: p is the share of arrangements with an |T| as large. Where both
samples have one distribution the test is exact; where they share the mean but not the spread, it is still right as
samples grow, because T is divided by its own standard error (Janssen 1997; Chung and Romano 2013). Rank tests and the
plain difference of means have no such property, and twice the smaller of two one-sided p-values is far off in small
samples (5 runs of 3 times the spread against 16: 13% at 5%, where |T| has 8%, Mann-Whitney 10%).

**Pairs.** Student's statistic of the differences, mean / sqrt(s^2 / n), under all changes of their signs.

Every arrangement is gone through where there are at most ``MAX_ARRANGEMENTS``; otherwise they are drawn at random, in
batches that all samples of the same sizes share, until each test has 20 extreme draws or the draws run out. How many
there are is fixed beforehand: 20 m / threshold for m tests, and ``WORK`` values of the statistic over all of them.
Where WORK ends it for u tests, each has p <= 20 u / WORK, so Benjamini-Hochberg over m tests leaves them at 20 m / WORK
or less: no floor decides. By Holm's correction it may, and is then told (``limited``).

**How large** a difference is, is Cohen's d: the difference of the means over the root of the mean of both variances.

**Rank tests**, all by scipy, many at once: samples with the same numbers of runs are stacked and tested together.

- **Mann-Whitney U** (two independent samples). scipy's exact null where one side has up to 8 runs and no value occurs
  twice; with ties, all arrangements are gone through where they are few (scipy's permutation method), and the normal
  approximation with its corrections for continuity and ties is used elsewhere.
- **Brunner-Munzel** (independent samples that may differ in spread), with Student's t. Where the samples do not overlap
  at all it has no variance to divide by; the p of that outcome is then the smallest possible one.
- **Wilcoxon signed-rank** for pairs; pairs that do not differ are left out. Exact without ties, as above with them.
- **Levene**, centred at the median, for the spread around it.

**The smallest possible p.** Of the C(n1 + n2, n1) ways to deal the pooled runs to the two sides, one is the most
extreme in each direction: no rank test can go below 2 / C(n1 + n2, n1) two-sided, 1 / C(n1 + n2, n1) one-sided. Of the
2^n ways to sign n pairs the same holds: 2 / 2^n and 1 / 2^n.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from equipoise.foundation import Floats
from equipoise.stats._permutation import SequentialTests, draw_until_settled, draws_needed

# All arrangements are gone through up to so many: 8 against 8 runs have 12,870, 5 against 16 have 20,349.
MAX_ARRANGEMENTS = 25_000
# So many values of the statistic are drawn over all tests at the most, so many of them at once.
WORK, BATCH_WORK = 20_000_000, 4_000_000
FIRST_BATCH = 256

EffectBand = Literal["negligible", "small", "medium", "large", "very large", "huge"]

# From which |d| on a difference is called so (Sawilowsky 2009).
BANDS: tuple[tuple[float, EffectBand], ...] = (
    (2.0, "huge"),
    (1.2, "very large"),
    (0.8, "large"),
    (0.5, "medium"),
    (0.2, "small"),
    (0.0, "negligible"),
)


@dataclass(frozen=True, eq=False)
class PermutationResult:
    """The p of each test; how many arrangements it rests on; whether those are all; whether more draws were needed."""

    p: Floats
    draws: NDArray[np.int64]
    exact: NDArray[np.bool_]
    limited: NDArray[np.bool_]


def permutation_test(
    x: Sequence[ArrayLike],
    y: Sequence[ArrayLike] | None = None,
    *,
    tests: int | None = None,
    threshold: float = 0.05,
    seed: int = 0,
) -> PermutationResult:
    """Test many pairs of samples, or many samples of paired differences, by studentised permutation.

    Parameters
    ----------
    x : sequence of arrays
        The first sample of each test; without ``y`` the differences of its pairs.
    y : sequence of arrays, optional
        The second sample of each test.
    tests : int, optional
        How many tests are corrected together; as many as there are by default.
    threshold : float
        The largest corrected p of a finding: with ``tests`` it says how many draws are needed.
    seed : int
        Where the draws start. Samples of the same sizes share their draws.

    Returns
    -------
    PermutationResult
        Two-sided p; NaN where a sample has fewer than two values (or there is no pair).

    Examples
    --------
    >>> found = permutation_test([[1.0, 2.0, 3.0, 4.0]], [[11.0, 12.0, 13.0, 14.0]])
    >>> round(float(found.p[0]), 4), int(found.draws[0])  # 2 of the 70 arrangements
    (0.0286, 70)
    >>> flipped = permutation_test([[0.1, 0.2, 0.3, 0.1, 0.2, 0.3]])
    >>> float(flipped.p[0]), int(flipped.draws[0])  # 2 of the 64 changes of sign
    (0.03125, 64)
    """
    number = len(x)
    p, draws = np.full(number, np.nan), np.zeros(number, dtype=np.int64)
    exact, limited = np.zeros(number, dtype=np.bool_), np.zeros(number, dtype=np.bool_)
    blocks: list[_Block] = []
    for block in _blocks(x, y, seed):
        if block.arrangements > MAX_ARRANGEMENTS:
            blocks.append(block)
            continue
        p[block.indices], exact[block.indices] = block.exact_p(), True
        draws[block.indices] = block.arrangements
    needed = draws_needed(number if tests is None else tests, threshold)

    def draw(number: int) -> None:
        for block in blocks:
            block.add(number)

    draws_made = draw_until_settled(
        lambda: sum(block.open for block in blocks), draw, most=needed, first=FIRST_BATCH, work=WORK
    )
    for block in blocks:
        p[block.indices], draws[block.indices] = block.tests.p, block.tests.draws
        limited[block.indices] = ~block.tests.settled & (draws_made < needed)
    return PermutationResult(p, draws, exact, limited)


class _Block:
    """Tests of samples of the same sizes: they share every arrangement."""

    def __init__(
        self, indices: list[int], values: Floats, arrangements: int, every: Callable[[], Floats],
        draw: Callable[[int], Floats], statistic: Callable[[Floats, Floats], Floats], first: Floats,
    ) -> None:  # fmt: skip
        self.indices, self.arrangements = np.array(indices), arrangements
        self._values, self._every, self._draw, self._statistic = values, every, draw, statistic
        self.tests = SequentialTests(statistic(first, values)[0])

    def exact_p(self) -> Floats:
        """Return the p of each test over every arrangement there is."""
        tests = SequentialTests(self.tests.observed, enough=None)
        step = max(1, BATCH_WORK // self.arrangements)
        every = self._every()
        for start in range(0, len(tests), step):
            some = np.arange(start, min(start + step, len(tests)))
            tests.add(self._statistic(every, self._values[some]), of=some)
        return np.asarray(tests.extreme[0] / tests.drawn_by_side[0], dtype=np.float64)

    def add(self, number: int) -> None:
        """Draw so many more arrangements for the tests that are open."""
        still = np.flatnonzero(~self.tests.settled)
        if not len(still):
            return
        step = max(1, BATCH_WORK // len(still))
        for start in range(0, number, step):
            arranged = self._draw(min(step, number - start))
            self.tests.add(self._statistic(arranged, self._values[still]), of=still)

    @property
    def open(self) -> int:
        """How many tests are not settled."""
        return int((~self.tests.settled).sum())


def _blocks(x: Sequence[ArrayLike], y: Sequence[ArrayLike] | None, seed: int) -> list[_Block]:
    """Put tests of the same sizes together; those that have no p are in none."""
    first = [np.sort(np.asarray(sample, dtype=np.float64)) for sample in x]
    second = None if y is None else [np.sort(np.asarray(sample, dtype=np.float64)) for sample in y]
    sizes: dict[tuple[int, ...], list[int]] = {}
    for index, sample in enumerate(first):
        size: tuple[int, ...] = (len(sample),) if second is None else (len(sample), len(second[index]))
        if min(size) >= (1 if second is None else 2):
            sizes.setdefault(size, []).append(index)
    blocks = []
    for key, indices in sizes.items():
        generator = np.random.default_rng([seed, *key])
        if second is None:
            blocks.append(
                _paired_block(indices, np.stack([first[test_index] for test_index in indices]), key[0], generator)
            )
            continue
        pooled = np.stack([np.concatenate([first[test_index], second[test_index]]) for test_index in indices])
        blocks.append(_unpaired_block(indices, pooled, key[0], key[1], generator))
    return blocks


def _unpaired_block(indices: list[int], pooled: Floats, n: int, m: int, generator: np.random.Generator) -> _Block:
    """Return the block of two samples: an arrangement says which of the pooled values are in the first."""
    values = pooled - pooled.mean(axis=1, keepdims=True)
    values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-300)

    def draw(number: int) -> Floats:
        chosen = np.argpartition(generator.random((number, n + m), dtype=np.float32), n - 1, axis=1)[:, :n]
        arranged = np.zeros((number, n + m))
        np.put_along_axis(arranged, chosen, 1.0, axis=1)
        return arranged

    def statistic(arranged: Floats, of: Floats) -> Floats:
        total = of.sum(axis=1)
        sums = arranged @ of.T
        difference = np.abs(sums / n - (total - sums) / m)
        if n == m:
            # The sums of squares on both sides then fall as the difference grows: |T| rises with it.
            return np.asarray(difference)
        squares = arranged @ (of * of).T
        inside = np.maximum(squares - sums**2 / n, 0.0) / (n * (n - 1))
        inside += np.maximum((of * of).sum(axis=1) - squares - (total - sums) ** 2 / m, 0.0) / (m * (m - 1))
        # |T| / sqrt(1 + T^2) rises with |T|, and is 1 where nothing varies within the samples.
        length = np.sqrt(difference**2 + inside)
        return np.asarray(np.divide(difference, length, out=np.zeros_like(difference), where=length > 0))

    observed = np.concatenate([np.ones(n), np.zeros(m)])[None]
    return _Block(indices, values, math.comb(n + m, n), lambda: _choices(n, m), draw, statistic, observed)


def _paired_block(indices: list[int], differences: Floats, n: int, generator: np.random.Generator) -> _Block:
    """Return the block of pairs: an arrangement is a sign for each difference.

    Their squares stay, so the size of Student's statistic rises with that of the sum.
    """
    values = differences / np.maximum(np.abs(differences).max(axis=1, keepdims=True), 1e-300)

    def draw(number: int) -> Floats:
        return np.asarray(2.0 * generator.integers(0, 2, size=(number, n)) - 1.0)

    return _Block(
        indices, values, 2**n, lambda: _signs(n), draw, lambda arranged, of: np.abs(arranged @ of.T), np.ones((1, n))
    )


@lru_cache(maxsize=8)
def _choices(n: int, m: int) -> Floats:
    """Return every way to choose n of n + m, a row of zeros and ones each."""
    chosen = np.array(list(itertools.combinations(range(n + m), n)), dtype=np.int64)
    arrangements = np.zeros((len(chosen), n + m))
    np.put_along_axis(arrangements, chosen, 1.0, axis=1)
    return arrangements


@lru_cache(maxsize=8)
def _signs(n: int) -> Floats:
    return np.asarray(1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1), dtype=np.float64)


def welch(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Return the difference of two means, its standard error, and Satterthwaite's degrees of freedom.

    With v = s_x^2 / n_x and w = s_y^2 / n_y the error is sqrt(v + w), and the degrees are
    (v + w)^2 / (v^2 / (n_x - 1) + w^2 / (n_y - 1)). NaN with fewer than two values on a side.

    Examples
    --------
    >>> difference, error, degrees = welch([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
    >>> round(difference, 3), round(error, 3), round(degrees, 3)
    (-3.0, 1.414, 4.075)
    """
    parts = []
    for side in (x, y):
        values = np.asarray(side, dtype=np.float64)
        if not len(values):
            return math.nan, math.nan, math.nan
        varies = len(values) > 1 and values.min() < values.max()
        variance = (float(values.var(ddof=1)) if varies else 0.0) if len(values) > 1 else math.nan
        parts.append((math.fsum(values.tolist()) / len(values), variance / len(values), len(values) - 1))
    (mean, v, n), (other, w, m) = parts
    total = v + w
    if math.isnan(total):
        return mean - other, math.nan, math.nan
    return mean - other, math.sqrt(total), total**2 / (v**2 / n + w**2 / m) if total > 0 else float(n + m)


def paired_t(differences: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of paired differences, its standard error, and its degrees of freedom.

    Examples
    --------
    >>> paired_t([1.0, 2.0, 3.0])[0], round(paired_t([1.0, 2.0, 3.0])[1], 4), paired_t([1.0, 2.0, 3.0])[2]
    (2.0, 0.5774, 2.0)
    """
    values = np.asarray(differences, dtype=np.float64)
    number = len(values)
    if not number:
        return math.nan, math.nan, math.nan
    mean = math.fsum(values.tolist()) / number
    if number < 2:
        return mean, math.nan, math.nan
    varies = float(np.ptp(values)) > 1e-13 * float(np.abs(values).max())
    return mean, float(values.std(ddof=1)) / math.sqrt(number) if varies else 0.0, number - 1.0


def t_p(estimate: float, error: float, degrees: float) -> float:
    """Return Student's two-sided p; NaN where the standard error is, and of no error 0 (1 where there is no change).

    Examples
    --------
    >>> round(t_p(1.0, 0.5, 10.0), 4)
    0.0734
    """
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if estimate == 0 else 0.0
    return float(2.0 * special.stdtr(degrees, -abs(estimate) / error))


def t_interval(estimate: float, error: float, degrees: float, level: float = 0.95) -> tuple[float, float]:
    """Return Student's interval at a level; NaN where the standard error is.

    Examples
    --------
    >>> low, high = t_interval(1.0, 0.5, 10.0)
    >>> round(low, 3), round(high, 3)
    (-0.114, 2.114)
    """
    if math.isnan(error):
        return math.nan, math.nan
    half = float(special.stdtrit(degrees, (1.0 + level) / 2.0)) * error if error > 0 else 0.0
    return estimate - half, estimate + half


def cohens_d(mean: float, stdev: float, baseline_mean: float, baseline_stdev: float) -> float:
    """Return Cohen's d: the difference of two means over sqrt((s^2 + s_b^2) / 2), below 0 where the first is lower.

    With sample variances s^2 (divided by n - 1). Where neither side varies it is 0 for equal means, else NaN; so it is
    where a side has one value only.

    Examples
    --------
    >>> round(cohens_d(0.25, 0.02, 0.30, 0.03), 3)
    -1.961
    """
    pooled = math.hypot(stdev, baseline_stdev) / math.sqrt(2)
    difference = mean - baseline_mean
    if pooled == 0:
        return 0.0 if difference == 0 else math.nan
    return difference / pooled


def effect_band(d: float) -> EffectBand | None:
    """Return the name of an effect of this size, whatever its sign; none where d is undefined."""
    if math.isnan(d):
        return None
    return next(name for least, name in BANDS if abs(d) >= least)


Side = Literal["two-sided", "less", "greater"]
Key = TypeVar("Key", bound=tuple[object, ...])

# So many arrangements at the most are gone through when values occur twice: 6 against 6 runs have 924.
TIED_ARRANGEMENTS = 1_000
# Levene's test needs three runs a side: around the median of two, both deviations are equal and the spread is 0.
MIN_FOR_LEVENE = 3


def smallest_p(runs: int, baseline_runs: int, side: Side) -> float:
    """Return the smallest p that two independent samples of these sizes can have."""
    return _smallest_p_of(math.comb(runs + baseline_runs, runs), side)


def smallest_paired_p(pairs: int, side: Side) -> float:
    """Return the smallest p that so many pairs can have."""
    return _smallest_p_of(2**pairs, side)


def _smallest_p_of(arrangements: int, side: Side) -> float:
    return min((2 if side == "two-sided" else 1) / arrangements, 1.0)


def probability_of_superiority(x: Sequence[Floats], y: Sequence[Floats]) -> Floats:
    """Return P(X > Y) + P(X = Y) / 2 over all n1 n2 pairs of runs: U / (n1 n2); NaN where a side has no runs."""
    shares = np.full(len(x), np.nan)
    for (n1, n2), rows, X, Y in _stacked(x, y, [(len(a), len(b)) for a, b in zip(x, y, strict=True)]):
        ranks = stats.rankdata(np.concatenate([X, Y], axis=1), axis=1)
        shares[rows] = (ranks[:, :n1].sum(axis=1) - n1 * (n1 + 1) / 2) / (n1 * n2)
    return shares


def signed_rank_direction(x: Floats, y: Floats) -> float:
    """Return which way the signed ranks of x - y point: below 0 where x is lower, NaN without pairs."""
    return float(_signed_ranks(_differences(x, y), axis=0)) if len(x) else math.nan


def rank_test_p(test: str, x: Sequence[Floats], y: Sequence[Floats], sides: Sequence[Side]) -> Floats:
    """Return the p of each pair of samples; NaN where the test cannot speak."""
    tied, tell = TESTS[test]
    keys = [(side, len(a), len(b), tied(a, b)) for a, b, side in zip(x, y, sides, strict=True)]
    p_values = np.full(len(x), np.nan)
    for (side, _, _, ties), rows, X, Y in _stacked(x, y, keys):
        p_values[rows] = np.minimum(tell(X, Y, side, ties), 1.0)
    return p_values


def _stacked(
    x: Sequence[Floats], y: Sequence[Floats], keys: Sequence[Key]
) -> Iterator[tuple[Key, NDArray[np.int64], Floats, Floats]]:
    """Yield the pairs of samples that share a key, stacked; a sample without runs is left out."""
    groups: dict[Key, list[int]] = {}
    for index, key in enumerate(keys):
        if len(x[index]) and len(y[index]):
            groups.setdefault(key, []).append(index)
    for key, rows in groups.items():
        yield key, np.array(rows), np.stack([x[row] for row in rows]), np.stack([y[row] for row in rows])


def _mann_whitney(X: Floats, Y: Floats, side: Side, ties: bool) -> Floats:  # noqa: N803 - stacked samples
    ways = math.comb(X.shape[1] + Y.shape[1], X.shape[1])
    # scipy permutes samples of two and more.
    few = ties and ways <= TIED_ARRANGEMENTS and min(X.shape[1], Y.shape[1]) > 1
    # In a batch scipy's "auto" looks for ties anywhere, so samples with and without ties come here apart.
    method = stats.PermutationMethod(n_resamples=np.inf, batch=100) if few else "auto"
    return _floats(stats.mannwhitneyu(X, Y, alternative=side, axis=1, method=method).pvalue)


def _brunner_munzel(X: Floats, Y: Floats, side: Side, ties: bool) -> Floats:  # noqa: N803
    n1, n2 = X.shape[1], Y.shape[1]
    p = np.full(len(X), np.nan)
    if min(n1, n2) < 2:
        return p
    lowest, highest = np.minimum(X.min(axis=1), Y.min(axis=1)), np.maximum(X.max(axis=1), Y.max(axis=1))
    equal, below, above = lowest == highest, X.max(axis=1) < Y.min(axis=1), X.min(axis=1) > Y.max(axis=1)
    p[equal] = 1.0
    p[below] = 1.0 if side == "greater" else smallest_p(n1, n2, side)
    p[above] = 1.0 if side == "less" else smallest_p(n1, n2, side)
    rows = ~(equal | below | above)
    if rows.any():
        # scipy's "less" says that the first sample is the lower one, as in its Mann-Whitney test.
        p[rows] = stats.brunnermunzel(X[rows], Y[rows], alternative=side, axis=1).pvalue
    return p


def _wilcoxon(X: Floats, Y: Floats, side: Side, ties: bool) -> Floats:  # noqa: N803
    difference = _differences(X, Y)
    p = np.ones(len(X))
    moved = difference.any(axis=1)
    if not moved.any():
        return p
    if ties and 2 ** X.shape[1] <= TIED_ARRANGEMENTS:
        # scipy's own permutation method for this test goes through the signs one by one, in seconds a sample.
        p[moved] = stats.permutation_test(
            (difference[moved],), _signed_ranks, permutation_type="samples", vectorized=True, n_resamples=np.inf,
            batch=100, alternative=side, axis=1,
        ).pvalue  # fmt: skip
    else:
        method = "approx" if ties else "auto"
        p[moved] = stats.wilcoxon(difference[moved], alternative=side, axis=1, method=method).pvalue
    return p


def _differences(x: Floats, y: Floats) -> Floats:
    """Return x - y without what subtraction leaves behind by rounding: 0.3 - 0.2 and 0.2 - 0.1 are the same.

    Differences are rounded to 12 decimal digits of the largest number of the sample.
    """
    size = np.maximum(np.abs(x), np.abs(y)).max(axis=-1, keepdims=True, initial=0.0)
    step = 10.0 ** (np.floor(np.log10(np.where(size > 0, size, 1.0))) - 12)
    return _floats(np.round((x - y) / step) * step)


def _signed_ranks(difference: Floats, axis: int) -> Floats:
    """Return Wilcoxon's statistic: the ranks of the differences that are not 0, with their signs, summed."""
    zeros = (difference == 0).sum(axis=axis, keepdims=True)
    ranks = stats.rankdata(np.abs(difference), axis=axis) - zeros
    return _floats((np.sign(difference) * ranks).sum(axis=axis))


def levene_p(x: Sequence[Floats | None], y: Sequence[Floats | None]) -> tuple[Floats, Floats]:
    """Return Levene's p for each pair of samples, and how much further x lies from its median than y (a mean).

    Both are NaN where there is no sample, fewer than three runs, or nothing to divide by.
    """
    p, wider = np.full(len(x), np.nan), np.full(len(x), np.nan)
    usable = [index for index in range(len(x)) if _enough(x[index]) and _enough(y[index])]
    pairs = [(a, b) for index in usable if (a := x[index]) is not None and (b := y[index]) is not None]
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    for _, rows, X, Y in _stacked(left, right, [(len(a), len(b)) for a, b in pairs]):
        indices = np.array(usable)[rows]
        far, near = (np.abs(Z - np.median(Z, axis=1, keepdims=True)) for Z in (X, Y))
        wider[indices] = far.mean(axis=1) - near.mean(axis=1)
        varies = (_range(far) > 0) | (_range(near) > 0)
        if varies.any():
            p[indices[varies]] = stats.levene(X[varies], Y[varies], center="median", axis=1).pvalue
    return p, wider


def _enough(sample: Floats | None) -> bool:
    return sample is not None and len(sample) >= MIN_FOR_LEVENE


def _range(deviations: Floats) -> Floats:
    """Return the range of the deviations; one that is only rounding is 0."""
    spread = deviations.max(axis=1) - deviations.min(axis=1)
    return np.where(spread <= 1e-12 * deviations.max(axis=1), 0.0, spread)


def _ties(x: Floats, y: Floats) -> bool:
    return len(set(x.tolist()) | set(y.tolist())) < len(x) + len(y)


def _ties_or_zeros(x: Floats, y: Floats) -> bool:
    sizes = np.abs(_differences(x, y)).tolist()
    return 0.0 in sizes or len(set(sizes)) < len(sizes)


def _never(x: Floats, y: Floats) -> bool:
    return False


def _floats(value: object) -> Floats:
    return np.asarray(value, dtype=np.float64)


# How ties are noticed, and who tells the p.
TESTS: dict[str, tuple[Callable[[Floats, Floats], bool], Callable[[Floats, Floats, Side, bool], Floats]]] = {
    "mann-whitney": (_ties, _mann_whitney),
    "brunner-munzel": (_never, _brunner_munzel),
    "wilcoxon": (_ties_or_zeros, _wilcoxon),
}
