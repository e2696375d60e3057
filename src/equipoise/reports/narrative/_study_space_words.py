"""Embedding spaces in sentences: whose gaps widened under imbalance, what other trainings close, what treatments do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.foundation.text import plural
from equipoise.reports._formats import signed_thousandths
from equipoise.reports.narrative._story import edges, inside
from equipoise.results import Verdict
from equipoise.studies.findings import (
    AMI,
    BALANCED,
    BALANCED_DOMAIN_INDEPENDENT,
    DOMAIN_INDEPENDENT,
    EMBEDDING,
    MAIN_RULES,
    NMI,
    OWN,
    RECALL,
    SPOKEN,
    UNIFORMITY,
    SpaceContrast,
    SpaceRecord,
    StudyResult,
    baseline_name,
    set_aside,
    source_title,
    sweeps_of,
    title_of,
    training_title,
)


def space_words(result: StudyResult) -> Iterator[str]:
    """Yield the sentences; nothing where no trial kept its space."""
    if not result.spaces:
        return
    yield from _imbalance(result)
    yield from _trainings(result)
    yield from sweep_words(result)
    yield from _treatments(result)
    if not result.space_contrasts:
        yield "No two cells share a seed, so no embedding space is compared with another."


def space_answer(result: StudyResult) -> str | None:
    """Say in one sentence what imbalance, or else a treatment, does to the gap in recall@1; None where neither is."""
    for kind in ("imbalance", "treatment"):
        own = _gaps(result, kind, EMBEDDING, RECALL, None)
        degrees = [one.degree for one in own if one.degree is not None]
        own = [one for one in own if not degrees or one.degree == max(degrees)]
        if own and kind == "imbalance":
            return f"{_begun(_phrase(result, own[0]))}, the gap in recall@1 {_moved(own)}."
        if own:
            return f"Compared with {baseline_name(result)}, {_narrowed(own)}."
    return None


def _narrowed(own: Sequence[SpaceContrast]) -> str:
    """Say in how many cases the gap in recall@1 of a treatment fell or rose significantly."""
    down, up = (sum(one.verdict == verdict for one in own) for verdict in (Verdict.LOWER, Verdict.HIGHER))
    return f"the gap in recall@1 fell significantly in {down} of {plural(len(own), 'case')} and rose in {up}"


def _gaps(result: StudyResult, kind: str, source: str, measure: str, training: str | None) -> list[SpaceContrast]:
    return [
        one for one in result.space_contrasts
        if (one.kind, one.of, one.source, one.measure, one.training) == (kind, "gap", source, measure, training)
    ]  # fmt: skip


def _imbalance(result: StudyResult) -> Iterator[str]:
    """Say of the furthest degree whose gaps widened; upstream by measure, downstream by classifier."""
    found = [one for one in result.space_contrasts if one.kind == "imbalance" and one.degree is not None]
    if not found:
        return
    furthest = max(one.degree or 0.0 for one in found)
    condition = next(one for one in found if one.degree == furthest)
    yield f"{_title(result, condition)} against its control ({_named(result, condition.versus)}), paired by seed:"
    for measure in (RECALL, NMI, AMI, UNIFORMITY):
        own = [one for one in _gaps(result, "imbalance", EMBEDDING, measure, None) if one.degree == furthest]
        if own:
            yield f"In the embedding space, the gap in {title_of(measure)} {_moved(own)}."
    aside = set_aside(one.source for one in result.spaces)
    for source, training in _classifiers(result):
        if source in aside:
            continue
        own = [one for one in _gaps(result, "imbalance", source, SPOKEN, training) if one.degree == furthest]
        if own:
            yield f"Downstream, the gap in {title_of(SPOKEN)} of {source_title(source)} {_how(training)} {_moved(own)}."


def _classifiers(result: StudyResult) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((r.source, r.training) for r in result.spaces if not r.upstream))


def _moved(own: Sequence[SpaceContrast]) -> str:
    """Say how many methods' gaps widened or narrowed significantly, and the largest difference."""
    up, down = (sum(one.verdict == verdict for one in own) for verdict in (Verdict.HIGHER, Verdict.LOWER))
    largest = max(own, key=lambda one: abs(one.difference))
    methods = plural(len(own), "method")
    sentence = f"grew significantly, to the disadvantage of the minoritised, for {up} of {methods}"
    if down:
        sentence += f" and shrank for {down}"
    if not up and not down:
        sentence = f"changed significantly for none of {methods}"
    undecided = sum(one.verdict == Verdict.UNDECIDED for one in own)
    if undecided:
        sentence += f", inconclusive for {undecided} (with {plural(max(one.pairs for one in own), 'pair')} of seeds)"
    most = "most for" if up or down else "the largest change is that of"
    return f"{sentence}; {most} {_name(largest)}, from {_between(largest)}"


def _name(one: SpaceContrast) -> str:
    treated = f" with {one.treatment}" if one.treatment != "untreated" else ""
    return one.learner + treated


def _between(one: SpaceContrast) -> str:
    before, after, change = map(signed_thousandths, (one.against_value, one.value, one.difference))
    around = edges(one.low, one.high, None, signed_thousandths) if not math.isnan(one.low) else ""
    return f"{before} to {after}{inside(f'a change of {change}', around)}"


def _how(training: str | None) -> str:
    """Say in a sentence how a classifier was trained."""
    if training == DOMAIN_INDEPENDENT:
        return "with domain-independent training"
    if training == BALANCED_DOMAIN_INDEPENDENT:
        return "with domain-independent training on balanced rows"
    return "on its own rows" if training in (None, OWN) else f"on {training_title(training)}"


def _trainings(result: StudyResult) -> Iterator[str]:
    """Say whether classifiers on balanced rows, or trained otherwise, have smaller gaps than on a trial's own rows."""
    found = [
        one for one in result.space_contrasts
        if one.kind in ("balanced training", "other training") and one.of == "gap"
    ]  # fmt: skip
    degrees = [one.degree for one in found if one.degree is not None]
    aside = set_aside(one.source for one in result.spaces)
    told = [one for one in found if one.measure == SPOKEN and one.source not in aside]
    for training, source in dict.fromkeys((one.training, one.source) for one in told):
        own = [one for one in found if (one.training, one.source, one.measure) == (training, source, SPOKEN)]
        own = [one for one in own if not degrees or one.degree == max(degrees)]
        if not own:
            continue
        fell, rose = (sum(one.verdict == verdict for one in own) for verdict in (Verdict.LOWER, Verdict.HIGHER))
        mean = sum(one.difference for one in own) / len(own)
        where = f" {_phrase(result, own[0])}" if degrees else ""
        unsure = sum(one.verdict == Verdict.UNDECIDED for one in own)
        instead = "plain training on its own rows" if training == DOMAIN_INDEPENDENT else "its own"
        if own[0].versus == BALANCED:
            instead = "plain training on balanced rows"
        yield (
            f"{_begun(_how(training))} instead of {instead}, the gap in {title_of(SPOKEN)} of "
            f"{source_title(source)} changes by {signed_thousandths(mean)} on average{where}: significantly smaller in "
            f"{fell} of {plural(len(own), 'case')}, larger in {rose}"
            + (f", inconclusive in {unsure}." if unsure else ".")
        )


def sweep_words(result: StudyResult) -> Iterator[str]:
    """Say how gap and accuracy move over the values of C: means over methods and seeds, which nothing is tested on."""
    for sweep in sweeps_of(one.source for one in result.spaces):
        here = [
            one for one in result.spaces if one.source in sweep.sources and one.measure == "accuracy" and one.chosen
        ]
        degrees = [one.degree for one in here if one.degree is not None]
        here = [one for one in here if not degrees or one.degree == max(degrees)]
        where = f" {_phrase(result, here[0])}" if degrees else ""
        for training in dict.fromkeys(one.training for one in here):
            own = [one for one in here if one.training == training]
            gap = [one for one in own if one.kind == "gap" and one.rule in MAIN_RULES]
            everyone = [one for one in own if one.kind == "overall"]
            gaps, whole = (
                [_mean(one.mean for one in part if one.source == source) for source in sweep.sources]
                for part in (gap, everyone)
            )
            if any(math.isnan(value) for value in (*gaps, *whole)):
                continue
            best = max(range(len(whole)), key=lambda place: whole[place])
            lowest, highest = (f"{sweep.values[place]:g}" for place in (0, -1))
            yield (
                f"Over C from {lowest} to {highest} the gap in accuracy of {sweep.title} {_how(training)} changes from "
                f"{signed_thousandths(gaps[0])} to {signed_thousandths(gaps[-1])}{where}; accuracy is highest at C = "
                f"{sweep.values[best]:g} ({whole[best]:.3f}), where the gap is {signed_thousandths(gaps[best])} (means "
                "over seeds and methods, not tested)."
            )


def _mean(values: Iterator[float]) -> float:
    """Return the mean of what is defined; NaN of nothing."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _treatments(result: StudyResult) -> Iterator[str]:
    """Say what each treatment does to the gap in recall@1 and to recall@1 itself."""
    found = [one for one in result.space_contrasts if one.kind == "treatment"]
    for gap in _gaps(result, "treatment", EMBEDDING, RECALL, None):
        same = (gap.condition, gap.learner, gap.treatment, gap.setting, gap.attribute)
        whole = next(
            one for one in found
            if (one.condition, one.learner, one.treatment, one.setting, one.attribute) == same
            and (one.of, one.source, one.measure) == ("overall", EMBEDDING, RECALL)
        )  # fmt: skip
        narrowed = [
            one for one in found
            if (one.condition, one.learner, one.treatment, one.setting, one.attribute) == same and one.of == "gap"
        ]  # fmt: skip
        better, worse = (sum(one.good is good for one in narrowed) for good in (True, False))
        yield (
            f"{gap.treatment} against {gap.versus} ({gap.learner}, {_title(result, gap)}, {gap.attribute}): the gap in "
            f"recall@1 changes from {_between(gap)}, {_sure(gap)}; recall@1 of everyone changes by "
            f"{signed_thousandths(whole.difference)}, {_sure(whole)}. Of {plural(len(narrowed), 'gap')}, {better} "
            f"narrowed and {worse} widened significantly."
        )


def _sure(one: SpaceContrast) -> str:
    if one.verdict.significant:
        return "significant"
    return (
        "not significant" if one.verdict == Verdict.NONE else f"inconclusive with {plural(one.pairs, 'pair')} of seeds"
    )


def _begun(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _title(result: StudyResult, one: SpaceContrast) -> str:
    return _named(result, one.condition)


def _named(result: StudyResult, condition: str) -> str:
    return result.condition_titles.get(condition, condition)


def _phrase(result: StudyResult, one: SpaceContrast | SpaceRecord) -> str:
    return result.condition_phrases.get(one.condition, f"under {one.condition}")
