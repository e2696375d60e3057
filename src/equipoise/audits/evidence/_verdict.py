"""From numbers to a verdict, and the verdict to words.

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
from equipoise.foundation.text import plural
from equipoise.results import Verdict
from equipoise.stats import LEAST_FOR_LEVENE, excludes, smallest_p, smallest_paired_p

PERFORMANCE_LOWER = "performance lower"
PERFORMANCE_VARIANCE = "performance variance higher"
METRIC_VARIANCE = "metric variance higher"

NAMES = {"none": "no correction", "bh": "Benjamini-Hochberg", "holm": "Holm"}


SpreadChange = Literal["lower", "higher", "none"]


def within(p: float, threshold: float) -> bool:
    """Tell whether a p is within the threshold; a rounding in its last digit does not decide."""
    return p <= threshold * (1 + 1e-12)


def decide(found: Comparison, plan: Plan) -> tuple[Verdict, str]:
    """Return the verdict and the reason for it."""
    technique, baseline = found.technique, found.baseline
    for side in (technique, baseline):
        if len(side) == 0:
            return Verdict.UNDECIDED, f"no run of {side.technique!r} has a value on {side.metric!r}"
    if found.pairs == 0:
        return Verdict.UNDECIDED, f"no run of {technique.technique!r} has a partner of the same {plan.pair}"
    if math.isnan(found.p):
        return Verdict.UNDECIDED, f"undecided with {_runs(found)}: the test needs two runs on each side"
    if not within(found.attainable, plan.threshold):
        return Verdict.UNDECIDED, _too_few(found, plan)
    means = f"mean {technique.mean:.4g} against {baseline.mean:.4g}{_interval(found, plan)}, {_runs(found)}"
    p = f"p = {found.p_adjusted:.2g}" + ("" if plan.correction == "none" else " after correction")
    if not within(found.p_adjusted, plan.threshold):
        return Verdict.NONE, f"no significant difference, which does not prove that there is none: {means}, {p}"
    if plan.test in STUDENTISED and not excludes(found.low, found.high):
        return Verdict.NONE, f"the interval of the difference includes 0, so it is not confirmed: {means}, {p}"
    if found.difference * found.lean <= 0:
        way = "are equal" if found.difference == 0 else "point the other way"
        return Verdict.UNDECIDED, f"the ranks of the runs differ ({p}), but the means {way}: {means}"
    return (Verdict.LOWER if found.difference < 0 else Verdict.HIGHER), f"{means}, {p}"


def _interval(found: Comparison, plan: Plan) -> str:
    if plan.test not in STUDENTISED or math.isnan(found.low):
        return ""
    told = f"{found.difference:+.3g}, {100 * found.level:.4g}% interval {found.low:+.3g} to {found.high:+.3g}"
    return f" ({told})"


def _runs(found: Comparison) -> str:
    if found.pairs is not None:
        return plural(found.pairs, "pair")
    return f"{plural(len(found.technique), 'run')} against {len(found.baseline)}"


def _too_few(found: Comparison, plan: Plan) -> str:
    told = f"undecided with {_runs(found)}: the smallest p that is possible with so few is {found.smallest:.2g}"
    if within(found.smallest, plan.threshold):
        told += f", and {min(found.attainable, 1.0):.2g} after the correction ({NAMES[plan.correction]})"
    enough = _enough(found, plan)
    what = "runs of each" if found.pairs is None else "pairs"
    return f"{told}, above {plan.threshold:g}" + ("" if enough is None else f"; {enough:,} {what} could decide")


def _enough(found: Comparison, plan: Plan) -> int | None:
    """Return how many runs of each could show a difference, at the same number of comparisons."""
    side: Literal["two-sided", "less"] = "two-sided" if plan.alternative == "two-sided" else "less"
    times = 1.0
    if plan.correction == "holm":
        if found.attainable >= 1:
            return None
        times = found.attainable / found.smallest
    for number in range(2, 65):
        least = smallest_p(number, number, side) if found.pairs is None else smallest_paired_p(number, side)
        if within(least * times, plan.threshold):
            return number
    return None


def asides(found: Comparison, pair: str | None, *, copies: bool = True) -> Iterator[str]:
    """Yield what else must be known to read the numbers: what is undefined, and why.

    ``copies`` says whether the test takes equal runs for runs of their own, as tests on ranks do.
    """
    technique, baseline = found.technique, found.baseline
    sides = (technique, baseline)
    if not (len(technique) and len(baseline)):
        return
    for side in sides:
        if len(side) == 1:
            yield f"one run of {side.technique!r} has no spread, so STDEV, d and Levene's test are undefined"
        elif side.constant:
            yield f"all {len(side)} runs of {side.technique!r} gave the same value"
    if copies and technique.constant and baseline.constant:
        yield (
            "with no spread on either side "
            + ("" if technique.mean == baseline.mean else "d is undefined, ")
            + "the runs are one run repeated, and the test counts the copies"
        )
    if technique.mean == baseline.mean:
        yield "the means are equal, so one run of each cannot point the other way"
    yield from _about_levene(found, sides)
    if found.limited:
        yield f"p is limited by {found.draws:,} random arrangements: with more of them it could be smaller"
    lost = sum(len(side) for side in sides) - 2 * (found.pairs or 0)
    if pair is not None and found.pairs is not None and lost:
        yield f"{plural(lost, 'run')} without a partner of the same {pair} {'is' if lost == 1 else 'are'} not tested"


def _about_levene(found: Comparison, sides: Sequence[Series]) -> Iterator[str]:
    if not math.isnan(found.levene_p) or any(len(side) == 1 for side in sides):
        return
    centred = [side for side in sides if side.relative is None]
    if any(len(side) < LEAST_FOR_LEVENE for side in sides):
        yield f"Levene's test needs {LEAST_FOR_LEVENE} runs on each side"
    elif centred:
        names = " and ".join(repr(side.technique) for side in centred)
        yield f"the spread relative to the mean is undefined, as the mean of {names} is 0 or too near to it"
    elif not all(side.constant for side in sides):
        yield "Levene's test is undefined: within each side all runs lie equally far from the median"


def spread_is_higher(found: Comparison, threshold: float, spread: SpreadRule = "relative") -> bool:
    """Tell whether the runs of the technique spread more around their median: as they are, or relative to their mean.

    A technique that halves a bias and leaves its standard deviation alone spreads more relative to its mean, and costs
    nothing: what counts is the spread as it is. Relative is the rule of paper 004.
    """
    if spread == "relative":
        return within(found.levene_adjusted, threshold) and found.wider > 0
    return within(found.spread_adjusted, threshold) and found.spread_wider > 0


def costs_of(
    found: Comparison,
    performance: Sequence[tuple[Comparison, Verdict]],
    threshold: float,
    spread: SpreadRule = "relative",
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a technique costs besides its effect on a metric, and the same in words with names."""
    lower = [other for other, verdict in performance if verdict == Verdict.LOWER]
    wider = [other for other, _ in performance if spread_is_higher(other, threshold, spread)]
    unknown = [other for other, verdict in performance if verdict == Verdict.UNDECIDED]
    costs, words = [], []
    if lower:
        costs.append(PERFORMANCE_LOWER)
        words += [
            f"{other.technique.metric} is lower ({other.technique.mean:.4g} against {other.baseline.mean:.4g})"
            for other in lower
        ]
    if wider:
        costs.append(PERFORMANCE_VARIANCE)
        words += [f"{other.technique.metric} varies more" for other in wider]
    if spread_is_higher(found, threshold, spread):
        costs.append(METRIC_VARIANCE)
        p = found.levene_adjusted if spread == "relative" else found.spread_adjusted
        words.append(f"{found.technique.metric} itself varies more (Levene p = {p:.2g})")
    words += [f"whether {other.technique.metric} is lower is undecided" for other in unknown]
    return tuple(costs), tuple(words)


@dataclass(frozen=True)
class VarianceChange:
    """How the spread of a technique compares with its baseline's.

    ``ratio``, ``levene_p_adjusted`` and ``change`` are about values divided by their mean, as in paper 004; those with
    ``absolute_`` before them about the values themselves. A ratio is the mean distance of the runs from their median,
    divided by that of the baseline; NaN where the baseline does not vary. A change is None where Levene's test is
    undefined; the record's reason says why. ``spread`` tells which of the two counts as a cost.
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
    for found in compared:
        own = found.technique
        yield VarianceChange(
            technique=own.technique,
            baseline=found.baseline.technique,
            metric=own.metric,
            ratio=_ratio(own.relative_spread, found.baseline.relative_spread, len(own)),
            levene_p_adjusted=found.levene_adjusted,
            change=_change(found.levene_adjusted, found.wider, threshold),
            absolute_ratio=_ratio(own.spread, found.baseline.spread, len(own)),
            absolute_p_adjusted=found.spread_adjusted,
            absolute_change=_change(found.spread_adjusted, found.spread_wider, threshold),
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
