"""What turns one kind of result into something to read; every medium is served from its document and its charts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import listing
from equipoise.foundation.files import check_writable, write_whole
from equipoise.foundation.registry import kind_of, report_of
from equipoise.reports._document import Document, Provenance
from equipoise.results import Result

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.reports.charts import Chart

    # Each part of a report that has charts with its charts; one that has nothing to show is None.
    Parts = Iterable[tuple[str, Iterable[Chart | None]]]


def document_provenance(result: Result, call: str, known: Mapping[str, object] | None = None) -> Provenance:
    """Return where a result comes from, for its document.

    ``call`` is the Python function that makes it, ``known`` are facts that stand instead of those of the provenance,
    or behind them.
    """
    made = dict(result.provenance)
    packages, columns, options = (made.get(part) or {} for part in ("packages", "columns", "options"))
    assert isinstance(packages, dict)
    assert isinstance(columns, dict)
    assert isinstance(options, dict)
    version = str(made.get("equipoise", sys.modules["equipoise"].__version__))
    versions = {"equipoise": version, "Python": made.get("python"), **packages}
    facts = {
        "data": made.get("data"), "fingerprint of the data": made.get("fingerprint"),
        "made": ", ".join(str(made[part]) for part in ("created", "platform") if made.get(part)),
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items() if value is not None),
        **(known or {}),
    }  # fmt: skip
    settings = [
        (str(name).replace("_", " "), _setting(value)) for name, value in [*columns.items(), *options.items()]
        if value not in (None, "", False, [], {})
    ]  # fmt: skip
    every = [*facts.items(), *settings, ("format of the JSON", result.schema)]
    return Provenance(
        command=str(made["command"]) if made.get("command") else None,
        call=call,
        facts=tuple((name, str(value)) for name, value in every if value not in (None, "")),
        created=str(made.get("created") or ""),
        version=version,
    )


def settings_terms(settings: object) -> tuple[tuple[str, str], ...]:
    """Return settings as names and values in words; those that were left open are left out."""
    terms = []
    for name, value in (settings if isinstance(settings, Mapping) else vars(settings)).items():
        if name == "alphas":
            value = f"{len(value)} from {value[0]:g} to {value[-1]:g}"
        if isinstance(value, list | tuple):
            value = listing(value) or None
        if value is not None:
            terms.append((str(name).replace("_", " "), str(value)))
    return tuple(terms)


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items() if item is not None)
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)


# No part has more charts than this.
MOST_CHARTS = 12


def part_names(part: str) -> tuple[str, ...]:
    """Return the names that the charts of a part may have: the first is called as the part is."""
    return (part, *(f"{part}_{place}" for place in range(2, MOST_CHARTS + 1)))


# How the names of Markdown files and of printed pages end; everything else is a page.
MARKDOWN, PDF = (".md", ".markdown"), ".pdf"


class Report:
    """The base of every narrative: a subclass says what a result means, and every medium follows from that.

    ``document`` must not need the charts' library: a terminal and JSON are made without it. ``parts`` draws the charts
    of each part, in the order in which they are read; ``document`` speaks of them by their names (``part_names``).
    """

    def document(self, result: Any) -> Document:
        """Return everything that is said about a result."""
        raise NotImplementedError

    def parts(self, result: Any) -> Parts:
        """Yield the charts of each part."""
        return ()

    def charts(self, result: Any) -> Mapping[str, Chart]:
        """Return the charts of a result by name."""
        charts: dict[str, Chart] = {}
        for part, drawn in self.parts(result):
            charts |= zip(part_names(part), (chart for chart in drawn if chart is not None), strict=False)
        return charts

    def page(self, result: Any) -> str:
        """Return the result as one HTML page that needs nothing else."""
        from equipoise.reports.render.html import page

        return page(self.document(result), self.charts(result))

    def pdf(self, result: Any) -> bytes:
        """Return the page as it is printed; without a browser to print it this raises ``BadInput``."""
        from equipoise.reports.render import svg
        from equipoise.reports.render.pdf import find_browser, pdf

        find_browser()
        svg.begin_library()
        return pdf(self.page(result))

    def markdown(self, result: Any) -> str:
        """Return the result as Markdown."""
        from equipoise.reports.render.markdown import markdown

        return markdown(self.document(result))

    def fragment(self, result: Any) -> str:
        """Return what a notebook shows."""
        from equipoise.reports.render.html import fragment

        document = self.document(result)
        return fragment(document, self.charts(result) if isinstance(document.picture, str) else {})

    def show(self, result: Any, console: Console) -> None:
        """Print the result in a terminal."""
        from equipoise.reports.render.terminal import show

        show(self.document(result), console)

    def write(self, result: Any, path: str | os.PathLike[str]) -> Path:
        """Write the result as a page, or as Markdown or PDF where the name ends so; the file is whole or not there."""
        check_writable(Path(path))
        if Path(path).suffix.lower() in MARKDOWN:
            return write_whole(path, self.markdown(result))
        if Path(path).suffix.lower() == PDF:
            return write_whole(path, self.pdf(result))
        from equipoise.reports.render import svg

        svg.begin_library()
        return write_whole(path, self.page(result))

    def write_figures(self, result: Any, folder: str | os.PathLike[str]) -> list[Path]:
        """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
        from equipoise.reports.render.svg import draw_into

        return draw_into(folder, self.charts(result).values())


def document_text(document: Document, path: str | os.PathLike[str] | None = None) -> str:
    """Return a document without charts: as Markdown, or as a page where a path is given that does not end so."""
    if path is not None and Path(path).suffix.lower() not in MARKDOWN:
        from equipoise.reports.render.html import page as page_of

        return page_of(document, {})
    from equipoise.reports.render.markdown import markdown as markdown_of

    return markdown_of(document)


def show(result: Result, console: Console) -> None:
    """Print a result in a terminal."""
    report_of(kind_of(result.schema)).show(result, console)


def markdown(result: Result) -> str:
    """Return a result as Markdown, as it looks in a job summary."""
    return str(report_of(kind_of(result.schema)).markdown(result))


def latex(result: Result) -> str:
    """Return the tables of a result for LaTeX."""
    from equipoise.reports.render.latex import latex as rendered

    return rendered(result.tables())


def page(result: Result) -> str:
    """Return a result as one HTML page that needs nothing else."""
    return str(report_of(kind_of(result.schema)).page(result))


def charts_of(result: Result) -> Mapping[str, Chart]:
    """Return the charts of a result by name."""
    charts: Mapping[str, Chart] = report_of(kind_of(result.schema)).charts(result)
    return charts
