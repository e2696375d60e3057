"""Gaps over the degree of imbalance, in the space and in what is built on it: Figures 3, 8 and 9 of paper 000."""

from __future__ import annotations

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, DASHES, LINE, ONCE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.intervals import ZERO
from equipoise.studies.findings import (
    AMI,
    BALANCED,
    EMBEDDING,
    MAJORITISED,
    OWN,
    RECALL,
    SPOKEN,
    UNIFORMITY,
    SpaceRecord,
    StudyResult,
    set_aside,
    source_title,
    title_of,
)

MOST_LINES, MOST_PANELS = len(COLOURS), 12
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
UPSTREAM = (RECALL, AMI, UNIFORMITY)
Panel = tuple[str, str | None, str]


def space_curves(result: StudyResult) -> Chart | None:
    """Draw the gap of every method over the degree, a panel a measure of the space and a classifier.

    Classifiers on own and on balanced rows are drawn; those that were trained otherwise are in the tables, and a sweep
    has a chart of its own.
    """
    aside = set_aside(one.source for one in result.spaces)
    placed = [(place, one) for place, one in enumerate(result.spaces) if _shown(one) and one.source not in aside]
    if len({one.degree for _, one in placed}) < 2:
        return None
    every = sorted(dict.fromkeys(_panel(one) for _, one in placed), key=lambda panel: panel[0] != EMBEDDING)
    panels = every[:MOST_PANELS]
    methods = list(dict.fromkeys(_method(one) for _, one in placed))
    lines = methods[:MOST_LINES]
    rows = [
        _row(place, one, panels.index(_panel(one)), lines.index(_method(one)))
        for place, one in placed
        if _panel(one) in panels and _method(one) in lines
    ]
    notes = []
    if len(lines) < len(methods):
        notes.append(f"Shown are the first {len(lines)} of {len(methods)} methods.")
    if len(panels) < len(every):
        notes.append(f"Shown are {len(panels)} of {len(every)} panels; the JSON has all of them.")
    words = f"Gaps of {plural(len(lines), 'method')} over the degree of imbalance in {plural(len(panels), 'panel')}."
    names = [safe_name(line, 40) for line in lines]
    return Chart(
        name="gaps over imbalance",
        title="Gaps over the degree of imbalance, in the space and downstream",
        caption=(
            "Across, the share of images that a majoritised class has beside a minoritised one (0.5 is the balanced "
            "control); up, the gap: above 0 the minoritised are worse off. A line is the mean over seeds, the band its "
            "95% interval over them."
        ),
        alt=words + " The numbers are in the tables below.",
        spec=finish(
            _plot(len(lines), len(panels)), rows, {"panels": [_title(panel) for panel in panels], "lines": names},
            alt=words,
        ),
        fit=Fit(min(3, len(panels)), 190, 330, 60, max(map(len, names))),
        notes=tuple(notes),
        rows=3 * len(rows),
    )  # fmt: skip


def _shown(one: SpaceRecord) -> bool:
    wanted = UPSTREAM if one.upstream else (SPOKEN,)
    return (
        one.kind == "gap" and one.rule == MAJORITISED and one.degree is not None and one.chosen and one.defined
        and one.measure in wanted and one.training in (None, OWN, BALANCED)
    )  # fmt: skip


def _panel(one: SpaceRecord) -> Panel:
    return one.source, one.training, one.measure


def _method(one: SpaceRecord) -> str:
    return one.learner if one.treatment == "untreated" else f"{one.learner}: {one.treatment}"


def _title(panel: Panel) -> str:
    source, training, measure = panel
    if source == EMBEDDING:
        return f"Space: {title_of(measure)}"
    rows = "" if training is None else f", {safe_name(training, 12)}"
    title = safe_name(source_title(source), 44)
    return f"{title[:1].upper()}{title[1:]}{rows}"


def _row(place: int, one: SpaceRecord, panel: int, line: int) -> Row:
    low, high = (one.mean if edge is None or edge != edge else edge for edge in (one.low, one.high))
    return {
        "space": place, "panel": panel, "line": line, "degree": rounded(one.degree), "mean": rounded(one.mean),
        "low": rounded(low), "high": rounded(high), "of": safe_name(_method(one)), "seeds": one.seeds,
    }  # fmt: skip


def _plot(lines: int, panels: int) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    places = list(range(lines))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolOpacity=1)
    colour = alt.Color("line:N").scale(domain=places, range=list(COLOURS[:lines])).legend(legend)
    shape = alt.Shape("line:N").scale(domain=places, range=list(SHAPES[:lines])).legend(legend)
    dash = alt.StrokeDash("line:N").scale(domain=places, range=list(DASHES[:lines])).legend(legend)
    x = alt.X("degree:Q").title("degree of imbalance").scale(nice=False, zero=False, padding=8)
    x = x.axis(tickCount=5, gridColor=LINE, labelOverlap="greedy", format=".2~f")
    y = alt.Y("mean:Q").title(None).axis(tickCount=5, format="+.3~f", gridColor=LINE)
    tooltip = [
        alt.Tooltip("of:N", title="method"),
        alt.Tooltip("degree:Q", title="degree"),
        alt.Tooltip("mean:Q", title="gap", format="+.4f"),
        alt.Tooltip("low:Q", title="from", format="+.4f"),
        alt.Tooltip("high:Q", title="to", format="+.4f"),
        alt.Tooltip("seeds:Q", title="seeds"),
    ]
    band = base.mark_area(opacity=0.12 if lines <= 4 else 0.06).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    point = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    plot: alt.FacetChart = (
        alt.layer(once.mark_rule(color=ZERO).encode(y=alt.datum(0)), band, line, point)
        .properties(width=230, height=180)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, 3),
        )
        .resolve_axis(x="independent", y="independent")
        .resolve_scale(y="independent")
    )
    return plot
