"""The page of the benchmark on sprites: whether the search beats chance, its tables, one HTML file."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.benchmark_document import checked
from equipoise.reports.benchmark_summary import summarise
from equipoise.reports.charts import drawing
from equipoise.reports.charts.benchmark_chance import above_chance, differences
from equipoise.reports.charts.chart import Chart
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render


def charts_of(document: object) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    whole = checked(document)
    parts = {"methods": [differences(whole)], "chance": [above_chance(whole)]}
    return {name: [chart for chart in charts if chart is not None] for name, charts in parts.items()}


def write_page(document: object, path: str | os.PathLike[str]) -> Path:
    """Write the page of a document that the benchmark made; it appears whole or not at all."""
    check_writable(Path(path))
    checked(document)
    drawing.begin_library()
    return write_whole(path, page(document))


def page(document: object) -> str:
    """Return the page as one HTML text."""
    return render("benchmark.html.jinja", summarise(document), charts_of(document))


def write_figures(document: object, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(document).values() for chart in charts))
