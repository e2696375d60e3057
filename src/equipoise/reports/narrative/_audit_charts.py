"""The charts of an audit: their names, known before anything is drawn, and which of them are drawn.

A document speaks of charts by name and must not import what draws them, so that is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from equipoise.audits import AuditResult
from equipoise.reports._spaces import MOST_MAPS, is_embedding
from equipoise.reports._subjects import splits_of, subjects_of
from equipoise.reports.narrative._tables import part_names

if TYPE_CHECKING:
    from equipoise.reports.charts import Chart

    Drawn = Iterable[Chart | None]

MOST_SUBJECTS, MOST_SPLITS = 6, 3
# The chart of the first screen.
PICTURE = "main"


def chart_notes(result: AuditResult) -> tuple[str, ...]:
    """Say which charts are left out because there would be too many."""
    if is_embedding(result):
        left_out = len(result.map.groups) - MOST_MAPS if result.map is not None else 0
        drawn = f"The map is drawn for {MOST_MAPS} attributes; {left_out} more are not drawn."
        return (drawn,) if left_out > 0 else ()
    subjects, splits = len(subjects_of(result)), len(splits_of(result))
    if splits > MOST_SPLITS:
        return (f"Charts are drawn for {MOST_SPLITS} of {splits} splits; tables have all of them.",)
    if subjects > MOST_SUBJECTS:
        return (f"Contrasts are drawn for {MOST_SUBJECTS} of {subjects} attributes; tables have all of them.",)
    return ()


def audit_charts(result: AuditResult) -> dict[str, Chart]:
    """Draw an audit: the charts by name, in the order in which they are read."""
    parts = _of_space(result) if is_embedding(result) else _of_outcomes(result)
    charts: dict[str, Chart] = {}
    for part, drawn in parts:
        charts |= zip(part_names(part), (chart for chart in drawn if chart is not None), strict=False)
    return charts


def _of_outcomes(result: AuditResult) -> Iterator[tuple[str, Drawn]]:
    from equipoise.reports.charts.curves import gap_curves, rate_curves
    from equipoise.reports.charts.dumbbells import before_after
    from equipoise.reports.charts.forest import forest, main_forest
    from equipoise.reports.charts.heatmap import rates
    from equipoise.reports.charts.scatter import calibration

    subjects, splits = subjects_of(result)[:MOST_SUBJECTS], splits_of(result)[:MOST_SPLITS]
    yield PICTURE, [main_forest(result)]
    yield "changes", (before_after(result, subject) for subject in subjects)
    yield "rates", (rates(result, split) for split in splits)
    yield "contrasts", (forest(result, subject) for subject in subjects)
    yield "thresholds", [*(gap_curves(result, split) for split in splits), *(rate_curves(result, s) for s in subjects)]
    yield "calibration", (calibration(result, split) for split in splits)


def _of_space(result: AuditResult) -> Iterator[tuple[str, Drawn]]:
    from equipoise.reports.charts.bars import leakage
    from equipoise.reports.charts.forest import downstream_gaps, space_gaps, space_values
    from equipoise.reports.charts.maps import space_maps
    from equipoise.reports.charts.scatter import propagation_chart

    yield "map", space_maps(result)
    yield "values", [space_values(result)]
    yield "space_gaps", [space_gaps(result)]
    yield "leakage", [leakage(result)]
    yield "downstream", [downstream_gaps(result)]
    yield "propagation", [propagation_chart(result)]
