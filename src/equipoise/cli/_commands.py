"""How commands get into the program: they end well after Ctrl-C, their help has examples, kinds of audits have one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.cli._console import interruptible
from equipoise.cli._options import arguments, takes
from equipoise.foundation.errors import BadInput

if TYPE_CHECKING:
    from equipoise.audits import AuditKind


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

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
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
    given: dict[str, str] = {}
    for index, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name in spellings and (sign or index + 1 < len(args)):
            given[name] = value if sign else args[index + 1]
    if len(set(given.values())) > 1:
        raise BadInput(
            f"{' and '.join(given)} were given with different values",
            help="leave one out: they are two spellings of the same option.",
        )


def _as_flag(option: Any) -> None:
    """Let help show an option without a type and a default, if it is a flag."""
    if getattr(option, "is_flag", False):
        option.metavar, option.show_default = "", False


def add_command(
    app: typer.Typer, name: str, command: Callable[..., None], *, examples: Sequence[str] = (), kept: str = ""
) -> None:
    """Add a command to the program; its examples, or ``EXAMPLES`` of its module, are shown below its options."""
    examples = examples or getattr(command, "examples", ()) or sys.modules[command.__module__].EXAMPLES
    epilog = "\n".join(["Examples", *(f"  $ equipoise {line}" for line in examples)])
    app.command(name, cls=Command, epilog=epilog)(interruptible(command, kept))


def command_of(kind: AuditKind) -> Callable[..., None]:
    """Return the command of a registered kind of audit, made from its declaration, options and all."""

    def command(file: str, *, values: dict[str, Any]) -> None:
        from equipoise.audits import named_object
        from equipoise.cli._console import query_share, show_progress
        from equipoise.cli._output import Output, end_if_broken
        from equipoise.foundation.reproducibility import command_line

        gates = kind.result_type.read_gates(values["fail_if"] or ()) if values.get("fail_if") else []
        output = Output.of(values)
        output.check(inputs=[file, *(values[name] for name in kind.inputs if values[name] is not None)])
        given = arguments(kind.options, values)
        for name, convert in kind.converted.items():
            given[name] = named_object(convert)(given[name])
        with show_progress(kind.doing, quiet=values["quiet"], measure=query_share):
            result = kind.load()(file, **given, command=command_line())
        check = result.check(*gates, allow_undefined=values.get("allow_undefined", False))
        output.deliver(result)
        end_if_broken(check)

    command.__name__, command.__doc__ = kind.name, kind.summary
    command.__annotations__["file"] = Annotated[str, typer.Argument(help=kind.data, show_default=False)]
    decorated: Callable[..., None] = takes(kind.options, needed=kind.needed)(command)
    decorated.examples = kind.examples  # type: ignore[attr-defined]
    return decorated
