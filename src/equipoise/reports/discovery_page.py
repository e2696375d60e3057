"""The page of an investigation: what a classifier reacts to, for a person to look at and to name."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.discovery.investigation import Investigation
from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.direction_chance import against_chance, methods_chart
from equipoise.reports.charts.loss_curves import loss_curves
from equipoise.reports.discovery_summary import MOST_DIRECTIONS, method_lines, summarise
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render


def charts_of(investigation: Investigation) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    parts: dict[str, list[Chart | None]] = {
        f"direction {rank}": [against_chance(one, f"direction {rank} against chance")]
        for rank, one in enumerate(investigation.directions[:MOST_DIRECTIONS], start=1)
    }
    parts["methods"] = [methods_chart(method_lines(investigation))]
    parts["curves"] = [loss_curves(investigation.curves)]
    return {name: [chart for chart in charts if chart is not None] for name, charts in parts.items()}


def write_page(investigation: Investigation, path: str | os.PathLike[str]) -> Path:
    """Write the page; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(investigation))


def page(investigation: Investigation) -> str:
    """Return the page as one HTML text."""
    return render("discovery.html.jinja", summarise(investigation), charts_of(investigation))


def write_figures(investigation: Investigation, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(investigation).values() for chart in charts))
