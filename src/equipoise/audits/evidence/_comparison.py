"""Technique against baseline on one metric: every number that a verdict needs, computed for all comparisons at once.

The runs of one technique on one metric are a ``Series``, with its mean, STDEV and MaxDiff (Qian et al. 2021).

The tests: ``permutation`` (Welch's statistic under permutations of the runs) and ``sign-flip`` (Student's statistic of
pairs under changes of sign) are the usual ones. Their p is the larger of the permutation's and of the t-test's, so a
finding holds by both, and its interval (Welch's or Student's) leaves out 0 at the level that decides: permutation is
exact where only chance tells the sides apart, and t holds where they spread differently. ``mann-whitney`` (the
paper's), ``brunner-munzel`` and, for pairs, ``wilcoxon`` are rank tests; the t interval stands beside them and decides
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

import numpy as np

from equipoise.audits.evidence._runs import Runs
from equipoise.foundation import BadInput, Floats
from equipoise.stats import (
    CORRECTIONS,
    Side,
    cohens_d,
    deciding_level,
    equivalence_p,
    levene_p,
    paired_t,
    permutation_test,
    probability_of_superiority,
    rank_test_p,
    signed_rank_direction,
    smallest_p,
    smallest_paired_p,
    t_interval,
    t_p,
    welch,
)
from equipoise.tallies import ordered

Alternative = Literal["two-sided", "observed"]
# Which spread counts as a cost: that of the values, or (the paper's) that of values divided by their mean.
SpreadRule = Literal["absolute", "relative"]
Test = Literal["permutation", "mann-whitney", "brunner-munzel", "sign-flip", "wilcoxon"]
Correction = Literal["none", "bh", "holm"]
PERMUTATION: Final = "permutation"
SIGN_FLIP: Final = "sign-flip"
MANN_WHITNEY: Final = "mann-whitney"
BRUNNER_MUNZEL: Final = "brunner-munzel"
WILCOXON: Final = "wilcoxon"
OF_SAMPLES, OF_PAIRS = (PERMUTATION, MANN_WHITNEY, BRUNNER_MUNZEL), (SIGN_FLIP, WILCOXON)
# Tests that are decided together with their interval.
STUDENTISED = (PERMUTATION, SIGN_FLIP)
RANK_TESTS = (MANN_WHITNEY, BRUNNER_MUNZEL, WILCOXON)


@dataclass(frozen=True)
class Series:
    """Values in the order of the runs' names, whatever the order of the file."""

    technique: str
    metric: str
    runs: tuple[str, ...]
    values: Floats
    pairs: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ranked(self) -> Floats:
        """The values in rising order: what is computed from them is the same to the last digit in any order of runs."""
        return np.sort(self.values)

    @cached_property
    def min(self) -> float:
        """The lowest run."""
        return float(self.values.min()) if len(self) else math.nan

    @cached_property
    def max(self) -> float:
        """The highest run."""
        return float(self.values.max()) if len(self) else math.nan

    @property
    def maxdiff(self) -> float:
        """The range of the runs: highest minus lowest."""
        return self.max - self.min

    @property
    def constant(self) -> bool:
        """Tell whether there are several runs and all gave the same value."""
        return len(self) > 1 and self.min == self.max

    @cached_property
    def mean(self) -> float:
        """The mean, exactly rounded: the same in any order, and of equal values exactly that value."""
        if len(self) == 0 or self.min == self.max:
            return self.min
        return math.fsum(self.values.tolist()) / len(self)

    @cached_property
    def stdev(self) -> float:
        """The sample standard deviation (divided by n - 1); one run has none."""
        if len(self) < 2:
            return math.nan
        return 0.0 if self.min == self.max else float(self.ranked.std(ddof=1))

    @cached_property
    def relative(self) -> Floats | None:
        """The values divided by their mean; none where the mean is 0 or nearer to it than its standard error.

        Values of one sign have a mean of at least one standard error, so only values on both sides of 0 are refused.
        """
        if len(self) == 0 or self.mean == 0:
            return None
        if len(self) > 1 and abs(self.mean) * math.sqrt(len(self)) < self.stdev * (1 - 1e-9):
            return None
        return np.ones(len(self)) if self.min == self.max else self.ranked / self.mean

    @cached_property
    def relative_spread(self) -> float:
        """How far the runs lie from their median on average, in parts of their mean."""
        return math.nan if self.relative is None else _from_median(self.relative)

    @cached_property
    def spread(self) -> float:
        """How far the runs lie from their median on average: what Levene's test compares."""
        return _from_median(self.ranked) if len(self) else math.nan


def _from_median(ranked: Floats) -> float:
    middle = (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
    return float(np.abs(ranked - middle).mean())


def series_of(runs: Runs, cells: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Series]:
    """Gather the rows of each technique and metric; a cell without rows has a series without values."""
    by_cell = {(technique, metric): Series(technique, metric, (), np.empty(0)) for technique, metric in cells}
    technique, metric, run = (runs.labels[role] for role in ("technique", "metric", "run"))
    rank_of = {
        label: number for number, label in enumerate(ordered(label for label in run.labels if label is not None))
    }
    rank = np.array([rank_of[label or ""] for label in run.labels], dtype=np.int64)[run.codes]
    order = np.lexsort((rank, metric.codes, technique.codes))
    cell = technique.codes[order] * len(metric.labels) + metric.codes[order]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    pair = runs.labels.get("pair")
    for rows in np.split(order, starts[1:]) if len(order) else ():
        name = (str(technique.labels[technique.codes[rows[0]]]), str(metric.labels[metric.codes[rows[0]]]))
        names = tuple(str(run.labels[code]) for code in run.codes[rows])
        partners = () if pair is None else tuple(pair.labels[code] for code in pair.codes[rows])
        by_cell[name] = Series(*name, names, runs.values[rows], partners)
    return by_cell


def paired(technique: Series, baseline: Series, column: str) -> tuple[Floats, Floats]:
    """Return the values of both sides where they share a value of the pairing column, in the same order."""
    indices = []
    for series in (technique, baseline):
        index_of = {label: index for index, label in enumerate(series.pairs) if label is not None}
        labels = [label for label in series.pairs if label is not None]
        if len(index_of) < len(labels):
            twice = next(label for index, label in enumerate(labels) if label in labels[:index])
            raise BadInput(
                f"{series.technique!r} has several runs on {series.metric!r} with {column} {twice!r}",
                available="one run of each technique for each value of the pairing column",
                help="pair by a column that tells the runs apart, or average the runs of each value first.",
            )
        indices.append(index_of)
    common = [label for label in indices[0] if label in indices[1]]
    rows = [[index_of[label] for label in common] for index_of in indices]
    return technique.values[rows[0]], baseline.values[rows[1]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to compare: the test, its alternative, the correction, and from which p on there is a finding.

    ``margins`` says by metric how far a difference may go and still be irrelevant.
    """

    test: str
    alternative: str
    correction: str
    threshold: float
    pair: str | None = None
    spread: SpreadRule = "absolute"
    margins: Mapping[str, float] = field(default_factory=dict)

    @property
    def error_rate(self) -> float:
        """How often one test at the threshold says "lower" or "higher" of a technique that changes nothing.

        A side that is chosen from the same runs is tested twice in effect.
        """
        return min(1.0, (2.0 if self.alternative == "observed" else 1.0) * self.threshold)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One technique against its baseline. What is undefined is NaN.

    ``error`` and ``degrees`` are those of the difference, ``low`` and ``high`` its t interval at ``level``, the level
    that decides after correction. ``levene_*`` and ``wider`` are about values divided by their mean, ``spread_*`` about
    the values themselves.
    """

    technique: Series
    baseline: Series
    pairs: int | None
    difference: float
    lean: float
    p: float
    p_adjusted: float
    smallest: float
    attainable: float
    d: float
    levene_p: float
    levene_adjusted: float
    wider: float
    above: float
    error: float = math.nan
    degrees: float = math.nan
    low: float = math.nan
    high: float = math.nan
    level: float = math.nan
    draws: int = 0
    limited: bool = False
    spread_p: float = math.nan
    spread_adjusted: float = math.nan
    spread_wider: float = math.nan
    margin: float | None = None
    equivalence_p: float = math.nan
    equivalence_adjusted: float = math.nan

    @property
    def overlap(self) -> bool | None:
        """Tell whether the ranges of the runs have a value in common."""
        if not (len(self.technique) and len(self.baseline)):
            return None
        return self.technique.min <= self.baseline.max and self.baseline.min <= self.technique.max

    @property
    def misleads(self) -> float:
        """The probability that one run of each points the other way than the means do; a tie counts half.

        It is U / (n1 n2), counted against the direction of the means. Equal means point no way: then it is NaN.
        """
        difference = self.technique.mean - self.baseline.mean
        if math.isnan(difference) or difference == 0:
            return math.nan
        return self.above if difference < 0 else 1.0 - self.above


@dataclass(frozen=True, eq=False)
class _Tested:
    """The p of each comparison, the smallest that is possible, and what it rests on."""

    p: Floats
    smallest: list[float]
    draws: list[int]
    limited: list[bool]


def compare(couples: Sequence[tuple[Series, Series]], plan: Plan) -> list[Comparison]:
    """Compare each technique with its baseline, and correct for how many comparisons there are."""
    x, y = [t.ranked for t, _ in couples], [b.ranked for _, b in couples]
    above = probability_of_superiority(x, y)
    leans = (above - 0.5).tolist()
    pairs: list[int | None] = [None] * len(couples)
    if plan.pair is not None:
        matched = [paired(t, b, plan.pair) for t, b in couples]
        x, y = [a for a, _ in matched], [b for _, b in matched]
        leans, pairs = [signed_rank_direction(a, b) for a, b in matched], [len(a) for a, _ in matched]
        estimates = [paired_t(a - b) for a, b in matched]
    else:
        estimates = [welch(a, b) for a, b in zip(x, y, strict=True)]
        # The mean of a series is exactly rounded, and so is its difference.
        estimates = [(t.mean - b.mean, *rest) for (t, b), (_, *rest) in zip(couples, estimates, strict=True)]  # type: ignore[misc]
    if plan.test in STUDENTISED:
        tested = _studentised(x, y, estimates, plan)
        leans = [difference for difference, _, _ in estimates]
    else:
        sizes = [max(abs(t.mean), abs(b.mean)) for t, b in couples]
        tested = _ranked(x, y, [estimate[0] for estimate in estimates], leans, sizes, plan)
    correct = CORRECTIONS[plan.correction]
    least = np.where(np.isnan(tested.p), np.nan, tested.smallest)
    level = _level(tested.p, plan)
    relative = levene_p([t.relative for t, _ in couples], [b.relative for _, b in couples])
    absolute = levene_p([t.ranked for t, _ in couples], [b.ranked for _, b in couples])
    margins = [plan.margins.get(t.metric) for t, _ in couples]
    within = np.array([
        math.nan if margin is None else float(equivalence_p(estimate[0], estimate[1], margin, estimate[2]))
        for estimate, margin in zip(estimates, margins, strict=True)
    ])  # fmt: skip
    # Both corrections never fall when a p rises, so correcting the smallest p gives the smallest corrected one.
    columns: dict[str, Sequence[object]] = {
        "pairs": pairs, "lean": leans, "p": tested.p.tolist(), "p_adjusted": correct(tested.p).tolist(),
        "smallest": tested.smallest, "attainable": correct(least).tolist(), "draws": tested.draws,
        "limited": tested.limited, "levene_p": relative[0].tolist(), "levene_adjusted": correct(relative[0]).tolist(),
        "wider": relative[1].tolist(), "spread_p": absolute[0].tolist(),
        "spread_adjusted": correct(absolute[0]).tolist(), "spread_wider": absolute[1].tolist(),
        "above": above.tolist(), "margin": margins, "equivalence_p": within.tolist(),
        "equivalence_adjusted": correct(within).tolist(),
    }  # fmt: skip
    return [
        _comparison(couple, estimate, level, dict(zip(columns, row, strict=True)))
        for couple, estimate, *row in zip(couples, estimates, *columns.values(), strict=True)
    ]


def _level(p: Floats, plan: Plan) -> float:
    """Return the level of the intervals that agree with the tests; two sides of a one-sided test make one interval."""
    alpha = deciding_level(p, plan.correction, plan.threshold)
    return max(0.0, 1.0 - (2.0 if plan.alternative == "observed" else 1.0) * alpha)


def _studentised(
    x: Sequence[Floats], y: Sequence[Floats], estimates: Sequence[tuple[float, float, float]], plan: Plan
) -> _Tested:
    """Test by permutation and by t, and take the larger p. One-sided in the observed direction is half of two-sided."""
    together = 1 if plan.correction == "none" else None
    if plan.pair is None:
        test = permutation_test(x, y, tests=together, threshold=plan.threshold)
        ways = [math.comb(len(a) + len(b), len(a)) for a, b in zip(x, y, strict=True)]
        # Of equal sizes, the sides can be exchanged: two arrangements are as extreme.
        twins = [2 if len(a) == len(b) else 1 for a, b in zip(x, y, strict=True)]
    else:
        differences = [a - b for a, b in zip(x, y, strict=True)]
        test = permutation_test(differences, tests=together, threshold=plan.threshold)
        ways, twins = [2 ** len(a) for a in x], [2] * len(x)
    p = np.fmax(test.p, [t_p(*estimate) for estimate in estimates])
    p = np.where(np.isnan(test.p), np.nan, p)
    times = 0.5 if plan.alternative == "observed" else 1.0
    smallest = [times * min(twin / way, 1.0) for twin, way in zip(twins, ways, strict=True)]
    return _Tested(times * p, smallest, test.draws.tolist(), test.limited.tolist())


def _ranked(
    x: Sequence[Floats], y: Sequence[Floats], differences: Sequence[float], leans: Sequence[float],
    sizes: Sequence[float], plan: Plan,
) -> _Tested:  # fmt: skip
    sides = [_side(*row, plan.alternative) for row in zip(differences, leans, sizes, strict=True)]
    smallest = [
        smallest_p(len(a), len(b), side) if plan.pair is None else smallest_paired_p(len(a), side)
        for a, b, side in zip(x, y, sides, strict=True)
    ]
    return _Tested(rank_test_p(plan.test, x, y, sides), smallest, [0] * len(x), [False] * len(x))


def _side(difference: float, lean: float, size: float, alternative: str) -> Side:
    """Return the side that is tested: with "observed" the one the means point to.

    Where the means are equal but for rounding, the ranks decide; where they lean no way either, both sides have the
    same p, about one half.
    """
    if alternative == "two-sided" or math.isnan(difference):
        return "two-sided"
    direction = lean if abs(difference) <= 1e-12 * size else difference
    return "less" if direction < 0 else "greater"


def _comparison(
    couple: tuple[Series, Series], estimate: tuple[float, float, float], level: float, numbers: Mapping[str, object]
) -> Comparison:
    technique, baseline = couple
    low, high = t_interval(*estimate, level)
    difference, error, degrees = estimate
    return Comparison(
        technique=technique, baseline=baseline, difference=difference, error=error, degrees=degrees, low=low, high=high,
        level=level, d=cohens_d(technique.mean, technique.stdev, baseline.mean, baseline.stdev),
        **numbers,  # type: ignore[arg-type]
    )  # fmt: skip
