"""Evidence over runs in sentences: what is confirmed of each technique, what is not, and what one run would show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from equipoise.audits.evidence import (
    RANK_TESTS,
    Effect,
    EvidenceRecord,
    EvidenceResult,
    Straddle,
    TechniqueHeadline,
    detectable_effect,
    technique_headlines,
    worst_first,
)
from equipoise.foundation.errors import listing
from equipoise.foundation.text import percent, plural
from equipoise.reports._document import Name, Piece, Statements, Text, plain
from equipoise.results import Verdict

# So many metrics of a technique, and names of a list, are written out.
MOST_TOLD, MOST_NAMED = 3, 6


@dataclass(frozen=True)
class EvidenceStory:
    """Evidence in sentences: the answer, what else is confirmed, what is not, and which classes flip."""

    answer: Text
    confirmed: tuple[Statements, ...]
    open: tuple[Statements, ...]
    flips: tuple[Text, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield everything as plain sentences, each with what it is about."""
        yield plain(self.answer)
        for about in (*self.confirmed, *self.open):
            for sentence in about.items:
                yield f"{plain(about.title)}: {plain(sentence)}" if about.title else plain(sentence)
        yield from map(plain, self.flips)


def evidence_story(result: EvidenceResult) -> EvidenceStory:
    """Return evidence in sentences; what is confirmed comes first, and where nothing is, that."""
    headlines = technique_headlines(result.records, result.performance)
    changed = [headline for headline in headlines if headline.confirmed]
    judged = [record for record in result.records if record.verdict is not None]
    effects = [record for record in judged if record.metric not in result.performance] or judged
    confirmed = [
        Statements("", (*map(change_sentence, changed[1:]), *_equivalences(judged), *_variances(result))),
        Statements("What a single run would have shown", tuple(_one_run(effects))),
    ]
    return EvidenceStory(
        answer=answer_of(headlines),
        confirmed=tuple(about for about in confirmed if about.items),
        open=tuple(_open(headlines, judged)),
        flips=tuple(_flips(result.straddling)),
    )


def answer_of(headlines: Sequence[TechniqueHeadline]) -> Text:
    """Say what the technique with the largest confirmed effect does; where there is none, what would decide."""
    if headlines and headlines[0].confirmed:
        return change_sentence(headlines[0])
    said = "No technique is distinguishable from its baseline."
    unshown = [record for headline in headlines for record in headline.unshown]
    undecided = [record for headline in headlines for record in headline.undecided]
    if unshown:
        record = min(unshown, key=lambda own: own.runs)
        least = detectable_effect(record.runs, record.baseline_runs or record.runs, ranks=record.test in RANK_TESTS)
        return (
            f"{said} With ", *_runs(record), f", differences of less than about {least:.1f} standard deviations would "
            "probably be missed; more runs would detect smaller ones.",
        )  # fmt: skip
    if undecided:
        record = undecided[0]
        return (f"{said} ", Name(record.technique), " on ", Name(record.metric), f": {record.reason}.")
    return said


def change_sentence(headline: TechniqueHeadline) -> Text:
    """Say what a technique changed, and at what cost."""
    kinds = (headline.lower, headline.higher, headline.performance_lower, headline.performance_higher)
    first = next(effects for effects in kinds if effects)[0].record
    parts: list[Piece] = [Name(headline.technique), " "]
    if headline.lower:
        parts += ["lowered ", *_moved(headline.lower)]
    if headline.higher:
        parts += [", but raised " if headline.lower else "raised ", *_moved(headline.higher)]
    if not (headline.lower or headline.higher):
        parts.append("changed no bias significantly")
    if headline.performance_lower:
        parts += [", at a cost: it lowered ", *_moved(headline.performance_lower)]
    if headline.performance_higher:
        parts += [", and also raised ", *_moved(headline.performance_higher)]
    return (*parts, " (", *_runs(first), ").")


def _moved(effects: Sequence[Effect]) -> Iterator[Piece]:
    for place, effect in enumerate(effects[:MOST_TOLD]):
        yield from () if place == 0 else (", ",)
        yield Name(effect.record.metric)
        yield f" from {effect.baseline:.4g} to {effect.record.mean:.4g}"
    more = len(effects) - MOST_TOLD
    yield from () if more <= 0 else (f" and {plural(more, 'more metric')}",)


def _runs(record: EvidenceRecord) -> tuple[Piece, ...]:
    if record.runs == record.baseline_runs:
        return (f"{plural(record.runs, 'run')} each, compared with ", Name(str(record.baseline)))
    return (f"{plural(record.runs, 'run')} compared with {record.baseline_runs:,} of ", Name(str(record.baseline)))


def _equivalences(judged: Sequence[EvidenceRecord]) -> Iterator[Text]:
    """Say which differences are shown to be within their margin, significant or not."""
    shown = [record for record in judged if record.equivalent]
    if not shown:
        return
    asked = sum(record.margin is not None for record in judged)
    names = [f"{record.technique} on {record.metric} (within {record.margin:g})" for record in shown]
    significant = sum(record.verdict in (Verdict.LOWER, Verdict.HIGHER) for record in shown)
    aside = f"; {significant:,} of them significant nevertheless" if significant else ""
    yield (
        f"Equivalence is confirmed in {len(shown):,} of {plural(asked, 'comparison')} with a margin: "
        f"{listing(names, MOST_NAMED)}{aside}."
    )


def _variances(result: EvidenceResult) -> Iterator[Text]:
    """Say which techniques make results vary more between runs, and which less."""
    for way, words in (("higher", "vary more"), ("lower", "vary less")):
        named: dict[str, list[str]] = {}
        for change in result.variances:
            if change.counted[2] == way:
                named.setdefault(change.technique, []).append(change.metric)
        if named:
            listed = [f"{technique} ({listing(metrics, MOST_TOLD)})" for technique, metrics in named.items()]
            yield f"Results {words} between runs than those of the baseline with {listing(listed, MOST_NAMED)}."


def _one_run(effects: Sequence[EvidenceRecord]) -> Iterator[Text]:
    """Say how often one run of each side would have pointed the wrong way."""
    worst = most_misleading(effects)
    if worst is None:
        return
    yield from _misleads(worst)
    shown = most_misleading([r for r in effects if r.verdict in (Verdict.LOWER, Verdict.HIGHER)])
    if shown is not None and shown is not worst:
        yield from _misleads(shown)


def most_misleading(records: Sequence[EvidenceRecord]) -> EvidenceRecord | None:
    """Return the comparison in which most pairs of runs point the other way than the means, if any does."""
    some = [record for record in records if (record.prob_single_run_misleads or 0.0) > 0]
    return max(some, key=lambda record: record.prob_single_run_misleads or 0.0, default=None)


def _misleads(record: EvidenceRecord) -> Iterator[Text]:
    aside = {Verdict.NONE: ", a difference that is not significant", Verdict.UNDECIDED: ", which is undecided"}
    share = percent(record.prob_single_run_misleads or 0.0).replace(".0%", "%")
    verdict = Verdict.UNDECIDED if record.verdict is None else record.verdict
    yield (
        "One run of each would have pointed the wrong way in ", f"{share} of pairs for ", Name(record.technique),
        " on ", Name(record.metric), f"{aside.get(verdict, '')}.",
    )  # fmt: skip


def _open(headlines: Sequence[TechniqueHeadline], judged: Sequence[EvidenceRecord]) -> Iterator[Statements]:
    """Yield what is not significant or undecided; techniques without any confirmed effect come first."""
    margins = [record for record in judged if record.margin is not None]
    if margins and not any(record.equivalent for record in margins):
        said = f"Equivalence is confirmed in none of {plural(len(margins), 'comparison')} with a margin."
        yield Statements("", (f"{said} Whether any difference is small enough to be irrelevant is inconclusive.",))
    for headline in sorted(headlines, key=lambda own: own.confirmed):
        items: list[Text] = []
        if headline.unshown:
            names = listing([record.metric for record in headline.unshown], 8)
            none = not (headline.confirmed or headline.undecided)
            items.append(
                f"No significant effect on any mean ({names})." if none
                else f"No significant difference from {headline.baseline} on {names}."
            )  # fmt: skip
        reasons: dict[str, list[str]] = {}
        for record in headline.undecided:
            reasons.setdefault(str(record.reason), []).append(record.metric)
        items += [f"Undecided on {listing(metrics, 8)}: {reason}." for reason, metrics in reasons.items()]
        if items:
            yield Statements(Name(headline.technique), tuple(items))


def _flips(straddling: Sequence[Straddle]) -> Iterator[Text]:
    """Say which classes break the 20% rule in some runs and keep it in others."""
    if not straddling:
        return
    complete = sum(straddle.complete for straddle in straddling)
    whole = f"; {plural(complete, 'is', 'are')} at 0% in one run and at 100% in another" if complete else ""
    yield f"{plural(len(straddling), 'class is', 'classes are')} on both sides of the 20% rule between runs{whole}."
    for straddle in worst_first(straddling):
        spread = (
            "; 0% in one run, 100% in another" if straddle.complete
            else f" ({percent(straddle.min)} to {percent(straddle.max)})"
        )  # fmt: skip
        yield (
            Name(straddle.technique), " on ", Name(straddle.metric), ", class ", Name(straddle.by),
            f": {straddle.broken} of {straddle.runs} runs break the 20% rule{spread}.",
        )  # fmt: skip


def is_better(record: EvidenceRecord, performance: Collection[str]) -> bool | None:
    """Return whether a confirmed change is for the better: lower of a bias, higher of a performance."""
    if record.verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return None
    return (record.verdict == Verdict.HIGHER) == (record.metric in performance)
