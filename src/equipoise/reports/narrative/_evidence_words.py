"""Evidence over runs in sentences: what is confirmed of each technique, what is not, and what one run would show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

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
from equipoise.reports._document import Name, Piece, Text
from equipoise.reports.narrative._story import About, Story, same_reason
from equipoise.results import Verdict

# So many metrics of a technique, and names of a list, are written out.
MOST_TOLD, MOST_NAMED = 3, 6


def evidence_story(result: EvidenceResult) -> Story:
    """Tell evidence: what is confirmed comes first, and where nothing is, that."""
    headlines = technique_headlines(result.records, result.performance)
    changed = [headline for headline in headlines if headline.confirmed]
    judged = [record for record in result.records if record.verdict is not None]
    effects = [record for record in judged if record.metric not in result.performance] or judged
    confirmed = (*map(change_sentence, changed[1:]), *_equivalences(judged), *_variances(result))
    significant = [record for record in effects if record.verdict in (Verdict.LOWER, Verdict.HIGHER)]
    others = [record for record in effects if record not in significant]
    about = [
        About("", confirmed, tuple(_no_equivalence(judged))),
        About("What a single run would have shown", _misleads(significant), _misleads(others)),
        *(About(one.technique, open=_unshown(one)) for one in sorted(headlines, key=lambda own: own.confirmed)),
        About("", open=tuple(_undecided(headlines))),
    ]
    return Story(answer_of(headlines), tuple(about), found=bool(changed), more=tuple(flip_words(result.straddling)))


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
            f"{said} With ", *_runs(record), f", differences below about {least:.1f} standard deviations would "
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


def most_misleading(records: Sequence[EvidenceRecord]) -> EvidenceRecord | None:
    """Return the comparison in which most pairs of runs point the other way than the means, if any does."""
    some = [record for record in records if (record.prob_single_run_misleads or 0.0) > 0]
    return max(some, key=lambda record: record.prob_single_run_misleads or 0.0, default=None)


def _misleads(records: Sequence[EvidenceRecord]) -> tuple[Text, ...]:
    """Say of which comparison one run of each side would most often have pointed the wrong way."""
    worst = most_misleading(records)
    if worst is None:
        return ()
    aside = {Verdict.NONE: " (a difference that is not significant)", Verdict.UNDECIDED: " (undecided)"}
    share = percent(worst.prob_single_run_misleads or 0.0).replace(".0%", "%")
    return ((
        "One run of each would have pointed the wrong way in ", f"{share} of pairs for ", Name(worst.technique),
        " on ", Name(worst.metric), f"{aside.get(worst.verdict or Verdict.UNDECIDED, '')}.",
    ),)  # fmt: skip


def _no_equivalence(judged: Sequence[EvidenceRecord]) -> Iterator[Text]:
    margins = [record for record in judged if record.margin is not None]
    if margins and not any(record.equivalent for record in margins):
        said = f"Equivalence is confirmed in none of {plural(len(margins), 'comparison')} with a margin."
        yield f"{said} Whether any difference is small enough to be irrelevant is inconclusive."


def _unshown(headline: TechniqueHeadline) -> tuple[Text, ...]:
    """Say on what a technique shows no significant effect."""
    if not headline.unshown:
        return ()
    names = listing([record.metric for record in headline.unshown], 8)
    none = not (headline.confirmed or headline.undecided)
    return (
        f"No significant effect on any mean ({names})." if none
        else f"No significant difference from {headline.baseline} on {names}.",
    )  # fmt: skip


def _undecided(headlines: Sequence[TechniqueHeadline]) -> Iterator[Text]:
    """Yield what is undecided, a sentence per reason."""
    parts = []
    for headline in headlines:
        metrics: dict[str, list[str]] = {}
        for record in headline.undecided:
            metrics.setdefault(str(record.reason), []).append(record.metric)
        parts += [(reason, f"{headline.technique} ({listing(names, 8)})") for reason, names in metrics.items()]
    for reason, techniques in same_reason(parts).items():
        yield f"{listing(techniques, MOST_NAMED)}: {reason}."


def flip_words(straddling: Sequence[Straddle]) -> Iterator[Text]:
    """Say which classes break the 20% rule in some runs and keep it in others."""
    if not straddling:
        return
    complete = sum(straddle.complete for straddle in straddling)
    whole = f"; {plural(complete, 'is', 'are')} at 0% in one run and at 100% in another" if complete else ""
    yield f"{plural(len(straddling), 'class is', 'classes are')} on both sides of the 20% rule between runs{whole}."
    for straddle in worst_first(straddling):
        spread = (
            "; 0% in one run, 100% in another" if straddle.complete
            else f" (lowest run {percent(straddle.min)}, highest {percent(straddle.max)})"
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
