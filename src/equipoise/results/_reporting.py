"""The one place where a result finds what shows it. Named, not imported: reports lie below the rooms of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import renderer, report_of

if TYPE_CHECKING:
    from equipoise.results._result import Result


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
    """Return the charts of a result by name; none where its kind has no report."""
    try:
        return dict(report_of(type(result).kind).charts(result))
    except BadInput:
        return {}
