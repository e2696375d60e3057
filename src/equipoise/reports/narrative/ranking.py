"""What an audit of a ranking says: who is in the top k, who gets the exposure, and whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.audits.ranking import RankingResult
from equipoise.foundation import (
    listing,
    plural,
    points,
    report,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Cell,
    ChartBlock,
    DataTable,
    Details,
    Document,
    Meaning,
    Name,
    Paragraph,
    Piece,
    Section,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._records import (
    MeasureText,
    Placed,
    Subject,
    add_measure_texts,
    groups_of,
    interval,
    lower_bound,
    meaning_of,
    measure_cell,
    name_of,
    number,
    span,
    subjects_of,
    title_of,
    value_cell,
    verdict,
)
from equipoise.reports.narrative._outcomes import contrast_table, glossary_table
from equipoise.reports.narrative._report import (
    NOT_SIGNIFICANT,
    About,
    Field,
    Report,
    Story,
    by_reason,
    compared_groups,
    corrected,
    document_provenance,
    matrix,
    part_names,
    quiet,
    record_table,
    value,
)
from equipoise.results import Record, Status

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

EXTREMES, LOWEST = "max - min over groups", "min / max over groups"
add_measure_texts({
    "selection_at_k": MeasureText(
        "Selection at top k", "how many of the group are among the first k", "high", share=True,
        formula="|{i in g: rank_i <= k}| / |g|",
    ),
    "selection_at_k_difference": MeasureText(
        "Selection gap", "largest difference of selection at top k", "low", share=True, formula=EXTREMES
    ),
    "selection_at_k_ratio": MeasureText(
        "Selection ratio", "lowest selection at top k over the highest; 1 is parity", "high", formula=LOWEST
    ),
    "exposure": MeasureText(
        "Exposure", "mean attention of a person by the place in the ranking", "high",
        formula="mean over g of 1 / log2(1 + rank)",
    ),
    "exposure_difference": MeasureText("Exposure gap", "largest difference of exposure", "low", formula=EXTREMES),
    "exposure_ratio": MeasureText(
        "Exposure ratio", "lowest exposure over the highest; 1 is parity", "high", formula=LOWEST
    ),
    "exposure_beyond_merit": MeasureText(
        "Exposure beyond merit", "exposure of a person, less what a division by relevance would give", "high",
        formula="mean over g of exposure - relevance x (sum of exposure / sum of relevance)",
    ),
    "exposure_beyond_merit_difference": MeasureText(
        "Gap of exposure beyond merit", "largest difference of exposure beyond merit", "low", formula=EXTREMES
    ),
    "people_share": MeasureText(
        "Share of people", "the group's share of the rows", "none", share=True, formula="|g| / n"
    ),
    "exposure_share": MeasureText(
        "Share of exposure", "the group's share of all exposure", "none", share=True,
        formula="sum of exposure in g / sum of exposure",
    ),
    "merit_share": MeasureText(
        "Share of merit", "the group's share of all relevance", "none", share=True,
        formula="sum of relevance in g / sum of relevance",
    ),
    "exposure_per_merit": MeasureText(
        "Exposure per merit", "share of exposure over share of merit; 1 is in proportion", "high",
        formula="share of exposure / share of merit",
    ),
    "exposure_per_merit_ratio": MeasureText(
        "Ratio of exposure per merit", "lowest exposure per merit over the highest (disparate treatment ratio)", "high",
        formula=LOWEST,
    ),
})  # fmt: skip

# The order in which measures are read.
ORDER = ("selection_at_k", "exposure", "exposure_beyond_merit")
SHARES = ("people_share", "exposure_share", "merit_share", "exposure_per_merit")
PICTURE, CONTRASTS = "main", "contrasts"
MOST_SUBJECTS, MOST_UNCONFIRMED = 6, 8
OF_ONE_RANKING = (
    "Tests permute the groups over the rows of one ranking. They tell whether places are related to groups, not what "
    "another ranking would show."
)
OF_QUERIES = (
    "Intervals and tests take queries as the sample: would other queries of the same kind give the same result?"
)


@report("ranking")
class RankingReport(Report):
    """The report of an audit of a ranking."""

    def document(self, result: RankingResult) -> Document:
        """Return everything that is said about a ranking."""
        story = ranking_story(result)
        return Document(
            title=("Fairness of the ranking in ", str(result.provenance.get("data"))),
            facts=f"{plural(result.rows, 'row')} in {_rankings(result)}, cut at {', '.join(result.tops)}.",
            answer=story.answer,
            context=story.context,
            meaning=Meaning.WORSE if story.has_findings else Meaning.QUIET,
            lead=story.confirmed(),
            picture=PICTURE,
            tiles=_tiles(result),
            inconclusive=story.open(),
            caution=f"{NOT_CERTIFIED} {OF_ONE_RANKING if result.queries == 1 else OF_QUERIES}",
            sections=tuple(_sections(result)),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.ranking"),
        )

    def parts(self, result: RankingResult) -> Parts:
        """Draw the contrasts."""
        from equipoise.reports.charts.forest import forest, main_forest

        yield PICTURE, [main_forest(result, ORDER[:2])]
        yield CONTRASTS, (forest(result, subject) for subject in subjects_of(result)[:MOST_SUBJECTS])


def _rankings(result: RankingResult) -> str:
    return "one ranking" if result.queries == 1 else plural(result.queries, "query", "queries")


def _placed(result: RankingResult, kinds: Sequence[str]) -> list[Placed]:
    return [(index, record) for index, record in enumerate(result.records) if record.kind in kinds]


def _reading_order(record: Record) -> tuple[int, str]:
    return (ORDER.index(record.measure) if record.measure in ORDER else len(ORDER), record.label or "")


def ranking_story(result: RankingResult) -> Story:
    """Tell a ranking: the widest confirmed difference first, then attribute by attribute."""
    significant = [record for record in result.contrasts if record.finding]
    significant.sort(key=lambda record: (_reading_order(record)[0], -abs(record.value)))
    about = []
    for subject in subjects_of(result):
        contrasts = [record for record in result.contrasts if subject.has(record)]
        silent = [f"{_called(r)} of {r.group}" for r in contrasts if r.finding is False and not r.equivalent]
        small = [(r.reason, str(r.group)) for r in contrasts if r.status == Status.TOO_SMALL]
        confirmed = tuple(_sentence(result, record) for record in significant[1:] if subject.has(record))
        unshown = [f"{NOT_SIGNIFICANT}: {listing(silent, MOST_UNCONFIRMED)}."] if silent else []
        about.append(About(subject.title, confirmed, (*unshown, *by_reason(small))))
    if significant:
        sentence = _sentence(result, significant[0], f" ({Subject(significant[0].attribute).title})")
        return Story(sentence, tuple(about))
    return Story(_nothing(result), tuple(about), has_findings=False)


def _called(record: Record) -> str:
    """Name what differs: the places at the top, or exposure."""
    return f"selection in the {record.label}" if record.measure == "selection_at_k" else name_of(record.measure)


def _mean(result: RankingResult, record: Record, group: str | None) -> Record | None:
    """Return a group's value of what a contrast is about."""
    same = (record.attribute, record.measure, record.label)
    records = [record for record in result.records if record.kind in ("rate", "value") and record.group == group
             and (record.attribute, record.measure, record.label) == same]  # fmt: skip
    return records[0] if records and records[0].defined else None


def _sentence(result: RankingResult, record: Record, about: str = "") -> Text:
    """Say one confirmed difference: who, by how much, compared with whom."""
    index = result.records.index(record)
    shares = record.measure == "selection_at_k"
    more, way = ("more", "higher") if record.value > 0 else ("less", "lower")
    quantity = {
        "selection_at_k": f"A place in the {record.label} is {more} common ", "exposure": f"Exposure is {way} ",
    }.get(record.measure, f"Exposure beyond merit is {way} ")  # fmt: skip
    mean = _mean(result, record, record.group)
    values = ""
    if mean is not None and record.measure != "exposure_beyond_merit":
        other, reference = mean.value - record.value, _mean(result, record, record.against)
        # Over queries a difference is taken where both are: it is told with values only where they agree with it.
        if result.queries == 1 or (reference is not None and abs(reference.value - other) < 1e-9):
            write = formats.percent if shares else formats.decimal
            values = f": {write(mean.value)} against {write(other)}"
    numbers: tuple[Piece, ...] = ()
    if record.low is not None and record.high is not None:
        signed = formats.points if shares else formats.signed_thousandths
        before, between = (" (difference ", ", ") if values else (": a difference of ", " (")
        numbers = (
            before, *pieces(number(index, record.value, signed)), " points" if shares else "",
            f"{between}{formats.interval_name(record.level)} ",
            *pieces(span(index, record.low, record.high, signed)), ")",
        )  # fmt: skip
    compared = compared_groups(record.attribute, record.group, record.against, "than", about)
    return (quantity, *compared, values, *numbers, ".")


def _nothing(result: RankingResult) -> str:
    tested = [record for record in result.contrasts if record.p is not None]
    if not tested:
        return "No difference between groups could be tested."
    selection = [power for power in result.power if power.measure == "selection_at_k"]
    sharpest = min(selection, default=None, key=lambda power: power.detectable)
    more = "" if sharpest is None else (
        f" A difference of {points(sharpest.detectable)} in the {sharpest.label} would probably have been detected "
        "(80% power)."
    )  # fmt: skip
    return f"No difference between groups is confirmed in {plural(len(tested), 'test')}.{more}"


def _tiles(result: RankingResult) -> tuple[Tile, ...]:
    tested = [record for record in result.contrasts if record.p is not None]
    confirmed = sum(bool(record.finding) for record in tested)
    ratios = [record for record in result.gaps if record.measure == "exposure_ratio" and record.defined]
    lowest = min(ratios, key=lambda record: record.value, default=None)
    small = sum(record.status == Status.TOO_SMALL for record in result.contrasts)
    return (
        Tile("lowest exposure ratio", "undefined" if lowest is None else formats.decimal(lowest.value),
             Meaning.WORSE if lowest is not None and lowest.finding else None,
             "" if lowest is None else (Name(str(lowest.group)), " against ", Name(str(lowest.against)))),
        Tile("differences confirmed", f"{confirmed:,} of {len(tested):,}", Meaning.NEUTRAL if confirmed else None,
             "significant after correction" if tested else "none was tested"),
        Tile("not tested", f"{small:,}", None, "too few people or queries"),
        Tile("rows", formats.count(result.rows), None, _rankings(result)),
    )  # fmt: skip


def _sections(result: RankingResult) -> Iterator[Section]:
    averaging = "within each query, averaged over queries" if result.queries > 1 else "over its rows"
    placed = [item for item in _placed(result, ("rate", "value")) if item[1].measure in ORDER]
    tables = tuple(_means(subject, placed) for subject in subjects_of(result))
    yield Section(
        "rates", "Selection and exposure of each group", tables, f"The mean of each group, {averaging}, with its 95% "
        "interval below it.", short="Groups", essential=True,
    )  # fmt: skip
    yield _gaps_section(result)
    yield _contrasts_section(result)
    yield _shares_section(result)
    if result.power:
        yield _power_section(result)
    measures = dict.fromkeys(record.measure for record in result.records if record.kind != "count")
    source = Paragraph("Exposure and merit follow Singh and Joachims (2018), Fairness of Exposure in Rankings.")
    glossary = glossary_table([(name, title_of(name)) for name in measures], None, "g is a group; ties share ranks")
    yield Section("measures", "What the measures mean", (glossary, source), short="Measures")


def _means(subject: Subject, placed: Sequence[Placed]) -> DataTable:
    subject_records = [item for item in placed if subject.has(item[1])]
    cells = {(r.group, (r.measure, r.label)): value_cell(index, r, interval(index, r)) for index, r in subject_records}
    columns = {
        (r.measure, r.label): title_of(r.measure) if r.label is None else f"In the {r.label}" for _,
        r in subject_records
    }  # fmt: skip
    return matrix(subject.title, groups_of(subject_records), columns, cells)


def _gaps_section(result: RankingResult) -> Section:
    fields = (
        Field("Measure", lambda _, r: measure_cell(r)), Field("By", lambda _, r: Subject(r.attribute).title),
        Field("Value", value_cell, True), Field("At least", lower_bound, True), corrected(),
        Field("Verdict", lambda _, r: verdict(r.finding, meaning_of(r))),
        Field("Lowest group", lambda _, r: Name(r.group) if r.group else ""),
        Field("Highest group", lambda _, r: Name(r.against) if r.against else str(r.reason or "")),
    )  # fmt: skip
    intro = (
        "The largest difference of any two groups, and the lowest value over the highest. A largest difference is "
        "above 0 by chance alone, so it is compared with what chance gives, and shown with a lower bound."
    )
    caption = "Largest differences and lowest ratios"
    table = record_table(caption, fields, _placed(result, ("gap", "ratio")), what="gaps")
    return Section("gaps", "Gaps in one number", (table,), intro, short="Gaps", essential=True)


def _contrasts_section(result: RankingResult) -> Section:
    placed = sorted(
        _placed(result, ("contrast",)), key=lambda item: (item[1].finding is not True, _reading_order(item[1]))
    )
    table = contrast_table("Differences, confirmed ones first; shares in percentage points", placed)
    intro = (
        "Each difference is a group's mean minus that of those it is compared with. All tests of this report are "
        "corrected together (Benjamini-Hochberg), and intervals are widened to agree with the verdicts."
    )
    folded = Details(f"All contrasts as a table ({len(placed):,})", (table,))
    blocks = (ChartBlock(part_names(CONTRASTS)), folded)
    return Section(CONTRASTS, "Contrasts between groups", blocks, intro, short="Contrasts")


def _shares_section(result: RankingResult) -> Section:
    placed = [item for item in _placed(result, ("value",)) if item[1].measure in SHARES]
    columns = {name: title_of(name) for name in SHARES if any(record.measure == name for _, record in placed)}
    tables = []
    for subject in subjects_of(result):
        shares = {(record.group, record.measure): (index, record) for index, record in placed if subject.has(record)}
        groups = list(dict.fromkeys(group for group, _ in shares))
        cells = {key: _share(*entry) for key, entry in shares.items()}
        tables.append(matrix(subject.title, groups, columns, cells, number=True))
    intro = (
        "A group whose share of exposure is below its share of people is seen less than its size would give. With "
        "relevance, exposure per merit is 1 where exposure is in proportion to it."
    )
    return Section("shares", "Shares of people, exposure and merit", tuple(tables), intro, short="Shares")


def _share(index: int, record: Record) -> Cell:
    if not record.defined:
        return quiet(str(record.reason or record.status))
    write = formats.decimal if record.measure == "exposure_per_merit" else formats.percent
    return Cell(number(index, record.value, write))


def _power_section(result: RankingResult) -> Section:
    gap = next((power.gap for power in result.power if power.gap is not None), None)

    def smallest(index: int, power: Any) -> Text:
        write = formats.bare_percent if power.measure == "selection_at_k" else formats.decimal
        return number(index, power.detectable, write, "detectable", "power")

    fields = [
        Field("Group", lambda _, power: Cell(Name(power.group), (Subject(power.attribute).title,))),
        Field("Compared with", lambda _, power: Name(power.against)),
        Field("Measure", lambda _, power: Cell(title_of(power.measure), (power.label,) if power.label else ())),
        Field("Smallest difference detected", smallest, True),
    ]  # fmt: skip
    if gap is not None:
        title = f"Times as many people for {gap:g}"
        fields.append(value(title, "times_as_many", formats.decimal, "power", unknown=""))
    caption = "Smallest difference that would be detected 8 times in 10"
    table = record_table(caption, fields, enumerate(result.power), what="contrasts")
    intro = "At the level that decides here. A smaller difference may exist and stay undetected."
    return Section("power", "What this many rows could show", (table,), intro, short="Power")
