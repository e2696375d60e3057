"""The page of a comparison: one HTML file that needs nothing else, and its charts as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.audits.compare.result import CompareResult
from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.changed_groups import most_changed, outcomes, projections
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.rings import rings
from equipoise.reports.charts.score_histograms import MOST_ATTRIBUTES, by_group, everyone
from equipoise.reports.compare_summary import summarise
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render, render_fragment


def charts_of(result: CompareResult) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    parts: dict[str, list[Chart | None]] = {
        "scores": [everyone(result), *by_group(result)], "changed": [most_changed(result)], "rings": [rings(result)],
        "projection": [projections(result)], "outcomes": [outcomes(result)],
    }  # fmt: skip
    return {name: [chart for chart in charts if chart is not None] for name, charts in parts.items()}


def write_page(result: CompareResult, path: str | os.PathLike[str]) -> Path:
    """Write the page of a comparison; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(result))


def page(result: CompareResult) -> str:
    """Return the page as one HTML text."""
    number = len(result.attributes)
    notes = [f"Scores are drawn for {MOST_ATTRIBUTES} of {number} attributes; the table has all of them."]
    return render("compare.html.jinja", summarise(result), charts_of(result), notes if number > MOST_ATTRIBUTES else ())


def fragment(result: CompareResult) -> str:
    """Return what a notebook shows: the words and who the most changed are, small and without scripts."""
    return render_fragment("compare_fragment.html.jinja", summarise(result))


def write_figures(result: CompareResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(result).values() for chart in charts))
