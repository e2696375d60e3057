"""The forest plot: every signed contrast with its interval. What is a finding differs in colour and in shape."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits.result import AuditResult
from equipoise.reports.charts.chart import LINE, ONCE, QUIET, ROWS, STRONG, Chart, Fit, Row, finish, rounded
from equipoise.reports.formats import plural, safe_name
from equipoise.reports.measure_words import is_share, reading_order, title_of
from equipoise.reports.subjects import Placed, Subject, contrasts_of
from equipoise.results import Record, Status

MOST_LINES = 60
FINDING, NO_FINDING = "finding", "could be chance"
UNTOLD = {Status.TOO_SMALL: "too few people"}
FIT = Fit(columns=6, narrowest=150, widest=260, labels=200)
LETTER = 7
# On paper three panels in a row can be read; with many lines all six, or the page is not long enough.
STILL_COLUMNS, STILL_WIDTH = 3, 180
MANY_LINES = 24

# A line of the plot: a class or label where there are several, and a group.
Line = tuple[str | None, str]


def forest(result: AuditResult, subject: Subject) -> Chart | None:
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
    words = f"Forest plot for {subject.title}: contrasts against {against}, {plural(findings, 'finding')}."
    names = [_label(line) for line in lines]
    labels = {"labels": names, "panels": [title_of(measure) for measure in measures]}
    return Chart(
        name=f"contrasts {subject.title}",
        title=f"{subject.title}: differences to {against}",
        caption=(
            f"{plural(len(placed), 'contrast')} against {against}, {plural(findings, 'finding')}"
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
        "verdict": FINDING if record.finding else NO_FINDING,
        "group": safe_name(str(record.group)),
        "p": rounded(record.p_adjusted),
    }


def _plot(panels: int, lines: int, shares: bool) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    domain = [FINDING, NO_FINDING]
    y = alt.Y("line:O").axis(title=None, labelExpr="labels[datum.value]", grid=True)
    colour = alt.Color("verdict:N").scale(domain=domain, range=[STRONG, QUIET]).legend(title=None)
    shape = alt.Shape("verdict:N").scale(domain=domain, range=["diamond", "circle"]).legend(title=None)
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
