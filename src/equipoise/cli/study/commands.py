"""``equipoise study``: treatments on trial under controlled data conditions, resumed wherever it was interrupted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from equipoise.cli.study.check import check
from equipoise.cli.study.diagnose import diagnose
from equipoise.cli.study.export import export
from equipoise.cli.study.merge import merge
from equipoise.cli.study.pack import pack
from equipoise.cli.study.report import report
from equipoise.cli.study.run import run
from equipoise.cli.study.status import status
from equipoise.cli.study.worker import worker

INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    help="Put treatments on trial under controlled data conditions; a study that is interrupted goes on where it was.",
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command in words, for what is recorded stays."""

    @functools.wraps(command)
    def run(*given: Any, **named: Any) -> None:
        try:
            command(*given, **named)
        except KeyboardInterrupt:
            typer.echo("equipoise: interrupted; what is recorded is kept. Run again to go on.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


for _command in (check, run, status, report, diagnose, export, merge, worker, pack):
    app.command(_command.__name__)(_interruptible(_command))
