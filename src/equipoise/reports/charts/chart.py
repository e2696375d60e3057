"""What all charts share: what a chart is, colours, looks of marks, axes, legends, panels, safe labels, and pictures.

A user's string is never a field name and never part of an expression: fields are named here, groups are numbers, and
their labels are the value of a parameter. Colours that mean something mean better or worse, and shape says the same;
all others are Okabe and Ito's, which colour-blind readers tell apart. A shape means the same in every chart, table and
terminal: square better, diamond worse, triangle up and down higher and lower, star the baseline, upright bar what a
number is compared with, plus inconclusive or not tested; a circle is filled where something is confirmed or holds,
hollow where it is not. None of these names one of several groups or treatments.

A chart becomes a picture or a file here, and the JavaScript that draws it in a browser is made here. Nothing is
fetched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from equipoise.foundation import (
    BadInput,
    make_output_folder,
    write_file,
)

MOST_MARKS = 5_000

# Okabe and Ito's colours, without the yellow that is lost on white; a dash and a shape for each, so colour is not all.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3], [1, 3])
PENTAGON = "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z"
SHAPES = (
    "circle", "triangle-right", PENTAGON, "triangle-left", "M-1,-.4L1,-.4L1,.4L-1,.4Z", "M-.4,-1L.4,-1L.4,1L-.4,1Z",
    "M-1,-.7L1,-.7L0,0L1,.7L-1,.7L0,0Z",
)  # fmt: skip
# What the baseline is, what a number is compared with, and what is inconclusive.
STAR = "M0,-1L.22,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.22,-.31Z"
BAR, PLUS = "M0,-1L0,1", "cross"
STRONG, QUIET, INK, LINE, ZERO = "#C24100", "#5F6B76", "#1B2733", "#C9D1D9", "#8A949E"
# What is worse or better for the people a mark is about.
WORSE, BETTER = STRONG, "#0B5394"
# Fonts of one width: the room for labels is measured where the picture is made, not where it is seen.
FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"
# For the names of lines, in pixels, and the width of a letter in them.
ROOM, LETTER = 230, 7
# The width of a cell, in pixels.
CELL = 84

# Panels of values with intervals in a picture that nobody can resize, and one that stands alone, in pixels.
STILL_COLUMNS, STILL_WIDTH, ALONE_WIDTH = 3, 190, 420

# The data of a chart, and a single empty row for a line that is drawn once in each panel.
ROWS, ONCE = "rows", "once"
Row = dict[str, object]
Spec = dict[str, Any]
Channels = dict[str, Any]

CONFIG: Spec = {
    "font": FONT,
    "background": "white",
    "aria": False,  # the chart has one description; thousands of described marks help nobody
    "view": {"stroke": LINE},
    "axis": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "gridColor": "#E6EAEE", "domainColor": ZERO, "tickColor": ZERO,
    },
    "axisY": {"labelLimit": 190},
    "legend": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "orient": "top",
        "labelLimit": 260, "symbolSize": 110, "columns": 4,
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 13, "labelFontWeight": "bold", "labelLimit": 220},
}  # fmt: skip


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


@dataclass(frozen=True)
class Look:
    """How a mark looks; what its colour says, its shape or its filling says too."""

    colour: str
    fill: str
    shape: str


REFERENCE = Look(INK, INK, BAR)
SIGNIFICANT = Look(INK, INK, "circle")
OPEN = Look(QUIET, "#FFFFFF", "circle")
UNDECIDED = Look(QUIET, "#FFFFFF", PLUS)


@dataclass
class Lines:
    """The lines of a chart from top to bottom; a head names what the lines below it share."""

    names: list[str] = field(default_factory=list)
    heads: list[bool] = field(default_factory=list)

    def add(self, name: str, *, head: bool = False) -> int:
        """Add a line below the others, and return its place."""
        self.names.append(name)
        self.heads.append(head)
        return len(self.names) - 1

    def labels(self, columns: Sequence[object]) -> dict[str, list[object]]:
        """Return the labels of the chart, as its axes look them up."""
        return {"labels": list(self.names), "heads": list(self.heads), "columns": list(columns)}


def draw(
    plot: alt.TopLevelMixin, rows: Sequence[Row], labels: Mapping[str, Sequence[object]], *, name: str, title: str,
    caption: str, words: str, where: str = "The numbers are in the table below.", fit: Fit | None = None,
    notes: Iterable[str | None] = (), marks: int = 1, room: bool = False, bare: bool = False,
) -> Chart:  # fmt: skip
    """Return a plot with its data as a chart; ``words`` say what it shows, ``where`` says where its numbers are.

    ``marks`` are drawn for each row. With ``room`` the names of lines may be longer, a ``bare`` chart has no frame.
    """
    spec = finish(plot, rows, labels, alt=words)
    if room:
        spec["config"]["axisY"]["labelLimit"] = ROOM
    if bare:
        spec["config"]["view"] = {"stroke": None}
    return Chart(
        name, title, caption, f"{words} {where}".strip(), spec, fit, tuple(filter(None, notes)), marks * len(rows)
    )


def finish(plot: alt.TopLevelMixin, rows: Sequence[Row], labels: Mapping[str, Sequence[object]], *, alt: str) -> Spec:
    """Turn an altair chart into a specification with its data, its labels and the common style.

    The data joins afterwards: altair would look at every value of it.
    """
    spec: Spec = plot.to_dict(validate=False)
    for unwanted in ("$schema", "datasets"):
        spec.pop(unwanted, None)
    spec["config"] = json.loads(json.dumps(CONFIG))
    spec["description"] = alt
    spec["padding"] = {"left": 12, "top": 5, "right": 12, "bottom": 5}
    spec["datasets"] = {ROWS: list(rows), ONCE: [{}]}
    spec["params"] = [{"name": name, "value": list(values)} for name, values in labels.items()]
    return spec


def rounded(value: float | None, scale: float = 1.0) -> float | None:
    """Return a number short enough to be sent; what is not a number is nothing."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value * scale:.6g}")


def number(row: Row, name: str) -> float:
    """Return a number that a row has."""
    return float(str(row[name]))


def used(looks: Mapping[str, Any], rows: Iterable[Row], name: str = "what") -> dict[str, Any]:
    """Return those looks that a row has: a legend names nothing else."""
    values = {row.get(name) for row in rows}
    return {look_name: look for look_name, look in looks.items() if look_name in values}


def marks_once() -> alt.Chart:
    """Return what is drawn once in each panel."""
    return alt.Chart(alt.NamedData(ONCE))


def in_panels(
    layers: alt.Chart | Sequence[alt.Chart], *, columns: int, width: float, height: Any, axes: str = "x",
    scales: str = "", **header: Any,
) -> alt.FacetChart:  # fmt: skip
    """Return layers in one panel for each ``panel`` of the rows, named by the parameter ``panels``.

    Every panel has its own of the ``axes`` ("x" or "xy") and of the ``scales``.
    """
    plot = layers if isinstance(layers, alt.Chart) else alt.layer(*layers)
    faceted: alt.FacetChart = plot.properties(width=width, height=height).facet(
        data=alt.NamedData(ROWS),
        facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]", **header),
        columns=columns,
    )
    own_axes: dict[str, Any] = dict.fromkeys(axes, "independent")
    own_scales: dict[str, Any] = dict.fromkeys(scales, "independent")
    faceted = faceted.resolve_axis(**own_axes) if axes else faceted
    return faceted.resolve_scale(**own_scales) if scales else faceted


def line_axis(lines: int | None = None, *, heads: bool = False, **axis: Any) -> alt.Y:
    """Return the upright axis of named lines; with ``heads`` some of them are headings."""
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    weight: dict[str, Any] = {"labelFontWeight": bold} if heads else {}
    y = alt.Y("line:O") if lines is None else alt.Y("line:O").scale(domain=list(range(lines)))
    axis_y: alt.Y = y.axis(title=None, labelExpr="labels[datum.value]", **weight, **axis)
    return axis_y


def grid(lines: int, width: int = CELL) -> alt.Chart:
    """Return a chart with a cell for each row of its data: ``line`` and ``column`` are its place."""
    return alt.Chart(alt.NamedData(ROWS)).encode(
        x=alt.X("column:O").axis(
            title=None, orient="top", labelExpr="columns[datum.value]", labelAngle=0, labelLimit=width - 2,
            labelFontWeight="bold", domain=False, ticks=False,
        ),
        y=line_axis(lines, heads=True, domain=False, ticks=False),
    )  # fmt: skip


def by_look(looks: Mapping[str, Look], name: str = "what", **legend: Any) -> Channels:
    """Return colour, filling and shape of what a mark says."""
    names = list(looks)
    return {
        channel: kind(f"{name}:N")
        .scale(domain=names, range=[getattr(look, part) for look in looks.values()])
        .legend(title=None, **legend)
        for channel, kind, part in (
            ("color", alt.Color, "colour"), ("fill", alt.Fill, "fill"), ("shape", alt.Shape, "shape")
        )
    }  # fmt: skip


def by_line(
    places: Sequence[int], *, colours: Sequence[str] = COLOURS, dashes: Sequence[Sequence[int]] = (),
    shapes: Sequence[str] = (), kind: str = "N", **legend: Any,
) -> Channels:  # fmt: skip
    """Return colour, dash and shape of the lines with these numbers, named by the parameter ``lines``."""
    named = alt.Legend(title=None, labelExpr="lines[datum.value]", **legend)
    encodings: tuple[tuple[str, Any, Sequence[Any]], ...] = (
        ("color", alt.Color, colours), ("strokeDash", alt.StrokeDash, dashes), ("shape", alt.Shape, shapes)
    )  # fmt: skip
    return {
        channel: of(f"line:{kind}").scale(domain=list(places), range=list(values)[: len(places)]).legend(named)
        for channel, of, values in encodings
        if values
    }


def tips(**fields: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return what is shown on hovering: a title for a text, a title and a format for a number."""
    return [
        alt.Tooltip(f"{name}:N", title=title)
        if isinstance(title, str)
        else alt.Tooltip(f"{name}:Q", title=title[0], format=title[1] or alt.Undefined)
        for name, title in fields.items()
    ]


def fit(panels: int, names: Sequence[str], looks: Mapping[str, Look], *, columns: int, widest: int = 260) -> Fit:
    """Return how such a plot fits a page."""
    labels = min(ROOM + 20, 24 + LETTER * max(map(len, names)))
    return Fit(min(columns, panels), 175, widest, labels, max(map(len, looks)))


def alone(chart: Chart) -> Chart:
    """Return a chart of a single panel: wider, and without the room for its name, which it does not need."""
    chart.spec["spec"]["width"] = ALONE_WIDTH
    chart.spec["facet"]["header"] |= {"labelFontSize": 0, "labelPadding": 0}
    return chart


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
    base, y, looked = alt.Chart(), line_axis(lines, heads=heads, grid=True), by_look(looks)
    x = alt.X("from:Q").title(title).scale(zero=zero, padding=6)
    x = x.axis(tickCount=4, format=".3~g", labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    tooltip = tips(of="of", what="what", **numbers)
    layers = [marks_once().mark_rule(color=ZERO).encode(x=alt.datum(0))] if zero else []
    layers += [
        base.mark_rule(strokeWidth=2).encode(x=x, x2="to:Q", y=y, color=looked["color"], tooltip=tooltip),
        base.mark_point(size=75, opacity=1, strokeWidth=1.5).encode(x="value:Q", y=y, **looked, tooltip=tooltip),
    ]
    return in_panels(
        layers, columns=min(panels, STILL_COLUMNS), width=STILL_WIDTH, height=alt.Step(22),
        scales="x" if own_scales else "",
    )  # fmt: skip


def interval_chart(
    rows: Sequence[Row], lines: Lines, panels: Sequence[object], looks: Mapping[str, Look],
    numbers: Mapping[str, tuple[str, str]], *, columns: int, unit: str | None = None, zero: bool = False,
    own_scales: bool = True, widest: int = 260, marks: int = 3, **described: Any,
) -> Chart:  # fmt: skip
    """Draw rows as ``interval_panels`` does, with those looks that they have, and return the chart.

    ``described`` are the name, title, caption, words and notes of ``draw``.
    """
    used_looks = used(looks, rows)
    plot = interval_panels(
        used_looks, numbers, panels=len(panels), lines=len(lines.names), title=unit, heads=any(lines.heads), zero=zero,
        own_scales=own_scales,
    )  # fmt: skip
    return draw(
        plot, rows, lines.labels([]) | {"panels": list(panels)}, marks=marks, room=True, **described,
        fit=fit(len(panels), lines.names, used_looks, columns=columns, widest=widest),
    )  # fmt: skip


TITLE: Spec = {"anchor": "start", "color": INK, "fontSize": 15, "offset": 12}
# Only tags are changed: what stands between them is somebody's text.
TAG = re.compile(r"<[a-zA-Z][^<>]*>")
NUMBERED = re.compile(r"(?<=[#\"])(clip|gradient_)\d+")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
UNSEEN = re.compile(r' (?:class|role|aria-[a-z]+|pointer-events|font-family)="[^"<>]*"')


def svg(chart: Chart) -> str:
    """Return a chart as SVG, the same each time: its marks are numbered from 0, not from the last chart's."""
    image: str = vl_convert.vegalite_to_svg(chart.spec)
    numbers: dict[str, int] = {}

    def renumbered(name: re.Match[str]) -> str:
        return f"{name[1]}{numbers.setdefault(name[0], len(numbers))}"

    return TAG.sub(lambda tag: NUMBERED.sub(renumbered, tag[0]), image)


def small_svg(chart: Chart) -> str:
    """Return a chart as an SVG of half the size: lines to a hundredth of a pixel, and nothing that is not seen."""

    def shorter(tag: re.Match[str]) -> str:
        return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", UNSEEN.sub("", tag[0]))

    return TAG.sub(shorter, svg(chart)).replace("<svg ", f'<svg font-family="{FONT}" ', 1)


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """Return a chart as PNG."""
    image: bytes = vl_convert.vegalite_to_png(chart.spec, scale=scale)
    return image


SNIPPET = "window.vegaEmbed = vegaEmbed;"
BUNDLE = f"import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle({SNIPPET!r}).encode())"
_BEGUN: list[subprocess.Popen[bytes]] = []


def begin_library() -> None:
    """Begin to make the script in another process: it takes a second, in which the charts can be drawn."""
    if _BEGUN or library.cache_info().currsize or (os.cpu_count() or 1) < 2 or getattr(sys, "frozen", False):
        return
    with contextlib.suppress(OSError):
        command = [sys.executable, "-P", "-c", BUNDLE]
        _BEGUN.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))  # noqa: S603


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which leaves ``vegaEmbed`` behind."""
    script = _begun_library() or vl_convert.javascript_bundle(SNIPPET)
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _begun_library() -> str:
    """Return the script that the other process made; nothing where it did not."""
    if not _BEGUN:
        return ""
    script, _ = (process := _BEGUN.pop()).communicate()
    return script.decode("utf-8") if process.returncode == 0 and b"vegaEmbed" in script else ""


def titled(chart: Chart) -> Chart:
    """Return the chart with its title in the picture, for when no page is around it."""
    return dataclasses.replace(chart, spec={**chart.spec, "title": {"text": chart.title, **TITLE}})


def draw_into(folder: str | os.PathLike[str], charts: Iterable[Chart]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise BadInput(f"The folder for figures {str(target)!r} is a file", help="name a folder.")
    make_output_folder(target)
    written: list[Path] = []
    for index, untitled in enumerate(charts, start=1):
        name = f"{index:02d}-{_slug(untitled.name)}"
        chart = titled(untitled)
        written.append(write_file(target / f"{name}.svg", svg(chart)))
        written.append(write_file(target / f"{name}.png", png(chart)))
    return written


def _slug(name: str) -> str:
    """Return a file name made of small letters and digits only."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-")
