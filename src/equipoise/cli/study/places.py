"""Where a study's trials are kept."""

from __future__ import annotations

from pathlib import Path


def store_of(plan: Path, store: str | None) -> str:
    """Return the store of a plan: the one named, or the file beside the plan."""
    return store if store is not None else str(plan.with_suffix(".db"))
