"""The page of a reproduction: a paper's findings beside a study's, one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.table_4 import table_4
from equipoise.reports.plain_tables import Table
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of
from equipoise.reports.render.figures import draw_into
from equipoise.reports.rendering import render, render_fragment
from equipoise.results import ClaimVerdict, record_as_json
from equipoise.studies.findings.identical.reproduction import Reproduction


def summarise(result: Reproduction) -> Table:
    """Return what the page says, as plain data."""
    times = Counter(one.holds for one in result.records)
    return {
        "title": f"Paper {result.paper} beside the study of {result.study}",
        "call": "reproduction_of",
        "created": result.provenance.get("created"),
        "paper": result.paper,
        "headline": (
            f"Of {len(result.records)} findings of paper {result.paper}, {times[ClaimVerdict.HOLDS]} hold in this "
            f"study by the paper's own rule, {times[ClaimVerdict.IN_PART]} in part"
            + (f"; {times[ClaimVerdict.INCONCLUSIVE]} are inconclusive." if times[ClaimVerdict.INCONCLUSIVE] else ".")
        ),
        "times": dict(times),
        "claims": [{"place": place, **record_as_json(one)} for place, one in enumerate(result.records)],
        "techniques": [{"place": place, **record_as_json(one)} for place, one in enumerate(result.techniques)],
        "notes": list(result.notes),
        "not_certified": NOT_CERTIFIED,
        "provenance": provenance_of(result),
    }


def charts_of(result: Reproduction) -> dict[str, list[Chart]]:
    """Make the charts, by the part of the page they belong to."""
    chart = table_4(result)
    return {"spreads": [] if chart is None else [chart]}


def write_page(result: Reproduction, path: str | os.PathLike[str]) -> Path:
    """Write the page; it appears whole or not at all."""
    check_writable(Path(path))
    drawing.begin_library()
    return write_whole(path, page(result))


def page(result: Reproduction) -> str:
    """Return the page as one HTML text."""
    return render("reproduction.html.jinja", summarise(result), charts_of(result))


def fragment(result: Reproduction) -> str:
    """Return what a notebook shows, small and without scripts."""
    return render_fragment("reproduction_fragment.html.jinja", summarise(result))


def write_figures(result: Reproduction, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    return draw_into(folder, (chart for charts in charts_of(result).values() for chart in charts))
