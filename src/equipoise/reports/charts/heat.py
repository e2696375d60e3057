"""The heat map: each group's rates, coloured by how far they lie from everyone's."""

from __future__ import annotations

import altair as alt

from equipoise.audits import AuditResult
from equipoise.reports._formats import decimal, percent, plural, safe_name
from equipoise.reports.charts.chart import INK, QUIET, Chart, Row, finish, rounded
from equipoise.reports.charts.grid import CELL, Lines, grid
from equipoise.reports.measure_words import RATES, is_share, reading_order, short_title_of
from equipoise.reports.subjects import (
    Subject,
    groups_of,
    least_people,
    main_records,
    subjects_of,
    widest_groups,
    widest_in_words,
)
from equipoise.results import Record

MOST_GROUPS = 60
# Light enough at both ends for dark letters on them.
BELOW, SAME, ABOVE = "#56B4E9", "#F7F7F7", "#E69F00"
LEAST_RANGE = 10.0
EVERYONE = "everyone"


def heat(result: AuditResult, split: str | None) -> Chart | None:
    """Draw the main rates or values of every group, a block an attribute."""
    placed = [
        item for item in main_records(result, ("rate", "value")) if item[1].measure in RATES and item[1].split == split
    ]
    everyone = {record.measure: record for _, record in placed if not record.attribute}
    measures = sorted(
        {record.measure for _, record in placed if record.attribute and record.defined}, key=reading_order
    )
    placed = [item for item in placed if item[1].measure in measures]
    subjects = [subject for subject in subjects_of(result) if subject.split == split]
    if not measures:
        return None
    least = least_people(result)
    rows = [_row(place, record, 0, measures, everyone, least) for place, record in placed if not record.attribute]
    lines = Lines([EVERYONE], [False])
    notes: list[str] = []
    for subject in subjects:
        own = [item for item in placed if subject.has(item[1])]
        groups = groups_of(own)
        chosen = widest_groups(result, subject, groups, max(MOST_GROUPS // len(subjects), 10))
        if len(chosen) < len(groups):
            which = widest_in_words(result, subject)
            notes.append(f"Of {subject.title}, the {len(chosen)} of {len(groups)} groups {which}.")
        lines.add(_heading(subject), head=True)
        first = len(lines.names)
        for group in chosen:
            lines.add(safe_name(group, 40))
        rows += [
            _row(place, record, first + chosen.index(record.group), measures, everyone, least)
            for place, record in own
            if record.group in chosen
        ]
    shares = all(is_share(record) for _, record in placed)
    words = f"Heat map of {plural(lines.heads.count(False) - 1, 'group')} by {plural(len(measures), 'measure')}."
    labels = lines.labels([short_title_of(measure) for measure in measures])
    spec = finish(_plot(rows, len(lines.names), len(measures), shares), rows, labels, alt=words)
    spec["config"]["view"] = {"stroke": None}
    return Chart(
        name=f"rates {split or ''}".strip(),
        title="Every group beside everyone" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=_caption(shares, least),
        alt=words + " The numbers are in the table of rates below.",
        spec=spec,
        notes=tuple(notes),
        rows=2 * len(rows),
    )


def _caption(shares: bool, least: int) -> str:
    unit = "" if shares else ", in parts of everyone's error"
    few = f" Grey numbers have fewer than {least:,} people behind them and no colour." if least else ""
    what = "rate" if shares else "value"
    return (
        f"Each cell is a group's {what}; its colour is how far that lies from everyone's: blue below, orange above"
        f"{unit}.{few}"
    )


def _heading(subject: Subject) -> str:
    return " × ".join(safe_name(part, 24) for part in subject.attribute)


def _row(place: int, record: Record, line: int, measures: list[str], everyone: dict[str, Record], least: int) -> Row:
    shown = percent(record.value) if record.kind == "rate" else decimal(record.value)
    few = record.denominator is not None and record.denominator < least
    return {
        "record": place,
        "line": line,
        "column": measures.index(record.measure),
        "text": shown if record.defined else record.status,
        "far": None if few else _far(record, everyone),
        "few": few,
        "group": EVERYONE if record.group is None else safe_name(record.group),
    }


def _far(record: Record, everyone: dict[str, Record]) -> float | None:
    """How far a rate lies from everyone's: in points; an error, in hundredths of everyone's error."""
    base = everyone.get(record.measure)
    if base is None or not base.defined or not record.defined:
        return None
    if is_share(record) or record.measure == "pearson":
        return rounded(record.value - base.value, 100)
    error = everyone.get("root_mean_squared_error")
    size = error.value if error is not None and error.defined else abs(base.value)
    return rounded((record.value - base.value) / size, 100) if size else None


def _plot(rows: list[Row], lines: int, columns: int, shares: bool) -> alt.TopLevelMixin:
    widest = max([LEAST_RANGE, *(abs(float(str(row["far"]))) for row in rows if row["far"] is not None)])
    base = grid(lines)
    colour = (
        alt.Color("far:Q")
        .scale(domain=[-widest, 0, widest], range=[BELOW, SAME, ABOVE], clamp=True)
        .legend(
            title="points from everyone" if shares else "% of everyone's error", orient="bottom", gradientLength=220
        )
    )
    tooltip = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("text:N", title="value"),
        alt.Tooltip("far:Q", title="from everyone", format="+.2f"),
    ]
    box = base.mark_rect(stroke="white", strokeWidth=2, invalid=None).encode(color=colour, tooltip=tooltip)
    ink = alt.condition("datum.few", alt.value(QUIET), alt.value(INK))
    text = base.mark_text(fontSize=12).encode(text="text:N", color=ink)
    return alt.layer(box, text).properties(width=columns * CELL, height=alt.Step(26))
