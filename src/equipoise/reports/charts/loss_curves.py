"""Losses of a search over its steps: a panel a direction, a line a restart."""

from __future__ import annotations

import altair as alt
import numpy as np

from equipoise.discovery.hyperplane import Floats
from equipoise.reports._formats import plural
from equipoise.reports.charts.chart import COLOURS, DASHES, LINE, ROWS, Chart, Fit, Row, finish, rounded

MOST_PANELS, MOST_LINES, MOST_ROWS = 9, len(COLOURS), 3_000


def loss_curves(curves: Floats) -> Chart | None:
    """Draw the loss of every restart; None where nothing was searched."""
    losses = np.asarray(curves, dtype=np.float64)
    if losses.ndim != 3 or losses.shape[2] < 2:
        return None
    done = [place for place, own in enumerate(losses) if np.isfinite(own).any()]
    if not done:
        return None
    panels, lines = done[:MOST_PANELS], range(min(losses.shape[1], MOST_LINES))
    # The first and the last step, and as many between them as there is room for.
    most = max(10, MOST_ROWS // (len(panels) * len(lines)))
    steps = np.unique(np.linspace(0, losses.shape[2] - 1, min(most, losses.shape[2])).round().astype(int))
    rows: list[Row] = [
        {"panel": place, "line": line, "step": int(step) + 1, "loss": rounded(float(losses[panel, line, step]))}
        for place, panel in enumerate(panels)
        for line in lines
        for step in steps
        if np.isfinite(losses[panel, line, step])
    ]
    notes = []
    if len(panels) < len(done):
        notes.append(f"Shown are the first {len(panels)} of {len(done)} directions.")
    if len(lines) < losses.shape[1]:
        notes.append(f"Shown are the first {len(lines)} of {losses.shape[1]} restarts.")
    words = f"Losses of {plural(len(lines), 'restart')} over the steps, for {plural(len(panels), 'direction')}."
    return Chart(
        name="loss curves",
        title="The search, step by step",
        caption=(
            "Lower is better. Every step draws new latents, so the lines are noisy; where they still fall at the end, "
            "more steps (--steps) may find more. Restarts that end at the same loss agree."
        ),
        alt=words + " The last losses say whether the search had settled.",
        spec=finish(
            _plot(len(lines), len(panels)),
            rows,
            {
                "panels": [f"Direction {panel + 1}" for panel in panels],
                "lines": [f"restart {line + 1}" for line in lines],
            },
            alt=words,
        ),
        fit=Fit(min(3, len(panels)), 190, 320, 60, len("restart 10")),
        notes=tuple(notes),
        rows=len(rows),
    )


def _plot(lines: int, panels: int) -> alt.FacetChart:
    places = list(range(lines))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]")
    colour = alt.Color("line:N").scale(domain=places, range=list(COLOURS[:lines])).legend(legend)
    dash = alt.StrokeDash("line:N").scale(domain=places, range=list(DASHES[:lines])).legend(legend)
    x = alt.X("step:Q").title("step").scale(nice=False, zero=False)
    x = x.axis(tickCount=4, tickMinStep=1, gridColor=LINE, labelOverlap="greedy")
    y = alt.Y("loss:Q").title("loss").scale(zero=False).axis(tickCount=5, format=".2~f", gridColor=LINE)
    plot: alt.FacetChart = (
        alt.Chart()
        .mark_line(strokeWidth=1.4)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
        .properties(width=230, height=170)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, 3),
        )
        .resolve_axis(x="independent", y="independent")
        .resolve_scale(y="independent")
    )
    return plot
