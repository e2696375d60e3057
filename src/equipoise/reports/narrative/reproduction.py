"""What a reproduction says: which findings of a paper hold in a study of our own."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.foundation import citation, plural, report
from equipoise.reports import formats
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Cell,
    Document,
    Meaning,
    Name,
    Paragraph,
    Section,
    Statements,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._records import number
from equipoise.reports.narrative._report import Field, Report, document_provenance, quiet, record_table
from equipoise.results import ClaimVerdict
from equipoise.studies.findings import PaperClaim, Reproduction, TechniqueSpread, verdict_words

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

PICTURE = "spreads"
SPREADS = {
    "maxdiff": "MaxDiff", "stdev": "STDEV", "class_maxdiff": "MaxDiff of the most variable class",
    "class_stdev": "its STDEV",
}  # fmt: skip
NOT_DECIDED = (ClaimVerdict.INCONCLUSIVE, ClaimVerdict.NOT_ENOUGH_DATA)
VERDICT_TEXTS = {
    ClaimVerdict.HOLDS: "● holds", ClaimVerdict.IN_PART: "◐ holds in part",
    ClaimVerdict.DOES_NOT_HOLD: "○ does not hold",
    ClaimVerdict.INCONCLUSIVE: "? inconclusive", ClaimVerdict.NOT_ENOUGH_DATA: "? not enough data",
}  # fmt: skip


@report("reproduction")
class ReproductionReport(Report):
    """The report of a reproduction."""

    def document(self, result: Reproduction) -> Document:
        """Return everything that is said about a reproduction."""
        return Document(
            title=(f"{citation(result.paper)}, compared with the study ", Name(result.study)),
            facts=f"{plural(len(result.records), 'finding')} of the paper, compared with our own runs.",
            answer=_answer(result),
            meaning=Meaning.QUIET,
            lead=tuple(_decided_claims(result)),
            picture=PICTURE,
            tiles=tuple(_tiles(result)),
            inconclusive=tuple(_open(result)),
            caution=NOT_CERTIFIED,
            sections=(_claims(result), _spreads(result)),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.reproduction_of"),
        )

    def parts(self, result: Reproduction) -> Parts:
        """Draw a reproduction."""
        from equipoise.reports.charts.intervals import table_4

        yield PICTURE, [table_4(result)]


def _answer(result: Reproduction) -> str:
    times = Counter(claim.holds for claim in result.records)
    decided = sum(times.values()) - sum(times[verdict] for verdict in NOT_DECIDED)
    if not decided:
        return f"None of the {plural(len(result.records), 'finding')} of {citation(result.paper)} has enough data here."
    holding = times[ClaimVerdict.HOLDS]
    sentence = (
        f"{holding:,} of {plural(len(result.records), 'finding')} of {citation(result.paper)} "
        f"{'holds' if holding == 1 else 'hold'} in this study by the paper's own rule, "
        f"{times[ClaimVerdict.IN_PART]:,} in part, {times[ClaimVerdict.DOES_NOT_HOLD]:,} "
        f"{'does' if times[ClaimVerdict.DOES_NOT_HOLD] == 1 else 'do'} not"
    )
    undecided = len(result.records) - decided
    return f"{sentence}; for {undecided:,} there is not enough data." if undecided else f"{sentence}."


def _tiles(result: Reproduction) -> Iterator[Tile]:
    times = Counter(claim.holds for claim in result.records)
    yield Tile("hold", f"{times[ClaimVerdict.HOLDS]:,} of {len(result.records):,}", None, "by the paper's own rule")
    yield Tile("hold in part", f"{times[ClaimVerdict.IN_PART]:,}")
    yield Tile("do not hold", f"{times[ClaimVerdict.DOES_NOT_HOLD]:,}")
    absent = times[ClaimVerdict.NOT_ENOUGH_DATA]
    yield Tile("inconclusive", f"{times[ClaimVerdict.INCONCLUSIVE]:,}", None,
               f"{absent:,} more: not enough data" if absent else "")  # fmt: skip


def _decided_claims(result: Reproduction) -> Iterator[Statements]:
    decided = [claim for claim in result.records if claim.holds not in NOT_DECIDED]
    if decided:
        yield Statements("", tuple(map(_sentence, decided)))


def _open(result: Reproduction) -> Iterator[Statements]:
    undecided = [claim for claim in result.records if claim.holds in NOT_DECIDED]
    if undecided:
        yield Statements("", tuple(map(_sentence, undecided)))


def _sentence(claim: PaperClaim) -> Text:
    return f"Finding {claim.finding}: {verdict_words(claim)}. {claim.here}"


def _verdict(verdict: ClaimVerdict | None, *below: Text) -> Cell:
    if verdict is None:
        return quiet()
    return Cell(VERDICT_TEXTS[verdict], below, meaning=Meaning.QUIET if verdict in NOT_DECIDED else None)


def _as_trained(claim: PaperClaim) -> Iterator[Text]:
    if claim.as_trained is not None:
        yield f"trainings too short; {claim.as_trained} as trained"


def _claims(result: Reproduction) -> Section:
    fields = (
        Field("Finding", lambda _, claim: claim.finding),
        Field("By the paper's rule", lambda _, claim: _verdict(claim.holds, *_as_trained(claim)), always_shown=True),
        Field("After correction", lambda _, claim: _verdict(claim.holds_corrected)),
        Field("The paper", lambda _, claim: claim.claim), Field("Here", lambda _, claim: claim.here),
    )  # fmt: skip
    caption = f"Findings of {citation(result.paper)}, and what this study shows"
    table = record_table(caption, fields, enumerate(result.records), what="findings")
    return Section("claims", "Finding by finding", (table,), short="Findings", essential=True)


def _spreads(result: Reproduction) -> Section:
    fields = (
        Field("Technique", lambda _, technique: technique.technique),
        *(Field(title, functools.partial(_spread, field=field), True) for field, title in SPREADS.items()),
        Field("Treatment here", lambda _, technique: Cell(
            technique.treatment, ("trained too briefly",) if technique.unfinished_training else ()
        )),
        Field("Runs here", lambda _, technique: "–" if technique.runs is None else formats.count(technique.runs), True),
    )  # fmt: skip
    caption = "Disparate impact over identical runs, in percentage points: the paper / here"
    table = record_table(caption, fields, enumerate(result.techniques))
    words = "Table 4 of the paper: how far identical runs lie apart."
    return Section("spreads", "Table 4, the paper's and ours", (Paragraph(words), table), short="Table 4",
                   essential=True)  # fmt: skip


def _spread(index: int, spread: TechniqueSpread, field: str) -> Text:
    value = number(index, getattr(spread, field), _points, field, "techniques")
    return (f"{_points(getattr(spread, f'paper_{field}'))} / ", *pieces(value or "–"))


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
