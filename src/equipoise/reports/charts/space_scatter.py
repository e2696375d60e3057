"""The gap of the space against the gap downstream: a mark a cell of the study, a panel a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, LINE, ONCE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.intervals import ZERO
from equipoise.studies.findings import (
    HALVES,
    MAJORITISED,
    RECALL,
    SPOKEN,
    SpaceRecord,
    StudyResult,
    set_aside,
    source_title,
    title_of,
)

MOST_PANELS = 6
MOST_POINTS = 1_200
# What a classifier was trained on, with colour and shape.
LOOKS = {"own": ("trained on own rows", COLOURS[0], "circle"), "balanced": ("on balanced rows", COLOURS[1], "square")}


def space_scatter(result: StudyResult) -> Chart | None:
    """Draw the pairs of gaps; none with fewer than two cells, where there is nothing to see."""
    aside = set_aside(one.source for one in result.spaces)
    across = {_cell(one): one for one in result.spaces if _is(one, RECALL) and one.upstream}
    placed = [
        (place, one, across[_cell(one)])
        for place, one in enumerate(result.spaces)
        if _is(one, SPOKEN) and one.training in LOOKS and one.source not in aside and _cell(one) in across
    ]
    sources = list(dict.fromkeys(one.source for _, one, _ in placed))
    panels = sources[:MOST_PANELS]
    shown = [item for item in placed if item[1].source in panels][:MOST_POINTS]
    if len({_cell(one) for _, one, _ in shown}) < 2:
        return None
    trained = [name for name in LOOKS if any(one.training == name for _, one, _ in shown)]
    rows = [_row(*item, panels.index(item[1].source), trained.index(str(item[1].training))) for item in shown]
    words = (
        f"Scatter of the gap in {title_of(RECALL)} of the space against the gap in {title_of(SPOKEN)} of "
        f"{plural(len(panels), 'classifier')}, {plural(len(rows), 'mark')}."
    )
    notes = [f"Shown are {len(panels)} of {len(sources)} classifiers."] if len(panels) < len(sources) else []
    return Chart(
        name="gaps upstream and downstream",
        title="Gap of the space against gap downstream",
        caption=(
            f"A mark is a condition, learner and treatment: across its gap in {title_of(RECALL)} of the space, up its "
            f"gap in {title_of(SPOKEN)} of a classifier on that space, means over seeds. Right of and above 0 the "
            "minoritised are worse off. Cells of one study share their test rows and seeds: no line is fitted."
        ),
        alt=words + " The numbers are in the tables.",
        spec=finish(
            _plot(panels, [LOOKS[name] for name in trained], rows), rows,
            {"panels": [safe_name(source_title(name), 44) for name in panels],
             "lines": [LOOKS[name][0] for name in trained]}, alt=words,
        ),
        fit=Fit(min(3, len(panels)), 190, 330, 70, 20),
        notes=tuple(notes),
        rows=len(rows),
    )  # fmt: skip


def _is(one: SpaceRecord, measure: str) -> bool:
    return one.kind == "gap" and one.rule in (MAJORITISED, HALVES) and one.measure == measure and one.defined


def _cell(one: SpaceRecord) -> tuple[str, ...]:
    return one.condition, one.learner, one.treatment, one.setting, one.attribute


def _row(place: int, one: SpaceRecord, above: SpaceRecord, panel: int, line: int) -> Row:
    who = " · ".join(part for part in (one.condition, one.learner, one.treatment, one.setting) if part)
    return {
        "space": place, "panel": panel, "line": line, "upstream": rounded(above.mean), "downstream": rounded(one.mean),
        "of": safe_name(who, 90),
    }  # fmt: skip


def _plot(panels: Sequence[str], looks: Sequence[tuple[str, str, str]], rows: Sequence[Row]) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    places = list(range(len(looks)))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolOpacity=1)
    colour = alt.Color("line:N").scale(domain=places, range=[look[1] for look in looks]).legend(legend)
    shape = alt.Shape("line:N").scale(domain=places, range=[look[2] for look in looks]).legend(legend)
    across, up = (_reach([float(str(row[field])) for row in rows]) for field in ("upstream", "downstream"))
    x = alt.X("upstream:Q").title(f"gap in {title_of(RECALL)} of the space").scale(domain=across, nice=False)
    x = x.axis(tickCount=4, format="+.2f", labelOverlap="greedy", gridColor=LINE)
    y = alt.Y("downstream:Q").title(f"gap in {title_of(SPOKEN)}").scale(domain=up, nice=False)
    y = y.axis(tickCount=5, format="+.2f", gridColor=LINE)
    tooltip = [
        alt.Tooltip("of:N", title="cell"),
        alt.Tooltip("upstream:Q", title="space", format="+.4f"),
        alt.Tooltip("downstream:Q", title="downstream", format="+.4f"),
    ]
    plot: alt.FacetChart = (
        alt.layer(
            once.mark_rule(color=ZERO).encode(y=alt.datum(0)),
            once.mark_rule(color=ZERO).encode(x=alt.datum(0)),
            base.mark_point(filled=True, size=55, opacity=0.8).encode(
                x=x, y=y, color=colour, shape=shape, tooltip=tooltip
            ),
        )
        .properties(width=230, height=210)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(len(panels), 3),
        )
    )
    return plot


def _reach(values: Sequence[float]) -> list[float]:
    """Return a domain for an axis: everything that is drawn and 0, with room at both ends."""
    ends = [0.0, *values]
    room = 0.1 * (max(ends) - min(ends)) or 0.05
    return [min(ends) - room, max(ends) + room]
