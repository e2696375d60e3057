"""A document as one HTML page that needs nothing else, or as a small fragment for a notebook.

One set of templates serves every kind of result. A page runs only its own scripts, which its content policy names by
their hashes, and fetches nothing; below each chart lies a still picture of it, for paper and for readers without
scripts.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from equipoise.foundation import listing
from equipoise.reports import _formats as formats
from equipoise.reports._document import (
    NOT_CERTIFIED,
    Block,
    Cell,
    DataTable,
    Document,
    Images,
    Name,
    Number,
    Section,
    Text,
    pieces,
    plain,
    sections_with_charts,
    sign,
)
from equipoise.reports.charts import Chart
from equipoise.reports.charts import chart as drawing

# Of the 3 MB a page may have, the library takes 0.9; the tables limit themselves.
MOST_BYTES_OF_CHARTS = 1_100_000
LONGEST_LINE = 600
# A notebook shows so many rows of the first tables.
FRAGMENT_ROWS = 12
FRAGMENT_TABLES = 2
FRAGMENT_BYTES = 100_000
# Lists longer than this are folded, and never longer than that.
FOLDED_ITEMS, MOST_ITEMS = 40, 150
# Statements on so many subjects are open on the first screen.
MOST_SUBJECTS = 12

TEMPLATES = resources.files("equipoise.reports") / "templates"


def page(document: Document, charts: Mapping[str, Chart]) -> str:
    """Return a document as one HTML page."""
    requested = {name: _on_page(charts[name]) for name in dict.fromkeys(document.chart_names()) if name in charts}
    figures, left_out = figures_of(list(requested.values()))
    drawings = {name: figures[chart] for name, chart in requested.items() if chart in figures}
    library, live = drawing.library() if figures else "", template_file("live.js")
    content = ",".join(figure.content for figure in figures.values())
    return environment().get_template("document.html.jinja").render(
        document=document,
        sections=list(sections_with_charts(document, drawings)),
        figures=drawings,
        chart_notes=left_out,
        content=Markup(f"[{content}]"),  # noqa: S704 - escaped where it was made
        style=Markup(template_file("document.css")),  # noqa: S704 - our own file
        library=Markup(library),  # noqa: S704 - the bundle, which has no closing tag
        live=Markup(live),  # noqa: S704 - our own file
        policy=policy(*filter(None, (library, live))),
        not_certified=NOT_CERTIFIED,
        drawn_with=", ".join(f"{name} {metadata.version(name)}" for name in ("altair", "vl-convert-python")),
        most_subjects=MOST_SUBJECTS,
    )  # fmt: skip


def form(document: Document) -> str:
    """Return a document to be filled in, on the screen or on paper: its sections, all open; nothing in it runs."""
    return environment().get_template("form.html.jinja").render(
        document=document,
        style=Markup(template_file("document.css")),  # noqa: S704 - our own file
        policy=policy(),
    )  # fmt: skip


def fragment(document: Document, charts: Mapping[str, Chart]) -> str:
    """Return what a notebook shows: the first screen with its picture, and the first tables; nothing in it runs."""
    picture = charts.get(document.picture) if isinstance(document.picture, str) else None
    tables = [block for section in document.sections if section.essential for block in _tables(section.blocks)]
    return environment().get_template("fragment.html.jinja").render(
        document=document,
        picture=None if picture is None else {"chart": picture, "picture": still_picture(picture)},
        images=_few_rows(document.picture) if isinstance(document.picture, Images) else None,
        tables=[table.first(FRAGMENT_ROWS) for table in tables[:FRAGMENT_TABLES]],
        not_certified=NOT_CERTIFIED,
    )  # fmt: skip


def _few_rows(images: Images) -> Images:
    """Return the first rows of pictures: one, and as many more as a notebook has room for."""
    sizes = [sum(len(picture.address) for picture in row if picture is not None) for _, row in images.rows]
    room = max((number for number in range(1, len(sizes) + 1) if sum(sizes[:number]) <= FRAGMENT_BYTES), default=1)
    return dataclasses.replace(images, rows=images.rows[:room])


def _tables(blocks: Iterable[Block]) -> list[DataTable]:
    return [block for block in blocks if isinstance(block, DataTable)]


def _on_page(chart: Chart) -> Chart:
    """Return a chart without a background of its own: the page is light or dark."""
    config = {**chart.spec["config"], "background": "transparent"}
    return dataclasses.replace(chart, spec={**chart.spec, "config": config})


@dataclass(frozen=True)
class Figure:
    """A chart as it stands on the page: its still picture, and what the browser draws it from."""

    id: str
    chart: Chart
    picture: str
    content: str


def figures_of(charts: Sequence[Chart]) -> tuple[dict[Chart, Figure], list[str]]:
    """Return the figures that the page has room for, and a word about the others."""
    figures: dict[Chart, Figure] = {}
    left_out: list[str] = []
    room = MOST_BYTES_OF_CHARTS
    for index, chart in enumerate(charts):
        name, fit = f"chart-{index}", None if chart.fit is None else dataclasses.asdict(chart.fit)
        figure = Figure(name, chart, still_picture(chart), _embedded({"id": name, "fit": fit, "spec": chart.spec}))
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


def still_picture(chart: Chart) -> str:
    """Return the still picture as an address: as an image it can neither run anything nor clash with others."""
    return "data:image/svg+xml," + quote(drawing.small_svg(chart), safe=" =:/;,'()!*+$-_.~@?[]{}|^")


def policy(*scripts: str) -> str:
    """Return the content policy: only these scripts run, and nothing is fetched from anywhere."""
    hashes = (
        "'none'"
        if not scripts
        else " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}'"
            for script in scripts
        )
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.cache
def template_file(name: str) -> str:
    """Return one of our own files, with the line ends by which it is hashed."""
    return (TEMPLATES / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates, with what turns the parts of a document into markup."""
    jinja = jinja2.Environment(
        loader=jinja2.PackageLoader("equipoise.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {"text": text_markup, "plain": _plain, "block": _block_kind, "cell": _cell_markup}
    jinja.filters |= {"count": formats.count, "short": _short_title}
    jinja.globals |= {"folded_items": FOLDED_ITEMS, "most_items": MOST_ITEMS}
    return jinja


def text_markup(text: Text) -> Markup:
    """Return a text as markup: names stand by themselves, and numbers say where they are in the JSON."""
    return Markup("").join(map(_piece_markup, pieces(text)))


def _piece_markup(piece: object) -> Markup:
    if isinstance(piece, Name):
        short, full = formats.safe_name(piece.text), formats.safe_text(piece.text)
        if short == full or not piece.text.strip():
            return Markup("<bdi>{}</bdi>").format(short)
        return Markup('<bdi title="{}">{}</bdi>').format(full[:LONGEST_LINE], short)
    if isinstance(piece, Number):
        source = Markup("") if piece.source == "records" else Markup(' data-list="{}"').format(piece.source)
        markup = formats.safe_text(piece.text)
        return Markup('<span data-r="{}"{} data-f="{}">{}</span>').format(piece.index, source, piece.field, markup)
    return escape(formats.safe_name(str(piece), LONGEST_LINE)) if str(piece).strip() else escape(str(piece))


def _plain(text: Text) -> str:
    """Return a text for an attribute or a title, where no markup can stand."""
    return formats.safe_name(plain(text), LONGEST_LINE) if plain(text) else ""


def _block_kind(block: Block) -> str:
    return type(block).__name__


def _short_title(section: Section) -> str:
    return section.short or _plain(section.title)


def _cell_markup(cell: Cell) -> Markup:
    """Return what stands in a cell: a bar, the text with the sign of its meaning, and smaller lines below it."""
    parts = []
    if cell.bar is not None:
        width = f"{100 * min(max(cell.bar, 0.0), 1.0):.1f}"
        parts.append(Markup('<span class="bar" aria-hidden="true"><i style="width:{}%"></i></span>').format(width))
    markup = text_markup(cell.text)
    if cell.meaning is None:
        parts.append(markup)
    else:
        parts.append(Markup('<span class="{}">{}{}</span>').format(cell.meaning.value, sign(cell.meaning), markup))
    parts += [Markup(' <span class="part">{}</span>').format(text_markup(line)) for line in cell.below if line]
    return Markup("").join(parts)
