"""What turns one kind of result into something to read; every medium is served from its document and its charts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.files import check_writable, write_whole
from equipoise.foundation.registry import kind_of, report_of
from equipoise.reports._document import Document
from equipoise.results import Result

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.reports.charts import Chart

# How the names of Markdown files end; everything else is a page.
MARKDOWN = (".md", ".markdown")


class Report:
    """The base of every narrative: a subclass says what a result means, and every medium follows from that.

    ``document`` must not need the charts' library: a terminal and JSON are made without it. ``charts`` names the
    charts in the order in which they are read; ``document`` speaks of them by these names.
    """

    def document(self, result: Any) -> Document:
        """Return everything that is said about a result."""
        raise NotImplementedError

    def charts(self, result: Any) -> Mapping[str, Chart]:
        """Return the charts of a result by name."""
        return {}

    def page(self, result: Any) -> str:
        """Return the result as one HTML page that needs nothing else."""
        from equipoise.reports.render.html import page

        return page(self.document(result), self.charts(result))

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
        """Write the result as a page, or as Markdown where the name ends so; the file appears whole or not at all."""
        check_writable(Path(path))
        if Path(path).suffix.lower() in MARKDOWN:
            return write_whole(path, self.markdown(result))
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
