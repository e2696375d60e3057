"""Curves over alpha, after the figures of paper 001: each treatment from the data as they are to balance and beyond."""

from __future__ import annotations

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS as SEVEN
from equipoise.reports.charts.chart import DASHES, LINE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.study_terms import main_measures, nearest_treatments, placed, title_of_measure
from equipoise.studies.findings import StudyResult

MOST_CURVES = 10
# Three more than groups have: no two treatments share a colour.
COLOURS = (*SEVEN, "#7A5195", "#8C6D31", "#5F6B76")
MOST_PANELS = 12
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left",
    "M-1,-.4L1,-.4L1,.4L-1,.4Z", "M-.4,-1L.4,-1L.4,1L-.4,1Z",
)  # fmt: skip


def curves(result: StudyResult) -> Chart | None:
    """Draw accuracy, balanced accuracy, fairness and distance over alpha, a row of panels a mode."""
    modes: dict[tuple[str, str], dict[str, float]] = {}
    for condition in result.conditions:
        # Those that draw the same rows have the same point, each in its own mode.
        for mode, alpha in [(own.mode, own.alpha) for own in condition.equal] + [(condition.mode, condition.alpha)]:
            if mode is not None and alpha is not None:
                for learner in dict.fromkeys(learner for name, learner in result.unders if name == condition.condition):
                    modes.setdefault((mode, learner), {})[condition.condition] = alpha
    modes = {mode: alphas for mode, alphas in modes.items() if len(set(alphas.values())) > 1}
    treatments, note = nearest_treatments(result, MOST_CURVES)
    measures = main_measures(result)
    shown = list(modes)[: max(1, MOST_PANELS // len(measures))]
    rows, panels = _rows(result, {mode: modes[mode] for mode in shown}, treatments, measures)
    if not rows:
        return None
    names = [safe_name(name, 40) for name in treatments]
    words = (
        f"Curves of {', '.join(map(title_of_measure, measures))} over alpha for {plural(len(treatments), 'treatment')}."
    )
    notes = [note] if note else []
    if len(shown) < len(modes):
        notes.append(f"Shown are {len(shown)} of {len(modes)} modes; the table has all of them.")
    return Chart(
        name="curves",
        title="From the data as they are (alpha 0) over balance (1) to the reverse (2)",
        caption=(
            "A line is the mean over runs on the test rows, the band goes from the lowest run to the highest. "
            "Only the training rows change with alpha; every alpha has equally many of them. DTO is better low."
        ),
        alt=words + " The numbers are in the table below.",
        spec=finish(_plot(len(treatments), len(measures)), rows, {"panels": panels, "lines": names}, alt=words),
        fit=Fit(min(4, len(measures)), 185, 300, 60, max(map(len, names))),
        notes=tuple(notes),
        rows=3 * len(rows),
    )


def _rows(
    result: StudyResult, modes: dict[tuple[str, str], dict[str, float]], treatments: list[str], measures: list[str]
) -> tuple[list[Row], list[str]]:
    """Return the points of every curve, and the names of the panels."""
    rows: list[Row] = []
    panels: list[str] = []
    several = len({learner for _, learner in result.unders}) > 1
    for (mode, learner), alphas in modes.items():
        for measure in measures:
            for line, treatment in enumerate(treatments):
                for condition, alpha in sorted(alphas.items(), key=lambda item: item[1]):
                    found = placed(result, (condition, learner), treatment, measure)
                    if found is not None and found[1].mean == found[1].mean:
                        rows.append({
                            "record": found[0], "panel": len(panels), "line": line, "alpha": rounded(alpha),
                            "mean": rounded(found[1].mean), "min": rounded(found[1].min),
                            "max": rounded(found[1].max), "of": safe_name(treatment),
                        })  # fmt: skip
            panels.append(
                f"{safe_name(mode, 20)}{f', {safe_name(learner, 20)}' * several}: {title_of_measure(measure)}"
            )
    return rows, panels


def _plot(lines: int, columns: int) -> alt.FacetChart:
    base = alt.Chart()
    places = list(range(lines))
    colours = [COLOURS[place % len(COLOURS)] for place in places]
    dashes = [DASHES[(place + 3 * (place // len(DASHES))) % len(DASHES)] for place in places]
    shapes = [SHAPES[place % len(SHAPES)] for place in places]
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolSize=110, symbolOpacity=1)
    colour = alt.Color("line:N").scale(domain=places, range=colours).legend(legend)
    shape = alt.Shape("line:N").scale(domain=places, range=shapes).legend(legend)
    dash = alt.StrokeDash("line:N").scale(domain=places, range=dashes).legend(legend)
    x = (
        alt.X("alpha:Q")
        .title("alpha")
        .axis(tickCount=5, gridColor=LINE, labelOverlap="greedy")
        .scale(nice=False, padding=8)
    )
    y = alt.Y("mean:Q").title(None).scale(zero=False).axis(tickCount=5, format=".2f", gridColor=LINE)
    tooltip = [
        alt.Tooltip("of:N", title="treatment"),
        alt.Tooltip("alpha:Q", title="alpha"),
        alt.Tooltip("mean:Q", title="mean", format=".4f"),
        alt.Tooltip("min:Q", title="lowest run", format=".4f"),
        alt.Tooltip("max:Q", title="highest run", format=".4f"),
    ]
    # Many bands over each other would hide the lines.
    band = base.mark_area(opacity=0.12 if lines <= 5 else 0.05).encode(x=x, y=alt.Y("min:Q"), y2="max:Q", color=colour)
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    point = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    plot: alt.FacetChart = (
        alt.layer(band, line, point)
        .properties(width=205, height=190)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(columns, 4),
        )
        .resolve_axis(x="independent", y="independent")
        .resolve_scale(y="independent")
    )
    return plot
