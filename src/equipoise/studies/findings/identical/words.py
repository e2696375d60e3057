"""Identical runs in plain words: how far they lie apart, who is on both sides of the rule, what choosing is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.audits.evidence import RULE
from equipoise.foundation.errors import listing
from equipoise.foundation.text import fitting, plural
from equipoise.studies.findings.identical.claim import points, share
from equipoise.studies.findings.identical.fairest import FairestRecord
from equipoise.studies.findings.identical.per_class import IMPACT
from equipoise.studies.findings.identical.runs import RunsRecord
from equipoise.training.rounding import is_jittered

if TYPE_CHECKING:
    from equipoise.studies.findings.result import StudyResult

PERCENT = f"{100 * RULE:.0f} %"
FEW = 4


def identical_words(result: StudyResult) -> Iterator[str]:
    """Yield the sentences; nothing where there are no identical runs."""
    if not result.identical_runs:
        return
    yield from _spread_words(result)
    yield from _class_words(result)
    yield from _rule_words(result)
    yield from _fairest_words(result)


def shown_name(result: StudyResult, condition: str, treatment: str) -> str:
    """Name a technique; with several conditions, by both."""
    return treatment if len(result.unders) < 2 else f"{treatment} under {condition}"


def _spread_words(result: StudyResult) -> Iterator[str]:
    biases = [one for one in result.identical_runs if one.better == "low" and not math.isnan(one.maxdiff)]
    performance = [
        one for one in result.identical_runs if one.measure == result.performance[0] and not math.isnan(one.maxdiff)
    ]
    if not biases:
        return
    most = max(biases, key=lambda one: one.maxdiff)
    if most.maxdiff == 0 and all(one.maxdiff == 0 for one in performance):
        same = "Identical runs came out the same to the last digit"
        if _jittered(result):
            yield f"{same}, though every repeat rounded otherwise (jitter): on these rows rounding changes nothing."
        else:
            yield (
                f"{same}. A machine that repeats itself is no proof of stability: "
                'rounding = "jitter" shows what another rounding would do.'
            )
        return
    told = (
        f"The same training run again: {most.alias or most.measure} of "
        f"{shown_name(result, most.condition, most.treatment)} goes from {share(most.min)} to {share(most.max)} "
        f"over {plural(most.runs, 'identical run')} ({points(most.maxdiff)})"
    )
    if performance:
        widest = max(performance, key=lambda one: one.maxdiff)
        told += f"; {widest.measure.replace('_', ' ')} differs by up to {points(widest.maxdiff)}"
    yield told + "."


def _jittered(result: StudyResult) -> bool:
    """Tell whether every run of the study was made with a rounding of its own."""
    options = result.provenance.get("options")
    roundings = options.get("rounding") if isinstance(options, dict) else None
    return bool(roundings) and all(is_jittered(str(one)) for one in roundings or ())


def _class_words(result: StudyResult) -> Iterator[str]:
    own = [one for one in result.identical_runs if one.class_maxdiff is not None]
    if not own:
        return
    most = max(own, key=lambda one: one.class_maxdiff or 0.0)
    yield (
        f"A single class moves further: {most.alias or most.measure} of {most.class_!r} with "
        f"{shown_name(result, most.condition, most.treatment)} differs by {points(most.class_maxdiff or 0.0)} between "
        "identical runs."
    )
    failures = result.class_failures
    if failures:
        worst = failures[0]
        yield (
            f"{plural(len(failures), 'class fails', 'classes fail')} alone: the furthest is {worst.class_!r} with "
            f"{shown_name(result, worst.condition, worst.treatment)}, at {share(worst.value)} in run {worst.run} "
            f"where the mean over classes is {share(worst.overall)}, and at {share(worst.lowest)} in its best."
        )


def _rule_words(result: StudyResult) -> Iterator[str]:
    told = [one for one in result.identical_runs if one.measure == IMPACT]
    if not told:
        return
    whole = dict.fromkeys(
        shown_name(result, one.condition, one.treatment) for one in result.both_sides if one.class_ is None
    )
    classes = sum(one.class_ is not None for one in result.both_sides)
    if whole:
        yield (
            f"One run says fair, another unfair: {listing(whole, FEW)} {fitting(len(whole), 'has', 'have')} identical "
            f"runs on both sides of the {PERCENT} rule for disparate impact."
        )
    elif not classes:
        yield f"No technique has identical runs on both sides of the {PERCENT} rule for disparate impact."
    if classes:
        yield (
            f"A single class has identical runs on both sides of the {PERCENT} rule in "
            f"{plural(classes, 'case')} (a technique and a class each)."
        )


def _fairest_words(result: StudyResult) -> Iterator[str]:
    own = chosen_fairest(result)
    gain = sum(one.apparent for one in own)
    if not own or gain <= 0:
        return
    left = sum(one.honest for one in own)
    numbers = sorted({one.n for one in own})
    of = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    name = own[0].alias or own[0].measure
    yield (
        f"Keeping the fairest of {of} identical runs by {name} seems to gain {points(gain / len(own))} on the people "
        f"it is chosen on (mean over {plural(len(own), 'technique')}); on fresh people {points(left / len(own))} "
        "are left."
    )


def chosen_fairest(result: StudyResult) -> list[FairestRecord]:
    """Return the records that the words and the page speak of: all runs, by disparate impact or else the first bias."""
    measures = dict.fromkeys(one.measure for one in result.fairest_of_n)
    if not measures:
        return []
    measure = IMPACT if IMPACT in measures else next(iter(measures))
    return [
        one
        for one in result.fairest_of_n
        if one.measure == measure and one.n == one.runs and not math.isnan(one.apparent) and not math.isnan(one.honest)
    ]


def told_of_one_seed(records: tuple[RunsRecord, ...]) -> list[RunsRecord]:
    """Return of each technique and measure the records of one seed: the first that has the most runs."""
    best: dict[tuple[str, str, str, str], RunsRecord] = {}
    for one in records:
        key = (one.condition, one.learner, one.treatment, one.measure)
        if key not in best or one.runs > best[key].runs:
            best[key] = one
    return list(best.values())
