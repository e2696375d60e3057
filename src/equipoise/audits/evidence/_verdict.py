"""From numbers to a verdict with its reasons, and to what a technique costs.

``lower`` and ``higher`` need a corrected p within the threshold, and an interval at the level that decides which leaves
out 0 (of a rank test instead: means and ranks that point the same way). ``none`` means that no difference is
confirmed. ``undecided`` is said where these runs could not have shown one, however large: the smallest p that is
possible with so few runs, corrected in the same way, exceeds the threshold. Whether runs vary more or less than those
of the baseline is decided by Levene's test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.audits.evidence._comparison import STUDENTISED, Comparison, Plan, Series, SpreadRule
from equipoise.foundation import (
    fitting,
    plural,
)
from equipoise.results import Reason, ReasonCode, Verdict, because
from equipoise.stats import (
    MIN_FOR_LEVENE,
    interval_excludes,
    smallest_p,
    smallest_paired_p,
)

PERFORMANCE_LOWER = "performance lower"
PERFORMANCE_VARIANCE = "performance variance higher"
METRIC_VARIANCE = "metric variance higher"

NAMES = {"none": "no correction", "bh": "Benjamini-Hochberg", "holm": "Holm"}


SpreadChange = Literal["lower", "higher", "none"]


def within(p: float, threshold: float) -> bool:
    """Tell whether a p is within the threshold; a rounding in its last digit does not decide."""
    return p <= threshold * (1 + 1e-12)


class EvidenceReason(ReasonCode):
    """Why a verdict is what it is, and what else must be known to read its numbers."""

    # The verdict.
    SIGNIFICANT = "significant", "{means}, p = {p:.2g}{corrected}"
    NOT_SIGNIFICANT = (
        "not_significant",
        "no significant difference, which does not prove that there is none: {means}, p = {p:.2g}{corrected}",
    )  # fmt: skip
    INTERVAL_INCLUDES_ZERO = (
        "interval_includes_zero",
        "the interval of the difference includes 0, so it is not confirmed: {means}, p = {p:.2g}{corrected}",
    )  # fmt: skip
    MEANS_POINT_THE_OTHER_WAY = (
        "means_point_the_other_way",
        "the ranks of the runs differ (p = {p:.2g}{corrected}), but the means point the other way: {means}",
    )  # fmt: skip
    RANKS_DIFFER_MEANS_EQUAL = (
        "ranks_differ_means_equal",
        "the ranks of the runs differ (p = {p:.2g}{corrected}), but the means are equal: {means}",
    )  # fmt: skip
    NO_RUNS = "no_runs", "no run of {technique!r} has a value on {metric!r}"
    NO_PARTNERS = "no_partners", "no run of {technique!r} has a partner of the same {pair}"
    ONE_RUN = "one_run", "inconclusive with {runs}: the test needs two runs on each side"
    FEW_RUNS = (
        "few_runs",
        "inconclusive with {runs}: the smallest p that is possible with so few is {smallest:.2g}, above {threshold:g}",
    )  # fmt: skip
    FEW_RUNS_AFTER_CORRECTION = (
        "few_runs_after_correction",
        "inconclusive with {runs}: the smallest p that is possible with so few is {smallest:.2g}, and {attainable:.2g} "
        "after the correction ({correction}), above {threshold:g}",
    )  # fmt: skip
    MORE_RUNS_COULD_DECIDE = "more_runs_could_decide", "{enough:,} {what} could decide"

    # What is undefined or limited.
    NO_SPREAD_OF_ONE_RUN = (
        "no_spread_of_one_run",
        "one run of {technique!r} has no spread, so STDEV, d and Levene's test are undefined",
    )  # fmt: skip
    SAME_VALUE = "same_value", "all {runs} runs of {technique!r} gave the same value"
    COPIES = (
        "copies", "with no spread on either side the runs are one run repeated, and the test counts the copies"
    )  # fmt: skip
    COPIES_WITHOUT_D = (
        "copies_without_d",
        "with no spread on either side d is undefined, the runs are one run repeated, and the test counts the copies",
    )  # fmt: skip
    MEANS_EQUAL = "means_equal", "the means are equal, so one run of each cannot point the other way"
    FEW_RUNS_FOR_LEVENE = "few_runs_for_levene", "Levene's test needs {least} runs on each side"
    NO_RELATIVE_SPREAD = (
        "no_relative_spread",
        "the spread relative to the mean is undefined, as the mean of {names} is 0 or too near to it",
    )  # fmt: skip
    LEVENE_UNDEFINED = (
        "levene_undefined",
        "Levene's test is undefined: within each side all runs lie equally far from the median",
    )  # fmt: skip
    LIMITED_BY_DRAWS = (
        "limited_by_draws", "p is limited by {draws:,} random arrangements: with more of them it could be smaller"
    )  # fmt: skip
    UNPAIRED_RUNS = "unpaired_runs", "{runs:plural run} without a partner of the same {pair} {are} not tested"

    # What a technique costs.
    COSTS = "costs", "costs: {costs:join}"
    PERFORMANCE_LOWER = "performance_lower", "{metric} is lower ({mean:.4g} against {baseline:.4g})"
    PERFORMANCE_VARIES_MORE = "performance_varies_more", "{metric} varies more"
    METRIC_VARIES_MORE = "metric_varies_more", "{metric} itself varies more (Levene p = {p:.2g})"
    PERFORMANCE_UNDECIDED = "performance_undecided", "whether {metric} is lower is inconclusive"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How many runs, or pairs of runs, were compared."""

    technique: int
    baseline: int
    pairs: int | None

    @classmethod
    def of(cls, comparison: Comparison) -> _Sizes:
        return cls(len(comparison.technique), len(comparison.baseline), comparison.pairs)

    def __str__(self) -> str:
        if self.pairs is not None:
            return plural(self.pairs, "pair")
        return f"{plural(self.technique, 'run')} against {self.baseline}"


@dataclass(frozen=True, slots=True)
class _Means:
    """Two means that were compared, and the interval of their difference where it decides."""

    technique: float
    baseline: float
    sizes: _Sizes
    difference: float
    interval: tuple[float, float, float] | None

    @classmethod
    def of(cls, comparison: Comparison, *, decides: bool) -> _Means:
        has_interval = decides and not math.isnan(comparison.low)
        interval = (comparison.low, comparison.high, comparison.level) if has_interval else None
        means = comparison.technique.mean, comparison.baseline.mean
        return cls(*means, _Sizes.of(comparison), comparison.difference, interval)

    def __str__(self) -> str:
        difference = ""
        if self.interval is not None:
            low, high, level = self.interval
            difference = f" ({self.difference:+.3g}, {100 * level:.4g}% interval {low:+.3g} to {high:+.3g})"
        return f"mean {self.technique:.4g} against {self.baseline:.4g}{difference}, {self.sizes}"


def decide(comparison: Comparison, plan: Plan) -> tuple[Verdict, Reason]:
    """Return the verdict and the reason for it."""
    technique, baseline = comparison.technique, comparison.baseline
    for side in (technique, baseline):
        if len(side) == 0:
            return Verdict.UNDECIDED, because(EvidenceReason.NO_RUNS, technique=side.technique, metric=side.metric)
    if comparison.pairs == 0:
        return Verdict.UNDECIDED, because(EvidenceReason.NO_PARTNERS, technique=technique.technique, pair=plan.pair)
    if math.isnan(comparison.p):
        return Verdict.UNDECIDED, because(EvidenceReason.ONE_RUN, runs=_Sizes.of(comparison))
    if not within(comparison.attainable, plan.threshold):
        return Verdict.UNDECIDED, _too_few(comparison, plan)
    numbers = {
        "means": _Means.of(comparison, decides=plan.test in STUDENTISED), "p": comparison.p_adjusted,
        "corrected": "" if plan.correction == "none" else " after correction",
    }  # fmt: skip
    if not within(comparison.p_adjusted, plan.threshold):
        return Verdict.NONE, because(EvidenceReason.NOT_SIGNIFICANT, **numbers)
    if plan.test in STUDENTISED and not interval_excludes(comparison.low, comparison.high):
        return Verdict.NONE, because(EvidenceReason.INTERVAL_INCLUDES_ZERO, **numbers)
    if comparison.difference * comparison.lean <= 0:
        equal = comparison.difference == 0
        code = EvidenceReason.RANKS_DIFFER_MEANS_EQUAL if equal else EvidenceReason.MEANS_POINT_THE_OTHER_WAY
        return Verdict.UNDECIDED, because(code, **numbers)
    verdict = Verdict.LOWER if comparison.difference < 0 else Verdict.HIGHER
    return verdict, because(EvidenceReason.SIGNIFICANT, **numbers)


def _too_few(comparison: Comparison, plan: Plan) -> Reason:
    corrected = within(comparison.smallest, plan.threshold)
    few = because(
        EvidenceReason.FEW_RUNS_AFTER_CORRECTION if corrected else EvidenceReason.FEW_RUNS,
        runs=_Sizes.of(comparison), smallest=comparison.smallest, attainable=min(comparison.attainable, 1.0),
        correction=NAMES[plan.correction], threshold=plan.threshold,
    )  # fmt: skip
    enough, what = _enough(comparison, plan), "runs of each" if comparison.pairs is None else "pairs"
    if enough is None:
        return few
    more = because(EvidenceReason.MORE_RUNS_COULD_DECIDE, enough=enough, what=what)
    return Reason(few.code, parts=(few, more))


def _enough(comparison: Comparison, plan: Plan) -> int | None:
    """Return how many runs of each could show a difference, at the same number of comparisons."""
    side: Literal["two-sided", "less"] = "two-sided" if plan.alternative == "two-sided" else "less"
    times = 1.0
    if plan.correction == "holm":
        if comparison.attainable >= 1:
            return None
        times = comparison.attainable / comparison.smallest
    for number in range(2, 65):
        least = smallest_p(number, number, side) if comparison.pairs is None else smallest_paired_p(number, side)
        if within(least * times, plan.threshold):
            return number
    return None


def asides(comparison: Comparison, pair: str | None, *, copies: bool = True) -> Iterator[Reason]:
    """Yield what else must be known to read the numbers: what is undefined, and why.

    ``copies`` says whether the test takes equal runs for runs of their own, as tests on ranks do.
    """
    technique, baseline = comparison.technique, comparison.baseline
    sides = (technique, baseline)
    if not (len(technique) and len(baseline)):
        return
    for side in sides:
        if len(side) == 1:
            yield because(EvidenceReason.NO_SPREAD_OF_ONE_RUN, technique=side.technique)
        elif side.constant:
            yield because(EvidenceReason.SAME_VALUE, runs=len(side), technique=side.technique)
    if copies and technique.constant and baseline.constant:
        equal = technique.mean == baseline.mean
        yield because(EvidenceReason.COPIES if equal else EvidenceReason.COPIES_WITHOUT_D)
    if technique.mean == baseline.mean:
        yield because(EvidenceReason.MEANS_EQUAL)
    yield from _about_levene(comparison, sides)
    if comparison.limited:
        yield because(EvidenceReason.LIMITED_BY_DRAWS, draws=comparison.draws)
    lost = sum(len(side) for side in sides) - 2 * (comparison.pairs or 0)
    if pair is not None and comparison.pairs is not None and lost:
        yield because(EvidenceReason.UNPAIRED_RUNS, runs=lost, pair=pair, are=fitting(lost, "is", "are"))


def _about_levene(comparison: Comparison, sides: Sequence[Series]) -> Iterator[Reason]:
    if not math.isnan(comparison.levene_p) or any(len(side) == 1 for side in sides):
        return
    centred = [side for side in sides if side.relative is None]
    if any(len(side) < MIN_FOR_LEVENE for side in sides):
        yield because(EvidenceReason.FEW_RUNS_FOR_LEVENE, least=MIN_FOR_LEVENE)
    elif centred:
        names = " and ".join(repr(side.technique) for side in centred)
        yield because(EvidenceReason.NO_RELATIVE_SPREAD, names=names)
    elif not all(side.constant for side in sides):
        yield because(EvidenceReason.LEVENE_UNDEFINED)


def spread_is_higher(comparison: Comparison, threshold: float, spread: SpreadRule = "relative") -> bool:
    """Tell whether the runs of the technique spread more around their median: as they are, or relative to their mean.

    A technique that halves a bias and leaves its standard deviation alone spreads more relative to its mean, and costs
    nothing: what counts is the spread as it is. Relative is the rule of Qian et al. (2021).
    """
    if spread == "relative":
        return within(comparison.levene_adjusted, threshold) and comparison.wider > 0
    return within(comparison.spread_adjusted, threshold) and comparison.spread_wider > 0


def costs_of(
    comparison: Comparison,
    performance: Sequence[tuple[Comparison, Verdict]],
    threshold: float,
    spread: SpreadRule = "relative",
) -> tuple[tuple[str, ...], tuple[Reason, ...]]:
    """Return what a technique costs besides its effect on a metric, and why, with names and numbers."""
    lower = [other for other, verdict in performance if verdict == Verdict.LOWER]
    wider = [other for other, _ in performance if spread_is_higher(other, threshold, spread)]
    unknown = [other for other, verdict in performance if verdict == Verdict.UNDECIDED]
    costs = [PERFORMANCE_LOWER] * bool(lower) + [PERFORMANCE_VARIANCE] * bool(wider)
    why = [
        because(
            EvidenceReason.PERFORMANCE_LOWER, metric=other.technique.metric, mean=other.technique.mean,
            baseline=other.baseline.mean,
        )
        for other in lower
    ]  # fmt: skip
    why += [because(EvidenceReason.PERFORMANCE_VARIES_MORE, metric=other.technique.metric) for other in wider]
    if spread_is_higher(comparison, threshold, spread):
        costs.append(METRIC_VARIANCE)
        p = comparison.levene_adjusted if spread == "relative" else comparison.spread_adjusted
        why.append(because(EvidenceReason.METRIC_VARIES_MORE, metric=comparison.technique.metric, p=p))
    why += [because(EvidenceReason.PERFORMANCE_UNDECIDED, metric=other.technique.metric) for other in unknown]
    return tuple(costs), tuple(why)


@dataclass(frozen=True)
class VarianceChange:
    """How the spread of a technique compares with its baseline's.

    ``ratio``, ``levene_p_adjusted`` and ``change`` are about values divided by their mean, as in Qian et al. (2021);
    those with ``absolute_`` before them about the values themselves. A ratio is the mean distance of the runs from
    their median, divided by that of the baseline; NaN where the baseline does not vary. A change is None where Levene's
    test is undefined; the record's reason says why. ``spread`` tells which of the two counts as a cost.
    """

    technique: str
    baseline: str
    metric: str
    ratio: float
    levene_p_adjusted: float
    change: SpreadChange | None
    absolute_ratio: float = math.nan
    absolute_p_adjusted: float = math.nan
    absolute_change: SpreadChange | None = None
    spread: SpreadRule = "relative"

    @property
    def counted(self) -> tuple[float, float, SpreadChange | None]:
        """The ratio, the p and the change that count as a cost."""
        if self.spread == "relative":
            return self.ratio, self.levene_p_adjusted, self.change
        return self.absolute_ratio, self.absolute_p_adjusted, self.absolute_change


def variance_changes(
    compared: Iterable[Comparison], threshold: float, spread: SpreadRule = "relative"
) -> Iterator[VarianceChange]:
    """Yield a change for each comparison; a corrected p up to the threshold is a finding."""
    for comparison in compared:
        treated = comparison.technique
        yield VarianceChange(
            technique=treated.technique,
            baseline=comparison.baseline.technique,
            metric=treated.metric,
            ratio=_ratio(treated.relative_spread, comparison.baseline.relative_spread, len(treated)),
            levene_p_adjusted=comparison.levene_adjusted,
            change=_change(comparison.levene_adjusted, comparison.wider, threshold),
            absolute_ratio=_ratio(treated.spread, comparison.baseline.spread, len(treated)),
            absolute_p_adjusted=comparison.spread_adjusted,
            absolute_change=_change(comparison.spread_adjusted, comparison.spread_wider, threshold),
            spread=spread,
        )


def _ratio(technique: float, baseline: float, runs: int) -> float:
    return technique / baseline if runs > 1 and baseline > 0 else math.nan


def _change(p: float, wider: float, threshold: float) -> SpreadChange | None:
    if math.isnan(p):
        return None
    if not within(p, threshold):
        return "none"
    return "higher" if wider > 0 else "lower"
