"""The program: how commands get into it, what help shows of them, and how it ends when something is wrong."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.cli._console import (
    INTERRUPTED,
    Ended,
    Interrupted,
    Output,
    end_if_broken,
    interruptible,
    query_share,
    show_progress,
)
from equipoise.cli._options import arguments, takes
from equipoise.cli.commands import study
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
from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    forget_written_files,
    has_secrets,
    printable,
    redacted,
    redacted_traceback,
    registry,
    remember_secrets,
    shortened,
)

if TYPE_CHECKING:
    from equipoise.audits import AuditKind

BAD_INPUT = 2
UNFORESEEN = 1


class Group(TyperGroup):
    """Commands together, whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, --help among them."""
        options = super().get_params(ctx)
        for option in options:
            _as_flag(option)
        return options


class Command(TyperCommand):
    """A command whose help shows flags without a type or a default."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        for parameter in self.params:
            _as_flag(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option that has two spellings has one value."""
        for parameter in self.params:
            if not getattr(parameter, "is_flag", False):
                _check_spellings([name for name in parameter.opts if name.startswith("--")], args)
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, as a flag too."""
        option = super().get_help_option(ctx)
        if option is not None:
            _as_flag(option)
        return option


def _check_spellings(spellings: Sequence[str], args: Sequence[str]) -> None:
    """Refuse two spellings of an option that are given different values."""
    if len(spellings) < 2:
        return
    owners: dict[str, str] = {}
    for index, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name in spellings and (sign or index + 1 < len(args)):
            owners[name] = value if sign else args[index + 1]
    if len(set(owners.values())) > 1:
        raise BadInput(
            f"{' and '.join(owners)} were given with different values",
            help="leave one out: they are two spellings of the same option.",
        )


def _as_flag(option: Any) -> None:
    """Let help show an option without a type and a default, if it is a flag."""
    if getattr(option, "is_flag", False):
        option.metavar, option.show_default = "", False


def add_command(
    app: typer.Typer, name: str, command: Callable[..., None], *, examples: Sequence[str] = (), interrupt_note: str = ""
) -> None:
    """Add a command to the program; its examples, or ``EXAMPLES`` of its module, are shown below its options."""
    examples = examples or getattr(command, "examples", ()) or sys.modules[command.__module__].EXAMPLES
    epilog = "\n".join(["Examples", *(f"  $ equipoise {line}" for line in examples)])
    app.command(name, cls=Command, epilog=epilog)(interruptible(command, interrupt_note))


def command_of(kind: AuditKind) -> Callable[..., None]:
    """Return the command of a registered kind of audit, made from its declaration, options and all."""

    def command(file: str, *, values: dict[str, Any]) -> None:
        from equipoise.audits import named_object
        from equipoise.foundation import command_line

        gates = kind.result_type.read_gates(values["fail_if"]) if values.get("fail_if") else []
        output = Output.of(values)
        output.check(inputs=[file, *(values[name] for name in kind.inputs if values[name] is not None)])
        settings = arguments(kind.options, values)
        for argument, convert in kind.converted.items():
            settings[argument] = named_object(convert)(settings[argument])
        with show_progress(kind.doing, quiet=values["quiet"], measure=query_share):
            result = kind.load()(file, **settings, command=command_line())
        check = result.check(*gates, allow_undefined=values.get("allow_undefined", False)) if gates else None
        output.deliver(result)
        if check is not None:
            end_if_broken(check)

    command.__name__, command.__doc__ = kind.name, kind.summary
    command.__annotations__["file"] = Annotated[str, typer.Argument(help=kind.data, show_default=False)]
    decorated: Callable[..., None] = takes(kind.options, needed=kind.needed)(command)
    decorated.examples = kind.examples  # type: ignore[attr-defined]
    return decorated


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
    **{entry.name: command_of(entry.implementation) for entry in registry.entries("audit")},  # type: ignore[arg-type]
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
studies = typer.Typer(cls=Group, no_args_is_help=True, help=study.HELP)
for _name, _command in study.COMMANDS.items():
    add_command(studies, _name, _command, examples=study.EXAMPLES[_name], interrupt_note=study.INTERRUPT_NOTE)
app.add_typer(studies, name="study")


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
