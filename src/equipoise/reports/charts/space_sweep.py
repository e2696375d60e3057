"""Gap and accuracy over the penalty of a classifier: whether a gap closes may depend on C, and which C is accurate."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, DASHES, LINE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.intervals import ZERO
from equipoise.reports.charts.space_curves import SHAPES
from equipoise.studies.findings import MAIN_RULES, SpaceRecord, StudyResult, Sweep, sweeps_of, training_title

MEASURE = "accuracy"
MOST_LINES, MOST_PANELS = len(COLOURS), 8
# Of a training, the gap on the left and the accuracy of everyone on the right.
KINDS = ("gap", "overall")
Placed = tuple[int, SpaceRecord]
Panel = tuple[str, str | None, str]


def space_sweep(result: StudyResult) -> Chart | None:
    """Draw the gap and the accuracy of every method over C; none where no classifier has several values of C."""
    sweeps = {source: sweep for sweep in sweeps_of(one.source for one in result.spaces) for source in sweep.sources}
    placed = _furthest(
        [(place, one) for place, one in enumerate(result.spaces) if one.source in sweeps and _shown(one)]
    )
    if not placed:
        return None
    every = sorted(dict.fromkeys(_panel(one, sweeps) for _, one in placed), key=lambda panel: _order(panel, sweeps))
    panels = every[:MOST_PANELS]
    methods = list(dict.fromkeys(_method(one, placed) for _, one in placed))
    lines = methods[:MOST_LINES]
    rows = [
        _row(place, one, panels.index(_panel(one, sweeps)), lines.index(_method(one, placed)))
        for place, one in placed
        if _panel(one, sweeps) in panels and _method(one, placed) in lines
    ]
    notes = []
    if len(lines) < len(methods):
        notes.append(f"Shown are the first {len(lines)} of {len(methods)} methods.")
    if len(panels) < len(every):
        notes.append(f"Shown are {len(panels)} of {len(every)} panels; the JSON has all of them.")
    conditions = list(dict.fromkeys(one.condition for _, one in placed))
    where = f" {safe_name(conditions[0], 60)}." if len(conditions) == 1 else ""
    words = f"Gap and accuracy of {plural(len(lines), 'method')} over C in {plural(len(panels), 'panel')}."
    names = [safe_name(line, 60) for line in lines]
    several = len({panel[0] for panel in panels}) > 1
    return Chart(
        name="gaps over C",
        title="Gap and accuracy over the penalty of the classifier",
        caption=(
            f"Across, C (the inverse strength of the penalty); up, on the left the gap in {MEASURE} (above 0 the "
            f"minoritised are worse off), on the right the {MEASURE} of everyone.{where} A line is the mean over "
            "seeds, the band its 95% interval over them. C = 1 is the primary choice; the rest show what depends on it."
        ),
        alt=words + " The numbers are in the tables below.",
        spec=finish(
            _plot(len(lines), sorted({float(str(row["c"])) for row in rows})),
            rows,
            {"panels": [_title(panel, several) for panel in panels], "lines": names},
            alt=words,
        ),
        fit=Fit(2, 190, 330, 60, max(map(len, names))),
        notes=tuple(notes),
        rows=3 * len(rows),
    )


def _shown(one: SpaceRecord) -> bool:
    kind = one.kind == "overall" or (one.kind == "gap" and one.rule in MAIN_RULES)
    return kind and one.measure == MEASURE and one.chosen and one.defined


def _furthest(placed: Sequence[Placed]) -> list[Placed]:
    """Keep the furthest imbalance, and its control where lines are left for it."""
    degrees = sorted({one.degree for _, one in placed if one.degree is not None})
    kept = [item for item in placed if not degrees or item[1].degree in (degrees[0], degrees[-1])]
    if len({(one.learner, one.treatment, one.condition) for _, one in kept}) <= MOST_LINES:
        return kept
    return [item for item in kept if item[1].degree == degrees[-1]] if degrees else kept


def _panel(one: SpaceRecord, sweeps: dict[str, Sweep]) -> Panel:
    return sweeps[one.source].title, one.training, one.kind


def _order(panel: Panel, sweeps: dict[str, Sweep]) -> tuple[int, int, str, int]:
    titles = list(dict.fromkeys(sweep.title for sweep in sweeps.values()))
    usual = {"own": 0, "balanced": 1}
    return titles.index(panel[0]), usual.get(str(panel[1]), 2), str(panel[1]), KINDS.index(panel[2])


def _method(one: SpaceRecord, placed: Sequence[Placed]) -> str:
    name = one.learner if one.treatment == "untreated" else f"{one.learner}: {one.treatment}"
    return f"{name}, {one.condition}" if len({other.condition for _, other in placed}) > 1 else name


def _title(panel: Panel, several: bool) -> str:
    classifier, training, kind = panel
    told = f"{'Gap' if kind == 'gap' else MEASURE.capitalize()}, {safe_name(training_title(training), 40)}"
    return f"{safe_name(classifier, 30)}: {told}" if several else told


def _row(place: int, one: SpaceRecord, panel: int, line: int) -> Row:
    low, high = (one.mean if edge is None or edge != edge else edge for edge in (one.low, one.high))
    return {
        "space": place, "panel": panel, "line": line, "c": float(one.source_settings["C"]), "mean": rounded(one.mean),
        "low": rounded(low), "high": rounded(high), "seeds": one.seeds, "zero": 0 if one.kind == "gap" else None,
    }  # fmt: skip


def _plot(lines: int, values: list[float]) -> alt.FacetChart:
    base = alt.Chart()
    places = list(range(lines))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolOpacity=1, labelLimit=400, orient="bottom",
                        columns=2)  # fmt: skip
    colour = alt.Color("line:N").scale(domain=places, range=list(COLOURS[:lines])).legend(legend)
    shape = alt.Shape("line:N").scale(domain=places, range=list(SHAPES[:lines])).legend(legend)
    dash = alt.StrokeDash("line:N").scale(domain=places, range=list(DASHES[:lines])).legend(legend)
    x = alt.X("c:Q").title("C").scale(type="log", nice=False, padding=8)
    x = x.axis(values=values, gridColor=LINE, labelOverlap="greedy", format="~g")
    y = alt.Y("mean:Q").title(None).scale(zero=False).axis(tickCount=5, format=".3~f", gridColor=LINE)
    tooltip = [
        alt.Tooltip("c:Q", title="C", format="~g"),
        alt.Tooltip("mean:Q", title="mean", format="+.4f"),
        alt.Tooltip("low:Q", title="from", format="+.4f"),
        alt.Tooltip("high:Q", title="to", format="+.4f"),
        alt.Tooltip("seeds:Q", title="seeds"),
    ]
    band = base.mark_area(opacity=0.12 if lines <= 4 else 0.06).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    point = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    rule = base.mark_rule(color=ZERO).encode(y=alt.Y("zero:Q"))
    plot: alt.FacetChart = (
        alt.layer(rule, band, line, point)
        .properties(width=260, height=190)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=2,
        )
        .resolve_axis(x="independent", y="independent")
        .resolve_scale(y="independent")
    )
    return plot
