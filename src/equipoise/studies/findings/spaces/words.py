"""Spaces in plain words: whose gaps widened under imbalance, what other trainings close, what a treatment narrows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from equipoise.audits.downstream.settings import from_source
from equipoise.foundation.errors import listing
from equipoise.foundation.text import plural
from equipoise.results import Verdict
from equipoise.studies.findings.spaces.result import (
    BALANCED,
    EMBEDDING,
    HALVES,
    MAJORITISED,
    NEAREST,
    OWN,
    SpaceContrast,
)
from equipoise.studies.findings.spaces.sweeps import set_aside, sweeps_of
from equipoise.studies.findings.spaces.values import AMI, NMI, RECALL, UNIFORMITY

if TYPE_CHECKING:
    from equipoise.studies.findings.result import StudyResult
    from equipoise.studies.findings.spaces.choosing import Choosing

TITLES = {
    RECALL: "recall@1", NMI: "NMI", AMI: "AMI", UNIFORMITY: "U_KL", "macro_precision": "macro precision",
    "macro_recall": "macro recall", "accuracy": "accuracy",
}  # fmt: skip
# How a classifier was trained: as a heading, and in a sentence.
DOMAIN_INDEPENDENT = "domain_independent"
BALANCED_DOMAIN_INDEPENDENT, BALANCED_OVERSAMPLED = f"{BALANCED}_{DOMAIN_INDEPENDENT}", f"{BALANCED}_oversampled"
TRAININGS = {
    OWN: "own rows", BALANCED: "balanced rows", DOMAIN_INDEPENDENT: "domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: "domain-independent, balanced rows",
    BALANCED_OVERSAMPLED: "balanced, oversampled rows",
}  # fmt: skip
# The measure that a sentence about classifiers is about.
SPOKEN = "macro_recall"
FEW = 4
# The gaps of which an attribute has one.
MAIN_RULES = (MAJORITISED, HALVES)
SCOPE = (
    "Intervals and tests of spaces are over seeds: other draws of the training rows and other trainings, on these test "
    "rows. They say nothing about other test rows."
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
        yield "Spaces: no two cells share a seed on both sides, so nothing is held against anything."


def space_headline(result: StudyResult) -> str | None:
    """Say in one sentence what imbalance, or else a treatment, does to the gap in recall@1; None where neither is."""
    for kind in ("imbalance", "treatment"):
        own = _gaps(result, kind, EMBEDDING, RECALL, None)
        degrees = [one.degree for one in own if one.degree is not None]
        own = [one for one in own if not degrees or one.degree == max(degrees)]
        if own and kind == "imbalance":
            return f"With {own[0].condition}, the gap in recall@1 {_moved(own)}."
        if own:
            return f"Against {result.baseline}, {_narrowed(own)}."
    return None


def _narrowed(own: Sequence[SpaceContrast]) -> str:
    """Say in how many cases the gap in recall@1 of a treatment fell or rose by more than chance."""
    down, up = (sum(one.verdict == verdict for one in own) for verdict in (Verdict.LOWER, Verdict.HIGHER))
    return f"the gap in recall@1 fell by more than chance in {down} of {plural(len(own), 'case')} and rose in {up}"


def space_notes(result: StudyResult) -> Iterator[str]:
    """Yield what must be known to read the numbers of spaces."""
    if not result.spaces:
        return
    yield SCOPE
    if any(record.rule == HALVES for record in result.spaces):
        yield (
            "With more than two groups the gap is the mean of the better half minus that of the worse half, as in "
            "paper 000. Halves are chosen by how well they fare, so it is above 0 even where nothing differs: it has "
            "no interval, and what is tested is its difference between cells."
        )
    if result.space_examples is not None and result.space_examples.reason is not None:
        yield result.space_examples.reason
    undefined = sorted({title_of(record.measure) for record in result.spaces if not record.defined})
    if undefined:
        yield f"Undefined for some groups, and left out of their gaps: {listing(undefined)}."


def choice_notes(choosings: Sequence[Choosing]) -> Iterator[str]:
    """Say how a setting was chosen by the spaces of dev rows, and what could not take part."""
    for one in choosings:
        chosen = one.chosen
        which = "none has a value" if chosen is None else f"{chosen.setting} ({chosen.worst:.3f})"
        told = (
            f"Of {plural(len(one.settings), 'setting')} of {one.treatment} ({one.under.condition}, "
            f"{one.under.learner}) the one with the best {title_of(one.measure)} of the worst group of "
            f"{one.attribute} on dev rows speaks for it: {which}"
        )
        without = f"; without a value there, and left out: {listing(one.left_out)}" if one.left_out else ""
        yield f"{told}{without}."
        yield from one.notes


def source_title(source: str) -> str:
    """Return the name of a classifier, or of the space."""
    return "nearest training row" if source == NEAREST else from_source(source).title


def training_title(training: str | None) -> str:
    """Return how a classifier was trained, as a heading; nothing for what is no classifier."""
    return "" if training is None else TRAININGS.get(training, f"{training.replace('_', ' ')} rows")


def title_of(measure: str) -> str:
    """Return the name of a measure."""
    return TITLES.get(measure, measure.replace("_", " "))


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
    yield f"{condition.condition} against its control ({condition.versus}), seed by seed:"
    for measure in (RECALL, NMI, AMI, UNIFORMITY):
        own = [one for one in _gaps(result, "imbalance", EMBEDDING, measure, None) if one.degree == furthest]
        if own:
            yield f"In the space, the gap in {title_of(measure)} {_moved(own)}."
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
    """Say how many learners' gaps widened or narrowed by more than chance, and the largest difference."""
    up, down = (sum(one.verdict == verdict for one in own) for verdict in (Verdict.HIGHER, Verdict.LOWER))
    largest = max(own, key=lambda one: abs(one.difference))
    told = f"rose against the minoritised by more than chance for {up} of {plural(len(own), 'method')}"
    if down:
        told += f" and fell for {down}"
    undecided = sum(one.verdict == Verdict.UNDECIDED for one in own)
    if undecided:
        told += f", undecided for {undecided} (with {plural(max(one.pairs for one in own), 'pair')})"
    return f"{told}; most for {_name(largest)}: {_between(largest)}"


def _name(one: SpaceContrast) -> str:
    treated = f" with {one.treatment}" if one.treatment != "untreated" else ""
    return one.learner + treated


def _between(one: SpaceContrast) -> str:
    if math.isnan(one.low):
        return f"{one.against_value:+.3f} to {one.value:+.3f}, a difference of {one.difference:+.3f}"
    return (
        f"{one.against_value:+.3f} to {one.value:+.3f}, a difference of {one.difference:+.3f} "
        f"({one.low:+.3f} to {one.high:+.3f})"
    )


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
        where = f" under {own[0].condition}" if degrees else ""
        unsure = sum(one.verdict == Verdict.UNDECIDED for one in own)
        instead = "plain training on its own rows" if training == DOMAIN_INDEPENDENT else "its own"
        if own[0].versus == BALANCED:
            instead = "plain training on balanced rows"
        yield (
            f"{_how(training).capitalize()} instead of {instead}, the gap in {title_of(SPOKEN)} of "
            f"{source_title(source)} changes by {mean:+.3f} on average{where}: lower by more than chance in {fell} of "
            f"{plural(len(own), 'case')}, higher in {rose}" + (f", undecided in {unsure}." if unsure else ".")
        )


def sweep_words(result: StudyResult) -> Iterator[str]:
    """Say how gap and accuracy move over the values of C: means over methods and seeds, which nothing is tested on."""
    for sweep in sweeps_of(one.source for one in result.spaces):
        here = [
            one for one in result.spaces if one.source in sweep.sources and one.measure == "accuracy" and one.chosen
        ]
        degrees = [one.degree for one in here if one.degree is not None]
        here = [one for one in here if not degrees or one.degree == max(degrees)]
        where = f" under {here[0].condition}" if degrees else ""
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
                f"Over C from {lowest} to {highest} the gap in accuracy of {sweep.title} {_how(training)} goes from "
                f"{gaps[0]:+.3f} to {gaps[-1]:+.3f}{where}; accuracy is highest at C = {sweep.values[best]:g} "
                f"({whole[best]:.3f}), where the gap is {gaps[best]:+.3f} (means over seeds and methods, not tested)."
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
            f"{gap.treatment} against {gap.versus} ({gap.learner}, {gap.condition}, {gap.attribute}): the gap in "
            f"recall@1 goes from {_between(gap)}, {_sure(gap)}; recall@1 of everyone by {whole.difference:+.3f}, "
            f"{_sure(whole)}. Of {plural(len(narrowed), 'gap')}, {better} narrowed and {worse} widened by more than "
            "chance."
        )


def _sure(one: SpaceContrast) -> str:
    if one.verdict.significant:
        return "more than chance"
    return "which could be chance" if one.verdict == Verdict.NONE else f"undecided with {plural(one.pairs, 'pair')}"
