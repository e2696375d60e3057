"""Upstream against downstream: a gap of the space across, gaps of what was trained on it up. A panel a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits import AuditResult
from equipoise.audits.downstream import PropagationPoint
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, INK, LINE, ONCE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.intervals import ZERO, spanned
from equipoise.reports.spaces import learner_title, value_title
from equipoise.results import Status

MOST_ATTRIBUTES = 10
MOST_PANELS = 6
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")
# Marks of one attribute lie on one upright line: each measure is moved aside by so many pixels.
ASIDE = 11


def propagation_chart(result: AuditResult) -> Chart | None:
    """Draw the pairs of gaps."""
    points = [(place, p) for place, p in enumerate(result.propagation) if p.status == Status.OK]
    attributes = list(dict.fromkeys(point.attribute for _, point in points))[:MOST_ATTRIBUTES]
    learners = list(dict.fromkeys(point.learner for _, point in points))[:MOST_PANELS]
    measures = list(dict.fromkeys(point.measure for _, point in points))[: len(SHAPES)]
    rows = [
        _row(place, point, learners.index(point.learner), measures.index(point.measure))
        for place, point in points
        if point.attribute in attributes and point.learner in learners and point.measure in measures
    ]
    if not rows:
        return None
    for row in rows:  # an attribute is named once a panel, above the highest of its marks
        row["top"] = max(_number(other["to"]) for other in rows if _same(row, other))
        row["name"] = row["of"] if row["line"] == 0 else ""
    upstream = value_title(result, points[0][1].upstream_measure)
    words = (
        f"Scatter of {plural(len(rows), 'pair')}: the gap in {upstream} of {plural(len(attributes), 'attribute')} "
        f"against the gaps of {plural(len(learners), 'classifier')}."
    )
    names = [measure.replace("_", " ") for measure in measures]
    return Chart(
        name="propagation",
        title="Gap of the space against gap downstream",
        caption=(
            f"Across, an attribute's gap in {upstream}; up, its gap in a classifier trained on the same points, with "
            "its 95% interval; both in percentage points. Right and above 0 the minoritised are worse off. A few "
            "points are an observation, not a law."
        ),
        alt=words + " The numbers are in the table below.",
        spec=finish(
            _plot(len(learners), len(measures), upstream, _reach(rows, "upstream"), _reach(rows, "from", "to")),
            rows,
            {"panels": [learner_title(learner) for learner in learners], "lines": names},
            alt=words,
        ),
        fit=Fit(min(3, len(learners)), 210, 420, 70, max(map(len, names))),
        notes=_notes(points, len(attributes), len(learners)),
        rows=3 * len(rows),
    )


def _notes(points: list[tuple[int, PropagationPoint]], attributes: int, learners: int) -> tuple[str, ...]:
    every = len({point.attribute for _, point in points}), len({point.learner for _, point in points})
    if every == (attributes, learners):
        return ()
    return (f"Shown are {attributes} of {every[0]} attributes and {learners} of {every[1]} classifiers.",)


def _row(place: int, point: PropagationPoint, panel: int, line: int) -> Row:
    who = safe_name(point.attribute, 24)
    return {
        "propagation": place,
        "panel": panel,
        "line": line,
        "upstream": rounded(point.upstream, 100),
        **spanned(point.downstream, point.low, point.high, 100),
        "of": who,
        "group": f"{safe_name(str(point.group), 30)} against {safe_name(str(point.against), 30)}",
    }


def _same(one: Row, other: Row) -> bool:
    return (one["panel"], one["of"]) == (other["panel"], other["of"])


def _number(value: object) -> float:
    return float(str(value))


def _reach(rows: Sequence[Row], *fields: str) -> list[float]:
    """Return a domain for an axis: everything that is drawn and 0, with room at both ends."""
    values = [0.0, *(_number(row[field]) for row in rows for field in fields)]
    room = 0.18 * (max(values) - min(values)) or 1.0
    return [min(values) - room, max(values) + room]


def _plot(panels: int, measures: int, upstream: str, across: list[float], up: list[float]) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    places = list(range(measures))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]")
    colour = alt.Color("line:N").scale(domain=places, range=list(COLOURS[:measures])).legend(legend)
    shape = alt.Shape("line:N").scale(domain=places, range=list(SHAPES[:measures])).legend(legend)
    x = alt.X("upstream:Q").title(f"gap in {upstream}, points").scale(domain=across, nice=False)
    x = x.axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    y = alt.Y("from:Q").title("gap downstream, points").scale(domain=up, nice=False).axis(tickCount=5, gridColor=LINE)
    tooltip = [
        alt.Tooltip("of:N", title="attribute"),
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("upstream:Q", title="upstream", format="+.2f"),
        alt.Tooltip("value:Q", title="downstream", format="+.2f"),
        alt.Tooltip("low:Q", title="from", format="+.2f"),
        alt.Tooltip("high:Q", title="to", format="+.2f"),
    ]
    layers = [
        once.mark_rule(color=ZERO).encode(y=alt.datum(0)),
        once.mark_rule(color=ZERO).encode(x=alt.datum(0)),
    ]
    for place in places:
        aside = ASIDE * (place - (measures - 1) / 2)
        own = base.transform_filter(alt.FieldEqualPredicate(field="line", equal=place))
        layers += [
            own.mark_rule(strokeWidth=2, xOffset=aside).encode(x=x, y=y, y2="to:Q", color=colour, tooltip=tooltip),
            own.mark_point(filled=True, size=75, opacity=1, xOffset=aside).encode(
                x=x, y="value:Q", color=colour, shape=shape, tooltip=tooltip
            ),
        ]
    text = base.mark_text(fontSize=12, color=INK, align="center", baseline="bottom", dy=-8, limit=120)
    layers.append(text.encode(x=x, y="top:Q", text="name:N"))
    plot: alt.FacetChart = (
        alt.layer(*layers)
        .properties(width=230, height=230)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, 3),
        )
    )
    return plot
