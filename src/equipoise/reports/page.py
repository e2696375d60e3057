"""The page of an audit: one HTML file that needs nothing else, and its charts as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.audits.result import AuditResult
from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.audit_summary import summarise
from equipoise.reports.charts import drawing
from equipoise.reports.charts.choosing import Charts, charts_of
from equipoise.reports.rendering import draw_into, render, render_fragment


def write_page(result: AuditResult, path: str | os.PathLike[str]) -> Path:
    """Write the page of an audit; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(summarise(result), charts_of(result)))


def page(summary: dict[str, object], charts: Charts) -> str:
    """Return the page as one HTML text."""
    return render("audit.html.jinja", summary, charts.parts, charts.notes)


def fragment(result: AuditResult) -> str:
    """Return what a notebook shows: the words and the gaps, small and without scripts."""
    return render_fragment("fragment.html.jinja", summarise(result))


def write_figures(result: AuditResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, charts_of(result).all)
