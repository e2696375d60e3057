"""The forest plot: signed contrasts with their intervals. Colour and shape tell what is confirmed, and for whom it is
worse or better.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits import GroupResult
from equipoise.reports._cells import meaning_of
from equipoise.reports._document import Meaning
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import (
    BETTER,
    INK,
    LINE,
    ONCE,
    QUIET,
    ROWS,
    WORSE,
    Chart,
    Fit,
    Row,
    finish,
    rounded,
)
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import alone, fit, interval_panels, spanned, with_room
from equipoise.reports.measure_words import is_share, reading_order, title_of
from equipoise.reports.subjects import Placed, Subject, contrasts_of, subjects_of
from equipoise.results import Record, Status

MOST_LINES = 60
# What a mark says, and how it looks: the shape tells the same as the colour.
LOOKS = {
    Meaning.WORSE: ("worse for the group", Look(WORSE, WORSE, "diamond")),
    Meaning.BETTER: ("better for the group", Look(BETTER, BETTER, "square")),
    Meaning.NEUTRAL: ("confirmed", Look(INK, INK, "triangle-up")),
    Meaning.QUIET: ("not significant", Look(QUIET, QUIET, "circle")),
}
# The chart of the first screen: two measures at most, and so many lines.
MAIN_MEASURES, MAIN_LINES = 2, 16
MAIN_NUMBERS = {
    "value": ("difference", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g"),
}  # fmt: skip
UNTOLD = {Status.TOO_SMALL: "too few people"}
FIT = Fit(columns=6, narrowest=150, widest=260, labels=200)
LETTER = 7
# On paper three panels in a row can be read; with many lines all six, or the page is not long enough.
STILL_COLUMNS, STILL_WIDTH = 3, 180
MANY_LINES = 24

# A line of the plot: a class or label where there are several, and a group.
Line = tuple[str | None, str]


def forest(result: GroupResult, subject: Subject) -> Chart | None:
    """Draw the contrasts of a subject: a line a group, a panel a measure."""
    every = contrasts_of(result, subject)
    placed = [item for item in every if item[1].status == Status.OK and item[1].defined]
    if not placed:
        return None
    chosen, left_out = _lines(placed)
    lines = {line: number for number, line in enumerate(chosen)}
    measures = sorted({record.measure for _, record in placed}, key=reading_order)
    shares = all(is_share(record) for _, record in placed)
    rows = [
        _row(place, record, lines[_line(record)], measures.index(record.measure), shares)
        for place, record in every
        if _line(record) in lines and record.measure in measures
    ]
    findings = sum(1 for _, record in placed if record.finding)
    against = " or ".join(dict.fromkeys(safe_name(str(record.against)) for _, record in placed))
    words = f"Forest plot for {subject.title}: contrasts with {against}, {findings:,} confirmed."
    names = [_label(line) for line in lines]
    labels = {"labels": names, "panels": [title_of(measure) for measure in measures]}
    return Chart(
        name=f"contrasts {subject.title}",
        title=f"{subject.title}: differences from {against}",
        caption=(
            f"{plural(len(placed), 'contrast')} with {against}, {findings:,} confirmed"
            + ("." if shares else "; in the units of each measure.")
        ),
        alt=words + " The numbers are in the table of contrasts below.",
        spec=finish(_plot(len(measures), len(lines), shares), rows, labels, alt=words),
        fit=Fit(
            min(FIT.columns, len(measures)),
            FIT.narrowest,
            FIT.widest,
            min(FIT.labels, 20 + LETTER * max(map(len, names))),
        ),
        notes=(f"Shown are the {len(lines)} of {len(lines) + left_out} lines with the widest contrasts.",)
        if left_out
        else (),
        rows=3 * len(rows),
    )


def main_forest(result: GroupResult, leading: Sequence[str] = ()) -> Chart | None:
    """Draw the contrasts that are read first, of all attributes: those of the leading measures, of one class."""
    subjects = subjects_of(result)
    placed = [
        (subject, place, record) for subject in subjects for place, record in contrasts_of(result, subject)
        if record.status == Status.OK and record.defined and (not leading or record.measure in leading)
    ]  # fmt: skip
    if not placed:
        return None
    first = min((record for _, _, record in placed), key=lambda record: (not record.finding, -_reach(record)))
    of = (first.class_, first.label)
    own = [item for item in placed if (item[2].class_, item[2].label) == of or not _is_classed(item[2])]
    order = list(leading).index if leading else reading_order
    measures = sorted({record.measure for _, _, record in own}, key=order)[:MAIN_MEASURES]
    own = [item for item in own if item[2].measure in measures]
    lines, places, left_out = _main_lines(own)
    rows = [
        _main_row(place, record, places[subject, str(record.group)], measures.index(record.measure))
        for subject, place, record in own
        if (subject, str(record.group)) in places
    ]
    looks = {name: look for name, look in LOOKS.values() if any(row["what"] == name for row in rows)}
    confirmed = sum(row["what"] != LOOKS[Meaning.QUIET][0] for row in rows)
    against = " or ".join(dict.fromkeys(safe_name(str(record.against), 30) for _, _, record in own))
    what = " and ".join(title_of(measure).lower() for measure in measures)
    words = f"Differences of groups in {what}, compared with {against}: {confirmed} of {len(rows)} are confirmed."
    shares = all(is_share(record) for _, _, record in own)
    class_ = of[1] if of[1] is not None else of[0] if first.scope == "class" else None
    spec = finish(
        interval_panels(
            looks, MAIN_NUMBERS, panels=len(measures), lines=len(lines.names), heads=True, zero=True,
            title="percentage points" if shares else "difference", own_scales=not shares,
        ),
        rows,
        {"labels": lines.names, "heads": lines.heads, "panels": [title_of(measure) for measure in measures]},
        alt=words,
    )  # fmt: skip
    spec = with_room(alone(spec) if len(measures) == 1 else spec)
    unit = "percentage points" if shares else "the unit of each measure"
    return Chart(
        name="main contrasts",
        title=f"How groups differ in {what}" + ("" if class_ is None else f" ({safe_name(class_, 30)})"),
        caption=(
            f"Each mark is a group's value minus that of {against}, in {unit}, with its interval, corrected for the "
            "number of tests: an interval that crosses 0 is not significant."
        ),
        alt=f"{words} The numbers are in the table of contrasts.",
        spec=spec,
        fit=fit(len(measures), lines.names, looks, columns=MAIN_MEASURES, widest=400),
        notes=(f"Shown are the {len(places)} of {len(places) + left_out} groups with the widest differences.",)
        if left_out else (),
        rows=3 * len(rows),
    )  # fmt: skip


def _is_classed(record: Record) -> bool:
    return record.class_ is not None or record.label is not None


def _reach(record: Record) -> float:
    return abs(record.value) if is_share(record) else 0.0


def _main_lines(
    placed: Sequence[tuple[Subject, int, Record]],
) -> tuple[Lines, dict[tuple[Subject, str], int], int]:
    """Return the lines: a heading for each attribute, its groups below it; the widest where there are too many."""
    widest: dict[tuple[Subject, str], float] = {}
    for subject, _, record in placed:
        key = (subject, str(record.group))
        widest[key] = max(widest.get(key, 0.0), abs(record.value))
    chosen = set(sorted(widest, key=lambda key: -widest[key])[:MAIN_LINES])
    lines, places = Lines([], []), {}
    for subject in dict.fromkeys(subject for subject, _ in widest):
        groups = [group for own, group in widest if own == subject and (own, group) in chosen]
        if groups:
            lines.add(subject.title, head=True)
        for group in groups:
            places[subject, group] = len(lines.names)
            lines.add(safe_name(group, 30))
    return lines, places, len(widest) - len(places)


def _main_row(place: int, record: Record, line: int, panel: int) -> Row:
    return {
        "record": place, "line": line, "panel": panel,
        **spanned(record.value, record.low, record.high, 100.0 if is_share(record) else 1.0),
        "p": rounded(record.p_adjusted), "what": LOOKS[meaning_of(record)][0], "of": safe_name(str(record.group)),
    }  # fmt: skip


def _line(record: Record) -> Line:
    return (record.label if record.label is not None else _class(record), str(record.group))


def _class(record: Record) -> str | None:
    return record.class_ if record.scope == "class" else None


def _label(line: Line) -> str:
    class_, group = line
    return safe_name(group, 40) if class_ is None else f"{safe_name(class_, 24)}: {safe_name(group, 30)}"


def _lines(placed: Sequence[Placed]) -> tuple[list[Line], int]:
    """Return the lines in the order of the first measure's contrasts, the widest only where there are too many."""
    widest: dict[Line, float] = {}
    for _, record in placed:
        widest[_line(record)] = max(widest.get(_line(record), 0.0), abs(record.value))
    chosen = sorted(widest, key=lambda line: -widest[line])[:MOST_LINES]
    first = min((record.measure for _, record in placed), key=reading_order)
    values = {_line(record): record.value for _, record in placed if record.measure == first}
    classes = list(dict.fromkeys(line[0] for line in widest))
    chosen.sort(key=lambda line: (classes.index(line[0]), values.get(line, 0.0)))
    return chosen, len(widest) - len(chosen)


def _row(place: int, record: Record, line: int, panel: int, shares: bool) -> Row:
    scale = 100.0 if shares else 1.0
    if record.status != Status.OK:
        return {"record": place, "line": line, "panel": panel, "text": UNTOLD.get(record.status, record.status)}
    return {
        "record": place,
        "line": line,
        "panel": panel,
        "value": rounded(record.value, scale),
        "low": rounded(record.low, scale),
        "high": rounded(record.high, scale),
        "text": "",
        "verdict": LOOKS[meaning_of(record)][0],
        "group": safe_name(str(record.group)),
        "p": rounded(record.p_adjusted),
    }


def _plot(panels: int, lines: int, shares: bool) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    domain = [name for name, _ in LOOKS.values()]
    y = alt.Y("line:O").axis(title=None, labelExpr="labels[datum.value]", grid=True)
    colour = (
        alt.Color("verdict:N")
        .scale(domain=domain, range=[look.colour for _, look in LOOKS.values()])
        .legend(title=None)
    )
    shape = (
        alt.Shape("verdict:N").scale(domain=domain, range=[look.shape for _, look in LOOKS.values()]).legend(title=None)
    )
    tooltip = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("value:Q", title="difference", format="+.2f"),
        alt.Tooltip("low:Q", title="from", format="+.2f"),
        alt.Tooltip("high:Q", title="to", format="+.2f"),
        alt.Tooltip("p:Q", title="p, corrected", format=".3g"),
        alt.Tooltip("verdict:N", title="verdict"),
    ]
    title = "points" if shares else "difference"
    zero = once.mark_rule(color="#8A949E").encode(x=alt.datum(0))
    interval = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q").title(title).axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE),
        x2="high:Q", y=y, color=colour, tooltip=tooltip,
    )  # fmt: skip
    point = base.mark_point(filled=True, size=80, opacity=1).encode(
        x="value:Q", y=y, color=colour, shape=shape, tooltip=tooltip
    )
    few = base.mark_text(fontSize=11, fontStyle="italic", color=QUIET).encode(x=alt.datum(0), y=y, text="text:N")
    plot: alt.FacetChart = (
        alt.layer(zero, interval, point, few)
        .properties(width=130 if lines > MANY_LINES else STILL_WIDTH, height=alt.Step(22))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, FIT.columns if lines > MANY_LINES else STILL_COLUMNS),
        )
        .resolve_axis(x="independent")
    )
    if not shares:
        plot = plot.resolve_scale(x="independent")
    return plot
