"""The fairness part of a model card (Mitchell et al. 2019): what an audit measured and found, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.audits import AuditResult
from equipoise.reports._document import (
    Block,
    Bullets,
    ChartBlock,
    Details,
    Document,
    Heading,
    Paragraph,
    Section,
    Statements,
    Terms,
    Text,
    pieces,
)
from equipoise.reports._measure_words import RATES, meaning_of, reading_order, title_of

# What no audit can know: its owner writes it.
TO_WRITE = (
    "Intended use: which decision the model informs, and for whom.",
    "Out-of-scope use: where these results do not apply.",
    "Training data: where it is from, and whom it leaves out.",
    "Choice of groups: why these, who chose them, and which are missing.",
    "What follows: which differences are accepted and why, and what is done about the others.",
    "Contact: who answers questions about this model.",
)


def model_card(result: AuditResult, full: Document, *, found: bool) -> Document:
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
            *_kept(sections, "cohort", "Evaluation data"),
            Section("metrics", "Metrics", (Terms(tuple(_metrics(result))),), essential=True),
            *_kept(sections, "rates", "Results by group"),
            Section("findings", "Confirmed differences", tuple(_told(confirmed, "None.")), essential=True),
            Section("inconclusive", "Not known", tuple(_told(full.inconclusive, "Nothing.")), essential=True),
            *_kept(sections, "untold", "What could not be computed or tested"),
            Section("owner", "To be written by the owner of the model", (Bullets(TO_WRITE),), essential=True),
        ),
        notes=full.notes,
        provenance=full.provenance,
    )


def _kept(sections: dict[str, Section], name: str, title: str) -> Iterator[Section]:
    """Yield a section of the full report under the title that cards have, unfolded and without its charts."""
    if name in sections:
        section = sections[name]
        blocks = tuple(block for block in section.blocks if not isinstance(block, (ChartBlock, Details)))
        yield Section(name, title, blocks, section.intro, essential=True)


def _metrics(result: AuditResult) -> Iterator[tuple[Text, Text]]:
    """Yield the measures of the table of results, with what they mean."""
    shown = {record.measure for record in result.records if record.measure in RATES}
    for measure in sorted(shown, key=reading_order):
        yield title_of(measure), meaning_of(measure, result.favourable)


def _told(statements: tuple[Statements, ...], nothing: str) -> Iterator[Block]:
    if not statements:
        yield Paragraph(nothing)
    for part in statements:
        if part.title:
            yield Heading(part.title)
        yield Bullets(part.items)
