"""The tests, all by scipy, many at once: samples with the same numbers of runs are stacked and tested together.

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

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Side = Literal["two-sided", "less", "greater"]
Key = TypeVar("Key", bound=tuple[object, ...])

# So many arrangements at the most are gone through when values occur twice: 6 against 6 runs have 924.
ARRANGEMENTS = 1_000
# Levene's test needs three runs a side: around the median of two, both deviations are equal and the spread is 0.
LEAST_FOR_LEVENE = 3


def smallest_p(runs: int, baseline_runs: int, side: Side) -> float:
    """Return the smallest p that two independent samples of these sizes can have."""
    return _one_of(math.comb(runs + baseline_runs, runs), side)


def smallest_paired_p(pairs: int, side: Side) -> float:
    """Return the smallest p that so many pairs can have."""
    return _one_of(2**pairs, side)


def _one_of(ways: int, side: Side) -> float:
    return min((2 if side == "two-sided" else 1) / ways, 1.0)


def share_above(x: Sequence[Floats], y: Sequence[Floats]) -> Floats:
    """Return P(X > Y) + P(X = Y) / 2 over all n1 n2 pairs of runs: U / (n1 n2); NaN where a side has no runs."""
    shares = np.full(len(x), np.nan)
    for (n1, n2), rows, X, Y in _stacked(x, y, [(len(a), len(b)) for a, b in zip(x, y, strict=True)]):
        ranks = stats.rankdata(np.concatenate([X, Y], axis=1), axis=1)
        shares[rows] = (ranks[:, :n1].sum(axis=1) - n1 * (n1 + 1) / 2) / (n1 * n2)
    return shares


def paired_lean(x: Floats, y: Floats) -> float:
    """Return which way the signed ranks of x - y point: below 0 where x is lower, NaN without pairs."""
    return float(_signed_ranks(_differences(x, y), axis=0)) if len(x) else math.nan


def rank_test_p(test: str, x: Sequence[Floats], y: Sequence[Floats], sides: Sequence[Side]) -> Floats:
    """Return the p of each pair of samples; NaN where the test cannot speak."""
    tied, tell = TESTS[test]
    keys = [(side, len(a), len(b), tied(a, b)) for a, b, side in zip(x, y, sides, strict=True)]
    found = np.full(len(x), np.nan)
    for (side, _, _, ties), rows, X, Y in _stacked(x, y, keys):
        found[rows] = np.minimum(tell(X, Y, side, ties), 1.0)
    return found


def _stacked(
    x: Sequence[Floats], y: Sequence[Floats], keys: Sequence[Key]
) -> Iterator[tuple[Key, NDArray[np.int64], Floats, Floats]]:
    """Yield the pairs of samples that share a key, stacked; a sample without runs is left out."""
    groups: dict[Key, list[int]] = {}
    for place, key in enumerate(keys):
        if len(x[place]) and len(y[place]):
            groups.setdefault(key, []).append(place)
    for key, rows in groups.items():
        yield key, np.array(rows), np.stack([x[row] for row in rows]), np.stack([y[row] for row in rows])


def _mann_whitney(X: Floats, Y: Floats, side: Side, ties: bool) -> Floats:  # noqa: N803 - stacked samples
    ways = math.comb(X.shape[1] + Y.shape[1], X.shape[1])
    # scipy permutes samples of two and more.
    few = ties and ways <= ARRANGEMENTS and min(X.shape[1], Y.shape[1]) > 1
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
    if ties and 2 ** X.shape[1] <= ARRANGEMENTS:
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
    kept = [place for place in range(len(x)) if _enough(x[place]) and _enough(y[place])]
    pairs = [(a, b) for place in kept if (a := x[place]) is not None and (b := y[place]) is not None]
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    for _, rows, X, Y in _stacked(left, right, [(len(a), len(b)) for a, b in pairs]):
        places = np.array(kept)[rows]
        far, near = (np.abs(Z - np.median(Z, axis=1, keepdims=True)) for Z in (X, Y))
        wider[places] = far.mean(axis=1) - near.mean(axis=1)
        told = (_range(far) > 0) | (_range(near) > 0)
        if told.any():
            p[places[told]] = stats.levene(X[told], Y[told], center="median", axis=1).pvalue
    return p, wider


def _enough(sample: Floats | None) -> bool:
    return sample is not None and len(sample) >= LEAST_FOR_LEVENE


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
