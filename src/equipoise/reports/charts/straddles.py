"""Classes that change sides of the 20% rule: from the lowest of their runs to the highest."""

from __future__ import annotations

import altair as alt

from equipoise.audits.evidence import RULE, EvidenceResult, Straddle, worst_first
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, LINE, ONCE, QUIET, ROWS, STRONG, Chart, Row, finish, rounded

MOST_LINES = 30
# For the names of lines, in pixels and in letters.
ROOM, LETTERS = 330, 54
COMPLETE, PARTLY = "0% in one run, 100% in another", "on both sides of the rule"


def straddles(result: EvidenceResult) -> Chart | None:
    """Draw the classes that straddle the rule, the worst first."""
    every = worst_first(result.straddling)
    chosen = every[:MOST_LINES]
    if not chosen:
        return None
    rows: list[Row] = [
        {
            "straddle": result.straddling.index(straddle),
            "line": line,
            "low": rounded(straddle.min),
            "high": rounded(straddle.max),
            "kind": COMPLETE if straddle.complete else PARTLY,
            "text": f"{straddle.broken} of {plural(straddle.runs, 'run')} above",
        }
        for line, straddle in enumerate(chosen)
    ]
    labels = [_label(straddle) for straddle in chosen]
    words = f"Ranges of the runs of {plural(len(chosen), 'class', 'classes')} across the 20% rule."
    spec = finish(_plot([row["kind"] for row in rows]), rows, {"labels": labels}, alt=words)
    spec["config"]["axisY"]["labelLimit"] = ROOM
    left = f"Shown are the {len(chosen)} of {len(every)} that move furthest." if len(chosen) < len(every) else None
    return Chart(
        name="straddling classes",
        title="Classes on both sides of the 20% rule",
        caption="From the lowest run to the highest of each class; the dashed line is the rule, 20%.",
        alt=words + " The numbers are in the table below.",
        spec=spec,
        notes=(left,) if left else (),
        rows=4 * len(rows),
    )


def _label(straddle: Straddle) -> str:
    """Name a line; the technique takes what metric and class leave, so that two techniques stay apart."""
    rest = f", {safe_name(straddle.metric, 16)}: {safe_name(straddle.by, 24)}"
    return safe_name(straddle.technique, max(20, LETTERS - len(rest))) + rest


def _plot(kinds: list[object]) -> alt.TopLevelMixin:
    base, once = alt.Chart(alt.NamedData(ROWS)), alt.Chart(alt.NamedData(ONCE))
    domain = [kind for kind in (COMPLETE, PARTLY) if kind in kinds]
    styles = {COMPLETE: (STRONG, "diamond"), PARTLY: (QUIET, "circle")}
    y = alt.Y("line:O").axis(title=None, labelExpr="labels[datum.value]", grid=True)
    colour = alt.Color("kind:N").scale(domain=domain, range=[styles[kind][0] for kind in domain]).legend(title=None)
    shape = alt.Shape("kind:N").scale(domain=domain, range=[styles[kind][1] for kind in domain]).legend(title=None)
    x = alt.X("low:Q").title(None).axis(format=".0%", tickCount=6, gridColor=LINE).scale(domain=[0, 1])
    rule = once.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=alt.datum(RULE))
    span = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour)
    ends = [
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X(f"{end}:Q"), y=y, color=colour, shape=shape, tooltip=[alt.Tooltip("text:N", title="the rule")]
        )
        for end in ("low", "high")
    ]
    text = base.mark_text(align="left", dx=10, fontSize=11, color=INK).encode(x=alt.datum(1), y=y, text="text:N")
    return alt.layer(rule, span, *ends, text).properties(width=330, height=alt.Step(24))
