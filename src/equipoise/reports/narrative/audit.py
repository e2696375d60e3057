"""What an audit says: of a model's outcomes, or of an embedding; what changed; and its model card.

The card has the parts of Mitchell et al. (2019): what was measured and found, and what is not known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.audits import AuditResult
from equipoise.foundation import (
    plural,
    points,
    report,
    write_file,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Block,
    Bullets,
    ChartBlock,
    Details,
    Document,
    Heading,
    Meaning,
    Name,
    Paragraph,
    Section,
    Statements,
    Terms,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._records import (
    RATES,
    Subject,
    explanation_of,
    is_embedding,
    is_share,
    meaning_of,
    name_of,
    reading_order,
    splits_of,
    subjects_of,
    title_of,
)
from equipoise.reports._spaces import MOST_MAPS, main_gaps, majoritised
from equipoise.reports.narrative._change_words import change_story
from equipoise.reports.narrative._outcome_words import headlines, lead_of, outcome_story, unknown_sentences
from equipoise.reports.narrative._outcomes import cohort_section, glossary_table, outcome_sections
from equipoise.reports.narrative._report import Report, Story, document_provenance, document_text, part_names
from equipoise.reports.narrative._spaces import space_sections, space_story
from equipoise.results import Reason, Record, Status

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

MOST_SUBJECTS, MOST_SPLITS = 6, 3
# The chart of the first screen.
PICTURE = "main"


def chart_notes(result: AuditResult) -> tuple[str, ...]:
    """Say which charts are left out because there would be too many."""
    if is_embedding(result):
        left_out = len(result.map.groups) - MOST_MAPS if result.map is not None else 0
        note = f"The map is drawn for {MOST_MAPS} attributes; {left_out} more are not drawn."
        return (note,) if left_out > 0 else ()
    subjects, splits = len(subjects_of(result)), len(splits_of(result))
    if splits > MOST_SPLITS:
        return (f"Charts are drawn for {MOST_SPLITS} of {splits} splits; tables have all of them.",)
    if subjects > MOST_SUBJECTS:
        return (f"Contrasts are drawn for {MOST_SUBJECTS} of {subjects} attributes; tables have all of them.",)
    return ()


def _of_outcomes(result: AuditResult) -> Parts:
    """Draw what the audit has; changes need another audit, thresholds and calibration need scores."""
    from equipoise.reports.charts.forest import forest, main_forest
    from equipoise.reports.charts.heatmap import rates

    subjects, splits = subjects_of(result)[:MOST_SUBJECTS], splits_of(result)[:MOST_SPLITS]
    yield PICTURE, [main_forest(result)]
    if result.changes:
        from equipoise.reports.charts.dumbbells import before_after

        yield "changes", (before_after(result, subject) for subject in subjects)
    yield "rates", (rates(result, split) for split in splits)
    yield "contrasts", (forest(result, subject) for subject in subjects)
    if result.curves:
        from equipoise.reports.charts.curves import gap_curves, rate_curves

        by_split = (gap_curves(result, split) for split in splits)
        yield "thresholds", [*by_split, *(rate_curves(result, subject) for subject in subjects)]
    if result.calibration:
        from equipoise.reports.charts.scatter import calibration

        yield "calibration", (calibration(result, split) for split in splits)


def _of_space(result: AuditResult) -> Parts:
    from equipoise.reports.charts.bars import leakage
    from equipoise.reports.charts.forest import downstream_gaps, space_gaps, space_values
    from equipoise.reports.charts.maps import space_maps
    from equipoise.reports.charts.scatter import propagation_chart

    yield "map", space_maps(result)
    yield "values", [space_values(result)]
    yield "space_gaps", [space_gaps(result)]
    yield "leakage", [leakage(result)]
    yield "downstream", [downstream_gaps(result)]
    yield "propagation", [propagation_chart(result)]


# So many groups are named in a sentence.
MOST_NAMED = 6
PARTS = (
    "changes", "rates", "contrasts", "thresholds", "calibration", "map", "values", "space_gaps", "leakage",
    "downstream", "propagation",
)  # fmt: skip
TWO_UNCERTAINTIES = (
    "Intervals and tests here are about the people who were counted: would other people of the same kind give the "
    "same result? Whether training the model again would give it is another question; it needs repeated runs "
    "(equipoise evidence)."
)


@report("audit")
class AuditReport(Report):
    """The report of an audit."""

    def document(self, result: AuditResult) -> Document:
        """Return everything that is said about an audit."""
        first, *others = _stories(result)
        return Document(
            title=("Fairness audit of ", str(result.provenance.get("data"))),
            facts=_facts(result),
            answer=first.answer,
            context=first.context or _level(result),
            meaning=_tone(result),
            lead=(*first.confirmed(), *(part for story in others for part in _confirmed(story))),
            picture="space_gaps" if is_embedding(result) else PICTURE,
            tiles=_tiles(result),
            inconclusive=(*first.open(), *(part for story in others for part in _open(story))),
            next_steps=() if is_embedding(result) else tuple(_next_steps(result)),
            caution=f"{NOT_CERTIFIED} {TWO_UNCERTAINTIES}",
            sections=tuple(_sections(result)),
            notes=(*result.notes, *chart_notes(result)),
            provenance=document_provenance(
                result, "equipoise.audit_embedding" if is_embedding(result) else "equipoise.audit"
            ),
        )

    def parts(self, result: AuditResult) -> Parts:
        """Draw an audit."""
        return _of_space(result) if is_embedding(result) else _of_outcomes(result)

    def model_card(self, result: AuditResult) -> Document:
        """Return the fairness part of a model card."""
        return _model_card(result, self.document(result), found=_stories(result)[0].has_findings)

    def write_model_card(self, result: AuditResult, path: str | os.PathLike[str] | None = None) -> str:
        """Return the card as text, and write it to a file when a path is given."""
        text = document_text(self.model_card(result), path)
        if path is not None:
            write_file(path, text)
        return text

    def words(self, result: AuditResult) -> tuple[str, ...]:
        """Return the audit in sentences, as its JSON has them."""
        return tuple(sentence for story in _stories(result) for sentence in story.sentences())

    def untold(self, result: AuditResult) -> tuple[str, ...]:
        """Return what could not be computed and why, as the JSON has it."""
        return tuple(unknown_sentences(result.records))


def _stories(result: AuditResult) -> tuple[Story, ...]:
    """Return what is told of an audit; what changed comes first."""
    if is_embedding(result):
        against = {subject.attribute[0]: majoritised(result, subject) for subject in subjects_of(result)}
        return (space_story(result.records, result.leakage, result.downstream, against),)
    options = result.provenance.get("options")
    gap = options.get("gap_of_interest") if isinstance(options, dict) else None
    level = next((r.level for r in result.records if r.kind == "contrast" and r.level is not None), 0.95)
    outcomes = outcome_story(result.records, result.four_fifths, gap, level)
    return (change_story(result.changes), outcomes) if result.changes else (outcomes,)


def _confirmed(story: Story) -> Iterator[Statements]:
    """Yield what a second story confirms, which is how things are now: its answer, where that is a finding, first."""
    if story.has_findings:
        yield Statements("Differences now", (story.answer,))
    for part in story.confirmed():
        yield replace(part, title=_now(part.title))


def _now(title: Text) -> Text:
    return (*pieces(title), ": differences now") if title else "Differences now"


def _open(story: Story) -> Iterator[Statements]:
    if not story.has_findings:
        yield Statements("Differences now", tuple(filter(None, (story.answer, story.context))))
    for part in story.open():
        yield replace(part, title=_now(part.title))


def _facts(result: AuditResult) -> Text:
    facts = [plural(result.card.rows, "row")]
    if result.classes:
        facts.append(plural(len(result.classes), "class", "classes"))
    if result.favourable is None:
        return f"{', '.join(facts)}."
    return (f"{', '.join(facts)}, favourable: ", Name(result.favourable), ".")


def _level(result: AuditResult) -> str:
    """Say why intervals of differences are wider than those of single rates."""
    contrasts = [record for record in _tests(result) if record.kind == "contrast" and record.level is not None]
    level = next((record.level for record in contrasts), None)
    if level is None or round(level, 3) == 0.95:
        return ""
    named = formats.interval_name(level).split()[0]
    return (
        f"Intervals of differences are at {named} instead of 95%, widened for the number of tests: exactly those of "
        "confirmed differences exclude 0."
    )


def _next_steps(result: AuditResult) -> Iterator[Text]:
    """Yield what a reader can do: about the largest difference, about groups that are too small, about retraining."""
    yield from _base_rates(result)
    small = dict.fromkeys(
        str(record.group)
        for record in _tests(result)
        if record.status == Status.TOO_SMALL and isinstance(record.reason, Reason) and record.group
    )
    if small:
        named = list(small)[:MOST_NAMED]
        names: list[str | Name] = []
        for index, group in enumerate(named):
            last = index == len(named) - 1 and len(small) <= MOST_NAMED
            names += ["" if not index else " and " if last else ", ", Name(group)]
        more = f" and {plural(len(small) - MOST_NAMED, 'more group')}" if len(small) > MOST_NAMED else ""
        yield ("Collect more people of ", *names, f"{more}: what was not testable rests on too few of them.")
    if any(record.finding for record in _tests(result)):
        yield "Compare treatments on the training data (equipoise study), and judge them on rows that were held out."
    yield "Train the model several times and compare the runs (equipoise evidence): retraining can change the numbers."


def _base_rates(result: AuditResult) -> Iterator[Text]:
    """Say how often the two sides of the largest difference in selection truly are of the class."""
    lead = lead_of(headlines(result.records))
    if lead is None or lead[1].measure != "selection_rate" or result.favourable is None:
        return
    about = lead[1].record
    rates = {
        record.group: record
        for record in result.find("base_rate", kind="rate", scope="favourable", control=None, label=None)
        if record.defined and (record.attribute, record.split) == (about.attribute, about.split)
    }
    named = [group for group in (about.group, about.against) if group in rates]
    shares: list[str | Name] = []
    for group in named:
        shares += [" and " if shares else "", formats.percent(rates[group].value), " of ", Name(str(group))]
    if shares:
        yield (
            "Decide whether the data justify the difference in selection: in these rows ", *shares, " truly are ",
            Name(repr(result.favourable)), ". Recorded outcomes can carry the bias of those who made them.",
        )  # fmt: skip


def _tests(result: AuditResult) -> list[Record]:
    """Return what is tested first: contrasts; of an embedding the gaps that its sections show first."""
    if is_embedding(result):
        return [record for subject in subjects_of(result) for _, record in main_gaps(result, subject)]
    return [record for record in result.records if record.kind == "contrast"]


def _tone(result: AuditResult) -> Meaning:
    return Meaning.WORSE if any(record.finding for record in _tests(result)) else Meaning.QUIET


def _tiles(result: AuditResult) -> tuple[Tile, ...]:
    tests = _tests(result)
    tested = [record for record in tests if record.p_adjusted is not None]
    confirmed = sum(bool(record.finding) for record in tested)
    plural_name = "gaps" if is_embedding(result) else "differences"
    groups = {(r.attribute, r.group) for r in result.records if r.kind in ("rate", "value") and len(r.attribute) == 1}
    small = sum(record.status == Status.TOO_SMALL for record in tests)
    return (
        *([] if is_embedding(result) else [_largest(result)]),
        Tile(
            f"{plural_name} confirmed", f"{confirmed:,} of {len(tested):,}", Meaning.NEUTRAL if confirmed else None,
            "significant after correction" if tested else "none was tested",
        ),
        Tile("not testable", f"{small:,} of {len(tests):,}", None, f"{plural_name} with too few people"),
        Tile("rows", formats.count(result.card.rows), None, plural(len(groups), "group")),
    )  # fmt: skip


def _largest(result: AuditResult) -> Tile:
    lead = lead_of(headlines(result.records))
    if lead is None:
        return Tile("largest confirmed difference", "none")
    claim = lead[1]
    gap = abs(claim.value - claim.other_value) if claim.record.kind == "gap" else abs(claim.record.value)
    size = points(gap) if is_share(claim.record) else f"{gap:.3g}"
    contrast = claim.record.kind == "contrast"
    group = claim.record.group if contrast else (claim.record.pair or ("",))[0]
    against = (" against ", Name(str(claim.record.against))) if contrast and claim.record.against else ()
    # Where the group that is named is the better one, the sign does not call it worse.
    meaning = Meaning.WORSE if meaning_of(claim.record) is Meaning.WORSE else Meaning.NEUTRAL
    below = (f"{title_of(claim.measure)}, ", Name(str(group)), *against)
    return Tile("largest confirmed difference", size, meaning, below)


def _sections(result: AuditResult) -> Iterator[Section]:
    charts = {part: part_names(part) for part in PARTS}
    yield from space_sections(result, charts) if is_embedding(result) else outcome_sections(result, charts)
    yield cohort_section(result)
    yield _unknown(result)
    yield _glossary(result)


def _unknown(result: AuditResult) -> Section:
    """Say what could not be computed or tested, and why."""
    untold = tuple(unknown_sentences(result.records))
    blocks: list[Block] = [Bullets(untold)] if untold else []
    small = [] if is_embedding(result) else list(_small(result))
    if small:
        blocks += [Heading("Contrasts with too few people"), Bullets(tuple(small))]
    if not blocks:
        blocks = [Paragraph("Every number that was asked for could be computed.")]
    return Section("untold", "What could not be computed or tested, and why", tuple(blocks), short="Not known")


def _small(result: AuditResult) -> Iterator[Text]:
    """Yield the groups with too few people, and for which measures."""
    groups: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for record in result.records:
        if record.kind == "contrast" and record.status == Status.TOO_SMALL:
            reasons = groups.setdefault((Subject(record.attribute, record.split).title, str(record.group)), {})
            reasons.setdefault(str(record.reason), {})[name_of(record.measure)] = None
    for (subject, group), reasons in groups.items():
        listed = "; ".join(f"{', '.join(measures)} ({reason})" for reason, measures in reasons.items())
        yield (f"{subject}, ", Name(group), f": {listed}.")


def _glossary(result: AuditResult) -> Section:
    """Explain every measure that the report shows."""
    named = {record.measure: record.alias for record in result.records if record.kind != "count"}
    measures = []
    for measure in sorted(named, key=reading_order):
        title, alias = title_of(measure), named[measure]
        measures.append((measure, f"{title} ({alias})" if alias and alias != title else title))
    caption = (
        "A gap speaks of the minoritised groups: those that are not the largest, or not named"
        if is_embedding(result)
        else "TP, FP, TN, FN count right and wrong predictions; P and N those truly of the class and not; g is a group"
    )
    table = glossary_table(measures, result.favourable, caption)
    return Section("measures", "What the measures mean", (table,), short="Measures")


# What no audit can know: its owner writes it.
TO_WRITE = (
    "Intended use: which decision the model informs, and for whom.",
    "Out-of-scope use: where these results do not apply.",
    "Training data: where it is from, and whom it leaves out.",
    "Choice of groups: why these, who chose them, and which are missing.",
    "What follows: which differences are accepted and why, and what is done about the others.",
    "Contact: who answers questions about this model.",
)


def _model_card(result: AuditResult, full: Document, *, found: bool) -> Document:
    """Return the card of an audit, from the document that tells it in full; ``found``: its answer is confirmed."""
    confirmed = (*([Statements("", (full.answer,))] if found else []), *full.lead)
    sections = {section.id: section for section in full.sections}
    return Document(
        title=("Model card: fairness on ", *pieces(full.title)[1:]),
        facts=full.facts,
        answer=full.answer,
        context=full.context,
        meaning=full.meaning,
        caution=full.caution,
        sections=(
            *_card_section(sections, "cohort", "Evaluation data"),
            Section("metrics", "Metrics", (Terms(tuple(_metrics(result))),), essential=True),
            *_card_section(sections, "rates", "Results by group"),
            Section("findings", "Confirmed differences", tuple(_statement_blocks(confirmed, "None.")), essential=True),
            Section(
                "inconclusive", "Not known", tuple(_statement_blocks(full.inconclusive, "Nothing.")), essential=True
            ),
            *_card_section(sections, "untold", "What could not be computed or tested"),
            Section("owner", "To be written by the owner of the model", (Bullets(TO_WRITE),), essential=True),
        ),
        notes=full.notes,
        provenance=full.provenance,
    )


def _card_section(sections: dict[str, Section], name: str, title: str) -> Iterator[Section]:
    """Yield a section of the full report under the title that cards have, unfolded and without its charts."""
    if name in sections:
        section = sections[name]
        blocks = tuple(block for block in section.blocks if not isinstance(block, (ChartBlock, Details)))
        yield Section(name, title, blocks, section.intro, essential=True)


def _metrics(result: AuditResult) -> Iterator[tuple[Text, Text]]:
    """Yield the measures of the table of results, with what they mean."""
    displayed = {record.measure for record in result.records if record.measure in RATES}
    for measure in sorted(displayed, key=reading_order):
        yield title_of(measure), explanation_of(measure, result.favourable)


def _statement_blocks(statements: tuple[Statements, ...], nothing: str) -> Iterator[Block]:
    if not statements:
        yield Paragraph(nothing)
    for part in statements:
        if part.title:
            yield Heading(part.title)
        yield Bullets(part.items)
