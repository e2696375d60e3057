"""The page of evidence over runs: one HTML file that needs nothing else, and its charts as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.audits.evidence import EvidenceResult
from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.effects import effects, variances
from equipoise.reports.charts.straddles import straddles
from equipoise.reports.charts.strips import strips
from equipoise.reports.evidence_summary import summarise
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render, render_fragment


def charts_of(result: EvidenceResult) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    parts: dict[str, list[Chart | None]] = {
        "effects": [effects(result)], "variances": [variances(result)], "runs": [*strips(result)],
        "straddling": [straddles(result)],
    }  # fmt: skip
    return {name: [chart for chart in charts if chart is not None] for name, charts in parts.items()}


def write_page(result: EvidenceResult, path: str | os.PathLike[str]) -> Path:
    """Write the page of evidence; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(result))


def page(result: EvidenceResult) -> str:
    """Return the page as one HTML text."""
    return render("evidence.html.jinja", summarise(result), charts_of(result))


def fragment(result: EvidenceResult) -> str:
    """Return what a notebook shows: the words and the verdicts, small and without scripts."""
    return render_fragment("evidence_fragment.html.jinja", summarise(result))


def write_figures(result: EvidenceResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(result).values() for chart in charts))
