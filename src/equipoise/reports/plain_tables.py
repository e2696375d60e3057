"""Rows of pages whose templates take plain data: as many as a page can hold."""

from __future__ import annotations

from collections.abc import Sequence

Table = dict[str, object]

MOST_ROWS = 250


def limited(rows: Sequence[Table], most: int = MOST_ROWS) -> Table:
    """Return as many rows as a page can hold, and how many there are."""
    return {"rows": list(rows[:most]), "total": len(rows), "left_out": max(len(rows) - most, 0)}
