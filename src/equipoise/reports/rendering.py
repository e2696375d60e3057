"""What all pages share: one HTML file that needs nothing else, its charts drawn in it, and charts as files."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.files import make_output_folder, write_whole
from equipoise.reports import formats
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart, titled

# Of the 3 MB a page may have, the library takes 0.9; the tables limit themselves.
MOST_BYTES_OF_CHARTS = 1_100_000
LONGEST_LINE = 600

TEMPLATES = resources.files("equipoise.reports") / "templates"

# Numbers and names reach a template as they are; these say how they look there.
FILTERS: dict[str, Callable[..., str]] = {
    "percent": formats.percent,
    "bare_percent": formats.bare_percent,
    "points": formats.points,
    "decimal": formats.decimal,
    "thousandths": formats.thousandths,
    "signed": formats.signed,
    "signed_fine": formats.signed_fine,
    "signed_thousandths": formats.signed_thousandths,
    "digits": formats.digits,
    "fine": formats.fine,
    "count": formats.count,
    "plural": formats.plural,
    "p_value": formats.p_value,
    "probability": formats.probability,
}


def render(
    template: str, summary: Mapping[str, object], parts: Mapping[str, Sequence[Chart]], notes: Iterable[str] = ()
) -> str:
    """Return a page as one HTML text: a template filled with a summary, and the charts of each part of the page."""
    figures, left_out = _figures([chart for own in parts.values() for chart in own])
    library, live = drawing.library(), _file("live.js")
    content = ",".join(figure.content for figure in figures.values())
    return _environment().get_template(template).render(
        **summary,
        charts={part: [figures[chart] for chart in own if chart in figures] for part, own in parts.items()},
        chart_notes=[*notes, *left_out],
        content=Markup(f"[{content}]") if figures else None,  # noqa: S704 - escaped where it was made
        style=Markup(_file("page.css")),  # noqa: S704 - our own file
        library=Markup(library),  # noqa: S704 - the bundle, which has no closing tag
        live=Markup(live),  # noqa: S704 - our own file
        policy=_policy(library, live),
        drawn_with=[f"{name} {metadata.version(name)}" for name in ("altair", "vl-convert-python")],
    )  # fmt: skip


def render_fragment(template: str, summary: Mapping[str, object]) -> str:
    """Return what a notebook shows: small and without scripts."""
    return _environment().get_template(template).render(**summary)


def draw_into(folder: str | os.PathLike[str], charts: Iterable[Chart]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise BadInput(f"The folder for figures {str(target)!r} is a file", help="name a folder.")
    make_output_folder(target)
    written: list[Path] = []
    for place, untitled in enumerate(charts, start=1):
        name = f"{place:02d}-{_slug(untitled.name)}"
        chart = titled(untitled)
        written.append(write_whole(target / f"{name}.svg", drawing.svg(chart)))
        written.append(write_whole(target / f"{name}.png", drawing.png(chart)))
    return written


def _slug(name: str) -> str:
    """Return a file name made of small letters and digits only."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-")


@dataclass(frozen=True)
class Figure:
    """A chart as it stands on the page: its still picture, and what the browser draws it from."""

    id: str
    chart: Chart
    picture: str
    content: str


def _figures(charts: Sequence[Chart]) -> tuple[dict[Chart, Figure], list[str]]:
    """Return the figures that the page has room for, and a word about the others."""
    figures: dict[Chart, Figure] = {}
    left_out: list[str] = []
    room = MOST_BYTES_OF_CHARTS
    for place, chart in enumerate(charts):
        name, fit = f"chart-{place}", None if chart.fit is None else dataclasses.asdict(chart.fit)
        figure = Figure(name, chart, _picture(chart), _embedded({"id": name, "fit": fit, "spec": chart.spec}))
        size = len(figure.picture) + len(figure.content.encode("utf-8"))
        if size > room:
            left_out.append(chart.title)
            continue
        figures[chart], room = figure, room - size
    if not left_out:
        return figures, []
    return figures, [
        f"Left out, to keep the page small: {listing(left_out, 4)}. They are among the figures (--figures)."
    ]


def _embedded(content: object) -> str:
    """Write JSON that can stand inside a script element: nothing in it can close the element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _picture(chart: Chart) -> str:
    """Return the still picture as an address: as an image it can neither run anything nor clash with others."""
    return "data:image/svg+xml," + quote(drawing.small_svg(chart), safe=" =:/;,'()!*+$-_.~@?[]{}|^")


def _policy(*scripts: str) -> str:
    """Return the content policy: only these scripts run, and nothing is fetched from anywhere."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.cache
def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("equipoise.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.filters |= {"name": _name, "whole_name": _whole_name, "prose": _prose}
    return environment


def _prose(text: str) -> str:
    """Show a sentence; names in it can make it longer than anybody reads."""
    return formats.safe_name(text, LONGEST_LINE) if text else ""


def _name(text: str | None) -> Markup:
    """Show a name by itself, so that its direction does not turn its neighbours."""
    return Markup("<bdi>{}</bdi>").format("everyone" if text is None else formats.safe_name(text))


def _whole_name(text: str) -> Markup:
    """Show a name, and the whole of it on hovering where it is too long to be shown."""
    short, whole = formats.safe_name(text), formats.safe_text(text)
    if short == whole:
        return _name(text)
    return Markup('<bdi title="{}">{}</bdi>').format(whole, short)
