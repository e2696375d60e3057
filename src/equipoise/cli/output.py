"""Handing a result over: to the terminal, and to files that appear whole."""

from __future__ import annotations

from pathlib import Path

from equipoise.audits.result import AuditResult


def deliver(result: AuditResult, *, json: Path | None, quiet: bool) -> None:
    """Print a result unless asked not to, and write what was asked for."""
    if json is not None:
        result.to_json(json)
    if quiet:
        return
    from rich.console import Console

    from equipoise.reports.terminal import show

    console = Console()
    show(result, console)
    if json is not None:
        console.print(f"\nEvery number is in {json}", highlight=False, markup=False)
