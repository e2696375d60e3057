"""Charts, in files named by the mark they draw; what charts of one's own need is listed here.

``bars``, ``curves``, ``dumbbells``, ``forest``, ``heatmap``, ``histogram``, ``intervals``, ``maps``, ``matrix``,
``scatter`` and ``strips`` draw the results of Equipoise; ``chart`` holds what all of them share. Nothing is imported
before it is asked for: the library behind them takes time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.reports.charts.chart import BETTER as BETTER
    from equipoise.reports.charts.chart import COLOURS as COLOURS
    from equipoise.reports.charts.chart import INK as INK
    from equipoise.reports.charts.chart import OPEN as OPEN
    from equipoise.reports.charts.chart import QUIET as QUIET
    from equipoise.reports.charts.chart import REFERENCE as REFERENCE
    from equipoise.reports.charts.chart import ROWS as ROWS
    from equipoise.reports.charts.chart import SIGNIFICANT as SIGNIFICANT
    from equipoise.reports.charts.chart import WORSE as WORSE
    from equipoise.reports.charts.chart import Chart as Chart
    from equipoise.reports.charts.chart import Fit as Fit
    from equipoise.reports.charts.chart import Lines as Lines
    from equipoise.reports.charts.chart import Look as Look
    from equipoise.reports.charts.chart import Row as Row
    from equipoise.reports.charts.chart import alone as alone
    from equipoise.reports.charts.chart import draw as draw
    from equipoise.reports.charts.chart import fit as fit
    from equipoise.reports.charts.chart import in_panels as in_panels
    from equipoise.reports.charts.chart import interval_panels as interval_panels
    from equipoise.reports.charts.chart import line_axis as line_axis
    from equipoise.reports.charts.chart import rounded as rounded
    from equipoise.reports.charts.chart import small_svg as small_svg
    from equipoise.reports.charts.chart import spanned as spanned
    from equipoise.reports.charts.chart import tips as tips
    from equipoise.reports.charts.chart import titled as titled
    from equipoise.reports.charts.chart import used as used

_MODULES = {
    "chart": (
        "BETTER", "COLOURS", "INK", "OPEN", "QUIET", "REFERENCE", "ROWS", "SIGNIFICANT", "WORSE", "Chart", "Fit",
        "Lines", "Look", "Row", "alone", "draw", "fit", "in_panels", "interval_panels", "line_axis", "rounded",
        "small_svg", "spanned", "tips", "titled", "used",
    ),
}  # fmt: skip

__all__, __getattr__, __dir__ = door(__name__, _MODULES)
