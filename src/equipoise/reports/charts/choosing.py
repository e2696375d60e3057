"""Which charts an audit has: few enough to be read, and drawn quickly."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.audits.result import AuditResult
from equipoise.reports.charts.before_after import before_after
from equipoise.reports.charts.calibration import calibration
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.downstream import downstream_gaps
from equipoise.reports.charts.forest import forest
from equipoise.reports.charts.heat import heat
from equipoise.reports.charts.leakage import leakage
from equipoise.reports.charts.propagation import propagation_chart
from equipoise.reports.charts.space_gaps import space_gaps
from equipoise.reports.charts.space_map import MOST_MAPS, space_maps
from equipoise.reports.charts.space_values import space_values
from equipoise.reports.charts.thresholds import gap_curves, rate_curves
from equipoise.reports.spaces import is_embedding
from equipoise.reports.subjects import splits_of, subjects_of

MOST_SUBJECTS = 6
MOST_SPLITS = 3
PARTS = (
    "map", "values", "space_gaps", "leakage", "downstream", "propagation", "changes", "contrasts", "rates",
    "thresholds", "calibration",
)  # fmt: skip


@dataclass(frozen=True)
class Charts:
    """The charts of an audit by the part of the page they belong to, and what was left out."""

    map: tuple[Chart, ...] = ()
    values: tuple[Chart, ...] = ()
    space_gaps: tuple[Chart, ...] = ()
    leakage: tuple[Chart, ...] = ()
    downstream: tuple[Chart, ...] = ()
    propagation: tuple[Chart, ...] = ()
    changes: tuple[Chart, ...] = ()
    contrasts: tuple[Chart, ...] = ()
    rates: tuple[Chart, ...] = ()
    thresholds: tuple[Chart, ...] = ()
    calibration: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, tuple[Chart, ...]]:
        """The charts by part, in the order of the page."""
        return {name: getattr(self, name) for name in PARTS}

    @property
    def all(self) -> tuple[Chart, ...]:
        """All charts in the order of the page."""
        return tuple(chart for part in self.parts.values() for chart in part)


def charts_of(result: AuditResult) -> Charts:
    """Make the charts of an audit."""
    if is_embedding(result):
        return _of_embedding(result)
    every_subject, every_split = subjects_of(result), splits_of(result)
    subjects, splits = every_subject[:MOST_SUBJECTS], every_split[:MOST_SPLITS]
    notes = []
    if len(every_split) > len(splits):
        notes.append(f"Charts are drawn for {len(splits)} of {len(every_split)} splits; tables have all of them.")
    elif len(every_subject) > len(subjects):
        notes.append(
            f"Contrasts are drawn for {len(subjects)} of {len(every_subject)} attributes; tables have all of them."
        )
    return Charts(
        changes=tuple(chart for subject in subjects if (chart := before_after(result, subject)) is not None),
        contrasts=tuple(chart for subject in subjects if (chart := forest(result, subject)) is not None),
        rates=tuple(chart for split in splits if (chart := heat(result, split)) is not None),
        thresholds=(
            *(chart for split in splits if (chart := gap_curves(result, split)) is not None),
            *(chart for subject in subjects if (chart := rate_curves(result, subject)) is not None),
        ),
        calibration=tuple(chart for split in splits if (chart := calibration(result, split)) is not None),
        notes=tuple(notes),
    )


def _of_embedding(result: AuditResult) -> Charts:
    left_out = len(result.map.groups) - MOST_MAPS if result.map is not None else 0
    return Charts(
        map=tuple(space_maps(result)),
        values=_drawn(space_values(result)),
        space_gaps=_drawn(space_gaps(result)),
        leakage=_drawn(leakage(result)),
        downstream=_drawn(downstream_gaps(result)),
        propagation=_drawn(propagation_chart(result)),
        notes=(f"The map is drawn for {MOST_MAPS} attributes; {left_out} more are not drawn.",) if left_out > 0 else (),
    )


def _drawn(chart: Chart | None) -> tuple[Chart, ...]:
    return () if chart is None else (chart,)
