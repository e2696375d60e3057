"""The page of a study: one HTML file that needs nothing else, and its charts as files of their own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.space_curves import space_curves
from equipoise.reports.charts.space_scatter import space_scatter
from equipoise.reports.charts.space_settings import space_settings
from equipoise.reports.charts.space_sweep import space_sweep
from equipoise.reports.charts.straddles import straddles
from equipoise.reports.charts.strips import strips
from equipoise.reports.charts.study_classes import classes
from equipoise.reports.charts.study_curves import curves
from equipoise.reports.charts.study_fairest import fairest
from equipoise.reports.charts.study_flips import flips
from equipoise.reports.charts.study_front import front
from equipoise.reports.charts.study_maps import costs, effects, ranks, variances
from equipoise.reports.charts.study_space_maps import sensitive_maps, study_space_maps
from equipoise.reports.charts.study_values import spreads, values
from equipoise.reports.identical_evidence import as_evidence
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render, render_fragment
from equipoise.reports.study_summary import summarise
from equipoise.reports.study_terms import attributes_of
from equipoise.studies.findings.result import StudyResult

# Maps of effects are drawn for so many attributes; the table has all.
MOST_ATTRIBUTES = 3


def charts_of(result: StudyResult) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    attributes = attributes_of(result)[:MOST_ATTRIBUTES]
    repeated = as_evidence(result)
    parts: dict[str, list[Chart | None]] = {
        "ranks": [ranks(result)],
        "curves": [curves(result)],
        "values": [values(result)],
        "effects": [effects(result, attribute) for attribute in attributes],
        "variances": [variances(result, attribute) for attribute in attributes[:1]],
        "front": [front(result)],
        "costs": [costs(result)],
        "spreads": [spreads(result)],
        "runs": [*strips(repeated)] if repeated.runs else [],
        "classes": [classes(result)],
        "sides": [_retitled(straddles(repeated), "One run says fair, another unfair: both sides of the 20 % rule")],
        "fairest": [fairest(result)],
        "flips": [flips(result)],
        "space_curves": [space_curves(result)],
        "space_sweep": [space_sweep(result)],
        "space_scatter": [space_scatter(result)],
        "space_settings": [*space_settings(result)],
        "space_maps": [study_space_maps(result)],
        "sensitive_maps": [*sensitive_maps(result)],
    }
    return {name: [chart for chart in charts if chart is not None] for name, charts in parts.items()}


def _retitled(chart: Chart | None, title: str) -> Chart | None:
    return None if chart is None else replace(chart, title=title)


def write_page(result: StudyResult, path: str | os.PathLike[str]) -> Path:
    """Write the page of a study; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(result))


def page(result: StudyResult) -> str:
    """Return the page as one HTML text."""
    return render("study.html.jinja", summarise(result), charts_of(result))


def fragment(result: StudyResult) -> str:
    """Return what a notebook shows: the words and the main numbers, small and without scripts."""
    return render_fragment("study_fragment.html.jinja", summarise(result))


def write_figures(result: StudyResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(result).values() for chart in charts))
