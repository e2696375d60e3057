"""Evidence in plain words: first what is confirmed, then technique by technique, then what one run would have told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from equipoise.audits.evidence._classes import Straddle
from equipoise.audits.evidence._comparison import BRUNNER_MUNZEL, MANN_WHITNEY, PERMUTATION, SIGN_FLIP, WILCOXON, Plan
from equipoise.audits.evidence._result import (
    Effect,
    EvidenceRecord,
    TechniqueHeadline,
    detectable_effect,
    technique_headlines,
)
from equipoise.audits.evidence._verdict import METRIC_VARIANCE, NAMES, PERFORMANCE_LOWER, PERFORMANCE_VARIANCE
from equipoise.foundation.errors import listing
from equipoise.foundation.text import plural
from equipoise.results import Verdict

TESTS = {
    PERMUTATION: "Studentised permutation test with Welch's t", SIGN_FLIP: "Sign-flip test of pairs with Student's t",
    MANN_WHITNEY: "Mann-Whitney U", BRUNNER_MUNZEL: "Brunner-Munzel", WILCOXON: "Wilcoxon signed-rank",
}  # fmt: skip
SPREADS = {
    "absolute": "The spread that counts as a cost is that of the values (Levene's test around the median).",
    "relative": "The spread that counts as a cost is relative to the mean (Levene's test on values divided by it).",
}

RANK_TESTS = (MANN_WHITNEY, BRUNNER_MUNZEL, WILCOXON)

# So many techniques, and metrics of each, are told at once.
MOST_TOLD = 3

# Verdicts that a difference is there, and what the others are called.
SHOWN = (Verdict.LOWER, Verdict.HIGHER)
UNSHOWN: dict[Verdict | None, str] = {Verdict.NONE: "no difference shown", Verdict.UNDECIDED: "undecided"}


def say(
    records: Sequence[EvidenceRecord], performance: Collection[str], straddling: Sequence[Straddle]
) -> Iterator[str]:
    """Yield the main sentences."""
    yield from say_overall(records, performance, straddling)
    yield from say_techniques(records)
    yield from map(str, worst_first(straddling))


def say_overall(
    records: Sequence[EvidenceRecord], performance: Collection[str], straddling: Sequence[Straddle]
) -> Iterator[str]:
    """Yield what holds over all techniques; what is confirmed comes first, and where nothing is, that."""
    judged = [record for record in records if record.verdict is not None]
    effects = [record for record in judged if record.metric not in performance]
    told = effects or judged
    yield say_headline(technique_headlines(records, performance))
    yield _counts(told)
    yield from _equivalences(judged)
    yield from _costs(effects, performance)
    yield from _one_run(told)
    yield from _widest(records, performance)
    if straddling:
        complete = sum(straddle.complete for straddle in straddling)
        flips = f"; {complete:,} of them are at 0 % in one run and at 100 % in another" if complete else ""
        yield f"{plural(len(straddling), 'class straddles', 'classes straddle')} the 20 % rule between runs{flips}."


def say_headline(made: Sequence[TechniqueHeadline]) -> str:
    """Say which technique changes which metric and at what cost; where nothing is confirmed, what would be needed."""
    confirmed = [headline for headline in made if headline.confirmed]
    if not confirmed:
        return _nothing_confirmed(made)
    told = " ".join(map(_changes, confirmed[:MOST_TOLD]))
    more = len(confirmed) - MOST_TOLD
    told += f" {plural(more, 'more technique has', 'more techniques have')} a significant effect." if more > 0 else ""
    rest = [headline for headline in made if not headline.confirmed]
    tested = [headline.technique for headline in rest if headline.unshown]
    untested = [headline.technique for headline in rest if not headline.unshown]
    if tested:
        told += f" {listing(tested, 4)} had no significant effect on any mean."
    if untested:
        told += f" Of {listing(untested, 4)} there are too few runs to decide."
    return told


def _changes(headline: TechniqueHeadline) -> str:
    record = next(effects for effects in (headline.lower, headline.higher, headline.performance_lower,
                                          headline.performance_higher) if effects)[0].record  # fmt: skip
    parts = [_moved("lowered", headline.lower), _moved("raised", headline.higher)]
    effect = " and ".join(part for part in parts if part) or "changed no metric significantly"
    aside = [("at a cost: it lowered", headline.performance_lower), ("and also raised", headline.performance_higher)]
    cost = "".join(f", {_moved(words, effects)}" for words, effects in aside if effects)
    return f"{headline.technique} {effect}{cost} ({_number_of_runs(record)})."


def _moved(how: str, effects: Sequence[Effect]) -> str:
    if not effects:
        return ""
    told = [f"{one.record.metric} from {one.baseline:.4g} to {one.record.mean:.4g}" for one in effects[:MOST_TOLD]]
    more = len(effects) - MOST_TOLD
    return f"{how} {', '.join(told)}" + (f" and {plural(more, 'more metric')}" if more > 0 else "")


def _number_of_runs(record: EvidenceRecord) -> str:
    return f"{plural(record.runs, 'run')} against {record.baseline_runs:,} of {record.baseline}"


def _nothing_confirmed(made: Sequence[TechniqueHeadline]) -> str:
    """Say that nothing is confirmed, and what these runs could have shown or what could decide."""
    told = "No technique is shown to change any metric."
    unshown = [record for headline in made for record in headline.unshown]
    undecided = [record for headline in made for record in headline.undecided]
    if unshown:
        record = min(unshown, key=lambda one: one.runs)
        least = detectable_effect(record.runs, record.baseline_runs or record.runs, ranks=record.test in RANK_TESTS)
        told += (
            f" With {_number_of_runs(record)} a difference of less than about {least:.1f} standard deviations would "
            "probably be missed; more runs would show smaller ones."
        )
    elif undecided:
        told += f" {undecided[0].technique} on {undecided[0].metric} is {undecided[0].reason}."
    return told


def say_techniques(records: Iterable[EvidenceRecord]) -> Iterator[str]:
    """Yield a sentence for each technique that is held against a baseline."""
    by_technique: dict[str, list[EvidenceRecord]] = {}
    for record in records:
        if record.verdict is not None:
            by_technique.setdefault(record.technique, []).append(record)
    yield from map(_technique, by_technique.values())


def worst_first(straddling: Iterable[Straddle]) -> list[Straddle]:
    """Sort the classes that flip: from 0 % to 100 % first, then by how far they move."""
    return sorted(straddling, key=lambda straddle: (not straddle.complete, straddle.min - straddle.max))


def _counts(judged: Sequence[EvidenceRecord]) -> str:
    times = Counter(record.verdict for record in judged)
    parts = [
        f"{times[Verdict.LOWER]:,} lower than the baseline",
        f"{times[Verdict.HIGHER]:,} higher",
        f"{times[Verdict.NONE]:,} without a difference that can be shown",
        f"{times[Verdict.UNDECIDED]:,} undecided",
    ]
    return f"Of {plural(len(judged), 'comparison', 'comparisons')}: {', '.join(parts)}."


def _equivalences(judged: Sequence[EvidenceRecord]) -> Iterator[str]:
    """Say which differences are shown to be within their margin, significant or not."""
    asked = [record for record in judged if record.margin is not None]
    shown = [record for record in asked if record.equivalent]
    if not asked:
        return
    told = f"{len(shown):,} of {plural(len(asked), 'comparison')} with a margin"
    if not shown:
        yield f"{told} shown to be within it: whether any difference is small enough to be irrelevant is inconclusive."
        return
    names = [f"{record.technique} on {record.metric} (within {record.margin:g})" for record in shown]
    significant = sum(record.verdict in SHOWN for record in shown)
    aside = f"; {significant:,} of them significant all the same" if significant else ""
    yield f"{told} shown to be within it: {listing(names, 6)}{aside}."


def _costs(effects: Sequence[EvidenceRecord], performance: Collection[str]) -> Iterator[str]:
    lower = [record for record in effects if record.verdict == Verdict.LOWER]
    if not performance or not lower:
        return
    times = Counter(cost for record in lower for cost in record.costs)
    costly = sum(bool(record.costs) for record in lower)
    parts = [f"{times[cost]:,} {cost}" for cost in (PERFORMANCE_LOWER, PERFORMANCE_VARIANCE, METRIC_VARIANCE)]
    told = f"Of the {plural(len(lower), 'that is lower', 'that are lower')}, {costly:,} at a cost"
    yield f"{told}: {', '.join(parts)} (several may apply)."


def _one_run(judged: Sequence[EvidenceRecord]) -> Iterator[str]:
    overlaps = sum(bool(record.overlap) for record in judged)
    told = f"In {overlaps:,} of {len(judged):,} the ranges of the runs overlap"
    worst = _most_misleading(judged)
    if worst is None:
        yield f"{told}."
        return
    shown = _most_misleading([record for record in judged if record.verdict in SHOWN])
    aside = "" if worst is shown else f" ({UNSHOWN[worst.verdict]})"
    also = "" if worst is shown or shown is None else f"; where a difference is shown, for {_misleads(shown)}"
    yield f"{told}: one run of each can mislead, most often for {_misleads(worst)}{aside}{also}."


def _most_misleading(records: Sequence[EvidenceRecord]) -> EvidenceRecord | None:
    """Return the comparison in which most couples of runs point the other way than the means, if any does."""
    some = [record for record in records if (record.prob_single_run_misleads or 0.0) > 0]
    return max(some, key=lambda record: record.prob_single_run_misleads or 0.0, default=None)


def _misleads(record: EvidenceRecord) -> str:
    share = 100 * (record.prob_single_run_misleads or 0.0)
    return f"{record.technique} on {record.metric}, in {share:.0f} of 100 couples of runs"


def _widest(records: Sequence[EvidenceRecord], performance: Collection[str]) -> Iterator[str]:
    spread = [r for r in records if r.metric not in performance and not math.isnan(r.maxdiff) and r.runs > 1]
    if spread:
        top = max(spread, key=lambda record: record.maxdiff)
        yield (
            f"The largest MaxDiff is {top.maxdiff:.4g}: {top.technique} on {top.metric} "
            f"runs from {top.min:.4g} to {top.max:.4g}."
        )


def _technique(records: Sequence[EvidenceRecord]) -> str:
    parts = []
    for verdict, words in (
        (Verdict.LOWER, "lower on"), (Verdict.HIGHER, "higher on"), (Verdict.NONE, "no difference shown on"),
        (Verdict.UNDECIDED, "undecided on"),
    ):  # fmt: skip
        metrics = [record.metric for record in records if record.verdict == verdict]
        if metrics:
            parts.append(f"{words} {listing(metrics, 8)}")
    costs = list(dict.fromkeys(cost for record in records for cost in record.costs))
    told = f"{records[0].technique} against {records[0].baseline}: {'; '.join(parts)}"
    return told + (f". Costs: {', '.join(costs)}." if costs else ".")


def notes_of(plan: Plan, records: Sequence[EvidenceRecord], scope: str) -> Iterator[str]:
    """Yield how the tests were made, and how far the verdicts reach."""
    judged = [record for record in records if record.verdict is not None]
    tests = sum(record.p is not None and not math.isnan(record.p) for record in judged)
    name = TESTS[plan.test]
    side = "two-sided" if plan.alternative == "two-sided" else "one-sided in the observed direction"
    number = plural(tests, "test", "tests")
    yield f"{name}, {side}, threshold {plan.threshold:g}, {NAMES[plan.correction]} over {number}."
    if plan.alternative == "observed":
        yield (
            "The direction was chosen from the same runs, so the error rate of one test is "
            f"{100 * plan.error_rate:g}%, not {100 * plan.threshold:g}%: that often a technique without an effect "
            "would be called lower or higher."
        )
    if plan.margins:
        yield (
            "Whether a difference is within its margin is tested apart, by two one-sided t-tests, corrected over all "
            "of them. The margin has to be fixed before results are seen."
        )
    yield SPREADS[plan.spread]
    if plan.correction == "none" and tests > 1:
        yield (
            f"Without a correction, {tests:,} tests of nothing would give about {plan.threshold * tests:.3g} findings."
        )
    yield f"Scope: {scope}."
