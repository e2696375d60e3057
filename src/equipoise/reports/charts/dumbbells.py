"""Dumbbells: an upright bar where something was, a mark where it is, and a line between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from equipoise.audits import AuditResult
from equipoise.audits.change import Change
from equipoise.audits.compare import ChangeRecord, CompareResult, OutcomeRecord, ProjectionRecord
from equipoise.foundation import plural
from equipoise.reports._formats import safe_name, short_percent
from equipoise.reports._records import Subject, reading_order, title_of
from equipoise.reports.charts.chart import (
    COLOURS,
    INK,
    LETTER,
    LINE,
    OPEN,
    QUIET,
    REFERENCE,
    SHAPES,
    SIGNIFICANT,
    UNDECIDED,
    Chart,
    Fit,
    Lines,
    Look,
    Row,
    by_look,
    draw,
    in_panels,
    line_axis,
    rounded,
    tips,
    used,
)
from equipoise.results import Status

STILL_COLUMNS, STILL_WIDTH = 3, 180
MOST_LINES = 40
# A scale shows at least so many points, or a change of a tenth of a point would look like a leap.
LEAST_POINTS = 10
BEFORE, FINDING, NO_FINDING = "before", "after: confirmed", "after: not significant"
CHANGE_LOOKS = {BEFORE: REFERENCE, FINDING: SIGNIFICANT, NO_FINDING: OPEN}
MOVED = {"moved": "change", "low": "low", "high": "high"}
CHANGE_NUMBERS = {
    "rate": ("rate, %", ".2f"), "moved": ("change, points", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"),
    "p": ("p, corrected", ".3g"),
}  # fmt: skip
# A line of the plot: a class where there are several, and a group; None for everyone.
ClassAndGroup = tuple[str | None, str | None]
Placed = tuple[int, Change]
MOST_GROUPS = 40
WIDTH = {1: 400, 2: 260}
POPULATION, CONFIRMED, NOT_SIGNIFICANT, UNTESTED = "population", "confirmed", "not significant", "not tested"
RERUN, BEFORE, AFTER, EVERYONE = "by a rerun alone", "before", "after", "everyone"
# To be changed is neither better nor worse.
JUDGED = {CONFIRMED: Look(INK, INK, "circle"), NOT_SIGNIFICANT: OPEN, UNTESTED: UNDECIDED}
SHARES = {POPULATION: REFERENCE, **JUDGED, RERUN: Look(COLOURS[0], "#FFFFFF", SHAPES[2])}
MOVES = {EVERYONE: REFERENCE, **JUDGED}
SIDES = {BEFORE: REFERENCE, AFTER: Look(COLOURS[0], COLOURS[0], "circle")}
TESTED = {"low": ("difference, from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g")}


def pair(common: Row, start: tuple[str, float | None], end: tuple[str, float | None]) -> list[Row]:
    """Return the two ends of a dumbbell; the line between them is drawn with the second."""
    (first, before), (second, after) = start, end
    return [
        {**common, "rate": before, "what": first},
        {**common, "rate": after, "before": before, "what": second},
    ]


def fit(panels: int, names: Sequence[str], looks: Mapping[str, Look], *, columns: int, widest: int) -> Fit:
    """Return how such a plot fits a page."""
    labels = min(200, 20 + LETTER * max(map(len, names)))
    return Fit(min(columns, panels), 150, widest, labels, max(map(len, looks)))


def dumbbells(
    looks: Mapping[str, Look], numbers: Mapping[str, tuple[str, str]], *, panels: int, lines: int, unit: str,
    heads: bool = False, intervals: bool = False, zero: bool = False, shared: bool = False,
    domain: tuple[float, float] | None = None, width: int = STILL_WIDTH,
) -> alt.FacetChart:  # fmt: skip
    """Draw a row's ``rate`` on its ``line`` and ``panel`` with the look of ``what``, and a line to its ``before``.

    ``numbers`` are the fields shown on hovering, with their titles and formats. With ``heads`` some lines only name
    what those below them share; with ``intervals`` a pale bar goes from ``from`` to ``to``; with ``zero`` the scale
    begins there; with ``shared`` all panels have the same one, and with a ``domain`` that one.
    """
    base, y = alt.Chart(), line_axis(lines, heads=heads, grid=True)
    x = alt.X("rate:Q").title(unit).scale(zero=zero, domain=alt.Undefined if domain is None else list(domain))
    x = x.axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    tooltip = tips(group="group", what="what", **numbers)
    pale = base.mark_rule(strokeWidth=9, color=LINE).encode(x="from:Q", x2="to:Q", y=y)
    bar = base.mark_rule(strokeWidth=2, color=QUIET).encode(x="before:Q", x2="rate:Q", y=y, tooltip=tooltip)
    ends = base.mark_point(size=80, opacity=1, strokeWidth=1.5).encode(x=x, y=y, **by_look(looks), tooltip=tooltip)
    return in_panels(
        [*([pale] * intervals), bar, ends], columns=min(panels, STILL_COLUMNS), width=width, height=alt.Step(22),
        scales="" if shared or domain is not None else "x",
    )  # fmt: skip


def before_after(result: AuditResult, subject: Subject) -> Chart | None:
    """Draw the changes of a subject's rates: one line per group, one panel per measure."""
    placed = [
        (index, change)
        for index, change in enumerate(result.changes)
        if change.kind == "rate"
        and change.status == Status.OK
        and (subject.has(change) or _of_everyone(change, subject))
    ]
    if not any(change.group is not None for _, change in placed):
        return None
    lines, left_out = _change_lines(placed)
    measures = sorted({change.measure for _, change in placed}, key=reading_order)
    rows = [
        row
        for record_index, change in placed
        if _change_line(change) in lines
        for row in _change_rows(record_index, change, lines.index(_change_line(change)), measures.index(change.measure))
    ]
    group_changes = [change for _, change in placed if change.group is not None]
    findings = sum(1 for change in group_changes if change.finding)
    words = (
        f"Rates of {subject.title} before and after: {findings:,} of {plural(len(group_changes), 'change')} confirmed."
    )
    names = [_change_label(line) for line in lines]
    low, high = _scale([100 * rate for _, change in placed for rate in (change.before, change.after)])
    return draw(
        dumbbells(CHANGE_LOOKS, CHANGE_NUMBERS, panels=len(measures), lines=len(lines), unit="%", domain=(low, high)),
        rows,
        {"labels": names, "panels": [title_of(name) for name in measures]},
        name=f"changes {subject.title}",
        title=f"{subject.title}: before and after",
        caption=(
            f"{plural(len(group_changes), 'change')}, {findings:,} confirmed. The upright bar is the rate before. All "
            f"panels have one scale, from {low:g} to {high:g}%."
        ),
        words=words,
        where="The numbers are in the table of changes below.",
        fit=fit(len(measures), names, CHANGE_LOOKS, columns=5, widest=260),
        notes=(f"Shown are the {len(lines)} of {len(lines) + left_out} lines that changed most.",) if left_out else (),
        marks=2,
    )


def _scale(rates: Sequence[float]) -> tuple[float, float]:
    """Return where the scale of all panels begins and ends: whole fives around the rates, within 0 and 100."""
    low, high = 5 * math.floor(min(rates) / 5), 5 * math.ceil(max(rates) / 5)
    while high - low < LEAST_POINTS:
        low, high = max(low - 5, 0), min(high + 5, 100)
    return float(low), float(high)


def _of_everyone(change: Change, subject: Subject) -> bool:
    return change.group is None and change.split == subject.split


def _change_line(change: Change) -> ClassAndGroup:
    return (change.class_ if change.scope == "class" else None, change.group)


def _change_label(line: ClassAndGroup) -> str:
    class_, group = line
    name = "everyone" if group is None else safe_name(group, 40)
    return name if class_ is None else f"{safe_name(class_, 24)}: {name}"


def _change_lines(placed: Sequence[Placed]) -> tuple[list[ClassAndGroup], int]:
    """Return the lines in their order; where there are too many, those that changed most."""
    widest: dict[ClassAndGroup, float] = {}
    for _, change in placed:
        widest[_change_line(change)] = max(widest.get(_change_line(change), 0.0), abs(change.change))
    chosen = set(sorted(widest, key=lambda line: -widest[line])[:MOST_LINES])
    return [line for line in widest if line in chosen], len(widest) - len(chosen)


def _change_rows(index: int, change: Change, line: int, panel: int) -> list[Row]:
    common: Row = {"change": index, "line": line, "panel": panel, "group": _change_label((None, change.group))}
    common |= {name: rounded(getattr(change, field), 100) for name, field in MOVED.items()}
    common["p"] = rounded(change.p_adjusted)
    verdict = FINDING if change.finding else NO_FINDING
    return pair(common, (BEFORE, rounded(change.before, 100)), (verdict, rounded(change.after, 100)))


@dataclass(frozen=True)
class _GroupLine:
    """A group's line: what is drawn on it, and how much it matters where there is no room for all."""

    attribute: str | None
    group: str | None
    rows: Sequence[Row]
    size: float


def most_changed(result: CompareResult) -> Chart | None:
    """Draw each group's share of the population, and its share among the most changed."""
    similarity = result.similarity
    if math.isnan(similarity.share_reached):
        return None
    profiles = similarity.unit == "distinct profiles" and similarity.units < similarity.rows
    lines = [
        _GroupLine(
            record.attribute, record.group, list(_shares(index, record, profiles=profiles)), abs(record.difference)
        )
        for index, record in enumerate(result.records)
        if record.attribute is not None and not math.isnan(record.share_changed)
    ]
    findings = sum(1 for record in result.records if record.finding)
    rerun = any(record.share_changed_rerun is not None for record in result.records)
    return _groups_chart(
        lines, SHARES,
        {"rate": ("share, %", ".2f"), "moved": ("difference, points", "+.2f"), **TESTED},
        name="most changed",
        title=f"Who are the {short_percent(similarity.share_reached)} most changed?",
        caption=(
            "The bar is a group's share of the population, the other mark its share among the most changed: to the "
            "right of the bar the group is more common among them, to the left less. Filled circles are significant "
            "after correction. The pale line is the interval of one test, before correction."
            + (" Pentagons: the share among the most changed if only an identical rerun had changed people." * rerun)
            + (" On the right every distinct profile is counted once." * profiles)
        ),
        words=f"Shares of groups among the most changed and in the population: {findings} confirmed.",
        panels=["people", "distinct profiles"] if profiles else ["people"],
        unit="% of them", zero=True,
    )  # fmt: skip


def _shares(index: int, record: ChangeRecord, *, profiles: bool) -> Iterator[Row]:
    common = _judged("record", index, record, 100)
    share, population = rounded(record.share_changed, 100), rounded(record.share_population, 100)
    yield from _with_interval(
        pair(common, (POPULATION, population), (_verdict(record.finding), share)), record, record.share_population, 100
    )
    if record.share_changed_rerun is not None:
        yield {**common, "rate": rounded(record.share_changed_rerun, 100), "what": RERUN}
    if profiles:
        start, end = record.share_population_profiles, record.share_changed_profiles
        bare: Row = {**common, "panel": 1, "moved": rounded(end - start, 100), "low": None, "high": None, "p": None}
        yield from pair(bare, (POPULATION, rounded(start, 100)), (UNTESTED, rounded(end, 100)))


def outcomes(result: CompareResult) -> Chart | None:
    """Draw how many of each group got another prediction (or how far it moved), beside everyone."""
    if not result.outcomes:
        return None
    overall = result.outcomes[0]
    scale, field = (100.0, "share_moved") if overall.mean_shift is None else (1.0, "mean_absolute_shift")
    base = getattr(overall, field)
    lines = [
        _GroupLine(record.attribute, record.group, _moved(index, record, field, base, scale), abs(record.difference))
        for index, record in enumerate(result.outcomes)
        if record.attribute is not None and record.status == Status.OK
    ]
    findings = sum(1 for record in result.outcomes if record.finding)
    subject = "changed predictions" if scale > 1 else "how far predictions changed"
    return _groups_chart(
        lines, MOVES, {"rate": (subject, ".4~g"), **TESTED},
        name="outcomes",
        title="Changed predictions by group" if scale > 1 else "How far predictions changed, by group",
        caption=(
            f"The bar is everyone, the other mark the group: {subject}"
            + (", in % of them" if scale > 1 else ", on average and without their sign")
            + ". Filled circles are significant after correction, pale lines the interval of one test, uncorrected."
        ),
        words=f"{subject.capitalize()} by group, beside everyone: {findings} confirmed.",
        panels=[subject],
        unit="% of them" if scale > 1 else "mean change", zero=True,
    )  # fmt: skip


def _moved(index: int, record: OutcomeRecord, field: str, base: float, scale: float) -> list[Row]:
    ends = (EVERYONE, rounded(base, scale)), (_verdict(record.finding), rounded(getattr(record, field), scale))
    return _with_interval(pair(_judged("outcome", index, record, scale), *ends), record, base, scale)


def projections(result: CompareResult) -> Chart | None:
    """Draw each group's mean projection on the concept's direction, before and after."""
    lines = [
        _GroupLine(record.attribute, record.group, _sides(index, record), abs(record.mean_after - record.mean_before))
        for index, record in enumerate(result.projections)
        if record.status == Status.OK
    ]
    if not lines:
        return None
    direction = safe_name(result.projections[0].direction)
    return _groups_chart(
        lines, SIDES, {"rate": ("mean projection", ".4~g"), "moved": ("after minus before", "+.3~g")},
        name="projection",
        title=f"Projection on {direction}",
        caption=(
            "The bar is the mean before, the circle the mean after. A space that is only scaled up has larger "
            "projections: compare groups, not lengths. These means are not tested."
        ),
        words=f"Mean projections on {direction} before and after, by group.",
        panels=["mean projection"],
        unit="projection", zero=False,
    )  # fmt: skip


def _sides(index: int, record: ProjectionRecord) -> list[Row]:
    moved = rounded(record.mean_after - record.mean_before)
    common: Row = {"projection": index, "panel": 0, "group": _name(record.group), "moved": moved}
    return pair(common, (BEFORE, rounded(record.mean_before)), (AFTER, rounded(record.mean_after)))


def _judged(kind: str, index: int, record: ChangeRecord | OutcomeRecord, scale: float) -> Row:
    ends: Row = {name: rounded(getattr(record, name), scale) for name in ("low", "high")}
    moved, p = rounded(record.difference, scale), rounded(record.p_adjusted)
    return {kind: index, "panel": 0, "group": _name(record.group), "moved": moved, "p": p, **ends}


def _with_interval(rows: list[Row], record: ChangeRecord | OutcomeRecord, base: float, scale: float) -> list[Row]:
    """Give the second end of a dumbbell the interval of its difference, laid out from the first."""
    if record.low is not None and record.high is not None:
        rows[1] |= {"from": rounded(base + record.low, scale), "to": rounded(base + record.high, scale)}
    return rows


def _verdict(finding: bool | None) -> str:
    return UNTESTED if finding is None else CONFIRMED if finding else NOT_SIGNIFICANT


def _name(group: str | None) -> str:
    return EVERYONE if group is None else safe_name(group, 40)


def _groups_chart(
    every: Sequence[_GroupLine], looks: Mapping[str, Look], numbers: Mapping[str, tuple[str, str]], *, name: str,
    title: str, caption: str, words: str, panels: Sequence[str], unit: str, zero: bool,
) -> Chart | None:  # fmt: skip
    """Draw lines under the names of their attributes; where there are too many, those that matter most."""
    if not every:
        return None
    groups = sorted(every, key=lambda line: 0.0 if math.isnan(line.size) else -line.size)[:MOST_GROUPS]
    lines, rows, attribute = Lines(), [], None
    for line in every:
        if line not in groups:
            continue
        if line.attribute is not None and line.attribute != attribute:
            attribute = line.attribute
            lines.add(safe_name(attribute, 36), head=True)
        line_index = lines.add(_name(line.group))
        rows += [{**row, "line": line_index} for row in line.rows]
    used_looks = used(looks, rows)
    plot = dumbbells(
        used_looks, numbers, panels=len(panels), lines=len(lines.names), unit=unit, heads=True,
        intervals=any("from" in row for row in rows), zero=zero, shared=True, width=WIDTH[len(panels)],
    )  # fmt: skip
    return draw(
        plot, rows, {"labels": lines.names, "heads": lines.heads, "panels": list(panels)}, name=name, title=title,
        caption=caption, words=words,
        fit=fit(len(panels), lines.names, used_looks, columns=len(panels), widest=700 // len(panels)),
        notes=(f"Shown are {len(groups)} of {len(every)} groups, those that differ most.",)
        * (len(groups) < len(every)),
        marks=3,
    )  # fmt: skip
