"""The program: its commands, and how it ends when something is wrong."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from equipoise.cli._commands import Group, add_command, command_of
from equipoise.cli._console import INTERRUPTED, Ended, Interrupted
from equipoise.cli.commands.audit import audit
from equipoise.cli.commands.cite import cite
from equipoise.cli.commands.compare import compare
from equipoise.cli.commands.demo import demo
from equipoise.cli.commands.discover import discover
from equipoise.cli.commands.doctor import doctor
from equipoise.cli.commands.label import label
from equipoise.cli.commands.listing import list_registered
from equipoise.cli.commands.name import name
from equipoise.cli.commands.reproduce import reproduce
from equipoise.cli.commands.study import app as study
from equipoise.foundation.errors import BadInput, EquipoiseError
from equipoise.foundation.files import forget_written_files
from equipoise.foundation.registry import registry
from equipoise.foundation.text import has_secrets, printable, redacted, redacted_traceback, remember_secrets, shortened

BAD_INPUT = 2
UNFORESEEN = 1


class WithoutSecrets(Group):
    """Errors of the command line quote what was typed; they leave passwords out too."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and cut secrets out of what is wrong with its arguments."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(message := getattr(error, "message", None), str):
                error.message = redacted(message)  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    name="equipoise",
    cls=WithoutSecrets,
    help="Audit models for fairness, compare treatments, and find bias that nobody named.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit,
    "compare": compare,
    **{entry.name: command_of(entry.thing) for entry in registry.entries("audit")},  # type: ignore[arg-type]
    "discover": discover,
    "name": name,
    "label": label,
    "list": list_registered,
    "cite": cite,
    "demo": demo,
    "reproduce": reproduce,
    "doctor": doctor,
}
for _name, _command in COMMANDS.items():
    add_command(app, _name, _command)
app.add_typer(study, name="study")


@app.callback(invoke_without_command=True)
def _program(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        from equipoise import __version__

        typer.echo(f"equipoise {__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the program; an error that was foreseen is a message, not a traceback."""
    remember_secrets(sys.argv[1:])
    forget_written_files()
    try:
        app(standalone_mode=True)
    except EquipoiseError as error:
        stopped = isinstance(error, Interrupted)
        typer.echo(printable(redacted(f"{'equipoise' if stopped else 'error'}: {error}")), err=True)
        raise Ended(INTERRUPTED if stopped else BAD_INPUT) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # wherever a path is first looked at
            message = BadInput(f"The path {shortened(str(error.filename))!r} is too long", help="check the path.")
            typer.echo(printable(redacted(f"error: {message}")), err=True)
            sys.exit(BAD_INPUT)
        if not has_secrets():
            raise
        typer.echo(redacted_traceback(traceback.format_exc()), err=True)
        sys.exit(UNFORESEEN)


if __name__ == "__main__":
    main()
