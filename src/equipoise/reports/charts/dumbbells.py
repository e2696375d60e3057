"""What plots of dumbbells share: a hollow ring where something was, a mark where it is, and a line between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from equipoise.reports.charts.chart import INK, LINE, QUIET, ROWS, STRONG, Fit, Row

LETTER = 7
STILL_COLUMNS, STILL_WIDTH = 3, 180


@dataclass(frozen=True)
class Look:
    """How a mark looks; what is told by its colour is told by its shape or its filling too."""

    colour: str
    fill: str
    shape: str


RING = Look(INK, "#FFFFFF", "circle")
FOUND = Look(STRONG, STRONG, "diamond")
CHANCE = Look(QUIET, QUIET, "circle")
TIP = {"group": "group", "what": "what"}


def pair(common: Row, start: tuple[str, float | None], end: tuple[str, float | None]) -> list[Row]:
    """Return the two ends of a dumbbell; the line between them is drawn with the second."""
    (first, before), (second, after) = start, end
    return [
        {**common, "rate": before, "what": first},
        {**common, "rate": after, "before": before, "what": second},
    ]


def fit(panels: int, names: Sequence[str], looks: Mapping[str, Look], *, columns: int, widest: int) -> Fit:
    """Return how such a plot fits a page."""
    labels = min(200, 20 + LETTER * max(map(len, names)))
    return Fit(min(columns, panels), 150, widest, labels, max(map(len, looks)))


def dumbbells(
    looks: Mapping[str, Look], numbers: Mapping[str, tuple[str, str]], *, panels: int, lines: int, unit: str,
    heads: bool = False, intervals: bool = False, zero: bool = False, shared: bool = False,
    domain: tuple[float, float] | None = None, width: int = STILL_WIDTH,
) -> alt.FacetChart:  # fmt: skip
    """Draw a row's ``rate`` on its ``line`` and ``panel`` with the look of ``what``, and a line to its ``before``.

    ``numbers`` are the fields shown on hovering, with their titles and formats. With ``heads`` some lines only name
    what those below them share; with ``intervals`` a pale bar goes from ``from`` to ``to``; with ``zero`` the scale
    begins there; with ``shared`` all panels have the same one, and with a ``domain`` that one.
    """
    base = alt.Chart()
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    weight: dict[str, Any] = {"labelFontWeight": bold} if heads else {}
    y = alt.Y("line:O").scale(domain=list(range(lines)))
    y = y.axis(title=None, labelExpr="labels[datum.value]", grid=True, **weight)
    x = (
        alt.X("rate:Q")
        .title(unit)
        .scale(zero=zero, domain=alt.Undefined if domain is None else list(domain))
        .axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    )
    names = list(looks)
    colour, fill, shape = (
        channel("what:N").scale(domain=names, range=[getattr(look, part) for look in looks.values()]).legend(title=None)
        for channel, part in ((alt.Color, "colour"), (alt.Fill, "fill"), (alt.Shape, "shape"))
    )
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in TIP.items()]
    tooltip += [alt.Tooltip(f"{name}:Q", title=title, format=form) for name, (title, form) in numbers.items()]
    bar = base.mark_rule(strokeWidth=2, color=QUIET).encode(x="before:Q", x2="rate:Q", y=y, tooltip=tooltip)
    ends = base.mark_point(size=80, opacity=1, strokeWidth=1.5).encode(
        x=x, y=y, color=colour, fill=fill, shape=shape, tooltip=tooltip
    )
    pale = base.mark_rule(strokeWidth=9, color=LINE).encode(x="from:Q", x2="to:Q", y=y)
    plot: alt.FacetChart = (
        alt.layer(*([pale] * intervals), bar, ends)
        .properties(width=width, height=alt.Step(22))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, STILL_COLUMNS),
        )
        .resolve_axis(x="independent")
    )
    return plot if shared or domain is not None else plot.resolve_scale(x="independent")
