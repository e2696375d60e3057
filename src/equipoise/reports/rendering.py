"""What all pages share: one HTML file that needs nothing else, its charts drawn in it, and charts as files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata

import jinja2
from markupsafe import Markup

from equipoise.reports import formats
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.render.html import LONGEST_LINE, figures_of, policy, template_file

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
    figures, left_out = figures_of([chart for own in parts.values() for chart in own])
    library, live = drawing.library(), template_file("live.js")
    content = ",".join(figure.content for figure in figures.values())
    return _environment().get_template(template).render(
        **summary,
        charts={part: [figures[chart] for chart in own if chart in figures] for part, own in parts.items()},
        chart_notes=[*notes, *left_out],
        content=Markup(f"[{content}]") if figures else None,  # noqa: S704 - escaped where it was made
        style=Markup(template_file("page.css")),  # noqa: S704 - our own file
        library=Markup(library),  # noqa: S704 - the bundle, which has no closing tag
        live=Markup(live),  # noqa: S704 - our own file
        policy=policy(library, live),
        drawn_with=[f"{name} {metadata.version(name)}" for name in ("altair", "vl-convert-python")],
    )  # fmt: skip


def render_fragment(template: str, summary: Mapping[str, object]) -> str:
    """Return what a notebook shows: small and without scripts."""
    return _environment().get_template(template).render(**summary)


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
