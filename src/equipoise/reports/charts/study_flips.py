"""How many people get another prediction when the same training is run again: a bar a treatment."""

from __future__ import annotations

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, LINE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import with_room
from equipoise.reports.study_terms import nearest_treatments, title_of_under
from equipoise.studies.findings import StudyResult

MOST_LINES = 45
BAR = "#B7D4EA"
LETTER = 7


def flips(result: StudyResult) -> Chart | None:
    """Draw the share of people whose prediction differs between identical runs, a line a treatment and seed's mean."""
    shares: dict[tuple[tuple[str, str], str], list[float]] = {}
    chosen = {(c.condition, c.learner, c.treatment, c.setting) for c in result.cells if c.chosen}
    for flip in result.flips:
        if flip.group is None and (flip.condition, flip.learner, flip.treatment, flip.setting) in chosen:
            shares.setdefault(((flip.condition, flip.learner), flip.treatment), []).append(flip.share)
    treatments, left_out = nearest_treatments(result, 12)
    unders = result.unders[: max(1, MOST_LINES // (len(treatments) + 1))]
    lines, rows = Lines(), []
    for under in unders:
        own = [name for name in treatments if (under, name) in shares]
        if own:
            lines.add(title_of_under(result, under), head=True)
        for name in own:
            found = shares[under, name]
            share = sum(found) / len(found)
            rows.append(_row(lines.add(safe_name(name, 40)), name, share, len(found)))
    if not rows:
        return None
    words = f"Share of people whose prediction flips between identical runs, for {plural(len(rows), 'cell')}."
    labels = lines.labels([]) | {"panels": ["People whose prediction flips"]}
    return Chart(
        name="flips",
        title="Same seed, same data, another answer",
        caption=(
            "The share of test people whose predicted class is not the same in all identical runs (mean over seeds). "
            "With more runs there is more room to differ."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(finish(_plot(len(lines.names), _most(rows)), rows, labels, alt=words)),
        fit=Fit(1, 200, 620, min(250, 24 + LETTER * max(map(len, lines.names)))),
        notes=(left_out,) if left_out else (),
        rows=2 * len(rows),
    )


def _most(rows: list[Row]) -> float:
    """Return where the axis ends: there is room for the number beside the longest bar."""
    return 1.15 * max(max(float(str(row["share"])) for row in rows), 0.001)


def _row(line: int, name: str, share: float, seeds: int) -> Row:
    return {
        "line": line, "panel": 0, "share": rounded(share), "text": f"{100 * share:.1f}%", "of": safe_name(name),
        "seeds": seeds,
    }  # fmt: skip


def _plot(lines: int, most: float) -> alt.FacetChart:
    base = alt.Chart()
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    y = alt.Y("line:O").scale(domain=list(range(lines)))
    y = y.axis(title=None, labelExpr="labels[datum.value]", labelFontWeight=bold)
    x = alt.X("share:Q").title(None).scale(domain=[0, most]).axis(tickCount=5, format=".1~%", gridColor=LINE)
    tooltip = [
        alt.Tooltip("of:N", title="treatment"),
        alt.Tooltip("share:Q", title="flipped", format=".2%"),
        alt.Tooltip("seeds:Q", title="seeds"),
    ]
    bar = base.mark_bar(height=14, color=BAR).encode(x=x, x2=alt.datum(0), y=y, tooltip=tooltip)
    text = base.mark_text(align="left", dx=4, fontSize=12, color=INK).encode(x=x, y=y, text="text:N")
    plot: alt.FacetChart = (
        alt.layer(bar, text)
        .properties(width=460, height=alt.Step(24))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=1,
        )
    )
    return plot
