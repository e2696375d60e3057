"""The one place where a result finds what shows it. Named, not imported: reports lie below the rooms of results."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import renderer, report_of

if TYPE_CHECKING:
    from equipoise.results._result import Result

# Kinds of results that have no narrative yet draw their charts here.
_CHARTS = {
    "diagnosis": "equipoise.reports.diagnosis_page",
}


def write_page(result: Result, path: Any) -> bool:
    """Write the page of a result; False where its kind has none."""
    write = renderer("write", result.schema)
    if write is None:
        return False
    write(result, path)
    return True


def notebook_html(result: Result) -> str | None:
    """Return the fragment of a page that a notebook shows; None where the kind has none."""
    show = renderer("fragment", result.schema)
    return None if show is None else str(show(result))


def charts_of(result: Result) -> dict[str, Any]:
    """Return the charts of a result by name: the part of the page, and what it is of where a part has several."""
    if type(result).kind not in _CHARTS:
        try:
            return dict(report_of(type(result).kind).charts(result))
        except BadInput:
            return {}
    module = importlib.import_module(_CHARTS[type(result).kind])
    found: Any = module.charts_of(result)
    parts: Mapping[str, Any] = found if isinstance(found, Mapping) else found.parts
    named: dict[str, Any] = {}
    for part, charts in parts.items():
        for chart in charts:
            name = part if len(charts) == 1 else _identifier(part, chart.name)
            number = 2
            while name in named:
                name = f"{_identifier(part, chart.name)}_{number}"
                number += 1
            named[name] = chart
    return named


def _identifier(part: str, chart: str) -> str:
    """Return a name that can be typed after a dot."""
    own = re.sub(r"[^a-z0-9]+", "_", chart.lower()).strip("_")
    name = own if own.startswith(part) else f"{part}_{own}".rstrip("_")
    return name if name.isidentifier() else part
