"""What evidence over repeated runs says: does a technique differ from its baseline, by how much, and at what cost?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from equipoise.audits.evidence import (
    RANK_TESTS,
    Effect,
    EvidenceRecord,
    EvidenceResult,
    SpreadChange,
    Straddle,
    TechniqueHeadline,
    detectable_effect,
    technique_headlines,
    worst_first,
)
from equipoise.foundation import (
    listing,
    percent,
    plural,
    report,
)
from equipoise.reports import formats
from equipoise.reports._comparisons import PlacedEffect, TechniqueMetric, by_cell, families_of, metrics_of
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    Details,
    Document,
    Meaning,
    Name,
    Paragraph,
    Piece,
    Row,
    Section,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._records import finite, limited_table, number, span
from equipoise.reports.narrative._report import (
    About,
    Field,
    Report,
    Story,
    document_provenance,
    if_judged,
    part_names,
    quiet,
    record_table,
    same_reason,
    value,
)
from equipoise.results import Verdict

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts


# So many metrics of a technique, and names of a list, are written out.
MOST_LISTED, MOST_NAMED = 3, 6


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
        *(
            About(headline.technique, open=_unshown(headline))
            for headline in sorted(headlines, key=lambda headline: headline.confirmed)
        ),
        About("", open=tuple(_undecided(headlines))),
    ]
    return Story(
        answer_of(headlines), tuple(about), has_findings=bool(changed), more=tuple(flip_words(result.straddling))
    )


def answer_of(headlines: Sequence[TechniqueHeadline]) -> Text:
    """Say what the technique with the largest confirmed effect does; where there is none, what would decide."""
    if headlines and headlines[0].confirmed:
        return change_sentence(headlines[0])
    sentence = "No technique is distinguishable from its baseline."
    unshown = [record for headline in headlines for record in headline.unshown]
    undecided = [record for headline in headlines for record in headline.undecided]
    if unshown:
        record = min(unshown, key=lambda record: record.runs)
        least = detectable_effect(record.runs, record.baseline_runs or record.runs, ranks=record.test in RANK_TESTS)
        return (
            f"{sentence} With ", *_runs(record), f", differences below about {least:.1f} standard deviations would "
            "probably be missed; more runs would detect smaller ones.",
        )  # fmt: skip
    if undecided:
        record = undecided[0]
        return (f"{sentence} ", Name(record.technique), " on ", Name(record.metric), f": {record.reason}.")
    return sentence


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
    for index, effect in enumerate(effects[:MOST_LISTED]):
        yield from () if index == 0 else (", ",)
        yield Name(effect.record.metric)
        yield f" from {effect.baseline:.4g} to {effect.record.mean:.4g}"
    more = len(effects) - MOST_LISTED
    yield from () if more <= 0 else (f" and {plural(more, 'more metric')}",)


def _runs(record: EvidenceRecord) -> tuple[Piece, ...]:
    if record.runs == record.baseline_runs:
        return (f"{plural(record.runs, 'run')} each, compared with ", Name(str(record.baseline)))
    return (f"{plural(record.runs, 'run')} compared with {record.baseline_runs:,} of ", Name(str(record.baseline)))


def _equivalences(judged: Sequence[EvidenceRecord]) -> Iterator[Text]:
    """Say which differences are shown to be within their margin, significant or not."""
    equivalent = [record for record in judged if record.equivalent]
    if not equivalent:
        return
    tested = sum(record.margin is not None for record in judged)
    names = [f"{record.technique} on {record.metric} (within {record.margin:g})" for record in equivalent]
    significant = sum(record.verdict in (Verdict.LOWER, Verdict.HIGHER) for record in equivalent)
    aside = f"; {significant:,} of them significant nevertheless" if significant else ""
    yield (
        f"Equivalence is confirmed in {len(equivalent):,} of {plural(tested, 'comparison')} with a margin: "
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
            listed = [f"{technique} ({listing(metrics, MOST_LISTED)})" for technique, metrics in named.items()]
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
    aside = {Verdict.NONE: " (a difference that is not significant)", Verdict.UNDECIDED: " (inconclusive)"}
    share = percent(worst.prob_single_run_misleads or 0.0).replace(".0%", "%")
    return ((
        "One run of each would have pointed the wrong way in ", f"{share} of pairs for ", Name(worst.technique),
        " on ", Name(worst.metric), f"{aside.get(worst.verdict or Verdict.UNDECIDED, '')}.",
    ),)  # fmt: skip


def _no_equivalence(judged: Sequence[EvidenceRecord]) -> Iterator[Text]:
    margins = [record for record in judged if record.margin is not None]
    if margins and not any(record.equivalent for record in margins):
        sentence = f"Equivalence is confirmed in none of {plural(len(margins), 'comparison')} with a margin."
        yield f"{sentence} Whether any difference is small enough to be irrelevant is inconclusive."


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
    """Yield what is inconclusive, a sentence per reason."""
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
    complete_words = f"; {plural(complete, 'is', 'are')} at 0% in one run and at 100% in another" if complete else ""
    classes = plural(len(straddling), "class is", "classes are")
    yield f"{classes} on both sides of the 20% rule between runs{complete_words}."
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


TWO_UNCERTAINTIES = (
    "Tests here are about training: would another run of the same training give the same result? Whether other people "
    "would give it is another question; it needs the predictions (equipoise audit)."
)
MOST_TECHNIQUES, MOST_METRICS = 80, 6
PICTURE = "effects"
# What may be undefined of a comparison, and must then be explained.
EXPLAINED = {
    "stdev": "STDEV", "p": "p", "d": "d", "spread_p": "Levene's p", "levene_p": "Levene's p of relative values",
    "prob_single_run_misleads": "how often one run misleads",
}  # fmt: skip
VERDICTS = {
    Verdict.LOWER: "▼\u00a0lower", Verdict.HIGHER: "▲\u00a0higher", Verdict.NONE: "not significant",
    Verdict.UNDECIDED: "inconclusive",
}  # fmt: skip
SPREADS = {"STDEV": "stdev", "MaxDiff": "maxdiff", "Lowest": "min", "Highest": "max"}
MEANINGS = {True: Meaning.BETTER, False: Meaning.WORSE, None: Meaning.QUIET}


@report("evidence")
class EvidenceReport(Report):
    """The report of evidence over runs."""

    def document(self, result: EvidenceResult) -> Document:
        """Return everything that is said about evidence."""
        story = evidence_story(result)
        scope = result.records[0].scope if result.records else ""
        return Document(
            title=("Evidence from ", str(result.provenance.get("data"))),
            facts=_facts(result),
            answer=story.answer,
            meaning=_tone(result),
            lead=story.confirmed(),
            picture=PICTURE,
            tiles=tuple(_tiles(result)),
            inconclusive=story.open(),
            caution=f"Scope: {scope}. {TWO_UNCERTAINTIES} {NOT_CERTIFIED}",
            sections=tuple(_sections(result)),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.evidence"),
        )

    def parts(self, result: EvidenceResult) -> Parts:
        """Draw evidence."""
        from equipoise.reports.charts.matrix import effects, variances
        from equipoise.reports.charts.strips import straddles, strips

        yield PICTURE, [effects(result)]
        yield "variances", [variances(result)]
        yield "straddling", [straddles(result)]
        yield "runs", strips(result)

    def words(self, result: EvidenceResult) -> tuple[str, ...]:
        """Return evidence in sentences, as its JSON has them."""
        return tuple(evidence_story(result).sentences())


def _facts(result: EvidenceResult) -> str:
    families = families_of(result)
    runs = [record.runs for record in result.records]
    runs_words = plural(max(runs), "run") if min(runs) == max(runs) else f"{min(runs):,} to {max(runs):,} runs"
    techniques = plural(sum(len(family.techniques) for family in families), "technique")
    return (
        f"{techniques} compared with {plural(len(families), 'baseline')} on "
        f"{plural(len(metrics_of(result)), 'metric')}, {runs_words} each."
    )


def _effects(result: EvidenceResult) -> list[EvidenceRecord]:
    """Return the comparisons that are counted: those of a bias, or all where there is nothing else."""
    judged = [record for record in result.records if record.verdict is not None]
    return [record for record in judged if record.metric not in result.performance] or judged


def _tone(result: EvidenceResult) -> Meaning:
    """Return what the answer means: better where nothing got worse, worse where nothing got better."""
    headlines = technique_headlines(result.records, result.performance)
    if not headlines or not headlines[0].confirmed:
        return Meaning.QUIET
    lead = headlines[0]
    better, worse = bool(lead.lower or lead.performance_higher), bool(lead.higher or lead.performance_lower)
    return Meaning.NEUTRAL if better and worse else Meaning.BETTER if better else Meaning.WORSE


def _tiles(result: EvidenceResult) -> Iterator[Tile]:
    effects = _effects(result)
    ways = [is_better(record, result.performance) for record in effects]
    better, worse = ways.count(True), ways.count(False)
    costly = sum(bool(record.costs) for record, way in zip(effects, ways, strict=True) if way)
    undecided = sum(record.verdict == Verdict.UNDECIDED for record in effects)
    yield Tile(
        "changes for the better", f"{better:,} of {len(effects):,}", Meaning.BETTER if better else None,
        f"{costly:,} of them at a cost" if result.performance else "",
    )  # fmt: skip
    yield Tile("changes for the worse", f"{worse:,}", Meaning.WORSE if worse else None)
    few = f"{undecided:,} more inconclusive" if undecided else ""
    yield Tile("not significant", f"{len(effects) - better - worse - undecided:,}", None, few)
    worst = most_misleading(effects)
    if worst is not None:
        below = ("of pairs of runs, ", Name(worst.technique), " on ", Name(worst.metric))
        yield Tile("one run can mislead in", percent(worst.prob_single_run_misleads or 0.0), None, below)


def _sections(result: EvidenceResult) -> Iterator[Section]:
    yield _costs(result)
    if result.straddling:
        yield _straddling(result)
    yield _table(result)
    yield Section(
        "runs", "Every run", (ChartBlock(part_names("runs")),), "The values that the means and tests rest on.",
        short="Runs",
    )  # fmt: skip
    if result.variances:
        yield Section(
            "variances", "How much do results vary between runs?", (ChartBlock(("variances",)),),
            "A technique that lowers a bias on average may make it less predictable: the next training can turn out "
            "worse than the baseline.", short="Variance",
        )  # fmt: skip
    yield _unknown(result)


def _verdict(record: EvidenceRecord, performance: Sequence[str]) -> Cell:
    if record.verdict is None:
        return Cell("baseline", meaning=Meaning.QUIET)
    return Cell(VERDICTS[record.verdict], meaning=MEANINGS[is_better(record, performance)])


def _costs(result: EvidenceResult) -> Section:
    """What each technique does to the metrics, and what it costs: one row per technique."""
    cells, metrics = by_cell(result), metrics_of(result)
    changes = {(change.technique, change.metric): change.counted[2] for change in result.variances}
    several = len(families_of(result)) > 1
    pairs = [(family.baseline, technique) for family in families_of(result) for technique in family.techniques]
    rows = []
    for baseline, technique in pairs[:MOST_TECHNIQUES]:
        costs = [cells[technique, m][1] for m in metrics if m not in result.performance and (technique, m) in cells]
        lower = [record.metric for record in costs if record.verdict == Verdict.LOWER]
        higher = [record.metric for record in costs if record.verdict == Verdict.HIGHER]
        vary = [record.metric for record in costs if changes.get((technique, record.metric)) == "higher"]
        rows.append(Row((
            Cell(Name(technique), (("compared with ", Name(baseline)),) if several else ()),
            _some(lower, len(costs), Meaning.BETTER), _some(higher, len(costs), Meaning.WORSE),
            *(
                _performance(result, cells, technique, baseline, metric, changes.get((technique, metric)))
                for metric in result.performance
            ),
            _some(vary, len(costs), Meaning.WORSE),
        )))  # fmt: skip
    columns = [
        Column("Technique"), Column("Lower on"), Column("Higher on"),
        *(Column(Name(metric), hint="mean, and that of the baseline") for metric in result.performance),
        Column("Varies more on"),
    ]  # fmt: skip
    table = limited_table(_caption(result, "Effects and costs, one row per technique"), columns, rows, total=len(pairs),
                          what="techniques")  # fmt: skip
    intro = (
        "A cost is a performance that is lower or varies more, or a metric that varies more. A dash means that no cost "
        "is confirmed."
        if result.performance
        else "No metric was named as the performance (--performance accuracy), so a loss of performance cannot be "
        "reported: only metrics that vary more are."
    )
    return Section("costs", "What each technique does, and what it costs", (table,), intro, short="Costs",
                   essential=True)  # fmt: skip


def _caption(result: EvidenceResult, words: str) -> Text:
    """Return a caption that names the baseline where there is one for all."""
    families = families_of(result)
    return (f"{words}, compared with ", Name(families[0].baseline)) if len(families) == 1 else words


def _some(names: Sequence[str], total: int, meaning: Meaning) -> Cell:
    """Say how many of how many, and which; many names are cut short."""
    if not names:
        return Cell("–", meaning=Meaning.QUIET)
    which = [piece for name in names[:MOST_METRICS] for piece in (", ", Name(name))][1:]
    more = len(names) - MOST_METRICS
    listed = (*which, f" and {more:,} more") if more > 0 else tuple(which)
    return Cell(f"{len(names):,} of {total:,}", (listed,), meaning=meaning)


def _performance(
    result: EvidenceResult, cells: Mapping[TechniqueMetric, PlacedEffect], technique: str, baseline: str, metric: str,
    change: SpreadChange | None,
) -> Cell:  # fmt: skip
    if (technique, metric) not in cells:
        return Cell("no runs", meaning=Meaning.QUIET)
    (index, record), (base, against) = cells[technique, metric], cells[baseline, metric]
    words: list[Piece] = [*pieces(number(index, record.mean, formats.digits, "mean") or "undefined"), " against ",
                          *pieces(number(base, against.mean, formats.digits, "mean") or "undefined")]  # fmt: skip
    verdict = _verdict(record, result.performance)
    verdict_words = [] if verdict.meaning is Meaning.QUIET else [verdict.text]
    verdict_words += ["varies more"] if change == "higher" else []
    meaning = Meaning.WORSE if change == "higher" else verdict.meaning
    return Cell(tuple(words), tuple(verdict_words), meaning=None if meaning is Meaning.QUIET else meaning)


def _straddling(result: EvidenceResult) -> Section:
    places = {straddle: index for index, straddle in enumerate(result.straddling)}
    placed = [(places[straddle], straddle) for straddle in worst_first(result.straddling)]
    source = "straddling"
    fields = (
        Field("Class", lambda _, row: Name(row.by)), Field("Technique", lambda _, row: Name(row.technique)),
        Field("Metric", lambda _, row: Name(row.metric)),
        Field("Runs above 20%", lambda record_index, row: (
            *pieces(number(record_index, row.broken, formats.count, "broken", source)), f" of {row.runs:,}"
        ), True),
        value("Lowest run", "min", formats.percent, source), value("Highest run", "max", formats.percent, source),
    )  # fmt: skip
    caption = "Classes on both sides of the 20% rule, those from 0% to 100% first"
    table = record_table(caption, fields, placed, what="classes")
    intro = (
        "A mean over classes can stay the same while a class is fair in one run and unfair in the next. These classes "
        "have runs on both sides of the 20% rule: at most 0.2 in some, above it in others."
    )
    blocks: tuple[Block, ...] = (
        Bullets(tuple(flip_words(result.straddling))[:1]), ChartBlock(("straddling",)),
        Details(f"All classes that change sides ({len(placed):,})", (table,)),
    )  # fmt: skip
    return Section("straddling", "Classes that change sides between runs", blocks, intro, short="Classes",
                   essential=True)  # fmt: skip


def _table(result: EvidenceResult) -> Section:
    """Every number, the most important columns first: a narrow terminal leaves out the others."""
    several = len(families_of(result)) > 1
    fields = (
        Field("Technique", lambda _, r: Cell(
            Name(r.technique), (("compared with ", Name(r.baseline)),) if several and r.baseline is not None else ()
        )),
        Field("Metric", lambda _, r: Name(r.metric), always_shown=True),
        Field("Verdict", lambda _, r: _verdict(r, result.performance), always_shown=True),
        value("Mean", "mean", formats.digits),
        if_judged(value("p, corrected", "p_adjusted", formats.p_value)), if_judged(Field("d", _effect_size, True)),
        if_judged(value("Misleads", "prob_single_run_misleads", formats.percent)),
        if_judged(Field("Difference", _difference, True)), Field("Runs", _evidence_runs, True),
        *(value(title, field, formats.digits) for title, field in SPREADS.items()),
        if_judged(value("p", "p", formats.p_value)), if_judged(value("Levene's p", "spread_p", formats.p_value)),
        if_judged(value("Levene's p, relative", "levene_p", formats.p_value)), if_judged(Field("Ranges", _ranges)),
        Field("Costs", lambda _, r: Cell("", () if r.verdict is None else r.costs)),
    )  # fmt: skip
    table = record_table(_caption(result, "One row per technique and metric"), fields, enumerate(result.records))
    reasons = [item for item in enumerate(result.records) if item[1].reason]
    reason_fields = (
        Field("Technique", lambda _, r: Name(r.technique)), Field("Metric", lambda _, r: Name(r.metric)),
        Field("Reason", lambda _, r: str(r.reason)),
    )  # fmt: skip
    folded = record_table("What each verdict rests on", reason_fields, reasons, what="comparisons")
    blocks: list[Block] = [table]
    blocks += [Details(f"The reason of each verdict ({len(reasons):,})", (folded,))] if reasons else []
    return Section(
        "table", "Every comparison", tuple(blocks), _table_intro(result), short="Every number", essential=True
    )


def _effect_size(index: int, record: EvidenceRecord) -> Cell:
    content = number(index, record.d, formats.digits, "d")
    return Cell(content or formats.UNDEFINED, (record.band,) if record.band else ())


def _difference(index: int, record: EvidenceRecord) -> Cell:
    """Return the difference, with its interval below it."""
    below = [span(index, record.low, record.high, formats.digits)]
    below += [f"within {record.margin:g}"] if record.equivalent and record.margin is not None else []
    content = number(index, record.difference, formats.digits, "difference")
    return Cell(content or formats.UNDEFINED, tuple(line for line in below if line))


def _evidence_runs(index: int, record: EvidenceRecord) -> Text:
    runs: list[Piece] = [*pieces(number(index, record.runs, formats.count, "runs"))]
    if record.baseline_runs is not None:
        runs += [" / ", *pieces(number(index, record.baseline_runs, formats.count, "baseline_runs"))]
    return tuple(runs)


def _ranges(_: int, record: EvidenceRecord) -> Cell:
    return quiet(formats.UNDEFINED) if record.overlap is None else Cell("overlap" if record.overlap else "apart")


def _table_intro(result: EvidenceResult) -> str:
    judged = [record for record in result.records if record.verdict is not None]
    intro = (
        "d is Cohen's d, below 0 where the technique is lower. Misleads is the share of pairs of runs, one of each "
        "side, that point the other way than the means."
    )
    if not judged or not judged[0].test:
        return intro
    first = judged[0]
    return (
        f"{intro} Test: {first.test}, {first.alternative}; correction: {first.correction}. Below each difference is "
        f"its interval at {formats.percent(first.level)}, the level that decides after correction. One test without an "
        f"effect is significant in {formats.percent(first.error_rate)} of cases. Costs are judged by the "
        f"{first.spread_rule} spread."
    )


def _unknown(result: EvidenceResult) -> Section:
    """Say what is inconclusive or undefined, and why; those with the same reason together."""
    parts = []
    for record in result.records:
        if record.verdict is None or not record.reason:
            continue
        undefined = [title for field, title in EXPLAINED.items() if finite(getattr(record, field)) is None]
        lead = "" if record.verdict == Verdict.UNDECIDED else f"{', '.join(undefined)} undefined: "
        if record.verdict == Verdict.UNDECIDED or undefined:
            parts.append((f"{lead}{record.reason}", f"{record.technique} on {record.metric}"))
    lines = tuple(f"{listing(subjects, 6)}: {reason}." for reason, subjects in same_reason(parts).items())
    everything = "Every number that was asked for could be computed, and every comparison decided."
    block: Block = Bullets(lines) if lines else Paragraph(everything)
    return Section("untold", "What could not be computed or decided, and why", (block,), short="Not known")
