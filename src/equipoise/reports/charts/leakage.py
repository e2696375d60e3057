"""How well groups can be read from an embedding: a bar a probe, against chance and against shuffled groups."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits import AuditResult
from equipoise.audits.leakage import LeakageRecord
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, LINE, QUIET, ROWS, Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import CHANCE, FOUND, RING, Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit
from equipoise.reports.spaces import learner_title

MOST_ATTRIBUTES = 12
FINDING, NO_FINDING, UNTESTED = "confirmed", "not significant", "not tested"
SHUFFLED = "shuffled groups (control)"
LOOKS = {FINDING: FOUND, NO_FINDING: CHANCE, UNTESTED: Look(QUIET, QUIET, "square"), SHUFFLED: RING}
BAR = "#B7D4EA"


def leakage(result: AuditResult) -> Chart | None:
    """Draw the balanced accuracy of every probe of every attribute."""
    attributes = list(dict.fromkeys(record.attribute for record in result.leakage))[:MOST_ATTRIBUTES]
    if not attributes:
        return None
    lines = Lines()
    panels: dict[str, list[object]] = {"panels": ["Balanced accuracy"]}
    rows: list[Row] = []
    for attribute in attributes:
        lines.add(safe_name(attribute, 30), head=True)
        for place, record in enumerate(result.leakage):
            if record.attribute == attribute:
                rows += _rows(place, record, lines.add(learner_title(record.probe)))
    shown = [record for record in result.leakage if record.attribute in attributes]
    found = sum(1 for record in shown if record.finding)
    words = f"Balanced accuracy of {plural(len(shown), 'probe')} for {plural(len(attributes), 'attribute')}."
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    many = len({record.attribute for record in result.leakage}) - len(attributes)
    return Chart(
        name="leakage",
        title="Balanced accuracy of the probes",
        caption=(
            f"A bar is a probe's balanced accuracy out of fold, the line its 95% interval; {found} of "
            f"{plural(len(shown), 'probe')} read the group better than chance, after correction. The black stroke is "
            "chance, one over the number of groups; the ring is the same probe with permuted groups."
        ),
        alt=words + " The numbers are in the table below.",
        spec=finish(_plot(looks, len(lines.names)), rows, lines.labels([]) | panels, alt=words),
        fit=fit(1, lines.names, looks, columns=1, widest=620),
        notes=(f"{plural(many, 'more attribute')} in the table.",) if many > 0 else (),
        rows=4 * len(rows),
    )


def _rows(place: int, record: LeakageRecord, line: int) -> Sequence[Row]:
    found = record.finding
    common: Row = {"leakage": place, "line": line, "panel": 0, "of": safe_name(record.attribute)}
    return [
        {
            **common, "what": SHUFFLED, "value": rounded(record.shuffled_balanced),
        },
        {
            **common, "what": UNTESTED if found is None else FINDING if found else NO_FINDING,
            "value": rounded(record.balanced), "balanced": rounded(record.balanced),
            "low": rounded(record.balanced_low), "high": rounded(record.balanced_high),
            "chance": rounded(record.chance), "p": rounded(record.balanced_p_adjusted),
        },
    ]  # fmt: skip


def _plot(looks: dict[str, Look], lines: int) -> alt.FacetChart:
    base = alt.Chart()
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    y = alt.Y("line:O").scale(domain=list(range(lines)))
    y = y.axis(title=None, labelExpr="labels[datum.value]", labelFontWeight=bold)
    x = alt.X("balanced:Q").title(None).scale(domain=[0, 1]).axis(tickCount=5, format=".1f", gridColor=LINE)
    names = list(looks)
    colour, fill, shape = (
        channel("what:N").scale(domain=names, range=[getattr(look, part) for look in looks.values()]).legend(title=None)
        for channel, part in ((alt.Color, "colour"), (alt.Fill, "fill"), (alt.Shape, "shape"))
    )
    tooltip = [
        alt.Tooltip("of:N", title="of"),
        alt.Tooltip("what:N", title="what"),
        alt.Tooltip("value:Q", title="balanced accuracy", format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("chance:Q", title="chance", format=".3f"),
        alt.Tooltip("p:Q", title="p, corrected", format=".3g"),
    ]
    bar = base.mark_bar(height=14, color=BAR).encode(x=x, x2=alt.datum(0), y=y, tooltip=tooltip)
    interval = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", y=y, color=colour, tooltip=tooltip)
    chance = base.mark_tick(color=INK, thickness=2.5, size=20).encode(x="chance:Q", y=y)
    point = base.mark_point(size=75, opacity=1, strokeWidth=1.5).encode(
        x="value:Q", y=y, color=colour, fill=fill, shape=shape, tooltip=tooltip
    )
    plot: alt.FacetChart = (
        alt.layer(bar, chance, interval, point)
        .properties(width=460, height=alt.Step(24))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=1,
        )
    )
    return plot
