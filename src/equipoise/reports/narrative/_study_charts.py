"""Which charts a study has, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from equipoise.reports.charts import Chart
from equipoise.reports.charts.bars import flips
from equipoise.reports.charts.curves import alpha_curves, space_curves, space_sweep
from equipoise.reports.charts.heatmap import space_settings
from equipoise.reports.charts.intervals import fairest, study_spreads, study_values
from equipoise.reports.charts.maps import sensitive_maps, study_space_maps
from equipoise.reports.charts.matrix import classes, costs, ranks, study_effects, study_variances
from equipoise.reports.charts.scatter import front, space_scatter
from equipoise.reports.charts.strips import straddles, strips
from equipoise.reports.identical_evidence import as_evidence
from equipoise.reports.narrative._chart_names import part_names
from equipoise.reports.study_terms import attributes_of
from equipoise.studies.findings import StudyResult

# Maps of effects are drawn for so many attributes; the table has all.
MOST_ATTRIBUTES = 3


def study_charts(result: StudyResult) -> dict[str, Chart]:
    """Draw a study: the charts by name."""
    charts: dict[str, Chart] = {}
    for part, drawn in _parts(result):
        charts |= zip(part_names(part), (chart for chart in drawn if chart is not None), strict=False)
    return charts


def _parts(result: StudyResult) -> Iterator[tuple[str, Iterable[Chart | None]]]:
    attributes = attributes_of(result)[:MOST_ATTRIBUTES]
    repeated = as_evidence(result)
    yield "front", [front(result)]
    yield "space_curves", [space_curves(result)]
    yield "space_sweep", [space_sweep(result)]
    yield "space_scatter", [space_scatter(result)]
    yield "space_settings", space_settings(result)
    yield "space_maps", [study_space_maps(result)]
    yield "sensitive_maps", sensitive_maps(result)
    yield "values", [study_values(result)]
    yield "ranks", [ranks(result)]
    yield "curves", [alpha_curves(result)]
    yield "effects", [study_effects(result, attribute) for attribute in attributes]
    yield "costs", [costs(result)]
    yield "variances", [study_variances(result, attribute) for attribute in attributes[:1]]
    yield "spreads", [study_spreads(result)]
    yield "runs", strips(repeated) if repeated.runs else []
    yield "classes", [classes(result)]
    yield "sides", [_retitled(straddles(repeated), "One run says fair, another unfair: both sides of the 20% rule")]
    yield "fairest", [fairest(result)]
    yield "flips", [flips(result)]


def _retitled(chart: Chart | None, title: str) -> Chart | None:
    return None if chart is None else replace(chart, title=title)
