"""The parts of a report about outcomes: contrasts, rates, gaps, the four-fifths rule, power, and what changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from equipoise.audits import AuditResult, FourFifths, Power
from equipoise.audits.change import Change
from equipoise.foundation import (
    listing,
    plural,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    MOST_ROWS,
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Meaning,
    Name,
    Piece,
    Row,
    Section,
    Terms,
    Text,
    pieces,
)
from equipoise.reports._formats import safe_name
from equipoise.reports._records import (
    GAPS,
    RATES,
    Placed,
    Subject,
    bound_includes_zero,
    class_of,
    counts,
    explanation_of,
    finite,
    formula_of,
    group_cell,
    group_or_everyone,
    groups_of,
    interval,
    limited_table,
    lower_bound,
    main_records,
    meaning_of,
    measure_cell,
    named_measure,
    number,
    reading_order,
    record_verdict,
    span,
    subjects_of,
    title_of,
    used_threshold,
    value_cell,
    value_text,
    verdict,
    widest_groups,
    widest_in_words,
)
from equipoise.reports.narrative._report import Field, corrected, ends, matrix, quiet, record_table, value
from equipoise.results import Record, Status

# Over all attributes and splits together, in the tables with one row per group.
MOST_GROUP_ROWS = 120
MOST_CLASSES = 8
GAP_FIELDS = (Field("Value", value_cell, True), Field("At least", lower_bound, True), corrected())
DESIGNS = {
    "paired": "The same rows were judged twice: a change counts those whose outcome is another one now.",
    "independent": "The two sides are different people, taken as two independent samples.",
}


def outcome_sections(result: AuditResult, charts: dict[str, tuple[str, ...]]) -> Iterator[Section]:
    """Yield the parts of a report about outcomes; ``charts`` are the names of the charts of each part."""
    if result.changes:
        yield _changes(result, charts["changes"])
    rates = list(rate_tables(result))
    if rates:
        yield _rates(result, rates, charts["rates"])
    gaps = [block for table in gap_tables(result) for block in table]
    if gaps:
        yield _gaps(result, gaps)
    contrasts = [item for item in enumerate(result.records) if item[1].kind == "contrast"]
    if contrasts:
        yield _contrasts(contrasts, charts["contrasts"])
    if result.curves or result.calibration:
        yield _scores(result, (*charts["thresholds"], *charts["calibration"]))
    if result.four_fifths:
        yield _four_fifths(result)
    if result.power:
        yield _power(result)


def most_groups(tables: int) -> int:
    """Return how many groups each of so many tables may show."""
    return max(MOST_GROUP_ROWS // max(tables, 1), 10)


def cohort_section(result: AuditResult) -> Section:
    """Say who was counted: a table for each attribute and split, of its largest groups where there are too many."""
    card = result.card
    classes = card.classes[:MOST_CLASSES]
    blocks: list[Block] = []
    subjects = dict.fromkeys(Subject((row.attribute,), row.split) for row in card.groups)
    for subject in subjects:
        group_rows = [
            row for row in card.groups if (row.attribute,) == subject.attribute and row.split == subject.split
        ]
        largest = sorted(range(len(group_rows)), key=lambda index: -(group_rows[index].rows or 0))[
            : most_groups(len(subjects))
        ]
        rows = []
        for row in (group_rows[index] for index in sorted(largest)):
            hidden = row.rows is None or row.share is None
            cells = [Cell(Name(row.group)), _hidden() if hidden else Cell(formats.count(row.rows)),
                     _hidden() if hidden else Cell(formats.percent(row.share), bar=row.share)]  # fmt: skip
            cells += [
                _hidden() if row.classes is None else _class_cell(row.classes[name], row.rows) for name in classes
            ]
            rows.append(Row(tuple(cells)))
        columns = [Column("Group"), Column("Rows", number=True), Column("Share of rows"),
                   *(Column(Name(name)) for name in classes)]  # fmt: skip
        blocks.append(
            limited_table(
                subject.title, columns, rows, total=len(group_rows), what="groups", chosen="with the most rows"
            )
        )
    if len(card.classes) > len(classes):
        blocks.append(Bullets((f"{len(card.classes) - len(classes)} more classes are in the JSON.",)))
    about = " A group's share of each class is of the group." if classes else ""
    return Section("cohort", "Who was counted", tuple(blocks), f"Every number here is about these rows.{about}")


def _hidden() -> Cell:
    return quiet("hidden")


def _class_cell(value: int, total: int | None) -> Cell:
    share = value / total if total else None
    return Cell("" if share is None else formats.percent(share), (formats.count(value),), share)


def rate_tables(result: AuditResult) -> Iterator[DataTable]:
    """Yield the main rates or values: one row per group, everyone first, each cell with its counts and its interval.

    Where there are too many groups, those with the widest contrasts are shown.
    """
    placed = [item for item in main_records(result, ("rate", "value")) if item[1].measure in RATES]
    subjects = subjects_of(result)
    for subject in subjects:
        subject_records = [item for item in placed if subject.has(item[1])]
        overall = [item for item in placed if not item[1].attribute and item[1].split == subject.split]
        measures = sorted({record.measure for _, record in subject_records if record.defined}, key=reading_order)
        if not measures:
            continue
        groups = groups_of(subject_records)
        shown_groups = widest_groups(result, subject, groups, most_groups(len(subjects)))
        cells = {
            (r.group, r.measure): value_cell(index, r, counts(index, r), interval(index, r), bar=_has_bar(result, r))
            for index, r in [*overall, *subject_records]
        }
        yield matrix(
            subject.title, [*([None] if overall else []), *shown_groups], {name: title_of(name) for name in measures},
            cells, total=len(groups),
            chosen=widest_in_words(result, subject),
        )  # fmt: skip


def _has_bar(result: AuditResult, record: Record) -> bool:
    return record.measure == "selection_rate" and result.favourable is not None


def _rates(result: AuditResult, tables: Sequence[DataTable], charts: tuple[str, ...]) -> Section:
    measures = sorted(
        {r.measure for _, r in main_records(result, ("rate", "value")) if r.measure in RATES and r.defined
         and r.attribute},
        key=reading_order,
    )  # fmt: skip
    shares = bool(result.classes) or result.favourable is not None or bool(result.card.classes)
    terms = tuple((_term(measure, result), explanation_of(measure, result.favourable)) for measure in measures)
    blocks: list[Block] = [*tables, Details("What these numbers mean", (Terms(terms),)), ChartBlock(charts)]
    others = _other_rates(result)
    if others.rows:
        blocks.append(Details(f"All other rates and values ({others.total:,})", (others,)))
    title = f"{'Rates' if shares else 'Values'} of each group"
    intro = "Below each value are its numerator and denominator, and its 95% interval."
    return Section("rates", title, tuple(blocks), intro, short="Rates", essential=True)


def _term(measure: str, result: AuditResult) -> str:
    alias = next((record.alias for record in result.records if record.measure == measure), None)
    title = title_of(measure)
    return f"{title} ({alias})" if alias and alias != title else title


def _other_rates(result: AuditResult) -> DataTable:
    """Every other rate: of each class and label, and of the measures that the main table has no room for."""
    main = {record_index for record_index, record in main_records(result, ("rate", "value")) if record.measure in RATES}
    placed = [
        (index, record)
        for index, record in enumerate(result.records)
        if record.kind in ("rate", "value") and index not in main and record.attribute and not _repeated(result, record)
    ]
    fields = (
        Field("Group", lambda _, r: group_cell(r)), Field("Measure", lambda _, r: measure_cell(r)),
        Field("Value", value_text, True), Field("Numerator / denominator", counts, True),
        Field("95% interval", interval, True),
    )  # fmt: skip
    return record_table("Every other rate and value of a group", fields, placed, what="rates")


def _repeated(result: AuditResult, record: Record) -> bool:
    """A class that is the favourable one is told once, and so is a class when the other is its mirror."""
    return record.scope == "class" and record.class_ == result.favourable and record.label is None


def _contrasts(placed: Sequence[Placed], charts: tuple[str, ...]) -> Section:
    """Every signed contrast, confirmed ones first; where there is no room for all, the widest of each first."""
    crowded = len(placed) > MOST_ROWS
    order = sorted(placed, key=lambda item: (*_verdict_order(item[1]), -_width(item[1]) if crowded else 0.0))
    caption = "Signed contrasts, confirmed ones first; shares in percentage points"
    table = contrast_table(caption, order, chosen="(confirmed first, then the widest)")
    intro = (
        "Is a group treated differently from the others? Each contrast is a group's rate (or value) minus that of "
        "those it is compared with. All tests of this report are corrected together (Benjamini-Hochberg), so that no "
        "more than about one in twenty of the confirmed differences should be false. Intervals are widened for the "
        "number of tests, so that they exclude 0 for confirmed differences only. In the charts diamonds and squares "
        "are confirmed (worse and better for the group), hollow circles are not significant."
    )
    folded = Details(f"All contrasts as a table ({len(placed):,})", (table,))
    return Section("contrasts", "Contrasts between groups", (ChartBlock(charts), folded), intro, short="Contrasts")


def contrast_table(caption: str, placed: Sequence[Placed], chosen: str = "") -> DataTable:
    """Return contrasts in the order in which they are given."""
    fields = (
        Field("Group", lambda _, r: group_cell(r)), Field("Compared with", lambda _, r: group_or_everyone(r.against)),
        Field("Measure", lambda _, r: measure_cell(r)), Field("Difference", value_text, True),
        Field("Interval", interval, True), corrected(), Field("Verdict", lambda _, r: record_verdict(r)),
    )  # fmt: skip
    return record_table(caption, fields, placed, what="contrasts", chosen=chosen)


def glossary_table(measures: Iterable[tuple[str, str]], class_: str | None, caption: str) -> DataTable:
    """Explain measures, each with its title: in words, and its formula."""
    rows = [Row((Cell(title), Cell(explanation_of(name, class_)), Cell(formula_of(name)))) for name, title in measures]
    return DataTable(caption, (Column("Measure"), Column("In words"), Column("Formula")), tuple(rows))


def _verdict_order(record: Record) -> tuple[bool, bool]:
    """Sort confirmed ones first, and what could not be computed last."""
    return (record.finding is not True, record.status != Status.OK)


def _width(record: Record) -> float:
    """Return how wide a contrast is; one that is undefined is narrower than any other."""
    return abs(record.value) if record.defined else -1.0


def gap_tables(result: AuditResult) -> Iterator[list[Block]]:
    """Yield the gaps of each attribute: the main measures, then the others folded away."""
    placed = sorted(main_records(result, ("gap", "ratio", "summary")), key=lambda item: reading_order(item[1].measure))
    for subject in subjects_of(result):
        subject_records = [item for item in placed if subject.has(item[1])]
        regression = not any(record.measure in GAPS for _, record in subject_records)
        main = [item for item in subject_records if item[1].measure in GAPS or (regression and item[1].kind == "gap")]
        others = [item for item in subject_records if item not in main]
        blocks: list[Block] = [_gap_table(main, subject.title)] if main else []
        if others:
            more = _gap_table(others, f"{subject.title}, more measures")
            blocks.append(Details(f"{subject.title}: {len(others)} more", (more,)))
        yield blocks


def _gap_table(placed: Iterable[Placed], caption: str) -> DataTable:
    fields = (
        Field("Measure", lambda _, r: named_measure(r)), *GAP_FIELDS,
        Field("Verdict", lambda _, r: "" if r.kind == "summary" else _gap_verdict(r), always_shown=True),
        Field("Lowest group", lambda _, r: Name(r.group) if r.group and r.against else quiet(str(r.reason or ""))),
        Field("Highest group", lambda _, r: Name(r.against) if r.group and r.against else ""),
    )  # fmt: skip
    return record_table(caption, fields, placed, what="gaps")


def _gap_verdict(record: Record) -> Cell:
    """Return the verdict of a gap, with the groups that its test leaves out: the value is over all of them."""
    cell = verdict(record.finding, meaning_of(record))
    below = ["its bound is 0: p and bound must both say so"] if bound_includes_zero(record) else []
    if record.left_out and record.finding is not None:
        below.append(f"tested without {listing(map(safe_name, record.left_out), 3)}")
    return replace(cell, below=tuple(below))


def _gaps(result: AuditResult, blocks: Sequence[Block]) -> Section:
    others = _other_gaps(result)
    within = any(record.control is not None for record in result.records)
    folded = [
        Details(f"Gaps of single classes{' and within the control column' if within else ''} ({others.total:,})",
                (others,))
    ] if others.rows else []  # fmt: skip
    of = (
        " For the favourable class." if result.favourable is not None
        else " Means over the classes." if result.classes else ""
    )  # fmt: skip
    intro = (
        "A gap cannot be negative, so chance alone makes it wider than 0. It is therefore compared with the gaps of "
        "permuted groups (p), and shown with a lower bound: the true gap is at least that wide, with 95% confidence "
        f"after correction for the number of tests.{of}"
    )
    return Section("gaps", "Gaps in one number", (*blocks, *folded), intro, short="Gaps", essential=True)


def _other_gaps(result: AuditResult) -> DataTable:
    """Gaps of single classes and labels, and within the values of a control column."""
    main = {record_index for record_index, _ in main_records(result, ("gap", "ratio", "summary"))}
    placed = [
        (index, record)
        for index, record in enumerate(result.records)
        if record.kind in ("gap", "ratio") and index not in main and not _repeated(result, record)
        and (record.measure in GAPS or record.control is not None)
    ]  # fmt: skip
    fields = (
        Field("Measure", lambda _, r: title_of(r.measure)), Field("Of", lambda _, r: _of(r)), *GAP_FIELDS,
        Field("Verdict", lambda _, r: verdict(r.finding, meaning_of(r))),
    )  # fmt: skip
    caption = "Gaps of single classes or labels, and within the values of a control column"
    return record_table(caption, fields, placed, what="gaps")


def _of(record: Record) -> Text:
    of = class_of(record)
    about: tuple[Piece, ...] = (Subject(record.attribute, record.split).title,)
    about += (": ", *pieces(of)) if of else ()
    about += () if record.control is None else (", within ", Name(record.control))
    return about


def _scores(result: AuditResult, charts: tuple[str, ...]) -> Section:
    intro: Text = ""
    if result.curves:
        used = used_threshold(result)
        line = "" if used is None else f" The dashed line is the threshold that was used, {used:g}."
        intro = (
            "What gaps and rates would be if those with a score of at least the threshold were predicted ",
            Name(result.curves[0].class_), f".{line}",
        )  # fmt: skip
    return Section("scores", "Scores, thresholds and calibration", (ChartBlock(charts),), intro, short="Scores")


def _four_fifths(result: AuditResult) -> Section:
    placed = list(enumerate(result.four_fifths))
    lowest = sorted(placed, key=lambda item: (not math.isfinite(item[1].ratio), item[1].ratio))[:MOST_ROWS]
    source = "four_fifths"
    fields = (
        Field("Group", lambda _, r: Cell(Name(r.group), (Subject(r.attribute, r.split).title,))),
        Field("Compared with", lambda _, r: Cell(Name(r.against), (r.basis,))),
        value("Ratio", "ratio", formats.decimal, source), Field("Interval", _rule_interval, True),
        Field("Rule", lambda _, r: _rule(r)),
        Field("Probability that it is broken", lambda _, r: formats.probability(finite(r.probability_broken)), True),
        Field("Share of rows", lambda _, r: Cell(
            formats.percent(finite(r.share)), ("under 2%: the rule was not meant for it",) if r.small else ()
        ), True),
    )  # fmt: skip
    table = record_table(
        "Each group's selection rate divided by that of the group it is compared with", fields,
        sorted(lowest, key=lambda item: item[0]), total=len(placed), chosen="with the lowest ratios",
    )  # fmt: skip
    intro = (
        "A rule of thumb of the US Equal Employment Opportunity Commission: a group selected less than four fifths "
        "(0.80) as often as the group selected most is a reason to look closer. It is not a legal verdict. A ratio is "
        "significantly below 0.80 only if its whole interval is. Intervals are corrected for the number of groups, and "
        "for all pairs of groups where the highest rate was picked after the fact."
    )
    return Section("four-fifths", "The four-fifths rule", (table,), intro)


def _rule(rule: FourFifths) -> Cell:
    if finite(rule.ratio) is None:
        return quiet(formats.UNDEFINED)
    if rule.significant:
        return Cell("significantly below 0.80", meaning=Meaning.WORSE)
    return quiet("below 0.80, not significant" if rule.ratio < 0.8 else "within")


def _rule_interval(index: int, rule: FourFifths) -> Text:
    if rule.high is not None and math.isinf(rule.high) and rule.low is not None:
        return f"{formats.decimal(rule.low)} to ∞"
    return span(index, rule.low, rule.high, formats.decimal, "four_fifths")


def _power(result: AuditResult) -> Section:
    gap = next((power.gap for power in result.power if power.gap is not None), None)
    fields = [
        Field("Group", lambda _, power: Cell(Name(power.group), (Subject(power.attribute, power.split).title,))),
        Field("Compared with", lambda _, power: Name(power.against)),
        Field("Measure", lambda _, power: title_of(power.measure)),
        value("Smallest difference detected", "detectable", formats.bare_percent, "power"),
    ]  # fmt: skip
    if gap is not None:
        fields.append(value(f"People needed for {formats.percent(gap)}", "people_needed", formats.count, "power"))
    caption = "Smallest difference that would be detected, in percentage points"
    table = record_table(caption, fields, enumerate(result.power), what="contrasts")
    people_words = (
        f" And how many people it would take for a difference of {formats.percent(gap)}." if gap is not None else ""
    )
    intro = (
        "The smallest true difference that the test, at the level that decides here, would detect 8 times in 10 with "
        f"as many people. A smaller one may exist and stay undetected.{people_words}"
    )
    listed: tuple[Block, ...] = (
        (Details(f"All {plural(table.every, 'contrast')}", (table,)),) if table.every > 15 else (table,)
    )
    return Section(
        "power", "What these numbers of people could show", (Bullets(tuple(_power_words(result))), *listed), intro,
        short="Power",
    )  # fmt: skip


def _power_words(result: AuditResult) -> Iterator[Text]:
    """Yield a sentence for each rate: the sharpest and the bluntest comparison."""
    for measure in dict.fromkeys(power.measure for power in result.power):
        powers = [power for power in result.power if power.measure == measure and finite(power.detectable) is not None]
        if not powers:
            continue
        sharp, blunt = (pick(powers, key=lambda power: power.detectable) for pick in (min, max))
        sentence = f"{title_of(measure)}: a difference of {_against(sharp)}"
        yield sentence + (
            f" would be detected, but only one of {_against(blunt)}." if blunt != sharp else " would be detected."
        )


def _against(power: Power) -> str:
    return f"{100 * power.detectable:.1f} points between {safe_name(power.group)} and {safe_name(power.against)}"


def _changes(result: AuditResult, charts: tuple[str, ...]) -> Section:
    placed = sorted(
        enumerate(result.changes), key=lambda item: (item[1].finding is not True, item[1].status != Status.OK)
    )  # fmt: skip
    fields = (
        Field("Group", lambda _, c: Cell(group_or_everyone(c.group), (_about(c),))),
        Field("Compared with", lambda _, c: "" if c.against is None else Name(c.against)),
        Field("Measure", lambda _, c: Cell(title_of(c.measure), () if c.class_ is None else (Name(c.class_),))),
        Field("Before", lambda index, c: _side(index, c, "before"), True),
        Field("After", lambda index, c: _side(index, c, "after"), True),
        value("Change", "change", formats.points, "changes", unknown=""), ends("Interval", formats.points, "changes"),
        corrected("changes"), Field("Verdict", lambda _, c: _change_verdict(c)),
    )  # fmt: skip
    caption = "Rates in %, differences and changes in percentage points; confirmed changes first"
    table = record_table(caption, fields, placed, what="changes")
    tested = [change for change in result.changes if change.finding is not None]
    confirmed = sum(bool(change.finding) for change in tested)
    are = "is" if confirmed == 1 else "are"
    intro = (
        f"{DESIGNS[result.changes[0].design]} {confirmed:,} of {plural(len(tested), 'change')} that could be tested "
        f"{are} confirmed after correction among the changes. Intervals are widened to agree."
    )
    rates = [change for change in result.changes if change.kind == "rate"]
    short = _before_after(rates) if rates else None
    folded = Details(f"All changes as a table ({len(placed):,})", (table,))
    blocks: list[Block] = [*([short] if short is not None else []), ChartBlock(charts), folded]
    design = "the same rows judged twice" if result.changes[0].design == "paired" else "two samples of people"
    return Section("changes", f"What changed ({design})", tuple(blocks), intro, short="Changes", essential=True)


def _about(change: Change) -> str:
    return Subject(change.attribute, change.split).title if change.attribute else (change.split or "")


def _side(index: int, change: Change, side: str) -> Cell:
    write = formats.points if change.kind == "contrast" else formats.bare_percent
    side_value = number(index, getattr(change, side), write, side, "changes")
    return Cell(side_value) if side_value else quiet("unknown")


def _change_verdict(change: Change) -> Cell:
    if change.status == Status.OK:
        return verdict(change.finding, Meaning.NEUTRAL)
    return quiet(f"{change.status}: {change.reason}" if change.reason else change.status)


def _before_after(changes: Sequence[Change]) -> DataTable:
    """Return the rates before and after: one row per group, one column per measure; confirmed changes are marked."""
    measures = sorted({change.measure for change in changes}, key=reading_order)
    lines: dict[tuple[tuple[str, ...], str | None, str | None, str | None], dict[str, Change]] = {}
    for change in changes:
        key = (change.attribute, change.split, change.class_ if change.scope == "class" else None, change.group)
        lines.setdefault(key, {})[change.measure] = change
    rows = []
    for (_, _, class_, group), cells in lines.items():
        about = _about(next(iter(cells.values())))
        below = f"{about}, {class_}" if class_ is not None else about
        name = Cell(group_or_everyone(group), (below,) if below else ())
        rows.append(Row((name, *(_before_after_cell(cells.get(measure)) for measure in measures))))
    columns = (Column("Group"), *(Column(title_of(measure), number=True) for measure in measures))
    return limited_table("Before → after in %; marked changes are confirmed", columns, rows, what="groups", most=40)


def _before_after_cell(change: Change | None) -> Cell:
    if change is None:
        return Cell()
    before, after = (formats.bare_percent(value) if value == value else "?" for value in (change.before, change.after))
    if change.status == Status.TOO_SMALL and before == "?":
        return _hidden()
    meaning = Meaning.NEUTRAL if change.finding else None if change.status == Status.OK else Meaning.QUIET
    return Cell(f"{before} → {after}", meaning=meaning)
