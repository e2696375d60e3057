"""Maps of two settings of a treatment on dev rows, after Figure 12 of paper 000: overall, gap, worst group, leakage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import altair as alt

from equipoise.reports._formats import plural, safe_name, thousandths
from equipoise.reports.charts.chart import INK, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.heat import ABOVE, BELOW, SAME
from equipoise.studies.findings import SpaceSetting, StudyResult, title_of

MOST_CHARTS, MOST_CELLS = 3, 300
Placed = tuple[int, SpaceSetting]


def space_settings(result: StudyResult) -> Iterator[Chart]:
    """Draw a chart for each treatment that was tried with two numbers, such as alpha and rho."""
    kinds: dict[tuple[str, str, str], list[Placed]] = {}
    for place, one in enumerate(result.space_settings):
        kinds.setdefault((one.condition, one.learner, one.treatment), []).append((place, one))
    charts = [made for own in kinds.values() if (made := _chart(own)) is not None]
    yield from charts[:MOST_CHARTS]


def _chart(placed: Sequence[Placed]) -> Chart | None:
    axes = _axes([one for _, one in placed])
    if axes is None:
        return None
    down, across = axes
    own = [(place, one) for place, one in placed if down in one.settings and across in one.settings][:MOST_CELLS]
    lines, columns = (sorted({float(one.settings[name]) for _, one in own}) for name in (down, across))
    first = own[0][1]
    panels = _panels([one for _, one in own])
    rows = [
        row
        for number, (_, field, better) in enumerate(panels)
        for row in _rows(own, number, field, better, (down, lines), (across, columns))
    ]
    words = (
        f"Heat maps of {safe_name(down, 20)} and {safe_name(across, 20)} of {safe_name(first.treatment, 40)}: "
        f"{plural(len(panels), 'panel')}, {plural(len(own), 'setting')}."
    )
    labels = {
        "panels": [title for title, _, _ in panels],
        "labels": [f"{value:g}" for value in lines], "columns": [f"{value:g}" for value in columns],
    }  # fmt: skip
    spec = finish(_plot(len(lines), len(columns), safe_name(down, 20), safe_name(across, 20)), rows, labels, alt=words)
    spec["config"]["view"] = {"stroke": None}
    return Chart(
        name=f"settings of {first.treatment}",
        title=f"{safe_name(first.treatment, 40)} on dev rows: {safe_name(down, 20)} by {safe_name(across, 20)}",
        caption=(
            f"{safe_name(first.learner, 40)}, {safe_name(first.condition, 40)}; means over "
            f"{plural(first.seeds, 'seed')}. Blue is the better end of each panel, orange the worse; the frame is the "
            "setting that was chosen, by the worst group. Leakage is how well a probe reads the attribute: nearer to "
            "chance is better. Test rows had no say."
        ),
        alt=words + " The numbers are in the table below.",
        spec=spec,
        fit=Fit(min(3, len(panels)), 60 * len(columns) if len(columns) < 4 else 215, 300, 70),
        rows=2 * len(rows),
    )


def _axes(settings: Sequence[SpaceSetting]) -> tuple[str, str] | None:
    """Return the two settings that are numbers and vary; None where there are not two."""
    found = [
        name
        for name in dict.fromkeys(name for one in settings for name in one.settings)
        if len({one.settings[name] for one in settings if _is_number(one.settings.get(name))}) > 1
    ]
    return (found[0], found[1]) if len(found) > 1 else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _panels(settings: Sequence[SpaceSetting]) -> list[tuple[str, str, int]]:
    """Return titles, fields and directions: 1 where high is better, -1 where low is."""
    measure = title_of(settings[0].measure)
    leaks = dict.fromkeys(name for one in settings for name in one.leakage if not name.startswith("chance"))
    return [
        (f"{measure}, everyone", "overall", 1), (f"{measure}, gap of halves", "gap", -1),
        (f"{measure}, worst group", "worst", 1),
        *((f"leakage: {safe_name(name, 24)}", f"leakage.{name}", -1) for name in list(leaks)[:6]),
    ]  # fmt: skip


def _value(one: SpaceSetting, field: str) -> float:
    kind, _, name = field.partition(".")
    return one.leakage.get(name, math.nan) if kind == "leakage" and name else float(getattr(one, field))


def _rows(
    placed: Sequence[Placed], panel: int, field: str, better: int,
    down: tuple[str, list[float]], across: tuple[str, list[float]],
) -> Iterator[Row]:  # fmt: skip
    """Yield the cells of one panel; shades go from the worst of the panel (-1) to the best (1)."""
    values = [_value(one, field) for _, one in placed]
    known = [value for value in values if not math.isnan(value)]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    for (place, one), value in zip(placed, values, strict=True):
        undefined = math.isnan(value)
        shade = 0.0 if undefined or high == low else better * (2 * (value - low) / (high - low) - 1)
        yield {
            "setting": place, "panel": panel, "line": down[1].index(float(one.settings[down[0]])),
            "column": across[1].index(float(one.settings[across[0]])), "value": rounded(value),
            "shade": rounded(shade), "text": thousandths(None if undefined else value), "chosen": one.chosen,
            "of": safe_name(one.setting, 60),
        }  # fmt: skip


def _plot(lines: int, columns: int, down: str, across: str) -> alt.FacetChart:
    base = alt.Chart().encode(
        x=alt.X("column:O").title(across).axis(
            labelExpr="columns[datum.value]", labelAngle=0, domain=False, ticks=False, labelOverlap="greedy"
        ),
        y=alt.Y("line:O").scale(domain=list(range(lines))[::-1]).title(down).axis(
            labelExpr="labels[datum.value]", domain=False, ticks=False
        ),
    )  # fmt: skip
    colour = alt.Color("shade:Q").scale(domain=[-1, 0, 1], range=[ABOVE, SAME, BELOW]).legend(None)
    tooltip = [alt.Tooltip("of:N", title="setting"), alt.Tooltip("text:N", title="value")]
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip)
    frame = (
        base.mark_rect(filled=False, stroke=INK, strokeWidth=2.5)
        .transform_filter(alt.FieldEqualPredicate(field="chosen", equal=True))
    )  # fmt: skip
    text = base.mark_text(fontSize=12 if columns <= 5 else 9, color=INK).encode(text="text:N")
    plot: alt.FacetChart = (
        alt.layer(box, frame, text)
        .properties(width=230, height=max(40 * lines, 90))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=3,
        )
        .resolve_axis(x="independent", y="independent")
    )
    return plot
