"""What a chart is, and what all of them share: colours that colour-blind readers tell apart, fonts, and safe names.

A user's string is never a field name and never part of an expression: fields are named here, groups are numbers,
and their labels are the value of a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair

MOST_MARKS = 5_000

# Okabe and Ito's colours, without the yellow that is lost on white; and a dash for each, so colour is not all.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3], [1, 3])
STRONG, QUIET, INK, LINE = "#C24100", "#5F6B76", "#1B2733", "#C9D1D9"
# What is worse or better for the people a mark is about.
WORSE, BETTER = STRONG, "#0B5394"
# Fonts of one width: the room for labels is measured where the picture is made, not where it is seen.
FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"

# The data of a chart, and a single empty row for a line that is drawn once in each panel.
ROWS, ONCE = "rows", "once"
Row = dict[str, object]
Spec = dict[str, Any]

CONFIG: Spec = {
    "font": FONT,
    "background": "white",
    "aria": False,  # the chart has one description; thousands of described marks help nobody
    "view": {"stroke": LINE},
    "axis": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "gridColor": "#E6EAEE", "domainColor": "#8A949E", "tickColor": "#8A949E",
    },
    "axisY": {"labelLimit": 190},
    "legend": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "orient": "top",
        "labelLimit": 260, "symbolSize": 110, "columns": 4,
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 13, "labelFontWeight": "bold", "labelLimit": 220},
}  # fmt: skip


TITLE: Spec = {"anchor": "start", "color": INK, "fontSize": 15, "offset": 12}


@dataclass(frozen=True)
class Fit:
    """How a chart of several panels adapts to the width of the page: room for labels, and for one panel.

    ``longest`` is the number of letters of the longest label in the legend.
    """

    columns: int
    narrowest: int
    widest: int
    labels: int
    longest: int = 20


@dataclass(frozen=True, eq=False)
class Chart:
    """One chart: its name (for files and links), title, caption, the words of what it shows, and its specification."""

    name: str
    title: str
    caption: str
    alt: str
    spec: Spec
    fit: Fit | None = None
    notes: tuple[str, ...] = ()
    rows: int = field(default=0)


def finish(
    chart: altair.TopLevelMixin, rows: Sequence[Row], labels: Mapping[str, Sequence[object]], *, alt: str
) -> Spec:
    """Turn an altair chart into a specification with its data, its labels and the common style.

    The data joins afterwards: altair would look at every value of it.
    """
    spec: Spec = chart.to_dict(validate=False)
    for unwanted in ("$schema", "datasets"):
        spec.pop(unwanted, None)
    spec["config"] = json.loads(json.dumps(CONFIG))
    spec["description"] = alt
    spec["padding"] = {"left": 12, "top": 5, "right": 12, "bottom": 5}
    spec["datasets"] = {ROWS: list(rows), ONCE: [{}]}
    spec["params"] = [{"name": name, "value": list(values)} for name, values in labels.items()]
    return spec


def titled(chart: Chart) -> Chart:
    """Return the chart with its title in the picture, for when no page is around it."""
    return replace(chart, spec={**chart.spec, "title": {"text": chart.title, **TITLE}})


def rounded(value: float | None, scale: float = 1.0) -> float | None:
    """Return a number short enough to be sent; what is not a number is nothing."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value * scale:.6g}")
