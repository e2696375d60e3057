"""What an audit of a ranking says: who is in the top k, who gets the exposure, and whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from equipoise.audits.ranking import RankingResult
from equipoise.foundation.registry import report
from equipoise.foundation.text import plural
from equipoise.reports import formats
from equipoise.reports._cells import (
    interval,
    limited_table,
    lower_bound,
    meaning_of,
    measure_cell,
    number,
    p_value,
    record_verdict,
    span,
    value_cell,
    value_text,
    verdict,
    who,
)
from equipoise.reports._document import (
    Block,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Document,
    Meaning,
    Name,
    Paragraph,
    Piece,
    Row,
    Section,
    Statements,
    Text,
    Tile,
    pieces,
)
from equipoise.reports._provenance import NOT_CERTIFIED, document_provenance
from equipoise.reports._report import Report
from equipoise.reports.measure_words import Words, add_words, formula_of, title_of
from equipoise.reports.measure_words import meaning_of as words_of
from equipoise.reports.subjects import Placed, Subject, groups_of, subjects_of
from equipoise.results import Record, Status

if TYPE_CHECKING:
    from equipoise.reports.charts.chart import Chart

EXTREMES, LOWEST = "max - min over groups", "min / max over groups"
add_words({
    "selection_at_k": Words(
        "Selection at top k", "how many of the group are among the first k", "high", share=True,
        formula="|{i in g: rank_i <= k}| / |g|",
    ),
    "selection_at_k_difference": Words(
        "Selection gap", "largest difference of selection at top k", "low", share=True, formula=EXTREMES
    ),
    "selection_at_k_ratio": Words(
        "Selection ratio", "lowest selection at top k over the highest; 1 is parity", "high", formula=LOWEST
    ),
    "exposure": Words(
        "Exposure", "mean attention of a person by the place in the ranking", "high",
        formula="mean over g of 1 / log2(1 + rank)",
    ),
    "exposure_difference": Words("Exposure gap", "largest difference of exposure", "low", formula=EXTREMES),
    "exposure_ratio": Words("Exposure ratio", "lowest exposure over the highest; 1 is parity", "high", formula=LOWEST),
    "exposure_beyond_merit": Words(
        "Exposure beyond merit", "exposure of a person, less what a division by relevance would give", "high",
        formula="mean over g of exposure - relevance x (sum of exposure / sum of relevance)",
    ),
    "exposure_beyond_merit_difference": Words(
        "Gap of exposure beyond merit", "largest difference of exposure beyond merit", "low", formula=EXTREMES
    ),
    "people_share": Words("Share of people", "the group's share of the rows", "none", share=True, formula="|g| / n"),
    "exposure_share": Words(
        "Share of exposure", "the group's share of all exposure", "none", share=True,
        formula="sum of exposure in g / sum of exposure",
    ),
    "merit_share": Words(
        "Share of merit", "the group's share of all relevance", "none", share=True,
        formula="sum of relevance in g / sum of relevance",
    ),
    "exposure_per_merit": Words(
        "Exposure per merit", "share of exposure over share of merit; 1 is in proportion", "high",
        formula="share of exposure / share of merit",
    ),
    "exposure_per_merit_ratio": Words(
        "Ratio of exposure per merit", "lowest exposure per merit over the highest (disparate treatment ratio)", "high",
        formula=LOWEST,
    ),
})  # fmt: skip

# The order in which measures are read.
ORDER = ("selection_at_k", "exposure", "exposure_beyond_merit")
SHARES = ("people_share", "exposure_share", "merit_share", "exposure_per_merit")
PICTURE, CONTRASTS = "main", "contrasts"
MOST_SUBJECTS = 6
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
        confirmed = _confirmed(result)
        first = confirmed[0] if confirmed else None
        return Document(
            title=("Fairness of the ranking in ", str(result.provenance.get("data"))),
            facts=_facts(result),
            answer=_nothing(result) if first is None else _headline(result, first[1]),
            meaning=Meaning.QUIET if first is None else Meaning.WORSE,
            lead=tuple(_lead(result, confirmed[1:])),
            picture=PICTURE,
            tiles=_tiles(result),
            inconclusive=tuple(_open(result)),
            caution=f"{NOT_CERTIFIED} {OF_ONE_RANKING if result.queries == 1 else OF_QUERIES}",
            sections=tuple(_sections(result)),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.ranking"),
        )

    def charts(self, result: RankingResult) -> Mapping[str, Chart]:
        """Draw the contrasts."""
        from equipoise.reports.charts.forest import forest, main_forest

        drawn = {PICTURE: main_forest(result, ORDER[:2])}
        drawn |= {
            name: forest(result, subject)
            for name, subject in zip(_chart_names(result), subjects_of(result), strict=False)
        }
        return {name: chart for name, chart in drawn.items() if chart is not None}


def _chart_names(result: RankingResult) -> tuple[str, ...]:
    number = min(len(subjects_of(result)), MOST_SUBJECTS)
    return tuple(CONTRASTS if place == 1 else f"{CONTRASTS}_{place}" for place in range(1, number + 1))


def _facts(result: RankingResult) -> str:
    rankings = "one ranking" if result.queries == 1 else plural(result.queries, "query", "queries")
    return f"{plural(result.rows, 'row')} in {rankings}, cut at {', '.join(result.tops)}."


def _placed(result: RankingResult, kinds: Sequence[str]) -> list[Placed]:
    return [(place, record) for place, record in enumerate(result.records) if record.kind in kinds]


def _reading_order(record: Record) -> tuple[int, str]:
    return (ORDER.index(record.measure) if record.measure in ORDER else len(ORDER), record.label or "")


def _confirmed(result: RankingResult) -> list[Placed]:
    """Return the confirmed contrasts, the widest for its value first within the order of reading."""
    found = [item for item in _placed(result, ("contrast",)) if item[1].finding]
    return sorted(found, key=lambda item: (_reading_order(item[1])[0], -abs(item[1].value)))


def _value(result: RankingResult, record: Record, group: str | None) -> Record | None:
    found = [
        one for one in result.records
        if one.kind in ("rate", "value") and one.group == group and one.attribute == record.attribute
        and one.measure == record.measure and one.label == record.label
    ]  # fmt: skip
    return found[0] if found and found[0].defined else None


def _write(record: Record, value: float) -> str:
    return formats.percent(value) if record.measure == "selection_at_k" else formats.decimal(value)


def _sentence(result: RankingResult, record: Record) -> Text:
    """Say one confirmed difference: who, by how much, against whom."""
    place = result.records.index(record)
    own = _value(result, record, record.group)
    more = "more" if record.value > 0 else "less"
    if record.measure == "selection_at_k":
        opening: tuple[str | Name, ...] = (Name(str(record.group)), f" is {more} often in the {record.label} than ")
    elif record.measure == "exposure":
        opening = (Name(str(record.group)), f" gets {more} exposure than ")
    else:
        opening = (Name(str(record.group)), f" gets {more} exposure for its merit than ")
    values: tuple[str, ...] = ()
    if own is not None and record.measure != "exposure_beyond_merit":
        other, shown = own.value - record.value, _value(result, record, record.against)
        # Over queries a difference is taken where both are: it is told with values only where they agree with it.
        if result.queries == 1 or (shown is not None and abs(shown.value - other) < 1e-9):
            values = (": ", _write(record, own.value), " against ", _write(record, other))
    write = formats.points if record.measure == "selection_at_k" else formats.signed_thousandths
    unit = " points" if record.measure == "selection_at_k" else ""
    ends: tuple[Piece, ...] = ()
    if record.low is not None and record.high is not None:
        level = 100 * (record.level or 0.95)
        ends = (
            " (difference ", *pieces(number(place, record.value, write)), f"{unit}, {level:.4g}% interval ",
            *pieces(span(place, record.low, record.high, write)), ")",
        )  # fmt: skip
    return (*opening, Name(str(record.against)), *values, *ends, ".")


def _headline(result: RankingResult, record: Record) -> Text:
    return ("By ", Name(Subject(record.attribute).title), ", ", *pieces(_sentence(result, record)))


def _nothing(result: RankingResult) -> str:
    tested = [record for record in result.contrasts if record.p is not None]
    if not tested:
        return "No difference between groups could be tested."
    sharpest = min((power for power in result.power if power.measure == "selection_at_k"), default=None,
                   key=lambda power: power.detectable)  # fmt: skip
    more = (
        "" if sharpest is None
        else f" One of {100 * sharpest.detectable:.1f} points in the {sharpest.label} would have been detected."
    )  # fmt: skip
    return f"No significant difference between groups in {plural(len(tested), 'test')} after correction.{more}"


def _lead(result: RankingResult, confirmed: Sequence[Placed]) -> Iterator[Statements]:
    for subject in subjects_of(result):
        own = [record for _, record in confirmed if subject.has(record)]
        if own:
            yield Statements(Name(subject.title), tuple(_sentence(result, record) for record in own))


def _open(result: RankingResult) -> Iterator[Statements]:
    """Yield what is not known: differences that are not significant, and groups that are too small."""
    for subject in subjects_of(result):
        own = [record for record in result.contrasts if subject.has(record)]
        items: list[Text] = []
        for measure in ORDER:
            silent = [r for r in own if r.measure == measure and r.finding is False and not r.equivalent]
            if silent:
                groups = dict.fromkeys(str(record.group) for record in silent)
                items.append(f"{title_of(measure)}: no significant difference for {', '.join(groups)}.")
        reasons: dict[tuple[str, str], None] = {
            (str(record.group), str(record.reason)): None for record in own if record.status == Status.TOO_SMALL
        }
        items += [(Name(group), f" was not tested: {reason}.") for group, reason in reasons]
        if items:
            yield Statements(Name(subject.title), tuple(items))


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
        Tile("differences confirmed", f"{confirmed:,} of {len(tested):,}", Meaning.WORSE if confirmed else None,
             "significant after correction" if tested else "none was tested"),
        Tile("not tested", f"{small:,}", None, "too few people or queries"),
        Tile("rows", formats.count(result.rows), None,
             "one ranking" if result.queries == 1 else plural(result.queries, "query", "queries")),
    )  # fmt: skip


def _sections(result: RankingResult) -> Iterator[Section]:
    yield _values_section(result)
    yield _gaps_section(result)
    yield _contrasts_section(result)
    yield _shares_section(result)
    if result.power:
        yield _power_section(result)
    yield _glossary(result)


def _values_section(result: RankingResult) -> Section:
    blocks: list[Block] = []
    placed = [item for item in _placed(result, ("rate", "value")) if item[1].measure in ORDER]
    for subject in subjects_of(result):
        own = [item for item in placed if subject.has(item[1])]
        columns = list(dict.fromkeys((record.measure, record.label) for _, record in own))
        cells = {
            (record.group, record.measure, record.label): value_cell(place, record, interval(place, record))
            for place, record in own
        }
        rows = [
            Row((Cell(Name(group)), *(cells.get((group, *column), Cell("–")) for column in columns)))
            for group in groups_of(own)
        ]
        heads = [Column(title_of(measure) if label is None else f"In the {label}") for measure, label in columns]
        blocks.append(limited_table(subject.title, (Column("Group"), *heads), rows, what="groups"))
    how = "within each query, averaged over queries" if result.queries > 1 else "over its rows"
    intro = f"The mean of each group, {how}, with its 95% interval below it."
    return Section(
        "rates", "Selection and exposure of each group", tuple(blocks), intro, short="Groups", essential=True
    )


def _gaps_section(result: RankingResult) -> Section:
    placed = _placed(result, ("gap", "ratio"))
    rows = [
        Row((measure_cell(r), Cell(Subject(r.attribute).title), value_cell(p, r), Cell(lower_bound(p, r)),
             Cell(p_value(p, r.p_adjusted)), verdict(r.finding, meaning_of(r)), Cell(Name(r.group) if r.group else ""),
             Cell(Name(r.against) if r.against else str(r.reason or ""))))
        for p, r in placed
    ]  # fmt: skip
    columns = (
        Column("Measure"), Column("By"), Column("Value", number=True), Column("At least", number=True),
        Column("p, corrected", number=True), Column("Verdict"), Column("Lowest group"), Column("Highest group"),
    )  # fmt: skip
    intro = (
        "The largest difference of any two groups, and the lowest value over the highest. A largest difference is "
        "above 0 by chance alone, so it is compared with what chance gives, and shown with a lower bound."
    )
    table = limited_table("Largest differences and lowest ratios", columns, rows, what="gaps")
    return Section("gaps", "Gaps in one number", (table,), intro, short="Gaps", essential=True)


def _contrasts_section(result: RankingResult) -> Section:
    placed = sorted(
        _placed(result, ("contrast",)), key=lambda item: (item[1].finding is not True, _reading_order(item[1]))
    )
    rows = [
        Row((who(r), Cell(Name(str(r.against))), measure_cell(r), Cell(value_text(p, r)), Cell(interval(p, r)),
             Cell(p_value(p, r.p_adjusted)), record_verdict(r)))
        for p, r in placed
    ]  # fmt: skip
    columns = (
        Column("Group"), Column("Compared with"), Column("Measure"), Column("Difference", number=True),
        Column("Interval", number=True), Column("p, corrected", number=True), Column("Verdict"),
    )  # fmt: skip
    table = limited_table(
        "Differences, confirmed ones first; shares in percentage points", columns, rows, what="contrasts"
    )
    intro = (
        "Each difference is a group's mean minus that of those it is compared with. All tests of this report are "
        "corrected together (Benjamini-Hochberg), and intervals are widened to agree with the verdicts."
    )
    folded = Details(f"All contrasts as a table ({len(placed):,})", (table,))
    blocks = (ChartBlock(_chart_names(result)), folded)
    return Section(CONTRASTS, "Contrasts between groups", blocks, intro, short="Contrasts")


def _shares_section(result: RankingResult) -> Section:
    blocks: list[Block] = []
    placed = [item for item in _placed(result, ("value",)) if item[1].measure in SHARES]
    measures = [name for name in SHARES if any(record.measure == name for _, record in placed)]
    for subject in subjects_of(result):
        own = {(record.group, record.measure): (place, record) for place, record in placed if subject.has(record)}
        groups = dict.fromkeys(group for group, _ in own)
        rows = [
            Row((Cell(Name(str(group))), *(
                _share(*own[group, measure]) if (group, measure) in own else Cell("–") for measure in measures
            )))
            for group in groups
        ]  # fmt: skip
        columns = (Column("Group"), *(Column(title_of(name), number=True) for name in measures))
        blocks.append(limited_table(subject.title, columns, rows, what="groups"))
    intro = (
        "A group whose share of exposure is below its share of people is seen less than its size would give. With "
        "relevance, exposure per merit is 1 where exposure is in proportion to it."
    )
    return Section("shares", "Shares of people, exposure and merit", tuple(blocks), intro, short="Shares")


def _share(place: int, record: Record) -> Cell:
    if not record.defined:
        return Cell(str(record.reason or record.status), meaning=Meaning.QUIET)
    write = formats.decimal if record.measure == "exposure_per_merit" else formats.percent
    return Cell(number(place, record.value, write))


def _power_section(result: RankingResult) -> Section:
    gap = next((power.gap for power in result.power if power.gap is not None), None)
    columns = [
        Column("Group"),
        Column("Compared with"),
        Column("Measure"),
        Column("Smallest difference detected", number=True),
    ]
    if gap is not None:
        columns.append(Column(f"Times as many people for {gap:g}", number=True))
    rows = []
    for place, power in enumerate(result.power):
        write = formats.bare_percent if power.measure == "selection_at_k" else formats.decimal
        cells = [
            Cell(Name(power.group), (Subject(power.attribute).title,)), Cell(Name(power.against)),
            Cell(title_of(power.measure), () if power.label is None else (power.label,)),
            Cell(number(place, power.detectable, write, "detectable", "power")),
        ]  # fmt: skip
        if gap is not None:
            cells.append(Cell(number(place, power.times_as_many, formats.decimal, "times_as_many", "power")))
        rows.append(Row(tuple(cells)))
    table = limited_table("Smallest difference that would be detected 8 times in 10", columns, rows, what="contrasts")
    intro = "At the level that decides here. A smaller difference may exist and stay undetected."
    return Section("power", "What this many rows could show", (table,), intro, short="Power")


def _glossary(result: RankingResult) -> Section:
    measures = dict.fromkeys(record.measure for record in result.records if record.kind != "count")
    rows = [Row((Cell(title_of(name)), Cell(words_of(name, None)), Cell(formula_of(name)))) for name in measures]
    columns = (Column("Measure"), Column("In words"), Column("Formula"))
    table = DataTable("g is a group; ties share their ranks", columns, tuple(rows))
    source = Paragraph("Exposure and merit follow Singh and Joachims (2018), Fairness of Exposure in Rankings.")
    return Section("measures", "What the measures mean", (table, source), short="Measures")
