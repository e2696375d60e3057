"""``equipoise study``: treatments on trial under controlled data conditions, resumed wherever it was interrupted."""

from __future__ import annotations

import typer

from equipoise.cli._commands import Group, add_command
from equipoise.cli.study.check import check
from equipoise.cli.study.diagnose import diagnose
from equipoise.cli.study.export import export
from equipoise.cli.study.merge import merge
from equipoise.cli.study.pack import pack
from equipoise.cli.study.report import report
from equipoise.cli.study.run import run
from equipoise.cli.study.status import status
from equipoise.cli.study.worker import worker

KEPT = "what is recorded is kept. Run again to go on"

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Put treatments on trial under controlled data conditions; a study that is interrupted goes on where it was.",
)


for _command in (check, run, status, report, diagnose, export, merge, worker, pack):
    add_command(app, _command.__name__, _command, KEPT)
