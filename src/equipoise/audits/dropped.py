"""Rows that could not be counted, as a record of their own: nothing is left out in silence."""

from __future__ import annotations

from equipoise.foundation.text import fitting, plural
from equipoise.results import Record, Status


def dropped_rows(number: int, total: int, what: str) -> Record:
    """Return the record of rows that lack something."""
    return Record(
        measure="rows",
        kind="count",
        value=float(number),
        numerator=float(number),
        denominator=float(total),
        status=Status.DROPPED,
        reason=f"{number:,} of {plural(total, 'row')} {fitting(number, 'has', 'have')} no {what}",
    )
