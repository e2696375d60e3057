"""What plots of values with intervals share: a mark on a line for each value, a panel a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from equipoise.reports.charts.chart import LINE, ONCE, ROWS, Fit, Row, Spec, rounded
from equipoise.reports.charts.dumbbells import Look

LETTER = 7
STILL_COLUMNS, STILL_WIDTH, ALONE_WIDTH = 3, 190, 420
ZERO = "#8A949E"
# For the names of lines, in pixels.
ROOM = 230


def fit(panels: int, names: Sequence[str], looks: Mapping[str, Look], *, columns: int, widest: int = 260) -> Fit:
    """Return how such a plot fits a page."""
    labels = min(ROOM + 20, 24 + LETTER * max(map(len, names)))
    return Fit(min(columns, panels), 175, widest, labels, max(map(len, looks)))


def with_room(spec: Spec) -> Spec:
    """Return a specification with room for longer names of lines."""
    spec["config"]["axisY"]["labelLimit"] = ROOM
    return spec


def alone(spec: Spec) -> Spec:
    """Return the specification of a single panel: wider, and without the room for its name, which it does not need."""
    spec["spec"]["width"] = ALONE_WIDTH
    spec["facet"]["header"] |= {"labelFontSize": 0, "labelPadding": 0}
    return spec


def spanned(value: float, low: float | None, high: float | None, scale: float = 1.0) -> Row:
    """Return a value and its interval as a row has them; without an interval the line has no length."""
    start, end = (value if edge is None or edge != edge else edge for edge in (low, high))
    return {
        "value": rounded(value, scale), "low": rounded(low, scale), "high": rounded(high, scale),
        "from": rounded(start, scale), "to": rounded(end, scale),
    }  # fmt: skip


def interval_panels(
    looks: Mapping[str, Look], numbers: Mapping[str, tuple[str, str]], *, panels: int, lines: int,
    title: str | None = None, heads: bool = False, zero: bool = False, own_scales: bool = True,
) -> alt.FacetChart:  # fmt: skip
    """Draw a row's ``value`` on its ``line`` and ``panel`` with the look of ``what``, from ``from`` to ``to``.

    ``numbers`` are the fields shown on hovering, with their titles and formats. With ``heads`` some lines only name
    what those below them share; with ``zero`` there is a line at 0.
    """
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    weight: dict[str, Any] = {"labelFontWeight": bold} if heads else {}
    y = alt.Y("line:O").scale(domain=list(range(lines)))
    y = y.axis(title=None, labelExpr="labels[datum.value]", grid=True, **weight)
    x = alt.X("from:Q").title(title).scale(zero=zero, padding=6)
    x = x.axis(tickCount=4, format=".3~g", labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    names = list(looks)
    colour, fill, shape = (
        channel("what:N").scale(domain=names, range=[getattr(look, part) for look in looks.values()]).legend(title=None)
        for channel, part in ((alt.Color, "colour"), (alt.Fill, "fill"), (alt.Shape, "shape"))
    )
    tooltip = [alt.Tooltip("of:N", title="of"), alt.Tooltip("what:N", title="what")]
    tooltip += [alt.Tooltip(f"{name}:Q", title=head, format=form) for name, (head, form) in numbers.items()]
    layers = [once.mark_rule(color=ZERO).encode(x=alt.datum(0))] if zero else []
    layers += [
        base.mark_rule(strokeWidth=2).encode(x=x, x2="to:Q", y=y, color=colour, tooltip=tooltip),
        base.mark_point(size=75, opacity=1, strokeWidth=1.5).encode(
            x="value:Q", y=y, color=colour, fill=fill, shape=shape, tooltip=tooltip
        ),
    ]
    plot: alt.FacetChart = (
        alt.layer(*layers)
        .properties(width=STILL_WIDTH, height=alt.Step(22))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, STILL_COLUMNS),
        )
        .resolve_axis(x="independent")
    )
    return plot.resolve_scale(x="independent") if own_scales else plot
