"""What a comparison of two representations says: whom a change affected, and by how much."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.audits.compare import CompareResult, OutcomeLink, OutcomeRecord
from equipoise.foundation import (
    listing,
    plural,
    report,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Document,
    Heading,
    Meaning,
    Name,
    Number,
    Paragraph,
    Row,
    Section,
    Terms,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._records import finite, group_or_everyone, number, verdict
from equipoise.reports.narrative._compare_words import (
    compare_story,
    headline_of_result,
    outcome_words,
    projection_words,
    score_words,
)
from equipoise.reports.narrative._report import (
    Field,
    Report,
    document_provenance,
    ends,
    part_names,
    quiet,
    record_table,
    value,
)
from equipoise.results import Status

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

CAUTION = (
    "To be changed is neither harm nor help: a change may be meant for those it affects. Tests here are about people: "
    "would others of the same kind give the same picture of this one change? Whether another training would change "
    "the same people is another question; a rerun (--rerun) is a first answer."
)
# There are many tables with one row per group: together they must fit a page.
MOST_ROWS, MOST_PEOPLE, MOST_COLUMNS, MOST_MOVES = 80, 50, 8, 4
# Charts of scores are drawn for so many attributes.
MOST_ATTRIBUTES = 6
PICTURE = "changed"
# The lists of a result that have one record per group, and what they are about.
PARTS = {
    "records": "Scores and shares", "descriptions": "Descriptions", "projections": "Projections",
    "outcomes": "Predictions", "floor": "Noise floor",
}  # fmt: skip
TESTED = ("difference", "p_adjusted")
Spec = tuple[str, str, Callable[[float | None], str]]


@report("compare")
class CompareReport(Report):
    """The report of a comparison."""

    def document(self, result: CompareResult) -> Document:
        """Return everything that is said about a comparison."""
        story, similarity = compare_story(result), result.similarity
        return Document(
            title=("Comparison of ", str(result.provenance.get("data"))),
            facts=(
                f"{plural(similarity.rows, 'person', 'people')} before and after, by "
                f"{plural(len(result.attributes), 'attribute')}."
            ),
            answer=story.answer,
            meaning=Meaning.NEUTRAL if story.has_findings else Meaning.QUIET,
            lead=story.confirmed(),
            picture=PICTURE if _has_shares(result) else None,
            tiles=tuple(_tiles(result)),
            inconclusive=story.open(),
            caution=f"{CAUTION} {NOT_CERTIFIED}",
            sections=tuple(_sections(result)),
            notes=(*result.notes, *_chart_notes(result)),
            provenance=document_provenance(result, "equipoise.compare"),
        )

    def parts(self, result: CompareResult) -> Parts:
        """Draw a comparison."""
        from equipoise.reports.charts.dumbbells import most_changed, outcomes, projections
        from equipoise.reports.charts.histogram import by_group, everyone

        yield PICTURE, [most_changed(result)]
        yield "scores", [everyone(result)]
        yield "outcomes", [outcomes(result)]
        yield "projection", [projections(result)]
        yield "groups", by_group(result, MOST_ATTRIBUTES)

    def words(self, result: CompareResult) -> tuple[str, ...]:
        """Return the comparison in sentences, as its JSON has them."""
        return tuple(compare_story(result).sentences())


def _has_shares(result: CompareResult) -> bool:
    return any(record.attribute is not None and not math.isnan(record.share_changed) for record in result.records)


def _chart_notes(result: CompareResult) -> Iterator[str]:
    attributes = len(result.attributes)
    if attributes > MOST_ATTRIBUTES:
        yield f"Scores are drawn for {MOST_ATTRIBUTES} of {attributes} attributes; the table has all of them."


def _tiles(result: CompareResult) -> Iterator[Tile]:
    similarity, headline = result.similarity, headline_of_result(result)
    yield Tile("mean score (PNKA)", formats.decimal(similarity.pnka), None, "1: nothing changed")
    if headline.nobody:
        yield Tile("most changed", "nobody")
    else:
        share = formats.short_percent(similarity.share_reached)
        below = f"{share} of people, scores up to {formats.decimal(similarity.cutoff)}"
        yield Tile("most changed", formats.count(similarity.changed), None, below)
    tested = headline.tested
    about = "in who is among the most changed" if tested else "none was tested"
    below = "a rerun may explain them" if headline.beyond is False else about
    yield Tile("differences confirmed", f"{headline.findings:,} of {tested:,}", None, below)
    if headline.floor is not None:
        larger = {
            True: "the change is larger: confirmed", False: "a larger change is not confirmed", None: "not tested"
        }  # fmt: skip
        below = larger[headline.beyond]
        yield Tile("mean score of a rerun", formats.decimal(headline.floor.floor_mean), None, below)


def _sections(result: CompareResult) -> Iterator[Section]:
    if _has_shares(result):
        yield _changed(result)
    yield _scores(result)
    if result.attributes:
        yield _scores_by_group(result)
    if result.outcomes:
        yield _outcomes(result)
    if result.descriptions:
        yield _descriptions(result)
    if result.projections:
        yield _projection(result)
    yield _aggregates(result)
    if result.rows:
        yield _people(result)
    yield _compared(result)
    yield _unknown(result)


def _fields(source: str, *specs: Spec) -> list[Field]:
    """Return the group, and a column of numbers for each title, field and way to write it."""
    return [Field("Group", lambda _, record: _group_cell(record)), *_numbers(source, *specs)]


def _numbers(source: str, *specs: Spec) -> Iterator[Field]:
    for title, field, write in specs:
        if field == "interval":
            yield ends(title, write, source)
        else:
            yield Field(title, functools.partial(_cell, source, field=field, write=write), True)


def _cell(source: str, index: int, record: Any, field: str, write: Callable[[float | None], str]) -> Cell:
    """Return a field of a record: its number, or why there is none."""
    field_value = getattr(record, field)
    if finite(field_value) is not None:
        return Cell(number(index, field_value, write, field, source))
    if record.status == Status.TOO_SMALL:
        return quiet("hidden")
    if field in TESTED and getattr(record, "attribute", "") is None:
        return Cell()  # everyone is compared with nobody
    return quiet("not tested" if field == "p_adjusted" else formats.UNDEFINED)


def _group_cell(record: Any) -> Cell:
    return Cell(group_or_everyone(record.group), () if record.attribute is None else (Name(record.attribute),))


def _is_overall(record: Any) -> bool:
    return record.attribute is None


def _table(
    caption: str, fields: Sequence[Field], placed: Iterable[tuple[int, Any]], what: str = "groups"
) -> DataTable:  # fmt: skip
    return record_table(caption, fields, placed, most=MOST_ROWS, what=what, everyone=_is_overall)


def _verdict(more: str, less: str) -> Field:
    """Return the column of verdicts: which way a confirmed difference goes; neither way is better."""

    def judged(_: int, record: Any) -> Cell:
        if record.finding is None:
            return quiet("" if record.attribute is None else "not tested")
        size = record.excess if hasattr(record, "excess") else record.difference
        return Cell(f"▲ {more}" if size > 0 else f"▼ {less}") if record.finding else quiet("not significant")

    return Field("Verdict", judged, always_shown=True)


def _changed(result: CompareResult) -> Section:
    similarity = result.similarity
    placed = [
        (index, record) for index, record in enumerate(result.records)
        if record.attribute is not None and (not math.isnan(record.share_changed) or record.status == Status.TOO_SMALL)
    ]  # fmt: skip
    fields = _fields(
        "records", ("Among them", "share_changed", formats.percent),
        ("Population", "share_population", formats.percent),
        ("Points", "difference", formats.points), ("95% interval", "interval", formats.points),
        ("Ratio", "lift", formats.decimal), ("p, corrected", "p_adjusted", formats.p_value),
        ("Cohen's h", "h", formats.signed_thousandths),
    )  # fmt: skip
    fields[1] = dataclasses.replace(fields[1], cell=_share_cell)
    if any(record.share_changed_rerun is not None for record in result.records):
        fields += _numbers("records", ("By a rerun", "share_changed_rerun", formats.percent))
    if any(not math.isnan(record.share_changed_profiles) for record in result.records):
        fields += _numbers(
            "records", ("Profiles among them", "share_changed_profiles", formats.percent),
            ("Profiles of all", "share_population_profiles", formats.percent),
        )  # fmt: skip
    caption = "Shares among the most changed and in the population"
    table = _table(caption, [*fields, _verdict("more common", "less common")], placed)
    intro = (
        "The most changed are ", _similarity("changed", similarity.changed, formats.count), " people, ",
        _similarity("share_reached", similarity.share_reached, formats.percent),
        " of those with a score: all who score ", _similarity("cutoff", similarity.cutoff, formats.decimal),
        " or less. If the change affected everyone alike, a group's share among them would be its share of the "
        "population, up to chance.",
    )  # fmt: skip
    return Section(
        "changed", "Who are the most changed?", (table,), intro,
        short="The most changed", essential=True,
    )  # fmt: skip


def _share_cell(index: int, record: Any) -> Cell:
    """Return the share among the most changed, with a bar."""
    bar = None if math.isnan(record.share_changed) else float(record.share_changed)
    return dataclasses.replace(_cell("records", index, record, "share_changed", formats.percent), bar=bar)


def _similarity(field: str, value: float, write: Callable[[float], str]) -> Number | str:
    return "undefined" if finite(value) is None else Number(write(value), 0, field, "similarity")


def _scores(result: CompareResult) -> Section:
    fields = _fields(
        "records", ("People", "people", formats.count), ("Mean", "mean", formats.decimal),
        ("Median", "median", formats.decimal), ("5%", "q05", formats.decimal), ("25%", "q25", formats.decimal),
        ("75%", "q75", formats.decimal), ("95%", "q95", formats.decimal),
    )  # fmt: skip
    caption = "Scores (PNKA; low is much changed): means and quantiles"
    blocks: list[Block] = [Bullets(tuple(score_words(result))), ChartBlock(("scores",))]
    blocks.append(_table(caption, fields, enumerate(result.records)))
    intro = (
        "A few people far to the left and everyone else close to 1: a few changed much. Everyone a little below 1: all "
        "changed a little."
    )
    if result.floor:
        intro += " The noise floor is the score between AFTER and an identical rerun of it: what training alone does."
        floor = _fields(
            "floor", ("People", "people", formats.count), ("Mean score", "mean", formats.decimal),
            ("Rerun", "floor_mean", formats.decimal), ("Excess", "excess", formats.signed),
            ("95% interval", "interval", formats.signed), ("p, corrected", "p_adjusted", formats.p_value),
        )  # fmt: skip
        caption = (
            "The change beside a rerun: excess is the rerun's score minus the change's, above 0 where the change is "
            "larger"
        )
        table = _table(caption, [*floor, _verdict("larger", "smaller")], enumerate(result.floor))
        blocks.append(Details(f"The noise floor of every group ({len(result.floor):,})", (table,)))
    return Section("scores", "How much did people change?", tuple(blocks), intro, short="Scores", essential=True)


def _scores_by_group(result: CompareResult) -> Section:
    return Section("groups", "Scores of each group", (ChartBlock(part_names("groups")),), short="Scores by group")


def _outcomes(result: CompareResult) -> Section:
    shifts = result.outcomes[0].mean_shift is not None
    moved: list[Spec] = [
        ("Mean change", "mean_shift", formats.signed), ("Without sign", "mean_absolute_shift", formats.digits),
    ] if shifts else [
        ("Changed", "moved", formats.count), ("Share", "share_moved", formats.percent),
    ]  # fmt: skip
    write = formats.signed if shifts else formats.points
    fields = _fields(
        "outcomes", ("People", "people", formats.count), *moved, ("Against everyone", "difference", write),
        ("95% interval", "interval", write), ("p, corrected", "p_adjusted", formats.p_value),
    )  # fmt: skip
    fields.append(_verdict("more", "less"))
    fields += [] if shifts else [Field("From → to", lambda _, record: _moves(record))]
    table = _table("Predictions before and after, by group", fields, enumerate(result.outcomes))
    blocks: list[Block] = [Bullets(tuple(outcome_words(result))), ChartBlock(("outcomes",)), table]
    if result.link is not None and not math.isnan(result.link.auc):
        blocks += [Heading("Does the score predict it?"), Paragraph(_link(result.link))]
    intro = "A representation can change while every decision stays. Here predictions before and after are compared."
    return Section("outcomes", "Whose predictions changed?", tuple(blocks), intro, short="Outcomes", essential=True)


def _moves(record: OutcomeRecord) -> Cell:
    lines: list[Text] = [
        (Name(move.before), " → ", Name(move.after), f": {formats.count(move.people)}")
        for move in record.moves[:MOST_MOVES]
    ]
    more = len(record.moves) - MOST_MOVES
    return Cell("", (*lines, *([f"and {more:,} more"] if more > 0 else [])))


def _link(link: OutcomeLink) -> Text:
    def number_of(field: str, write: Callable[[float], str]) -> Number:
        return Number(write(getattr(link, field)), 0, field, "link")

    interval = () if link.low is None or link.high is None else (
        " (95% interval ", number_of("low", formats.bare_percent), " to ", number_of("high", formats.bare_percent), ")"
    )  # fmt: skip
    verdict = "not tested" if link.finding is None else "confirmed" if link.finding else "not significant"
    p = () if link.p_adjusted is None else (", corrected p ", number_of("p_adjusted", formats.p_value))
    rank = () if math.isnan(link.rank_correlation) else (
        " Rank correlation of the two changes: ", number_of("rank_correlation", formats.signed), "."
    )  # fmt: skip
    return (
        "Of two people, one whose prediction changed and one whose did not, the first has the lower score in ",
        number_of("auc", formats.percent), " of pairs", *interval,
        f"; 50% would be chance. Verdict: {verdict}", *p, ".", *rank,
    )  # fmt: skip


def _descriptions(result: CompareResult) -> Section:
    fields = [
        Field("Who", lambda _, rule: rule.words),
        *_numbers(
            "descriptions", ("People", "people", formats.count), ("Most changed", "changed_within", formats.percent),
            ("Ratio to everyone", "lift", formats.digits), ("Share of the most changed", "covered", formats.percent),
            ("Share of everyone", "share_population", formats.percent),
            ("p, corrected", "p_adjusted", formats.p_value),
        ),
        Field("Verdict", lambda _, rule: verdict(rule.finding, Meaning.NEUTRAL), always_shown=True),
    ]  # fmt: skip
    caption = "Rules, and how they hold on the other half"
    table = record_table(caption, fields, enumerate(result.descriptions), most=MOST_ROWS, what="rules")
    intro = (
        f"A shallow tree learned rules about the most changed on one half of the {result.similarity.unit}; every "
        "number here is from the other half. A tree always returns some rule: one that is not confirmed describes "
        "nobody. Most changed is the share of those described who are among the most changed."
    )
    return Section("description", "The most changed in words", (table,), intro, short="In words")


def _projection(result: CompareResult) -> Section:
    fields = _fields(
        "projections", ("People", "people", formats.count), ("Mean before", "mean_before", formats.digits),
        ("Mean after", "mean_after", formats.digits), ("Median omega", "median_omega", formats.signed),
        ("Omega undefined", "omega_undefined", formats.count), ("Omega beyond ±10", "exploded", formats.percent),
        ("Median, bounded", "median_bounded", formats.signed),
        ("Bounded undefined", "bounded_undefined", formats.count),
    )  # fmt: skip
    table = _table("Projections of each group", fields, enumerate(result.projections))
    intro = (
        "How much of a concept the points hold, along ", Name(result.projections[0].direction),
        ". Omega = (after − before) / |before| is the relative change. It has no limit where the first projection is "
        "near 0, so its bounded form, from −1 to 1, is shown beside it.",
    )  # fmt: skip
    blocks = (Bullets(tuple(projection_words(result))), ChartBlock(("projection",)), table)
    return Section("projection", "Projection on a concept", blocks, intro, short="Projection")


def _aggregates(result: CompareResult) -> Section:
    similarity = result.similarity
    measures = [
        ("Mean PNKA", "pnka", f"{similarity.kernel} kernel"), ("CKA", "cka", f"{similarity.kernel} kernel"),
        *([] if similarity.neighbours is None else [
            ("Neighbours kept", "overlap", f"of the {similarity.neighbours:,} nearest"),
        ]),
    ]  # fmt: skip
    rows = []
    for title, field, hint in measures:
        cells = [Cell(_similarity(field, getattr(similarity, field), formats.decimal))]
        if result.floor:
            again = getattr(similarity, f"rerun_{field}")
            cells.append(Cell("undefined" if again is None else _similarity(f"rerun_{field}", again, formats.decimal)))
        rows.append(Row((Cell(title, (hint,)), *cells)))
    columns = [Column("Measure"), Column("Before and after", number=True),
               *([Column("After and its rerun", number=True)] if result.floor else [])]  # fmt: skip
    table = DataTable(
        "Similarity of the two spaces: 1 where they are the same up to rotation, shift and scale", tuple(columns),
        tuple(rows),
    )  # fmt: skip
    intro = (
        "Aggregates say how alike two spaces are overall. They are close to 1 even where a few people changed "
        "completely: read them beside the scores."
    )
    return Section("aggregates", "The two spaces in one number", (table,), intro, short="Aggregates")


def _people(result: CompareResult) -> Section:
    fields = [
        Field("Row", lambda index, person: Number(str(person.row), index, "row", "rows")),
        *([] if result.rows[0].id is None else [Field("Id", lambda _, person: Name(str(person.id)))]),
        value("Score", "score", formats.decimal, "rows"),
        *(
            Field(Name(attribute), functools.partial(_group_of, at=at))
            for at, attribute in enumerate(result.attributes[:MOST_COLUMNS])
        ),
    ]  # fmt: skip
    caption = "The lowest scores first; rows are counted from 0"
    table = record_table(caption, fields, enumerate(result.rows), most=MOST_PEOPLE, what="people")
    intro = "Listed because rows were asked for. This part is about individuals: share it only where needed."
    return Section("people", "The most changed, one by one", (table,), intro, short="One by one", essential=True)


def _group_of(_: int, person: Any, at: int) -> Text:
    return Name(person.groups[at])


def _compared(result: CompareResult) -> Section:
    similarity = result.similarity
    options = result.provenance.get("options")
    terms: list[tuple[Text, Text]] = []
    for side in ("before", "after"):
        space = options.get(side) if isinstance(options, Mapping) else None
        if isinstance(space, Mapping):
            terms.append((side, (Name(str(space["name"])), f", {plural(int(space['dimensions']), 'dimension')}")))
    people: Text = _similarity("rows", similarity.rows, formats.count)
    if similarity.undefined:
        missing = _similarity("undefined", similarity.undefined, formats.count)
        people = (*pieces(people), ", of whom ", missing, " have no score")
    terms += [("people", people), (similarity.unit, (
        _similarity("units", similarity.units, formats.count), "; tests permute scores among these"
    ))]  # fmt: skip
    placed = [item for item in enumerate(result.records) if item[1].attribute is not None]
    fields = _fields(
        "records", ("People", "people", formats.count), ("Without a score", "undefined", formats.count),
        (similarity.unit.capitalize(), "profiles", formats.count),
    )  # fmt: skip
    blocks: list[Block] = [Terms(tuple(terms))]
    if placed:
        blocks.append(_table("People of each group", fields, placed))
    intro = (
        "The same people in two spaces. A score says how alike a person's similarities to all others are before and "
        f"after (PNKA, {similarity.kernel} kernel); it is 1 where a space was only rotated, shifted or scaled as a "
        "whole."
    )
    return Section("compared", "Who was compared", tuple(blocks), intro)


def _unknown(result: CompareResult) -> Section:
    """Say what is hidden or undefined, and why; those with the same reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for source, part in PARTS.items():
        for record in getattr(result, source):
            if record.reason is not None:
                words = getattr(record, "words", None) or f"{record.attribute} {record.group}"
                overall = source != "descriptions" and record.attribute is None
                reasons.setdefault((part, record.reason), []).append("everyone" if overall else words)
    lines = [f"{part} of {listing(whom, 6)}: {reason}." for (part, reason), whom in reasons.items()]
    if result.link is not None and result.link.reason is not None:
        lines.append(f"Whether the score predicts whose prediction changed: {result.link.reason}.")
    block: Block = Bullets(tuple(lines)) if lines else Paragraph("Every number that was asked for could be computed.")
    return Section("untold", "What could not be computed, and why", (block,), short="Not known")
