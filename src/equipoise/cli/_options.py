"""Options of commands, made from their declarations: one name, one help text and one meaning everywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli._completion import COMPLETIONS, choices
from equipoise.foundation.errors import BadInput
from equipoise.foundation.options import Option

TYPES: dict[str, Any] = {
    "flag": bool, "text": str, "texts": list[str], "label": str, "pairs": list[str], "whole": int, "number": float,
    "choice": str, "input": str, "file": Path, "files": list[Path], "output": Path,
}  # fmt: skip


def option(of: Option, **more: Any) -> Any:
    """Return the option of the command line that was declared."""
    both = of.kind == "flag" and of.default is not False
    names = (f"{of.flag}/--no-{of.flag[2:]}" if both else of.flag, *of.flags)
    metavar = "" if of.kind == "flag" else "|".join(of.choices) if of.choices else of.metavar
    complete = COMPLETIONS.get(of.values) or (choices(of.choices) if of.choices else None)
    return typer.Option(
        *names, metavar=metavar, help=of.help, rich_help_panel=of.panel, autocompletion=complete,
        show_default=of.kind != "flag", min=of.least, **more,
    )  # fmt: skip


def takes(options: Iterable[Option], *, needed: Iterable[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Let a command take declared options; it gets those it names itself, and the others together as ``values``.

    A flag that is off by default can be switched off too (``--no-strict``), which matters where a config file has
    switched it on; help does not list that spelling.
    """
    listed, required = list(options), set(needed)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                      for name, parameter in own.items() if name != "values"]  # fmt: skip
        for of in listed:
            parameters += _parameters(of, needed=of.needed or of.name in required)

        def run(**given: Any) -> None:
            for of in listed:
                if given.pop(f"no_{of.name}", False):
                    given[of.name] = False
            values = {of.name: given.pop(of.name) for of in listed}
            command(**given, values=values)

        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameters(of: Option, *, needed: bool) -> list[inspect.Parameter]:
    of_type: Any = TYPES[of.kind]
    default: Any = None if of.kind in ("texts", "pairs", "files") else of.default
    if needed:
        default = inspect.Parameter.empty
    elif default is None:
        of_type = of_type | None
    keyword = inspect.Parameter.KEYWORD_ONLY
    made = [inspect.Parameter(of.name, keyword, default=default, annotation=Annotated[of_type, option(of)])]
    if of.kind == "flag" and of.default is False and not of.name.startswith("no_"):
        off = typer.Option(f"--no-{of.flag[2:]}", hidden=True)
        made.append(inspect.Parameter(f"no_{of.name}", keyword, default=False, annotation=Annotated[bool, off]))
    return made


def pairs(of: str, given: Iterable[str], example: str) -> dict[str, str]:
    """Split NAME=VALUE options into a dictionary; a name may come once."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise BadInput(f"{of} {text!r} could not be read", available=f"NAME=VALUE, such as {of} {example}")
        if name in found:
            raise BadInput(f"{of} was given twice for {name!r}", available="once for each name")
        found[name] = value
    return found


def arguments(options: Iterable[Option], values: Mapping[str, Any], kind: str = "") -> dict[str, Any]:
    """Return what a verb in Python is called with, from the values of the command line."""
    found: dict[str, Any] = {}
    for of in options:
        if of.in_python is not None and of.used_by(kind):
            value = values[of.name]
            if of.kind == "pairs" and not isinstance(value, Mapping):
                value = pairs(of.flag, value or (), of.example)
            found[of.in_python] = () if value is None and of.default == () else value
    return found
