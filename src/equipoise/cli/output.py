"""Handing a result over: to the terminal, and to files that appear whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from equipoise.audits.result import AuditResult
    from equipoise.results import Gate, GateCheck, Result

GATE_BROKEN = 1


@dataclass(frozen=True)
class Output:
    """Where a result goes."""

    json: Path | None = None
    html: Path | None = None
    figures: Path | None = None
    csv: Path | None = None
    latex: Path | None = None
    quiet: bool = False

    def check(self, *, inputs: Iterable[str] = ()) -> None:
        """Refuse paths that cannot be written, before any work is done."""
        from equipoise.foundation.errors import BadInput
        from equipoise.foundation.files import STANDARD_OUTPUT, check_writable

        files = list(inputs)
        written: dict[Path, str] = {}
        for name in ("json", "html", "csv", "latex"):
            path = getattr(self, name)
            if path is None:
                continue
            if path != STANDARD_OUTPUT or name == "html":
                check_writable(path, inputs=files)
            if path in written:
                raise BadInput(
                    f"--{written[path]} and --{name} both name {str(path)!r}", help="give each its own file."
                )
            written[path] = name
        if self.figures is not None:
            if self.figures.exists() and not self.figures.is_dir():
                raise BadInput(f"The folder for figures {str(self.figures)!r} is a file", help="name a folder.")
            check_writable(self.figures / "a.svg" if self.figures.is_dir() else self.figures)

    def deliver(self, result: Result) -> None:
        """Write what was asked for, and print the result unless asked not to, or - names standard output."""
        self.write(result)
        self.show(result)

    def write(self, result: Result) -> None:
        """Write the files that were asked for: all of them appear at the end, or none."""
        from equipoise.foundation.files import STANDARD_OUTPUT, together

        with together():
            if self.html is not None:
                result.report(self.html)
            if self.figures is not None:
                _shower("figures", result)(result, self.figures)
            for path, write in self._texts(result):
                if path is not None and path != STANDARD_OUTPUT:
                    write(path)

    def show(self, result: Result) -> None:
        """Print the result unless asked not to, or what - asks for."""
        from equipoise.foundation.files import STANDARD_OUTPUT

        for path, write in self._texts(result):
            if path == STANDARD_OUTPUT:
                typer.echo(write(), nl=False)
        if not self.quiet and STANDARD_OUTPUT not in (self.json, self.csv, self.latex):
            self._print(result)

    def _texts(self, result: Result) -> tuple[tuple[Path | None, Callable[..., str]], ...]:
        return (self.json, result.to_json), (self.csv, result.to_csv), (self.latex, result.to_latex)

    def _print(self, result: Result) -> None:
        from rich.console import Console

        console = Console()
        _shower("terminal", result)(result, console)
        for what, path in (
            ("Every number", self.json), ("The page", self.html), ("The records", self.csv),
            ("The tables", self.latex), ("The charts", self.figures),
        ):  # fmt: skip
            if path is not None:
                console.print(f"{what}: {path}", highlight=False, markup=False)


def _shower(where: str, result: Result) -> Callable[..., object]:
    """Return what shows a result in a folder of figures or in the terminal."""
    from equipoise.foundation.registry import FIGURE_RENDERERS, TERMINAL_RENDERERS, renderer

    found = renderer({"figures": FIGURE_RENDERERS, "terminal": TERMINAL_RENDERERS}[where], result.schema)
    assert found is not None, f"every command whose result is delivered here has one: {result.schema}"
    return found


def hold(result: AuditResult, gates: Sequence[Gate], *, allow_undefined: bool) -> None:
    """Compare a result with gates; a broken one is named on standard error and ends the program with 1."""
    end_if_broken(result.check(*gates, allow_undefined=allow_undefined))


def end_if_broken(check: GateCheck) -> None:
    """Say which gates are broken, and end with 1 if any is."""
    from equipoise.foundation.text import printable

    for breach in check.broken:
        typer.echo(printable(f"gate broken: {breach}"), err=True)
    if check.broken:
        raise typer.Exit(GATE_BROKEN)
