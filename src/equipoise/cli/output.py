"""Handing a result over: to the terminal, and to files that appear whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from equipoise.audits.result import AuditResult
    from equipoise.evidence.gates import Gate

GATE_BROKEN = 1


@dataclass(frozen=True)
class Output:
    """Where a result goes."""

    json: Path | None = None
    html: Path | None = None
    figures: Path | None = None
    quiet: bool = False

    def check(self, *, inputs: Iterable[str] = ()) -> None:
        """Refuse paths that cannot be written, before any work is done."""
        from equipoise.foundation.errors import BadInput
        from equipoise.foundation.files import check_writable

        files = list(inputs)
        for path in (self.json, self.html):
            if path is not None:
                check_writable(path, inputs=files)
        if self.json is not None and self.json == self.html:
            raise BadInput(f"--json and --html both name {str(self.json)!r}", way_out="give each its own file.")
        if self.figures is not None:
            if self.figures.exists() and not self.figures.is_dir():
                raise BadInput(f"The folder for figures {str(self.figures)!r} is a file", way_out="name a folder.")
            check_writable(self.figures / "a.svg" if self.figures.is_dir() else self.figures)

    def deliver(self, result: AuditResult) -> None:
        """Write what was asked for, and print the result unless asked not to."""
        if self.json is not None:
            result.to_json(self.json)
        if self.html is not None:
            result.report(self.html)
        if self.figures is not None:
            from equipoise.reports.page import write_figures

            write_figures(result, self.figures)
        if not self.quiet:
            self._print(result)

    def _print(self, result: AuditResult) -> None:
        from rich.console import Console

        from equipoise.reports.terminal import show

        console = Console()
        show(result, console)
        for what, path in (("Every number", self.json), ("The page", self.html), ("The charts", self.figures)):
            if path is not None:
                console.print(f"{what}: {path}", highlight=False, markup=False)


def hold(result: AuditResult, gates: Sequence[Gate], *, allow_undefined: bool) -> None:
    """Hold a result against gates; a broken one is told on standard error and ends the program with 1."""
    from equipoise.audits.gates import breaches

    found = breaches(result, gates, allow_undefined=allow_undefined)
    end_if_broken(f"{breach.gate}: {breach.told}" for breach in found)


def end_if_broken(told: Iterable[str]) -> None:
    """Say which gates are broken, and end with 1 if any is."""
    from equipoise.foundation.text import printable

    broken = list(told)
    for line in broken:
        typer.echo(printable(f"gate broken: {line}"), err=True)
    if broken:
        raise typer.Exit(GATE_BROKEN)
