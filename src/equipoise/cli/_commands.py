"""How a command is added to the program: it ends well after Ctrl-C, and its help has examples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.cli._console import interruptible
from equipoise.foundation.errors import BadInput


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
    for place, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name in spellings and (sign or place + 1 < len(args)):
            given[name] = value if sign else args[place + 1]
    if len(set(given.values())) > 1:
        raise BadInput(
            f"{' and '.join(given)} were given with different values",
            help="leave one out: they are two spellings of the same option.",
        )


def _as_flag(option: Any) -> None:
    """Let help show an option without a type and a default, if it is a flag."""
    if getattr(option, "is_flag", False):
        option.metavar, option.show_default = "", False


def add_command(app: typer.Typer, name: str, command: Callable[..., None], kept: str = "") -> None:
    """Add a command to the program; its examples, or ``EXAMPLES`` of its module, are shown below its options."""
    of_module = getattr(sys.modules[command.__module__], "EXAMPLES", ())
    examples: Sequence[str] = getattr(command, "examples", of_module)
    lines = [f"$ equipoise {line}" for line in examples]
    epilog = "\n".join(["Examples", *(f"  {line}" for line in lines)]) if lines else None
    app.command(name, cls=Command, epilog=epilog)(interruptible(command, kept))
