"""Which charts an audit has: few enough to be read, and drawn quickly."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.audits.result import AuditResult
from equipoise.reports.charts.before_after import before_after
from equipoise.reports.charts.calibration import calibration
from equipoise.reports.charts.chart import Chart
from equipoise.reports.charts.forest import forest
from equipoise.reports.charts.heat import heat
from equipoise.reports.charts.thresholds import gap_curves, rate_curves
from equipoise.reports.subjects import splits_of, subjects_of

MOST_SUBJECTS = 6
MOST_SPLITS = 3


@dataclass(frozen=True)
class Charts:
    """The charts of an audit by the part of the page they belong to, and what was left out."""

    changes: tuple[Chart, ...] = ()
    contrasts: tuple[Chart, ...] = ()
    rates: tuple[Chart, ...] = ()
    thresholds: tuple[Chart, ...] = ()
    calibration: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, tuple[Chart, ...]]:
        """The charts by part, in the order of the page."""
        return {name: getattr(self, name) for name in ("changes", "contrasts", "rates", "thresholds", "calibration")}

    @property
    def all(self) -> tuple[Chart, ...]:
        """All charts in the order of the page."""
        return tuple(chart for part in self.parts.values() for chart in part)


def charts_of(result: AuditResult) -> Charts:
    """Make the charts of an audit."""
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
