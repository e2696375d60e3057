"""The page of a diagnosis: where two identical runs first differed, and its charts as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.divergence import drift, layers
from equipoise.reports.formats import plural
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render, render_fragment
from equipoise.results import record_as_json
from equipoise.studies.diagnosing import Diagnosis
from equipoise.training.diverging.divergence import ALL


def charts_of(result: Diagnosis) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    return {"growth": [chart for chart in (drift(result), layers(result)) if chart is not None]}


def summarise(result: Diagnosis) -> Table:
    """Return what the page says, as plain data."""
    headline, *sentences = result.words
    flips = {one.step: one for one in result.flips}
    lines = [
        {"record": place, **record_as_json(one), "flipped": flips[one.step].share if one.step in flips else None}
        for place, one in enumerate(result.records)
        if one.layer == ALL
    ]
    return {
        "title": f"Two identical runs on {result.provenance.get('data')}",
        "call": "equipoise.studies.diagnosing.diagnose",
        "created": result.provenance.get("created"),
        "headline": headline,
        "sentences": sentences,
        "notes": list(result.notes),
        "trial": [{"name": name, "value": str(value)} for name, value in result.trial.items()],
        "steps": plural(result.steps, "step"),
        "same": result.step is None,
        "table": limited(lines),
        "has_flips": bool(result.flips),
        "not_certified": NOT_CERTIFIED,
        "provenance": provenance_of(result),
    }


def write_page(result: Diagnosis, path: str | os.PathLike[str]) -> Path:
    """Write the page; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(result))


def page(result: Diagnosis) -> str:
    """Return the page as one HTML text."""
    return render("diagnosis.html.jinja", summarise(result), charts_of(result))


def fragment(result: Diagnosis) -> str:
    """Return what a notebook shows: the words, small and without scripts."""
    return render_fragment("diagnosis_fragment.html.jinja", summarise(result))


def write_figures(result: Diagnosis, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(result).values() for chart in charts))
