"""Options of commands, made from their declarations, and the values of options that a shell completes.

One name, one help text and one meaning everywhere. A completion never fails and never prints: where a file cannot be
read, there is nothing to offer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.foundation import BadInput, Option

TYPES: dict[str, Any] = {
    "flag": bool, "text": str, "texts": list[str], "label": str, "pairs": list[str], "whole": int, "number": float,
    "choice": str, "input": str, "file": Path, "files": list[Path], "output": Path,
}  # fmt: skip
# The parameters that name the file whose columns are meant: the people of an embedding before its points.
FILES = ("rows", "file", "cohort")
MOST_VALUES = 50

Completion = Callable[[typer.Context, str], Iterable[str]]


def option(of: Option) -> Any:
    """Return the option of the command line that was declared."""
    both = of.kind == "flag" and of.default is not False
    names = (f"{of.flag}/--no-{of.flag[2:]}" if both else of.flag, *of.flags)
    metavar = "" if of.kind == "flag" else "|".join(of.choices) if of.choices else of.metavar
    complete = COMPLETIONS.get(of.values) or (choices(of.choices) if of.choices else None)
    return typer.Option(
        *names, metavar=metavar, help=of.help, rich_help_panel=of.panel, autocompletion=complete,
        show_default=of.kind != "flag", min=of.least,
    )  # fmt: skip


def takes(options: Iterable[Option], *, needed: Iterable[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Let a command take declared options; it gets those it names itself, and the others together as ``values``.

    A flag that is off by default can be switched off too (``--no-strict``), which matters where a config file has
    switched it on; help does not list that spelling.
    """
    listed, required = list(options), set(needed)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = inspect.signature(command, eval_str=True).parameters
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                      for name, parameter in declared.items() if name != "values"]  # fmt: skip
        for of in listed:
            parameters += _parameters(of, needed=of.needed or of.name in required)

        def run(**named_values: Any) -> None:
            for of in listed:
                if named_values.pop(f"no_{of.name}", False):
                    named_values[of.name] = False
            values = {of.name: named_values.pop(of.name) for of in listed}
            command(**named_values, values=values)

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
    parameters = [inspect.Parameter(of.name, keyword, default=default, annotation=Annotated[of_type, option(of)])]
    if of.kind == "flag" and of.default is False and not of.name.startswith("no_"):
        off = typer.Option(f"--no-{of.flag[2:]}", hidden=True)
        parameters.append(inspect.Parameter(f"no_{of.name}", keyword, default=False, annotation=Annotated[bool, off]))
    return parameters


def pairs(of: str, texts: Iterable[str], example: str) -> dict[str, str]:
    """Split NAME=VALUE options into a dictionary; a name may come once."""
    values: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise BadInput(f"{of} {text!r} could not be read", available=f"NAME=VALUE, such as {of} {example}")
        if name in values:
            raise BadInput(f"{of} was given twice for {name!r}", available="once for each name")
        values[name] = value
    return values


def arguments(options: Iterable[Option], values: Mapping[str, Any], kind: str = "") -> dict[str, Any]:
    """Return what a verb in Python is called with, from the values of the command line."""
    chosen: dict[str, Any] = {}
    for of in options:
        if of.in_python is not None and of.used_by(kind):
            value = values[of.name]
            if of.kind == "pairs" and not isinstance(value, Mapping):
                value = pairs(of.flag, value or (), of.example)
            chosen[of.in_python] = () if value is None and of.default == () else value
    return chosen


def _safely(names: Completion) -> Completion:
    """Offer the names that begin with what was typed; an error on the way offers nothing."""

    @wraps(names)
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [name for name in names(ctx, incomplete) if name.casefold().startswith(incomplete.casefold())]
        except Exception:  # noqa: BLE001 - a shell shows what a completion raises in the middle of a line
            return []

    return complete


@_safely
def columns(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the columns of the file that was given."""
    return list(_table(ctx).columns)


@_safely
def column_and_groups(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer COL=GROUP: first a column, then the groups in it."""
    column, sign, _ = incomplete.partition("=")
    if not sign:
        return [f"{name}=" for name in ctx.params.get("group") or _table(ctx).columns]
    return [f"{column}={value}" for value in _values(ctx, column)]


@_safely
def classes(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the classes of the target that was given, or of the prediction."""
    chosen = ctx.params.get("target") or ctx.params.get("prediction") or ()
    return [value for column in ([chosen] if isinstance(chosen, str) else chosen) for value in _values(ctx, column)]


def registered(*kinds: str) -> Completion:
    """Offer the names and aliases of what is registered."""

    def names(ctx: typer.Context, incomplete: str) -> Iterator[str]:
        from equipoise.foundation import (
            KINDS,
            registry,
        )

        for kind in kinds or KINDS:
            for entry in registry.entries(kind):
                yield entry.name
                yield from [entry.alias] if entry.alias else []

    return _safely(names)


measures = registered("measure")


@_safely
def kinds(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the kinds of things that ``equipoise list`` knows."""
    from equipoise.foundation import (
        KINDS,
        plural_of,
    )

    return map(plural_of, KINDS)


@_safely
def learners(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the classifiers that can be trained on an embedding."""
    from equipoise.audits.downstream import CLASSIFIER_SETTINGS

    return ["all", *CLASSIFIER_SETTINGS]


@_safely
def gates(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the beginning of a gate on a measure."""
    return [f"{name} > " for name in measures(ctx, "")]


def choices(names: Iterable[str]) -> Completion:
    """Offer a fixed list."""
    offered = list(names)
    return _safely(lambda ctx, incomplete: offered)


COMPLETIONS: dict[str, Completion] = {
    "columns": columns, "column=groups": column_and_groups, "classes": classes, "measures": measures,
    "learners": learners, "gates": gates,
}  # fmt: skip


def _table(ctx: typer.Context) -> Any:
    from pathlib import Path

    from equipoise.cohorts import LazyTable, open_table

    # An option that waits for its value keeps the rest of the line from being parsed: the file is then among ctx.args.
    named = [ctx.params[name] for name in FILES if ctx.params.get(name)]
    file = next(file for file in (*named, *ctx.args) if Path(file).exists())
    return LazyTable(open_table(file), Path(file).name)


def _values(ctx: typer.Context, column: str) -> list[str]:
    return [str(value) for value in _table(ctx).peek(column) if value is not None][:MOST_VALUES]
