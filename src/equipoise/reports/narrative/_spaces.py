"""The parts of a report that only an embedding has: values, gaps, leakage, downstream and propagation."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from equipoise.audits import AuditResult
from equipoise.audits.downstream import DownstreamRecord
from equipoise.audits.leakage import LeakageRecord
from equipoise.foundation.text import plural
from equipoise.reports import formats
from equipoise.reports._cells import (
    counts,
    everyone_or,
    interval,
    known,
    limited_table,
    number,
    p_value,
    record_verdict,
    span,
    verdict,
)
from equipoise.reports._document import (
    MOST_ROWS,
    Block,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Meaning,
    Name,
    Row,
    Section,
    Terms,
    Text,
    pieces,
)
from equipoise.reports._measure_words import better_end, meaning_of
from equipoise.reports._spaces import (
    CHANCE,
    NMI,
    ORIENTED,
    RULES,
    VALUES,
    first_of,
    gaps_of,
    learner_title,
    main_gaps,
    majoritised,
    map_caution,
    said_by,
    space_order,
    value_title,
    values_of,
)
from equipoise.reports._subjects import Placed, Subject, groups_of, subjects_of
from equipoise.reports.narrative._outcomes import most_groups
from equipoise.results import Record, Status

GAP_COLUMNS = (
    Column("Value", number=True), Column("95% interval", number=True), Column("p, corrected", number=True),
    Column("Verdict"),
)  # fmt: skip


def space_sections(result: AuditResult, charts: dict[str, tuple[str, ...]]) -> Iterator[Section]:
    """Yield the parts about an embedding; ``charts`` are the names of the charts of each part."""
    subjects = subjects_of(result)
    yield _gaps(result, subjects)
    yield _values(result, subjects, charts["values"])
    if result.leakage:
        yield _leakage(result, charts["leakage"])
    if result.downstream:
        yield _downstream(result, charts["downstream"])
    if result.propagation:
        yield _propagation(result, charts["propagation"])
    if result.map is not None:
        intro = (
            f"A picture to look at, not a measurement: no number here was computed from it. {map_caution(result)} "
            "Colour and shape tell the same."
        )
        yield Section("map", "The space on a plane", (ChartBlock(charts["map"]),), intro, short="Map")


def _values(result: AuditResult, subjects: Sequence[Subject], charts: tuple[str, ...]) -> Section:
    defined = {record.measure for subject in subjects for _, record in values_of(result, subject) if record.defined}
    measures = [name for name in VALUES if name in defined]
    everyone = values_of(result, None)
    most = most_groups(len(subjects))
    tables: list[Block] = []
    for subject in subjects:
        own = values_of(result, subject)
        groups = groups_of(own)
        rows = [
            Row(
                (Cell(everyone_or(group)),
                 *(_value(own if group is not None else everyone, measure, group) for measure in measures)),
                emphasis=group is None,
            )
            for group in [None, *groups[:most]]
        ]  # fmt: skip
        columns = (Column("Group"), *(Column(value_title(result, name)) for name in measures))
        tables.append(DataTable(subject.title, columns, tuple(rows), len(groups), "groups"))
    terms = tuple(
        (value_title(result, name), f"{meaning_of(name, None)} ({better_end(name)} is better)") for name in measures
    )
    return Section(
        "values", "How good the space is for each group",
        (*tables, Details("What these numbers mean", (Terms(terms),)), ChartBlock(charts)),
        "Neighbours are looked for among everybody; a group's number is that of its own rows. Below a value "
        "are the counts of a rate, the chance level of NMI, and the 95% interval.", short="Values", essential=True,
    )  # fmt: skip


def _value(placed: Sequence[Placed], measure: str, group: str | None) -> Cell:
    found = first_of(placed, measure, group)
    if found is None:
        return Cell("–")
    place, record = found
    if not record.defined:
        return Cell(record.status, meaning=Meaning.QUIET)
    chance = first_of(placed, CHANCE, group) if measure == NMI else None
    below: list[Text] = [counts(place, record)]
    if chance is not None and chance[1].defined:
        below.append(("chance ", *pieces(_number(*chance))))
    below.append(_interval(place, record))
    if record.status == Status.TOO_SMALL:
        below.append(str(record.reason or "too few rows"))
    return Cell(_number(place, record), tuple(line for line in below if line))


def _number(place: int, record: Record) -> Text:
    return number(place, record.value, formats.percent if record.kind == "rate" else formats.fine)


def _interval(place: int, record: Record) -> Text:
    return interval(place, record, formats.bare_percent if record.kind == "rate" else formats.fine)


def _gaps(result: AuditResult, subjects: Sequence[Subject]) -> Section:
    tables: list[Block] = [_gap_table(result, subject) for subject in subjects]
    placed = [
        item for subject in subjects
        for item in sorted(gaps_of(result, subject), key=lambda item: (space_order(item[1].measure), item[0]))
    ]  # fmt: skip
    tested = [record for _, record in placed if record.p_adjusted is not None]
    confirmed = sum(bool(record.finding) for record in tested)
    rows = [
        Row((Cell(value_title(result, r.measure), (Subject(r.attribute, r.split).title,)),
             Cell(RULES.get(r.variant, r.variant)), *_gap_cells(p, r), record_verdict(r)))
        for p, r in placed[:MOST_ROWS]
    ]  # fmt: skip
    every = limited_table(
        "Every gap by every rule; the paper's sign is majoritised minus minoritised whichever end is better, and is "
        "not tested a second time. The correction is for all that were tested",
        (Column("Gap in"), Column("Rule"), *GAP_COLUMNS), rows, total=len(placed), what="gaps",
    )  # fmt: skip
    of = f"; of {len(tested):,} tested, {confirmed:,} confirmed" if tested else ""
    intro = (
        "Above 0 the minoritised groups are worse off, whichever end of the measure is better; below 0 they are better "
        "off. A gap is confirmed where permuted groups would hardly ever give one as wide (corrected for the number of "
        "tests). The interval of a gap is made another way, so the two can disagree at the edge."
    )
    return Section(
        "gaps", "Gaps between groups",
        (*tables, Details(f"Gaps by every rule ({len(placed):,}{of})", (every,))), intro, short="Gaps", essential=True,
    )  # fmt: skip


def _gap_table(result: AuditResult, subject: Subject) -> DataTable:
    against = majoritised(result, subject)
    rows = []
    for place, record in main_gaps(result, subject):
        below = () if record.variant == ORIENTED else (RULES.get(record.variant, record.variant),)
        said = said_by(result, record) if record.status == Status.OK else ""
        rows.append(Row((
            Cell(value_title(result, record.measure), below), *_gap_cells(place, record),
            verdict(record.finding, _meaning(record)) if record.status == Status.OK
            else Cell(record.status, meaning=Meaning.QUIET),
            Cell(said or str(record.reason or "")),
        )))  # fmt: skip
    caption = subject.title if against is None else f"{subject.title}: all other groups compared with {against}"
    return DataTable(caption, (Column("Gap in"), *GAP_COLUMNS, Column("What it says")), tuple(rows), what="gaps")


def _meaning(record: Record) -> Meaning:
    """A confirmed gap is worse for the minoritised; where it is below 0 it is better for them."""
    return Meaning.BETTER if record.variant == ORIENTED and record.value < 0 else Meaning.WORSE


def _gap_cells(place: int, record: Record) -> tuple[Cell, Cell, Cell]:
    value = Cell(_number(place, record)) if record.defined else Cell(record.status, meaning=Meaning.QUIET)
    return value, Cell(_interval(place, record)), Cell(p_value(place, record.p_adjusted))


def _leakage(result: AuditResult, charts: tuple[str, ...]) -> Section:
    rows = []
    for place, record in enumerate(result.leakage):
        own = functools.partial(_leakage_number, place, record)
        rows.append(Row((
            Cell(Name(record.attribute), (learner_title(record.probe),)), Cell(own("balanced")),
            Cell(span(place, record.balanced_low, record.balanced_high, formats.thousandths, "leakage",
                      ("balanced_low", "balanced_high"))),
            Cell(own("chance")), Cell(own("shuffled_balanced")),
            Cell(p_value(place, record.balanced_p_adjusted, "leakage", "balanced_p_adjusted")),
            verdict(record.finding, Meaning.NEUTRAL),
            Cell(own("accuracy"), (("largest group ", *pieces(own("majority"))),)),
        )))  # fmt: skip
    columns = (
        Column("Attribute and probe"), Column("Balanced accuracy", number=True), Column("95% interval", number=True),
        Column("Chance", number=True), Column("Permuted groups", number=True), Column("p, corrected", number=True),
        Column("Verdict"), Column("Accuracy", number=True),
    )  # fmt: skip
    table = limited_table("Probes: balanced accuracy against chance, accuracy against the share of the largest group",
                          columns, rows, what="probes")  # fmt: skip
    intro = (
        "Probes were trained to predict the group of a row from its point alone, and evaluated on rows they had not "
        "seen. Balanced accuracy is the mean of the groups' hit rates, so a large group counts no more than a small "
        "one. A low value says that these probes could not read the group, not that nobody can. Corrected among the "
        "probes."
    )
    return Section("leakage", "Can the group be read from the points?", (table, ChartBlock(charts)), intro,
                   short="Leakage", essential=True)  # fmt: skip


def _leakage_number(place: int, record: LeakageRecord, field: str) -> Text:
    return number(place, getattr(record, field), formats.thousandths, field, "leakage")


def _downstream(result: AuditResult, charts: tuple[str, ...]) -> Section:
    """Every downstream number: gaps first, then values of groups."""
    order = ("gap", "largest gap", "group", "overall")
    placed = sorted(enumerate(result.downstream), key=lambda item: (order.index(item[1].kind), item[0]))
    gaps = [(place, record) for place, record in placed if record.kind in order[:2]]
    tested = [record.finding for _, record in gaps if record.finding is not None]
    learners = ", ".join(learner_title(name) for name in dict.fromkeys(r.learner for r in result.downstream))
    trained_on = ", ".join(dict.fromkeys(record.training for record in result.downstream))
    said = (
        f"{sum(tested):,} of {plural(len(tested), 'gap')} that could be tested {'is' if sum(tested) == 1 else 'are'} "
        "confirmed, after correction among the downstream gaps." if tested else "No gap was tested."
    )  # fmt: skip
    columns = (Column("Group"), Column("Classifier"), Column("Measure"), *GAP_COLUMNS)
    main = limited_table(
        "Gaps in percentage points; above 0 the group is worse off", columns,
        [_downstream_row(place, record) for place, record in gaps], what="gaps", most=24,
    )  # fmt: skip
    every = limited_table(
        "Gaps in percentage points (above 0 the group is worse off), then the values of each group in %", columns,
        [_downstream_row(place, record) for place, record in placed], what="values",
    )  # fmt: skip
    blocks: list[Block] = [*([main] if gaps else []), ChartBlock(charts),
                           Details(f"All downstream values as a table ({len(placed):,})", (every,))]  # fmt: skip
    intro = (
        f"Classifiers ({learners}) were trained on the points (training data {trained_on}) and evaluated on rows they "
        f"had not seen. {said}"
    )
    return Section("downstream", "What carries over downstream", tuple(blocks), intro, short="Downstream",
                   essential=True)  # fmt: skip


def _downstream_row(place: int, record: DownstreamRecord) -> Row:
    gap = record.kind in ("gap", "largest gap")
    write, ends = (formats.points, formats.points) if gap else (formats.percent, formats.bare_percent)
    about: list[str | Name] = [] if record.attribute is None else [record.attribute]
    if record.kind == "largest gap":
        about.append(", best minus worst")
    group: Text = everyone_or(record.group)
    if record.against is not None:
        group = (record.group or "everyone", " compared with ", Name(record.against))
    end = (
        Cell(str(record.reason or record.status), meaning=Meaning.QUIET) if record.status != Status.OK
        else verdict(record.finding, Meaning.WORSE) if gap else Cell()
    )  # fmt: skip
    value = (
        Cell(number(place, record.value, write, "value", "downstream")) if known(record.value) is not None
        else Cell(record.status, meaning=Meaning.QUIET)
    )  # fmt: skip
    return Row((
        Cell(group, (tuple(about),) if about else ()), Cell(learner_title(record.learner)),
        Cell(record.measure.replace("_", " ")), value, Cell(span(place, record.low, record.high, ends, "downstream")),
        Cell(p_value(place, record.p_adjusted, "downstream")), end,
    ))  # fmt: skip


def _propagation(result: AuditResult, charts: tuple[str, ...]) -> Section:
    rows = [
        Row((
            Cell(Name(point.attribute)),
            Cell(number(place, point.upstream, formats.points, "upstream", "propagation") or "undefined"),
            Cell(learner_title(point.learner)), Cell(point.measure.replace("_", " ")),
            Cell(number(place, point.downstream, formats.points, "downstream", "propagation") or "undefined"),
            Cell(span(place, point.low, point.high, formats.points, "propagation")),
        ))
        for place, point in enumerate(result.propagation)
    ]  # fmt: skip
    upstream = value_title(result, result.propagation[0].upstream_measure)
    columns = (
        Column("Attribute"), Column(f"Gap in {upstream}", number=True), Column("Classifier"), Column("Measure"),
        Column("Gap downstream", number=True), Column("95% interval", number=True),
    )  # fmt: skip
    table = limited_table("Gap of the space and gap downstream, in percentage points", columns, rows, what="pairs")
    return Section(
        "propagation", "Does the gap of the space carry over?",
        (ChartBlock(charts), Details(f"The pairs as a table ({len(rows):,})", (table,))),
        "A gap of the space itself beside the gaps of what was trained on it. Of three groups or more both are best "
        "minus worst.", short="Carried over",
    )  # fmt: skip
