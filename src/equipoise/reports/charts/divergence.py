"""How two runs drift apart: all that is learnt over the steps, and layer by layer."""

from __future__ import annotations

import math

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, DASHES, LINE, ROWS, Chart, Row, finish, rounded
from equipoise.studies.diagnosing import Diagnosis
from equipoise.training.diverging.divergence import ALL

MOST_LAYERS = 80
LINES = ("everything learned, relative difference", "share of rows predicted differently")
# From hardly anything to large, light enough for the eye to order.
FAINT, STRONG = "#E8F1FA", "#08306B"


def drift(result: Diagnosis) -> Chart | None:
    """Draw the difference of all layers together, and the share of flipped predictions, over the steps."""
    rows: list[Row] = [
        {"step": one.step, "value": rounded(one.relative), "line": 0}
        for one in result.records
        if one.layer == ALL and one.relative > 0
    ]
    rows += [{"step": one.step, "value": rounded(one.share), "line": 1} for one in result.flips if one.share > 0]
    if len({row["step"] for row in rows}) < 2:
        return None
    present = sorted({int(str(row["line"])) for row in rows})
    words = f"Two runs over {plural(result.steps, 'step')}: the relative difference of everything they have learned."
    return Chart(
        name="drift",
        title="How the two runs drift apart",
        caption=f"The first difference was in step {result.step:,}. The scale is logarithmic: a straight line upwards "
        "is growth by the same factor in every step. Nothing is drawn where nothing differs.",
        alt=words + " The numbers are in the table below.",
        spec=finish(_lines(present), rows, {"lines": LINES}, alt=words),
        rows=2 * len(rows),
    )


def layers(result: Diagnosis) -> Chart | None:
    """Draw how far apart every layer is after each step that was looked at: a line a layer, a column a step."""
    own = [one for one in result.records if one.layer != ALL and one.relative > 0]
    names = list(dict.fromkeys(one.layer for one in result.records if one.layer != ALL))
    steps = sorted({one.step for one in own})
    if len(names) < 2 or len(steps) < 2:
        return None
    shown = names[:MOST_LAYERS]
    places = {name: place for place, name in enumerate(shown)}
    rows: list[Row] = [
        {
            "line": places[one.layer],
            "column": steps.index(one.step),
            "power": rounded(math.log10(one.relative)),
            "relative": rounded(one.relative),
            "layer": safe_name(one.layer, 60),
            "step": one.step,
        }
        for one in own
        if one.layer in places
    ]
    words = f"Map of {plural(len(shown), 'layer')} by {plural(len(steps), 'step')}: how far apart the two runs are."
    labels = {"labels": [safe_name(name, 40) for name in shown], "columns": [f"{step:,}" for step in steps]}
    notes = () if len(shown) == len(names) else (f"The first {len(shown)} of {len(names)} layers.",)
    return Chart(
        name="layers",
        title="Layer by layer",
        caption="Each cell is the relative difference of a layer's values after a step; layers stand in the order in "
        "which pictures or rows pass through them. A cell without colour: nothing differed.",
        alt=words + " The numbers are in the JSON.",
        spec=finish(_map(len(shown), len(steps)), rows, labels, alt=words),
        notes=notes,
        rows=len(rows),
    )


def _lines(present: list[int]) -> alt.TopLevelMixin:
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", labelLimit=320)
    scale = alt.Scale(domain=present, range=[COLOURS[place] for place in present])
    colour = alt.Color("line:N").scale(scale).legend(legend)
    dash = alt.StrokeDash("line:N").scale(domain=present, range=[DASHES[place] for place in present]).legend(legend)
    x = alt.X("step:Q").title("step").axis(gridColor=LINE, tickMinStep=1).scale(nice=False, zero=False, padding=8)
    y = alt.Y("value:Q").title(None).scale(type="log").axis(format=".0e", gridColor=LINE, tickCount=6)
    tooltip = [alt.Tooltip("step:Q", title="after step"), alt.Tooltip("value:Q", title="difference", format=".3g")]
    base = alt.Chart(alt.NamedData(ROWS)).encode(x=x, y=y, color=colour)
    line = base.mark_line(strokeWidth=1.8).encode(strokeDash=dash)
    return alt.layer(line, base.mark_point(filled=True, size=40).encode(tooltip=tooltip)).properties(
        width=620, height=280
    )


def _map(lines: int, columns: int) -> alt.TopLevelMixin:
    x = alt.X("column:O").scale(domain=list(range(columns))).axis(
        title="after step", labelExpr="columns[datum.value]", labelAngle=0, labelOverlap="greedy", ticks=False
    )  # fmt: skip
    y = alt.Y("line:O").scale(domain=list(range(lines))).axis(
        title=None, labelExpr="labels[datum.value]", ticks=False, domain=False
    )  # fmt: skip
    colour = (
        alt.Color("power:Q")
        .scale(range=[FAINT, STRONG])
        .legend(title="relative difference, power of ten", orient="bottom", gradientLength=260, titleLimit=300)
    )
    tooltip = [
        alt.Tooltip("layer:N", title="layer"),
        alt.Tooltip("step:Q", title="after step"),
        alt.Tooltip("relative:Q", title="relative difference", format=".3g"),
    ]
    plot: alt.Chart = alt.Chart(alt.NamedData(ROWS)).mark_rect(stroke="white", strokeWidth=1)
    return plot.encode(x=x, y=y, color=colour, tooltip=tooltip).properties(
        width=max(240, min(620, 30 * columns)), height=alt.Step(15 if lines > 20 else 24)
    )
