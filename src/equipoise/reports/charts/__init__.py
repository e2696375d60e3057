"""Charts by the mark they draw, and what all of them share; asked for by name, for their library takes time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.reports.charts.chart import BETTER as BETTER
    from equipoise.reports.charts.chart import COLOURS as COLOURS
    from equipoise.reports.charts.chart import WORSE as WORSE
    from equipoise.reports.charts.chart import Chart as Chart
    from equipoise.reports.charts.chart import Row as Row
    from equipoise.reports.charts.chart import finish as finish
    from equipoise.reports.charts.dumbbells import CHANCE as CHANCE
    from equipoise.reports.charts.dumbbells import RING as RING
    from equipoise.reports.charts.dumbbells import Look as Look
    from equipoise.reports.charts.grid import Lines as Lines
    from equipoise.reports.charts.intervals import alone as alone
    from equipoise.reports.charts.intervals import fit as fit
    from equipoise.reports.charts.intervals import interval_panels as interval_panels
    from equipoise.reports.charts.intervals import spanned as spanned
    from equipoise.reports.charts.intervals import with_room as with_room

_HOMES = {
    **dict.fromkeys(("BETTER", "COLOURS", "WORSE", "Chart", "Row", "finish"), "chart"),
    **dict.fromkeys(("CHANCE", "RING", "Look"), "dumbbells"),
    "Lines": "grid",
    **dict.fromkeys(("alone", "fit", "interval_panels", "spanned", "with_room"), "intervals"),
}

__all__ = [
    "BETTER", "CHANCE", "COLOURS", "RING", "WORSE", "Chart", "Lines", "Look", "Row", "alone", "finish", "fit",
    "interval_panels", "spanned", "with_room",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"equipoise.reports.charts.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
