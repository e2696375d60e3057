"""How a result finds what shows it: its report by name, for reports lie below the rooms of results, its charts,
and the tables that it gives to LaTeX.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.registry import kind_of, report_of

if TYPE_CHECKING:
    import altair

    from equipoise.results._result import Result


@dataclass(frozen=True)
class Table:
    """A table to be read: its name, what it shows, headings, and cells (text, numbers, or None for undefined)."""

    name: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Interval:
    """The two ends of an interval, as one cell."""

    low: float | None
    high: float | None


# Which chart of altair a specification is of, by the key that it has.
_CLASSES = {
    "facet": "FacetChart", "layer": "LayerChart", "hconcat": "HConcatChart", "vconcat": "VConcatChart",
    "concat": "ConcatChart", "repeat": "RepeatChart",
}  # fmt: skip


def altair_chart(spec: dict[str, Any]) -> altair.TopLevelMixin:
    """Return a specification as a chart of altair; nothing is validated, which would look at every value."""
    import altair

    name = next((of for key, of in _CLASSES.items() if key in spec), "Chart")
    chart: altair.TopLevelMixin = getattr(altair, name).from_dict(spec, validate=False)
    return chart


class Plots:
    """The charts of one result. ``dir(result.plot)`` lists them; calling one returns an Altair chart."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __dir__(self) -> list[str]:
        return sorted(self._result.charts())

    def __getattr__(self, name: str) -> Plot:
        if name.startswith("_"):
            raise AttributeError(name)
        charts = self._result.charts()
        if name not in charts:
            raise unknown_name("chart", name, charts, "the charts of this result")
        return Plot(name, charts[name])

    def __repr__(self) -> str:
        names = dir(self)
        return f"charts: {', '.join(names)}" if names else "no charts"


class Plot:
    """One chart, made when it is called."""

    def __init__(self, name: str, chart: altair.TopLevelMixin) -> None:
        self.__name__, self._chart = name, chart

    def __call__(self, **properties: Any) -> altair.TopLevelMixin:
        """Return the Altair chart, with properties such as ``width`` and ``title`` set where they are given."""
        return self._chart.properties(**properties) if properties else self._chart

    def __repr__(self) -> str:
        return f"<chart {self.__name__}; call it for an Altair chart>"


def report_for(schema: str) -> Any:
    """Return the ``equipoise.reports.Report`` of results of a schema; None where their kind has none."""
    try:
        return report_of(kind_of(schema))
    except BadInput:
        return None


def latex_text(tables: Iterable[Table]) -> str:
    """Write tables for LaTeX."""
    return str(importlib.import_module("equipoise.reports.render.latex").latex(tables))
