"""Which charts an audit has: few enough to be read, and drawn quickly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equipoise.audits import AuditResult
from equipoise.reports.charts import Chart
from equipoise.reports.charts.bars import leakage
from equipoise.reports.charts.curves import gap_curves, rate_curves
from equipoise.reports.charts.dumbbells import before_after
from equipoise.reports.charts.forest import downstream_gaps, forest, main_forest, space_gaps, space_values
from equipoise.reports.charts.heatmap import rates
from equipoise.reports.charts.maps import space_maps
from equipoise.reports.charts.scatter import calibration, propagation_chart
from equipoise.reports.narrative._chart_names import MOST_SPLITS, MOST_SUBJECTS, PICTURE, part_names
from equipoise.reports.spaces import is_embedding
from equipoise.reports.subjects import splits_of, subjects_of

Drawn = Iterable[Chart | None]


def audit_charts(result: AuditResult) -> dict[str, Chart]:
    """Draw an audit: the charts by name, in the order in which they are read."""
    parts = _of_space(result) if is_embedding(result) else _of_outcomes(result)
    charts: dict[str, Chart] = {}
    for part, drawn in parts:
        charts |= zip(part_names(part), (chart for chart in drawn if chart is not None), strict=False)
    return charts


def _of_outcomes(result: AuditResult) -> Iterator[tuple[str, Drawn]]:
    subjects, splits = subjects_of(result)[:MOST_SUBJECTS], splits_of(result)[:MOST_SPLITS]
    yield PICTURE, [main_forest(result)]
    yield "changes", (before_after(result, subject) for subject in subjects)
    yield "rates", (rates(result, split) for split in splits)
    yield "contrasts", (forest(result, subject) for subject in subjects)
    yield "thresholds", [*(gap_curves(result, split) for split in splits), *(rate_curves(result, s) for s in subjects)]
    yield "calibration", (calibration(result, split) for split in splits)


def _of_space(result: AuditResult) -> Iterator[tuple[str, Drawn]]:
    yield "map", space_maps(result)
    yield "values", [space_values(result)]
    yield "space_gaps", [space_gaps(result)]
    yield "leakage", [leakage(result)]
    yield "downstream", [downstream_gaps(result)]
    yield "propagation", [propagation_chart(result)]
